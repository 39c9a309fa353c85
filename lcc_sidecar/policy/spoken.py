"""What the goal and the person's recent words name: files and commands.

Asked once for every call of a session, about texts that may be long (a pasted log): the words are
split once, and every answer is remembered.
"""

import re

_TOKEN = re.compile(r"[\w./~@+-]+")


class Spoken:
    """The goal and the recent words of one pass."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._tokens: dict[str, set[str]] = {}
        for found in _TOKEN.finditer(text):
            token = found[0].rstrip(".").lstrip("@")
            self._tokens.setdefault(token.rsplit("/", 1)[-1], set()).add(token)
        self._commands: dict[str, bool] = {}

    def names_path(self, path: str) -> bool:
        """Return whether the file `path` is named: whole, or by a tail of its components."""
        name = path.rsplit("/", 1)[-1]
        if not _TOKEN.fullmatch(name):  # a name with spaces or the like is no single token
            return bool(name) and self.names_command(name)
        return any(_is_tail(token, path) for token in self._tokens.get(name, ()))

    def names_command(self, command: str) -> bool:
        """Return whether the command stands in the text as whole words."""
        if command not in self._commands:
            self._commands[command] = self._has_words(command)
        return self._commands[command]

    def _has_words(self, words: str) -> bool:
        at = self.text.find(words)
        while at >= 0:
            end = at + len(words)
            if not (_is_word(self.text[at - 1 : at]) or _is_word(self.text[end : end + 1])):
                return True
            at = self.text.find(words, at + 1)
        return False


def _is_tail(token: str, path: str) -> bool:
    tail = token.removeprefix("./").lstrip("/")
    return path in (token, tail) or path.endswith("/" + tail)


def _is_word(char: str) -> bool:
    return char.isalnum() or char == "_"
