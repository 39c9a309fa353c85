"""Which rows of a session file the conversation leads through, where it was rewound or resumed.

A person who goes back and types something else leaves the abandoned rows in the file; some versions
write the whole conversation again on resume and go on from the copy. Both show in `parentUuid`: the
conversation is the chain from its newest row backwards. Links are trusted only as far as they reach
(FR-058): above a row whose parent was never written, file order counts.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from lcc_sidecar.transcript.rows import Row


def branch(
    rows: list[Row | None], start: int, live: Iterable[tuple[int, Row]]
) -> Iterator[tuple[int, Row]]:
    """Yield those of the `live` rows, all after line `start`, that the newest one leads back to.

    Rows of one response, and results of its calls, belong together though only one of them is on
    the chain: parallel calls hang side by side.
    """
    candidates = list(live)
    if not candidates:
        return
    chain, reached = _chain(rows, start, candidates[-1][1])
    messages = {row.message.id for _, row in candidates if row.uuid in chain and row.message}
    messages.discard(None)
    calls: set[str] = set()
    for number, row in candidates:
        content = row.message.content if row.message else None
        is_part = row.message is not None and row.message.id in messages
        answers = not calls.isdisjoint(_ids(content, "tool_result", "tool_use_id"))
        if row.uuid is None or number < reached or row.uuid in chain or is_part or answers:
            calls.update(_ids(content, "tool_use", "id"))
            yield number, row


def _chain(rows: list[Row | None], start: int, newest: Row) -> tuple[set[str], int]:
    """Return the uuids from the newest row backwards, and the line where links stop reaching."""
    places = {row.uuid: n for n, row in enumerate(rows) if n >= start and row and row.uuid}
    chain: set[str] = set()
    if not any(row.parent_uuid in places for row in rows[start:] if row):
        return chain, len(rows)  # rows that are not linked at all stand in file order
    row: Row | None = newest
    number = len(rows)
    while row is not None and row.uuid is not None and row.uuid not in chain:
        chain.add(row.uuid)
        number = places[row.uuid]
        if row.parent_uuid is None:
            return chain, start  # a first row: what stands before it was left behind
        if row.parent_uuid not in places:
            return chain, number
        row = rows[places[row.parent_uuid]]
    return chain, number


def newest_copies(live: Iterable[tuple[int, Row]]) -> list[tuple[int, Row]]:
    """Leave out rows that stand again later with a new uuid but the same time and content.

    Some versions write the whole conversation again when a session is resumed, and go on from the
    copy; the first writing is no longer part of the conversation.
    """
    rows = list(live)
    newest = {_identity(row): number for number, row in rows}
    return [(number, row) for number, row in rows if newest[_identity(row)] == number]


def _identity(row: Row) -> tuple[Any, ...]:
    content = row.message.content if row.message else None
    if row.timestamp is None:
        return (row.uuid, id(row))
    told = content if isinstance(content, str) else tuple(map(_block_identity, _dicts(content)))
    return (row.timestamp, row.type, row.message and row.message.id, told)


def _block_identity(block: dict[str, Any]) -> tuple[Any, ...]:
    keys = ("type", "id", "tool_use_id", "text", "thinking")
    return tuple(value for key in keys if isinstance(value := block.get(key), str))


def _ids(content: Any, kind: str, key: str) -> Iterator[str]:
    for block in _dicts(content):
        if block.get("type") == kind and isinstance(block.get(key), str):
            yield block[key]


def _dicts(content: Any) -> Iterator[dict[str, Any]]:
    if isinstance(content, list):
        yield from (block for block in content if isinstance(block, dict))
