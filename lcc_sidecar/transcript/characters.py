"""A text's size in about the tokens that it is billed, by kinds of characters. Quick: 7 ms a MB.

A vocabulary has whole words for prose and code, but a token for nearly every digit: so a listing of
numbers weighs three times what its length says. The weights are those with the least relative error
over the billed steps of published sessions, each session as heavy as the root of its steps. Fitted
anew without the repository that they were then held against, they did as well. How a session
differs from others is fitted to the session itself (`calibration.fit`).
"""

import string
from collections.abc import Iterable

_LETTERS = string.ascii_letters.encode()
_MARKS = string.punctuation.encode()
_DIGITS = string.digits.encode()
_ALL = bytes(range(256))

# Tokens of each; other blanks than line ends weigh nothing: they are in the words that follow.
_LETTER, _WORD = 0.23, 0.26
_MARK, _MARKS_IN_A_ROW = 0.51, 0.26
_DIGIT = 0.92
_LINE_END = 0.57
_WIDE_BYTE = 0.40


def weighed(texts: Iterable[str]) -> float:
    """Return the size of all texts: about their billed tokens, before a session's own weights."""
    return sum(map(_weight, texts))


def _weight(text: str) -> float:
    data = b" " + text.encode("utf-8", "surrogatepass")  # a run begins where another kind ends
    letters, marks = data.translate(_ONLY_LETTERS), data.translate(_ONLY_MARKS)
    return (
        _LETTER * letters.count(b"a")
        + _WORD * letters.count(b" a")
        + _MARK * marks.count(b"a")
        + _MARKS_IN_A_ROW * marks.count(b" a")
        + _DIGIT * len(data.translate(None, _NO_DIGITS))
        + _LINE_END * data.count(b"\n")
        + (0 if text.isascii() else _WIDE_BYTE * len(data.translate(None, _ALL[:128])))
    )


def _only(kind: bytes) -> bytes:
    """Return the table that makes each byte of a kind an `a`, and each other one a blank."""
    return bytes(b"a"[0] if byte in kind else b" "[0] for byte in _ALL)


_ONLY_LETTERS, _ONLY_MARKS = _only(_LETTERS), _only(_MARKS)
_NO_DIGITS = bytes(byte for byte in _ALL if byte not in _DIGITS)
