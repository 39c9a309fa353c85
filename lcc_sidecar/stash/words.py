"""The words of a text as code knows them, so that all spellings of one name find each other.

`extract path join`, `extractPathJoin` and `extract_path_join` share the words extract, path, join.
A word is lower-case and holds nothing but ASCII letters and digits, and letters, digits and marks
of other scripts: SQLite's `ascii` tokenizer takes it whole. What stands in an index was made by
these rules; to change them is to make every index anew.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import pairwise

from lcc_sidecar.limits import (
    WORD_MAX_CHARS,
    WORDLESS_RUN_MIN_BYTES,
    WORDS_OF_A_TEXT_MAX,
    WORDS_TEXT_MAX_CHARS,
)

# Each byte, or a space for it: letters, digits and _ stay, and all that is not ASCII.
_ASCII = [chr(n) if chr(n).isalnum() or chr(n) == "_" else " " for n in range(128)]
_SPACED = "".join(_ASCII).encode("ascii") + bytes(range(128, 256))
_ENCODED = re.compile(rb"[A-Za-z0-9+/=_-]{%d,}" % WORDLESS_RUN_MIN_BYTES)
_PARTS = re.compile(
    r"[A-Za-z]*(?:[0-9]+[A-Za-z]+){2,}[0-9]+[A-Za-z]*"  # a hash: whole, or it is mere letters
    r"|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+"
)
# Scripts written without spaces, or with endings tied to the word: two characters are a word.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
_WORD = rf"[{_UNSPACED}]+|(?:(?![{_UNSPACED}])(?:[^\W]|[\u0300-\u036f]))+"
_RUN = rf"[{_UNSPACED}]+"


def words_of(text: str) -> set[str]:
    """Return every word of `text`, and the parts of each: of `parseURL2` parseurl2, parse, url, 2.

    A word is cut to WORD_MAX_CHARS. Long runs that nobody wrote (base64) hold no words. Of more
    than WORDS_OF_A_TEXT_MAX the shortest stay.
    """
    names, others = _distinct(text)
    found = set(names.replace("_", "").lower().split())
    parted = [n for n in names.split() if not (n.islower() and n.isalpha()) and not n.isdigit()]
    found.update(_parts(" ".join(parted)))
    for name in _names(others):
        if not _is_run(name):
            found.add(name.replace("_", "").lower())
        found.update(_parts(name))
    found.discard("")
    if max(map(len, found), default=0) > WORD_MAX_CHARS:
        found = {word[:WORD_MAX_CHARS] for word in found}
    if len(found) > WORDS_OF_A_TEXT_MAX:
        return set(sorted(found, key=lambda word: (len(word), word))[:WORDS_OF_A_TEXT_MAX])
    return found


def query_words(query: str) -> tuple[str, ...]:
    """Return the words to look for, in the order in which they stand; of a name its parts alone.

    Then a name is found in whichever way it is spelled.
    """
    names, others = _distinct(query)
    written = [*names.split(), *_names(others)]
    asked = {part[:WORD_MAX_CHARS] for name in written for part in _parts(name)}
    lowered = query.lower()
    return tuple(sorted(asked, key=lambda word: (lowered.find(word), word)))


def _distinct(text: str) -> tuple[str, list[str]]:
    """Return the distinct names in ASCII, between spaces, and the runs that hold other characters.

    A whole text is only ever split here, and in bytes: twice as fast as any pattern. Of a giant
    the start and the end count.
    """
    if len(text) > WORDS_TEXT_MAX_CHARS:
        half = WORDS_TEXT_MAX_CHARS // 2
        text = f"{text[:half]} {text[-half:]}"
    data = text.encode("utf-8", "surrogatepass")
    if max(map(len, data.split(b"\n"))) >= WORDLESS_RUN_MIN_BYTES:
        data = _ENCODED.sub(b" ", data)
    runs = set(data.translate(_SPACED).split())
    if text.isascii():
        return b" ".join(runs).decode("ascii"), []
    ascii_runs = [run for run in runs if run.isascii()]
    others = runs.difference(ascii_runs)
    return b" ".join(ascii_runs).decode("ascii"), [run.decode("utf-8", "replace") for run in others]


def _parts(names: str) -> Iterable[str]:
    """Return the parts of names in lower case: cut at capitals, digits, underscores and spaces."""
    if names.isascii():
        return " ".join(_PARTS.findall(names)).lower().split()
    if _is_run(names):
        return ["".join(pair) for pair in pairwise(names)] or [names]
    return [piece.lower() for piece in _pieces(names)]


def _names(runs: Iterable[str]) -> set[str]:
    """Return the names in runs of characters of any script; they keep their underscores."""
    return set(re.findall(_WORD, unicodedata.normalize("NFKC", " ".join(runs))))


def _is_run(name: str) -> bool:
    """Return whether a name is of a script without spaces.

    The pattern is compiled when it is first asked for: that takes longer than a recall.
    """
    return re.fullmatch(_RUN, name) is not None


def _pieces(name: str) -> Iterator[str]:
    """Yield the parts of a name with letters beyond ASCII."""
    piece = ""
    for char, after in zip(name, [*name[1:], ""], strict=True):
        before = piece[-1:]
        starts = char.isdigit() != before.isdigit() or (
            char.isupper() and (not before.isupper() or after.islower())
        )
        if piece and (char == "_" or starts):
            yield piece
            piece = ""
        if char != "_":
            piece += char
    if piece:
        yield piece
