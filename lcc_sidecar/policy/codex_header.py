"""The header that Codex puts before a command's output, down to `Output:`.

Some versions begin it with the command itself. It is read only where that takes one line.
"""

import re

_LINE = re.compile(
    r"(?:Command|Chunk ID|Wall time|Process exited with code|Process running with session ID"
    r"|Original token count)\b.*\n"
)
_LABEL = "Output:\n"
_VOLATILE = ("Chunk ID:", "Wall time:", "Original token count:")
_EXIT_CODE = re.compile(r"^Process exited with code (-?\d{1,9})\b", re.MULTILINE)


def without_header(text: str) -> str:
    """Return an output without its header."""
    end = _end(text)
    return text[end + len(_LABEL) :] if end else text


def exit_code(text: str) -> int:
    """Return the exit code that a header states; 0 without one."""
    found = _EXIT_CODE.search(text[: _end(text)])
    return int(found[1]) if found else 0


def comparable(text: str) -> str:
    """Return an output without the header lines that change on every run of the same command."""
    end = _end(text)
    if not end:
        return text
    header = text[:end].split("\n")
    return "\n".join(line for line in header if not line.startswith(_VOLATILE)) + text[end:]


def _end(text: str) -> int:
    """Return where the header's last line ends and its label begins; 0 without a header."""
    at = 0
    while found := _LINE.match(text, at):
        at = found.end()
    return at if text.startswith(_LABEL, at) else 0
