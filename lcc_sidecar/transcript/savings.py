"""What the compactions of a session saved and cost, as its own requests were billed.

A compaction makes every later request smaller by what it took out. It is not free: the shortened
conversation is no longer in the provider's cache, and is written there once again. A summary also
costs a request of its own, which the session file does not hold: it is estimated. Pure: lines in,
figures out.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from lcc_sidecar.limits import (
    CACHE_READ_WORTH,
    CACHE_WRITE_HOUR_WORTH,
    CACHE_WRITE_WORTH,
    OUTPUT_WORTH,
    USUAL_CHARS_PER_TOKEN,
)
from lcc_sidecar.transcript.billed import Usage, read_usage


@dataclass(frozen=True, slots=True)
class Saving:
    """One compaction. All in tokens; `net` in what so many tokens of fresh input would cost.

    `before` and `after` are the requests next to it, `requests` how many followed until the next
    compaction. `rewritten` was written into the cache by the first of them. `summary_read` and
    `summary_written` are what a built-in summary's own request read and wrote, as far as it can be
    told; 0 where there was none.
    """

    before: int
    after: int
    requests: int
    rewritten: int
    rewrite_worth: float
    summary_read: int = 0
    summary_written: int = 0

    @property
    def not_resent(self) -> int:
        """Return the tokens that the requests since did not have to send again.

        None, where the first of them was larger all the same: a person's turn can bring that much.
        """
        return max(0, self.before - self.after) * self.requests

    @property
    def net(self) -> float:
        """Return what is left of it when the cache and the summary are paid."""
        saved = self.not_resent * CACHE_READ_WORTH
        return saved - self.rewrite_worth - self.summary_worth

    @property
    def summary_worth(self) -> float:
        return self.summary_read * CACHE_READ_WORTH + self.summary_written * OUTPUT_WORTH


class _Inner(msgspec.Struct, frozen=True):
    id: str | None = None
    content: Any = None
    usage: Any = None


class _Row(msgspec.Struct, frozen=True, rename="camel"):
    type: str | None = None
    subtype: str | None = None
    session_id: str | None = None
    uuid: str | None = None
    parent_uuid: str | None = None
    is_sidechain: bool | None = None
    is_compact_summary: bool | None = None
    message: _Inner | None = None
    compact_metadata: Any = None

    @property
    def is_boundary(self) -> bool:
        return self.type == "system" and self.subtype == "compact_boundary"

    def kept_uuids(self) -> Iterator[str]:
        """Yield the rows before a boundary that stand behind it, as it names them: first, last."""
        metadata = self.compact_metadata
        kept = metadata.get("preservedSegment") if isinstance(metadata, dict) else None
        yield from (
            uuid
            for uuid in (kept.values() if isinstance(kept, dict) else ())
            if isinstance(uuid, str)
        )


@dataclass(slots=True)
class _Stretch:
    """What stands between two compactions; `before` was billed last before the first of them."""

    before: int | None = None
    summary: str = ""
    requests: list[Usage] = field(default_factory=list)


_decode = msgspec.json.Decoder(_Row).decode


def savings(lines: Iterable[bytes], session_id: str | None = None) -> list[Saving]:
    """Return what each compaction saved so far; one that no request followed says nothing yet.

    Rows that were copied from another session than `session_id` were billed, and compacted, there
    (FR-056).
    """
    return [
        _saving(stretch.before, stretch)
        for stretch in _stretches(lines, session_id)
        if stretch.before is not None and stretch.requests
    ]


def _saving(before: int, stretch: _Stretch) -> Saving:
    first = stretch.requests[0]
    return Saving(
        before=before,
        after=first.billed,
        requests=len(stretch.requests),
        rewritten=first.fresh,
        rewrite_worth=_fresh_worth(first),
        summary_read=before if stretch.summary else 0,
        summary_written=round(len(stretch.summary) / USUAL_CHARS_PER_TOKEN),
    )


def _fresh_worth(usage: Usage) -> float:
    """Return what it costs beyond reading the same from the cache, in tokens of fresh input."""
    hour = usage.written_for_an_hour
    worth = hour * CACHE_WRITE_HOUR_WORTH + (usage.written - hour) * CACHE_WRITE_WORTH
    return worth + (usage.input_tokens or 0) - usage.fresh * CACHE_READ_WORTH


def _stretches(lines: Iterable[bytes], session_id: str | None) -> list[_Stretch]:
    """Return the stretches of a session; a row is in that of the row which it follows.

    Where a person went back to before a compaction, what they do then owes nothing to it.
    """
    stretches = [_Stretch()]
    places: dict[str, int] = {}  # of rows, by uuid
    seen: set[str] = set()
    newest: int | None = None
    for row in _main(lines, session_id):
        place = places.get(row.parent_uuid or "", len(stretches) - 1)
        if row.is_boundary:
            place = len(stretches)
            stretches.append(_Stretch(before=newest))
            places.update(dict.fromkeys(row.kept_uuids(), place))
        if row.uuid:
            places[row.uuid] = place
        if row.is_compact_summary and row.message:
            stretches[place].summary = _text(row.message.content)
        elif (request := _request(row)) and request[0] not in seen:
            # one response is several rows, and may be written again after a compaction
            seen.add(request[0])
            stretches[place].requests.append(request[1])
            newest = request[1].billed
    return stretches


def _request(row: _Row) -> tuple[str, Usage] | None:
    """Return a response's id and what its request was billed, if the row says it."""
    inner = row.message if row.type == "assistant" else None
    usage = read_usage(inner.usage) if inner else None
    return (inner.id, usage) if inner and inner.id is not None and usage else None


def _main(lines: Iterable[bytes], session_id: str | None) -> Iterator[_Row]:
    """Yield the session's own rows of the main line that are not damaged."""
    for line in lines:
        try:
            row = _decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            continue
        if session_id is not None and row.session_id not in (None, session_id):
            continue
        if not row.is_sidechain:
            yield row


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else ()
    return "".join(str(b.get("text") or "") for b in blocks if isinstance(b, dict))
