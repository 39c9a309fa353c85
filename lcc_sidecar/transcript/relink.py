"""Take rows out of a session file so that the chain of the rest still reaches back.

A row names the row it follows; what follows a row that goes, follows the one before it then. Where
that goes as well, it is the live row before it in the file: parallel calls hang side by side, and
the chain may have led through one that goes, past one that stays. Results hang on a call of theirs
that stays, if one does. A boundary names the rows that it
keeps by the first and the last of them.
"""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from lcc_sidecar.transcript.rows import decode_object
from lcc_sidecar.transcript.splice import with_fields

_LINKS = ("parentUuid", "logicalParentUuid")
_NAMES_A_ROW = (b'"parentUuid"', b'"logicalParentUuid"', b'"preservedSegment"')


def without_lines(lines: list[bytes], gone: Collection[int], live: Collection[int]) -> list[bytes]:
    """Return the lines without those numbered in `gone`, which are rows; the rest re-linked.

    `live` are the numbers of the live rows that stand after the last boundary.
    """
    if not gone:
        return lines
    links = _Links(lines, gone, live)
    return [_relinked(line, links) for n, line in enumerate(lines) if n not in gone]


class _Links:
    """For each row that goes: what it follows, and which rows stand around it in the file."""

    def __init__(self, lines: list[bytes], gone: Collection[int], live: Collection[int]) -> None:
        rows = {number: decode_object(lines[number]) for number in gone}
        self._parents: dict[str, Any] = {
            row["uuid"]: row.get("parentUuid")
            for row in rows.values()
            if isinstance(row.get("uuid"), str)
        }
        self._places = {row.get("uuid"): number for number, row in rows.items()}
        self._lines = lines
        self._gone = gone
        self._staying = sorted(set(live).difference(gone))
        self._is_live = set(live)
        self._callers = dict(_calls(lines[number] for number in self._staying))

    def is_gone(self, uuid: Any) -> bool:
        return isinstance(uuid, str) and uuid in self._parents

    def before(self, uuid: Any) -> Any:
        """Return the row to follow in the place of one that goes; None at the start."""
        passed = set()
        while self.is_gone(uuid) and uuid not in passed:
            passed.add(uuid)
            number, uuid = self._places[uuid], self._parents[uuid]
            if self.is_gone(uuid) and number in self._is_live:
                at = bisect_left(self._staying, number) - 1
                if at >= 0:
                    return decode_object(self._lines[self._staying[at]]).get("uuid")
        return None if uuid in passed else uuid

    def caller(self, row: Mapping[str, Any]) -> str | None:
        """Return the row with the call that a row of results answers, the last of them."""
        ids = [block.get("tool_use_id") for block in _blocks(row, "tool_result")]
        found = [self._callers[i] for i in ids if isinstance(i, str) and i in self._callers]
        return found[-1] if found else None

    def near(self, uuid: str, step: int) -> str | None:
        """Return the next row in the file that stays, downwards (1) or upwards (-1)."""
        number = self._places[uuid] + step
        while 0 <= number < len(self._lines):
            row = decode_object(self._lines[number]) if number not in self._gone else None
            found = row.get("uuid") if isinstance(row, dict) else None
            if isinstance(found, str):
                return found
            number += step
        return None


def _relinked(line: bytes, links: _Links) -> bytes:
    if not any(name in line for name in _NAMES_A_ROW):
        return line
    row = decode_object(line)
    if not isinstance(row, dict):
        return line
    values: dict[str, Any] = {
        key: links.before(row[key]) for key in _LINKS if links.is_gone(row.get(key))
    }
    if "parentUuid" in values:
        values["parentUuid"] = links.caller(row) or values["parentUuid"]
    metadata = row.get("compactMetadata")
    if isinstance(metadata, dict) and isinstance(metadata.get("preservedSegment"), dict):
        segment = _segment(metadata["preservedSegment"], links)
        if segment != metadata["preservedSegment"]:
            values["compactMetadata"] = metadata | {"preservedSegment": segment}
    return with_fields(line, values) if values else line


def _calls(lines: Iterable[bytes]) -> Iterator[tuple[str, str]]:
    """Yield the id of each call in these lines, with the uuid of its row."""
    for line in lines:
        row = decode_object(line) if b'"tool_use"' in line else None
        uuid = row.get("uuid") if isinstance(row, dict) else None
        if isinstance(uuid, str):
            calls = _blocks(row, "tool_use")
            yield from ((b["id"], uuid) for b in calls if isinstance(b.get("id"), str))


def _blocks(row: Any, kind: str) -> Iterator[dict[str, Any]]:
    message = row.get("message") if isinstance(row, dict) else None
    content = message.get("content") if isinstance(message, dict) else None
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict) and block.get("type") == kind:
            yield block


def _segment(segment: Mapping[str, Any], links: _Links) -> dict[str, Any]:
    """Return the segment with its ends on rows that stay."""
    moved = {
        "headUuid": lambda uuid: links.near(uuid, 1),
        "tailUuid": lambda uuid: links.near(uuid, -1),
        "anchorUuid": links.before,
    }
    return {
        key: moved[key](uuid) if key in moved and links.is_gone(uuid) else uuid
        for key, uuid in segment.items()
    }
