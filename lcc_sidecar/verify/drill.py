"""The drill: follow every pointer of a compaction as an agent would, and compare bytes.

It plays the reader of the compacted transcript: open the file that a pointer names, look up the
result it names, run the command it names, recall the id it names. It shares no code with what made
the pointers (DESIGN section 5), and opens files the plain way, because that is what an agent does.
"""

import os
import re
import shlex
import stat
import subprocess
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from lcc_sidecar.limits import DRILL_COMMAND_SECONDS, DRILL_OUTPUT_MAX_BYTES
from lcc_sidecar.transcript.model import ToolCall, ToolResult, Transcript
from lcc_sidecar.verify.recalls import split
from lcc_sidecar.verify.recoverable import only_reads
from lcc_sidecar.verify.unchanged import changed_results, changed_words

_FILE = re.compile(
    r"\[removed: re-read (.+?)(?: \(lines (\d+)-(\d+)\))? to recover"
    r"(?:; content verified on disk at compaction time)?\]"
)
_COMMAND = re.compile(r"\[removed: re-run `([^`]+)` to recover\]")
_RESULT = re.compile(r"\[(?:identical output kept at|output = lines (\d+)-(\d+) of) (\S+)\]")
_STASH = re.compile(
    r"\[removed: \d+ tokens \(\d+ lines?\) of [^\];]+ output; "
    r"recall ([0-9a-f]{24}) to get it back\]"
)
_ELIDED = re.compile(
    r"\[elided \d+ chars of [^\]]+ output — recall (seq=\d{1,18}|[0-9a-f]{24})\](\[[^\]]*\])?"
)
_NUMBER = re.compile(r" *\d+[\t→]")
_RUN_HEADER = re.compile(
    r"(?:(?:Command|Chunk ID|Wall time|Original token count|Process)\b.*\n)+Output:\n"
)
Recall = Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class Drilled:
    """How many pointers were followed and what each kind gave; `misses` says where it failed."""

    followed: Counter[str]
    misses: tuple[str, ...]


def drill(
    original: Transcript,
    compacted: Transcript,
    workspace_root: str | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    recall: Recall | None = None,
) -> Drilled:
    """Follow every pointer in `compacted` and compare what it gives with `original`.

    `workspace_root` is where a command runs whose call does not say where it ran. `recall` answers
    an id out of a note, or `seq=<n>`, with the text that the stash has; without it such a
    pointer leads nowhere. A pointer that names two ways back has to lead back by both. A changed
    result whose new text is no pointer is a miss, and so is any other difference between the two.
    """
    misses = changed_words(original, compacted)
    if misses:
        return Drilled(Counter(), tuple(misses))
    kept = _Kept(compacted)
    calls = {call.id: call for _, call in original.calls()}
    followed: Counter[str] = Counter()
    changed = list(changed_results(original, compacted))
    for done, (old, new) in enumerate(changed):
        if progress:
            progress("following pointers", done, len(changed))
        pointer, recall_id = split(new.text)
        kind, had = _follow(pointer, kept, calls.get(old.id), workspace_root, recall)
        followed[kind] += 1
        leads_back = had is not None and _same(kind, old, had)
        if recall_id is not None:
            leads_back &= recall is not None and recall(recall_id) == old.text
        if not leads_back:
            misses.append(f"result {old.id}: {new.text[:200]!r} does not lead back to it")
    return Drilled(followed, tuple(misses))


class _Kept:
    """The results of the compacted transcript, to look into as its reader would."""

    def __init__(self, compacted: Transcript) -> None:
        self._texts = {result.id: result.text for _, result in compacted.results()}
        self._rows: dict[str, list[str]] = {}  # many pointers may lead to one result

    def lines(self, result_id: str, first: str | None, last: str | None) -> str | None:
        text = self._texts.get(result_id)
        if text is None or first is None or last is None:
            return text
        if result_id not in self._rows:
            self._rows[result_id] = text.split("\n")
        return _between(self._rows[result_id], first, last)


def _follow(
    note: str, kept: "_Kept", call: ToolCall | None, root: str | None, recall: Recall | None
) -> tuple[str, str | None]:
    """Return what kind of pointer a note is, and the text it leads to."""
    if found := _FILE.fullmatch(note):
        return "file", _read(found[1], found[2], found[3])
    if found := _RESULT.fullmatch(note):
        return "result", kept.lines(found[3], found[1], found[2])
    if found := _COMMAND.fullmatch(note):
        return "command", _run(found[1], _folder(call) or root)
    if found := _STASH.fullmatch(note) or _ELIDED.fullmatch(note):
        return "recall", recall(found[1]) if recall else None
    return "no pointer", None


def _read(path: str, first: str | None, last: str | None) -> str | None:
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # a FIFO would keep us waiting
            return None
        with open(path, encoding="utf-8", newline="") as file:
            text = file.read()
            return _between(text.split("\n"), first, last) if first and last else text
    except (OSError, ValueError):
        return None


def _between(rows: list[str], first: str, last: str) -> str | None:
    return "\n".join(rows[int(first) - 1 : int(last)]) if int(last) <= len(rows) else None


def _folder(call: ToolCall | None) -> str | None:
    folders = (call.input.get("workdir"), call.input.get("cwd"), call.cwd) if call else ()
    return next((f for f in folders if isinstance(f, str) and os.path.isabs(f)), None)


def _run(command: str, cwd: str | None) -> str | None:
    if not only_reads(command):  # the file that names it may come from anywhere
        return None
    try:
        with subprocess.Popen(
            shlex.split(command),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as process:
            limit = threading.Timer(DRILL_COMMAND_SECONDS, process.kill)
            limit.start()
            try:
                output = process.stdout.read(DRILL_OUTPUT_MAX_BYTES) if process.stdout else b""
            finally:
                limit.cancel()
                process.kill()
    except (OSError, ValueError):
        return None
    return output.decode("utf-8", "replace")


def _same(kind: str, old: ToolResult, had: str) -> bool:
    """Compare as the reader of the pointer would: the tool's own additions are no content."""
    if kind == "recall":
        return old.text == had
    if kind == "result":
        return old.text == had or _without_header(old.text) == _without_header(had)
    # A shell shows a file as it is; a read tool puts numbers before its lines.
    wanted = (_without_header(old.text), _without_numbers(old.text))
    if kind == "command":
        return had.strip() == wanted[0].strip()
    return any(had in (text, text + "\n") or text == had + "\n" for text in wanted)


def _without_numbers(text: str) -> str:
    rows = text.split("\n")
    heads = [_NUMBER.match(row) for row in rows]
    if not all(heads):
        return text
    return "\n".join(row[head.end() :] for row, head in zip(rows, heads, strict=True) if head)


def _without_header(text: str) -> str:
    found = _RUN_HEADER.match(text)
    return text[found.end() :] if found else text
