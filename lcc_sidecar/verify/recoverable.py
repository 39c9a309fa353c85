"""The recoverable contract, checked from the two transcripts alone.

Every pointer must name what its own call read or ran: its file, with the lines that its result
shows, or its command, which must be one that only reads. Whether the bytes are there is the drill's
question. Shares nothing with the policy. Source: first specification, "recoverable".
"""

import os.path
import re
import shlex

from lcc_sidecar.transcript.model import ToolCall, ToolResult, Transcript
from lcc_sidecar.verify.lossless import Pointed
from lcc_sidecar.verify.unchanged import changed_results, changed_words

_RE_READ = re.compile(
    r"\[removed: re-read (?P<path>[^\]]+?)(?: \(lines (?P<first>\d+)-(?P<last>\d+)\))? to recover"
    r"(?:; content verified on disk at compaction time)?\]"
)
_RE_RUN = re.compile(r"\[removed: re-run `(?P<command>[^`]+)` to recover\]")
_NUMBER = re.compile(r" *(\d{1,9})[\t→]")
_SHELL_SYNTAX = re.compile(r"[$`\\|&;<>(){}\n!#*?\[]|(?:^|[\s=:])~")
_GIT_READERS = {"status", "diff", "log", "show"}
# By program, what makes it more than a reader; a program that is not here is no reader.
_MORE_THAN_READING = {
    **dict.fromkeys(("cat", "grep", "head", "ls", "pwd", "wc"), re.compile(r"(?!)")),
    "find": re.compile(r"-(exec|ok|delete|fprint|fls).*"),
    "git": re.compile(r"(--output|--ext-diff|--textconv|-o).*"),
    "rg": re.compile(r"--(pre|hostname-bin)\b.*"),
    "sed": re.compile(r"-(?!n$).*"),
    "tail": re.compile(r"--(follow|retry).*|-[^-]*[fF].*"),
    "tree": re.compile(r"-[^-]*[oR].*"),
}
_CODEX = re.compile(r"(?:Chunk ID|Wall time|Process|Original token)(?:.*\n)+?Output:\n")


def verify_recoverable(
    original: Transcript, compacted: Transcript, *, allow_command_pointers: bool = False
) -> list[str]:
    """Return what breaks the recoverable contract, a sentence each; an empty list is a pass."""
    words = changed_words(original, compacted)
    if words:
        return words
    pointed = Pointed(original, compacted)
    calls = {pair.result.id: pair.call for pair in original.pairs()}

    def stands(old: ToolResult, note: str) -> bool:
        call = calls.get(old.id)
        if call is None:  # no call, or an ambiguous id: nothing may point from here
            return False
        return (
            pointed.holds(old, note)
            or _is_own_file(call, old, note)
            or (allow_command_pointers and _is_own_command(call, note))
        )

    return [
        f"result {old.id}: {new.text[:120]!r} is not a pointer of its own call"
        for old, new in changed_results(original, compacted)
        if not stands(old, new.text)
    ]


def _is_own_file(call: ToolCall, old: ToolResult, note: str) -> bool:
    found = _RE_READ.fullmatch(note)
    if not found or old.is_error or not os.path.isabs(found["path"]):
        return False
    if found["path"] not in _own_paths(call):
        return False
    claimed = (int(found["first"]), int(found["last"])) if found["first"] else None
    numbers = None if _is_shell(call) else _numbers(old.text)
    if numbers is not None:
        return claimed == numbers or (claimed is None and numbers[0] == 1)
    return claimed is None or _is_countable(call, old, claimed)


def _own_paths(call: ToolCall) -> set[str]:
    """Return every absolute path that the call's input could name."""
    words = [call.input.get(key) for key in ("file_path", "path", "filename")]
    for key in ("command", "cmd"):
        value = call.input.get(key)
        words += _words(value) if isinstance(value, str) else []
    folders = [call.cwd, call.input.get("cwd"), call.input.get("workdir")]
    return {
        os.path.normpath(os.path.join(folder, word))
        for word in words
        for folder in ("", *(f for f in folders if isinstance(f, str)))
        if isinstance(word, str) and word
    }


def _is_shell(call: ToolCall) -> bool:
    """Return whether a call's numbers, if its result has any, are content and not the tool's."""
    return any(isinstance(call.input.get(key), str) for key in ("command", "cmd"))


def _is_countable(call: ToolCall, old: ToolResult, claimed: tuple[int, int]) -> bool:
    """Return whether a claim on lines fits a result without numbers: asked for, and as many."""
    first, last = claimed
    asked = " ".join(str(call.input.get(key, "")) for key in ("command", "cmd", "offset"))
    header = _CODEX.match(old.text)
    height = old.text.count("\n", header.end() if header else 0)
    is_asked = first == 1 or re.search(rf"\b{first}\b", asked) is not None
    return is_asked and last - first == height


def _numbers(text: str) -> tuple[int, int] | None:
    """Return the first and last line number that a numbered text shows."""
    rows = text.split("\n")
    first, last = _NUMBER.match(rows[0]), _NUMBER.match(rows[-1])
    return (int(first[1]), int(last[1])) if first and last else None


def _is_own_command(call: ToolCall, note: str) -> bool:
    found = _RE_RUN.fullmatch(note)
    if not found:
        return False
    command = found["command"]
    own = [call.input.get("command"), call.input.get("cmd")]
    return any(isinstance(c, str) and c.strip() == command for c in own) and only_reads(command)


def only_reads(command: str) -> bool:
    """Return whether a command is one plain call of a program that only reads."""
    unquoted = re.sub(r"'[^']*'", "''", command)
    words = _words(command)
    if not words or _SHELL_SYNTAX.search(re.sub(r'"[^"$`\\]*"', '""', unquoted)):
        return False
    if words[1:] == ["--version"]:
        return True
    more = _MORE_THAN_READING.get(words[0])
    if more is None or any(more.fullmatch(word) for word in words[1:]):
        return False
    if words[0] == "sed":
        return len(words) > 2 and re.fullmatch(r"\d+(,\d+)?p", words[2]) is not None  # noqa: PLR2004
    return words[0] != "git" or (len(words) > 1 and words[1] in _GIT_READERS)


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return []
