"""A Claude Code session file: the conversation that is live in it, and the file with notes put in.

What counts is what the client would send: the rows after the last compaction boundary, and the
segment before it that the boundary keeps (client contract, section 10). Subagents' rows, rows that
only the client reads (`isMeta`) and copies of a row with the same uuid are not part of it. Rows of
one API response, and a run of user rows, are one message here.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from lcc_sidecar.errors import TranscriptError
from lcc_sidecar.transcript.branch import branch, newest_copies
from lcc_sidecar.transcript.messages_json import result_text
from lcc_sidecar.transcript.model import Message, ToolCall, ToolResult, Transcript, digest
from lcc_sidecar.transcript.relink import without_lines
from lcc_sidecar.transcript.rows import NOT_A_ROW, Row, decode_row, is_nothing
from lcc_sidecar.transcript.splice import with_notes, without_blocks


@dataclass(frozen=True)
class SessionFile:
    """A session file in memory: its lines as they are, and the live conversation in them.

    `damaged` counts the lines that could not be read; they are passed over and kept. A call or
    result that is taken out goes from every row since the first live one: an abandoned writing of
    it, left behind, would be live then.
    """

    lines: list[bytes]
    transcript: Transcript
    damaged: int
    result_lines: Mapping[str, list[int]] = field(repr=False)
    live: tuple[int, ...] = field(repr=False)  # the line numbers of the live rows
    boundary: int  # the line of the last boundary, or -1

    @property
    def session_id(self) -> str | None:
        """Return the id of the session: a fork's older rows still carry another's (FR-056)."""
        rows = (decode_row(line) for line in reversed(self.lines))
        return next((row.session_id for row in rows if row and row.session_id), None)

    def own(self, session_id: str | None) -> Transcript:
        """Return what of the live conversation was not copied from another session (FR-056)."""
        mark = f'"sessionId":"{session_id}"'.encode()
        if all(mark in self.lines[number] for number in self.live):
            return self.transcript
        rows = (decode_row(self.lines[number]) for number in self.live)
        own = (row for row in rows if row and row.session_id in (None, session_id))
        return Transcript(tuple(_messages(own)), joined_roles=_JOINED)

    def render(self, notes: Mapping[str, str], dropped: Collection[str] = ()) -> bytes:
        """Return the file with these results replaced and these calls and results taken out.

        A row that loses all of its content goes, and what followed it follows the row before it;
        all else stays byte for byte.
        """
        lines = list(self.lines)
        for number in _lines_of(notes, self.result_lines):
            lines[number] = with_notes(lines[number], notes)
        gone = set()
        written = _written_lines(lines, min(self.live, default=0)) if dropped else {}
        for number in _lines_of(dropped, written):
            left = without_blocks(lines[number], dropped)
            if left is None:
                gone.add(number)
            else:
                lines[number] = left
        since = [number for number in self.live if number > self.boundary]
        return b"\n".join(without_lines(lines, gone, since))


def _lines_of(ids: Iterable[str], places: Mapping[str, list[int]]) -> set[int]:
    return {number for key in ids for number in places.get(key, ())}


_IDS = {"tool_use": "id", "tool_result": "tool_use_id"}
_JOINED = frozenset({"user"})
_SESSION_TYPES = ("summary", "file-history-snapshot")  # rows that may begin a file, without ids


def is_session_row(row: Row) -> bool:
    return bool(row.uuid or row.message or row.session_id or row.type in _SESSION_TYPES)


def parse_session(data: bytes) -> SessionFile:
    """Return the live conversation of a session file's bytes.

    A half-written last line counts as damaged (FR-046). Raise TranscriptError if not one line of
    the file is a row.
    """
    lines = data.split(b"\n")
    rows = [decode_row(line) for line in lines]
    if not any(row is not None and row is not NOT_A_ROW for row in rows):
        raise TranscriptError("no line of the file is a row of a Claude Code session")
    live = _live(rows)
    return SessionFile(
        lines=lines,
        transcript=Transcript(tuple(_messages(row for _, row in live)), joined_roles=_JOINED),
        damaged=sum(row is None for row in rows),
        result_lines=_result_lines(rows, live),
        live=tuple(number for number, _ in live),
        boundary=max((n for n, row in enumerate(rows) if row and _is_boundary(row)), default=-1),
    )


def _live(rows: list[Row | None]) -> list[tuple[int, Row]]:
    """Return the rows of the live conversation with their line numbers, in the order sent."""
    main = [row for row in rows if row is not None and _is_spoken(row) and not row.is_sidechain]
    live: dict[Any, tuple[int, Row]] = {}
    kept: list[tuple[int, Row]] = []
    anchor: str | None = None
    start = 0
    for number, row in enumerate(rows):
        if row is None:
            continue
        if _is_boundary(row):
            anchor, kept = _kept_segment(rows, row, live.values())
            live, start = {}, number
        elif _is_spoken(row) and (not row.is_sidechain or not main):  # an agent's own file is all
            live.setdefault(row.uuid or number, (number, row))  # a copy adds nothing (FR-053)
    told = newest_copies(branch(rows, start, live.values()))
    place = next((i + 1 for i, (_, row) in enumerate(told) if anchor and row.uuid == anchor), 0)
    return told[:place] + kept + told[place:]


def _is_spoken(row: Row) -> bool:
    return row.type in ("user", "assistant") and row.message is not None and not row.is_meta


def _is_boundary(row: Row) -> bool:
    is_one = row.type == "system" and row.subtype == "compact_boundary"
    return is_one and not row.is_sidechain  # a subagent's own compaction is its own


def _kept_segment(
    rows: list[Row | None], boundary: Row, live: Iterable[tuple[int, Row]]
) -> tuple[str | None, list[tuple[int, Row]]]:
    """Return the rows from head to tail that a boundary of the client's own summary keeps.

    The first value is the uuid of the row that they follow.
    """
    segment = boundary.compact_metadata and boundary.compact_metadata.preserved_segment
    if not segment:
        return None, []
    places = {row.uuid: number for number, row in enumerate(rows) if row and row.uuid}
    head = places.get(segment.head_uuid or "", len(rows))
    tail = places.get(segment.tail_uuid or "", len(rows))
    return segment.anchor_uuid, [(n, row) for n, row in live if head <= n <= tail]


def _result_lines(rows: list[Row | None], live: list[tuple[int, Row]]) -> dict[str, list[int]]:
    """Return where each live result stands: its row's line and the lines of that row's copies."""
    copies: dict[str, list[int]] = {}
    first = min((number for number, _ in live), default=0)
    for number, row in enumerate(rows):
        if row is not None and row.uuid and number >= first:
            copies.setdefault(row.uuid, []).append(number)
    found: dict[str, list[int]] = {}
    for number, row in live:
        for block in _blocks(row):
            if block.get("type") == "tool_result":
                places = copies.get(row.uuid, [number]) if row.uuid else [number]
                found.setdefault(str(block.get("tool_use_id")), []).extend(places)
    return found


def _written_lines(lines: list[bytes], first: int) -> dict[str, list[int]]:
    """Return every line from `first` on that holds a call or its result, by its id."""
    found: dict[str, list[int]] = {}
    for number, line in enumerate(lines[first:], first):
        row = decode_row(line)
        for block in _blocks(row) if row is not None and _is_spoken(row) else ():
            key = _IDS.get(str(block.get("type")))
            if key:
                found.setdefault(str(block.get(key)), []).append(number)
    return found


class _Builder:
    """A message in the making."""

    def __init__(self, role: str, message_id: str | None) -> None:
        self.role = role
        self.message_id = message_id
        self.texts: list[str] = []
        self.calls: list[ToolCall] = []
        self.results: list[ToolResult] = []
        self.media: list[str] = []

    def take(self, row: Row) -> None:
        content = row.message.content if row.message else None
        if isinstance(content, str):
            self.texts.append(content)
        for block in _blocks(row):
            kind = block.get("type")
            if kind == "text" and isinstance(block.get("text"), str):
                self.texts.append(block["text"])
            elif kind == "tool_use" and isinstance(block.get("id"), str):
                self.calls.append(_call(block, row.cwd))
            elif kind == "tool_result" and isinstance(block.get("tool_use_id"), str):
                self.results.append(_result(block))
            else:
                self.media.append(digest(block))

    def message(self) -> Message:
        return Message(
            role=self.role,
            text="\n".join(text for text in self.texts if text),
            calls=tuple(self.calls),
            results=tuple(self.results),
            media=tuple(self.media),
        )


def _messages(rows: Iterable[Row]) -> Iterator[Message]:
    """Merge rows into API messages; a row that holds nothing is no part of one.

    Calls of one response may run while it still streams, so its later rows can stand after results
    of its earlier calls; they are still that response.
    """
    builders: list[_Builder] = []
    for row in rows:
        if not _holds_something(row):
            continue
        builder = _open_builder(builders, row)
        if builder is None:
            message_id = row.message.id if row.message else None
            builder = _Builder(str(row.type), message_id)
            builders.append(builder)
        builder.take(row)
    return (builder.message() for builder in builders)


def _open_builder(builders: list[_Builder], row: Row) -> _Builder | None:
    """Return the message that `row` goes on with, if it does."""
    if not builders:
        return None
    last = builders[-1]
    if row.type == "user":
        return last if last.role == "user" else None
    message_id = row.message.id if row.message else None
    if message_id is None:
        return None
    if last.role == "user" and not last.texts and len(builders) > 1:
        last = builders[-2]
    return last if last.role == "assistant" and last.message_id == message_id else None


def _holds_something(row: Row) -> bool:
    content = row.message.content if row.message else None
    if not isinstance(content, list):
        return bool(content)
    return not all(map(is_nothing, content))


def _blocks(row: Row) -> Iterator[dict[str, Any]]:
    content = row.message.content if row.message else None
    if isinstance(content, list):
        yield from (block for block in content if isinstance(block, dict))


def _call(block: dict[str, Any], cwd: str | None) -> ToolCall:
    arguments = block.get("input")
    return ToolCall(
        id=block["id"],
        tool=str(block.get("name") or "tool"),
        input=arguments if isinstance(arguments, dict) else {},
        cwd=cwd,
    )


def _result(block: dict[str, Any]) -> ToolResult:
    try:
        text, media = result_text(block.get("content"), "content")
    except TranscriptError:  # content of a kind that is not known is no text
        text, media = "", (digest(block.get("content")),)
    return ToolResult(block["tool_use_id"], text, block.get("is_error") is True, media)
