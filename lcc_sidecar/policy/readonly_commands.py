"""Which shell commands may be named as a way to get an output back: a strict allowlist.

First specification, "recoverable". A command is read-only only if every part of it is known to be;
anything that a shell would expand into more than its words is refused.
"""

import re
import shlex
from collections.abc import Callable
from functools import lru_cache

from lcc_sidecar.limits import COMMAND_MAX_CHARS, COMMANDS_REMEMBERED

_SUBSTITUTION = frozenset("$`\\")
_UNQUOTED = frozenset("|&;<>(){}!#\n\r*?[")  # operators, and what expands into other words
_HOME = re.compile(r"(?:^|[\s=:])~")
_SED_RANGE = re.compile(r"\d+(?:,\d+)?p")
_FORBIDDEN_FIND = ("-exec", "-ok", "-delete", "-fprint", "-fls")
_ENDLESS = ("/dev/", "/proc/", "/sys/")
_GIT_READS = frozenset({"status", "diff", "log", "show"})
_VERSIONED = frozenset(
    [
        *("bash", "bun", "cargo", "clang", "cmake", "deno", "docker", "dotnet", "gcc", "git", "go"),
        *("java", "javac", "kubectl", "make", "mypy", "node", "npm", "npx", "perl", "php", "pip"),
        *("pip3", "pnpm", "poetry", "pytest", "python", "python3", "ruby", "ruff", "rustc"),
        *("swift", "terraform", "tsc", "uv", "yarn"),
    ]
)


def is_read_only_command(command: str) -> bool:
    """Return whether `command` is on the allowlist: it can only read, and is one plain command."""
    words = plain_words(command)
    if not words:
        return False
    if words[1:] == ("--version",):
        return words[0] in _VERSIONED
    if any(word.startswith(_ENDLESS) for word in words):
        return False
    check = _ALLOWED.get(words[0])
    return check is not None and check(list(words[1:]))


@lru_cache(maxsize=COMMANDS_REMEMBERED)
def plain_words(command: str) -> tuple[str, ...] | None:
    """Return the words of one plain command; None if a shell would make more of it."""
    if len(command) > COMMAND_MAX_CHARS or _HOME.search(command):
        return None
    quote = ""
    for char in command:
        if quote == "'":
            quote = "" if char == "'" else quote
        elif char in _SUBSTITUTION or (not quote and char in _UNQUOTED):
            return None
        elif char in "'\"":
            quote = "" if char == quote else quote or char
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    has_assignment = bool(words) and "=" in words[0]
    return None if has_assignment else tuple(words)


def _any(_: list[str]) -> bool:
    return True


def _find(words: list[str]) -> bool:
    return not any(word.startswith(_FORBIDDEN_FIND) for word in words)


def _rg(words: list[str]) -> bool:
    return not any(word.startswith(("--pre", "--hostname-bin")) for word in words)


def _git(words: list[str]) -> bool:
    writes = ("--ou", "--ext", "--textc", "-o")  # git takes shortened names
    return bool(words) and words[0] in _GIT_READS and not any(w.startswith(writes) for w in words)


def _tail(words: list[str]) -> bool:
    follows = any(w.startswith(("--f", "--r")) for w in words)  # tail takes shortened names
    short = any(w[0] == "-" and w[1:2] != "-" and set(w) & set("fF") for w in words if w)
    return not follows and not short


def _sed(words: list[str]) -> bool:
    """Allow nothing but `sed -n 'a,bp' FILE...`."""
    shape = len(words) > 2 and words[0] == "-n" and _SED_RANGE.fullmatch(words[1])  # noqa: PLR2004
    return bool(shape) and not any(word.startswith("-") for word in words[2:])


def _tree(words: list[str]) -> bool:
    # -o writes a file; -R with -H writes one in every folder
    short = any(w[:1] == "-" and w[1:2] != "-" and set(w) & set("oR") for w in words)
    return not short and not any(w.startswith("--o") for w in words)


_ALLOWED: dict[str, Callable[[list[str]], bool]] = {
    "cat": _any,
    "find": _find,
    "git": _git,
    "grep": _any,
    "head": _any,
    "ls": _any,
    "pwd": _any,
    "rg": _rg,
    "sed": _sed,
    "tail": _tail,
    "tree": _tree,
    "wc": _any,
}
