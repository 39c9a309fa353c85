"""The output of one call in a Codex rollout, read and replaced.

It is written as plain text, as JSON in a text with `output` and `metadata`, as an object with
`content` and `success`, or as a list of content items.
"""

import json
from typing import Any

from lcc_sidecar.transcript.model import digest
from lcc_sidecar.transcript.rows import decode_object
from lcc_sidecar.transcript.splice import Edit, field_edit, inside, spliced

_TEXTS = ("input_text", "output_text", "text")


def written_output(output: Any) -> tuple[str, tuple[str, ...], bool]:
    """Return an output's text, a digest of each part that is no text, and whether it failed."""
    enveloped = _envelope(output)
    if enveloped is not None:
        return enveloped["output"], (), enveloped["metadata"].get("exit_code") not in (0, None)
    is_error = False
    if isinstance(output, dict) and "content" in output:
        is_error = output.get("success") is False
        output = output["content"]
    texts, media = texts_and_media(output)
    return "".join(texts), media, is_error


def texts_and_media(content: Any) -> tuple[list[str], tuple[str, ...]]:
    """Return the texts of some content, and a digest of each part that is no text."""
    if content is None:
        return [], ()
    parts = content if isinstance(content, list) else [content]
    told = [(part, _part_text(part)) for part in parts]
    media = tuple(digest(part) for part, text in told if text is None)
    return [text for _, text in told if text is not None], media


def with_output(line: bytes, note: str) -> bytes:
    """Return the line of an output with `note` as its text, in the way it was written."""
    row = decode_object(line)
    row["payload"]["output"] = noted = _noted(row["payload"].get("output"), note)

    def edits(seen: bytes) -> list[Edit]:
        at, payload = inside(seen, "payload")
        start, end, value = field_edit(payload, "output", noted)
        return [(at + start, at + end, value)]

    return spliced(line, row, edits)


def _noted(output: Any, note: str) -> Any:
    enveloped = _envelope(output)
    if enveloped is not None:
        return json.dumps(enveloped | {"output": note}, ensure_ascii=False, separators=(",", ":"))
    if isinstance(output, dict) and "content" in output:
        return output | {"content": _noted(output["content"], note)}
    return [{"type": "input_text", "text": note}] if isinstance(output, list) else note


def _envelope(output: Any) -> dict[str, Any] | None:
    if not isinstance(output, str) or not output.startswith("{"):
        return None
    try:
        found = json.loads(output)
    except (ValueError, RecursionError):
        return None
    is_one = isinstance(found, dict) and found.keys() == {"output", "metadata"}
    is_one = is_one and isinstance(found["output"], str) and isinstance(found["metadata"], dict)
    return found if is_one else None


def _part_text(part: Any) -> str | None:
    if isinstance(part, dict):
        text = part.get("text") if part.get("type") in _TEXTS else None
        return text if isinstance(text, str) else None
    return part if isinstance(part, str) else None
