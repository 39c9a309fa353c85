"""The words of a text, as a search knows them."""

import re

_WORD = re.compile(r"\w+")


def words_of(text: str) -> set[str]:
    """Return every distinct word of a text, lower-cased."""
    return {word.lower() for word in _WORD.findall(text)}
