"""A Laya checkpoint of some thousand random weights: real files, real loading, no sense."""

import json
from pathlib import Path

VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
VOCABULARY += [mark + chr(code) for mark in ("", "##") for code in range(33, 127)]


def make_checkpoint(folder: Path, max_len: int) -> Path:
    """Write the files that the package wants: configuration, weights, tokenizer, encoder."""
    import torch
    from laya.common import build_model
    from safetensors.torch import save_file
    from transformers import BertConfig, BertTokenizerFast

    encoder, tokenizer = folder / "encoder", folder / "tokenizer"
    tokenizer.mkdir(parents=True)
    words = tokenizer / "vocab.txt"
    words.write_text("\n".join(VOCABULARY))
    BertTokenizerFast(str(words)).save_pretrained(tokenizer)
    BertConfig(
        vocab_size=len(VOCABULARY),
        hidden_size=64,
        num_hidden_layers=1,
        num_attention_heads=1,
        intermediate_size=64,
        max_position_embeddings=max_len + 8,
    ).save_pretrained(encoder)
    config = {
        "encoder": "tiny",
        "head_layers": 1,
        "max_len": max_len,
        "head_max_len": 400,
        "act_costs": {},
        "temperature": [1.0, 1.0, 1.0],
    }
    (folder / "rl_agent_config.json").write_text(json.dumps(config))
    torch.manual_seed(1)
    model = build_model(config, encoder_dir=str(encoder), pretrained=False)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.05)
    weights = {name: value.contiguous() for name, value in model.state_dict().items()}
    weights["temperature"] = torch.ones(3)
    save_file(weights, str(folder / "model.safetensors"))
    return folder
