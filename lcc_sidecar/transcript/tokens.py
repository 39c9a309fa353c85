"""How many tokens a text is: estimated from its length, or counted with a real vocabulary.

Counting needs no network, ever: the vocabulary comes out of the wheel of `bpe-openai`, and the
first load leaves a form in the cache folder that loads faster (FR-180). Claude's own vocabulary is
not public, so even an exact count is another model's count; the method is always named (FR-175).
"""

import os
import tempfile
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import msgspec
import platformdirs

from lcc_sidecar.limits import (
    CAUTIOUS_CHARS_PER_TOKEN,
    TOKENS_AT_ONCE_CHARS,
    USUAL_CHARS_PER_TOKEN,
)
from lcc_sidecar.paths import APP_NAME, moved_home

if TYPE_CHECKING:
    import tiktoken

Method = Literal["estimate", "exact"]
VOCABULARY = "o200k_base"


@dataclass(frozen=True, slots=True)
class TokenCounter:
    """Counts tokens; `method` says how, in words fit for a receipt."""

    method: str
    chars_per_token: float
    encoding: "tiktoken.Encoding | None" = None

    def count(self, texts: Iterable[str]) -> int:
        """Return the number of tokens of all texts; special tokens are ordinary text (FR-181)."""
        if self.encoding is None:
            return round(sum(map(len, texts)) / self.chars_per_token)
        parts = [
            text[at : at + TOKENS_AT_ONCE_CHARS]
            for text in texts
            for at in range(0, len(text), TOKENS_AT_ONCE_CHARS)
        ]
        return sum(map(len, self.encoding.encode_ordinary_batch(parts, num_threads=2)))


def token_counter(method: Method, model: str | None = None) -> TokenCounter:
    """Return the counter for a method; with a model, the exact one of that model's vocabulary.

    Without a vocabulary there is no exact count: then the cautious heuristic counts, and its name
    says so. It never counted too few tokens of the sessions it was measured on.
    """
    if method == "estimate" and model is None:
        return TokenCounter(
            f"estimate: {USUAL_CHARS_PER_TOKEN} characters a token", USUAL_CHARS_PER_TOKEN
        )
    name = VOCABULARY if model is None else _vocabulary_of(model)
    encoding = _encoding(name) if name else None
    if encoding is None:
        missing = "no vocabulary found" if model is None else f"no vocabulary of {model[:60]} found"
        return TokenCounter(
            f"heuristic: {CAUTIOUS_CHARS_PER_TOKEN} characters a token, {missing}",
            CAUTIOUS_CHARS_PER_TOKEN,
        )
    return TokenCounter(f"exact: {name}", CAUTIOUS_CHARS_PER_TOKEN, encoding)


def _vocabulary_of(model: str) -> str | None:
    """Return the name of a model's vocabulary, where it is public."""
    try:
        from tiktoken.model import encoding_name_for_model  # noqa: PLC0415 - as below

        return encoding_name_for_model(model)
    except (ImportError, KeyError):
        return None


def _encoding(name: str) -> "tiktoken.Encoding | None":
    try:
        import tiktoken  # noqa: PLC0415 - a tenth of a second that only exact counts pay
    except ImportError:
        return None
    path = os.path.join(cache_folder(), f"{name}.msgpack")
    known = _cached(path)
    if known is None:
        known = _vocabulary(name)
        if known is None:
            return None
        _keep(path, known)
    return tiktoken.Encoding(
        name, pat_str=known.pattern, mergeable_ranks=known.ranks, special_tokens={}
    )


def cache_folder() -> str:
    """Return the folder for what can be made again."""
    home = moved_home()
    return os.path.join(home, "cache") if home else platformdirs.user_cache_dir(APP_NAME, False)


class _Vocabulary(msgspec.Struct, frozen=True):
    pattern: str
    ranks: dict[bytes, int]


def _vocabulary(name: str) -> _Vocabulary | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # it opens its data the old way
            from bpe_openai.registry import ENCODING_CONSTRUCTORS  # noqa: PLC0415 - takes a second

            made = ENCODING_CONSTRUCTORS[name]()
    except (ImportError, KeyError, OSError, RuntimeError, ValueError):
        return None
    return _Vocabulary(made["pat_str"], made["mergeable_ranks"])


def _cached(path: str) -> _Vocabulary | None:
    try:
        with open(path, "rb") as file:
            return msgspec.msgpack.decode(file.read(), type=_Vocabulary)
    except (OSError, msgspec.MsgspecError):
        return None


def _keep(path: str, known: _Vocabulary) -> None:
    """Leave the fast form behind; a folder that cannot be written costs only time."""
    folder = os.path.dirname(path)
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
            file.write(msgspec.msgpack.encode(known))
        os.replace(file.name, path)
    except OSError:
        return
