"""What the compactions of a session saved and cost, as its own requests were billed.

A compaction makes every later request smaller by what it took out. It is not free: the shortened
conversation is no longer in the provider's cache, and is written there once again. A summary also
costs a request of its own, which the session file does not hold: it is estimated. Pure: lines in,
figures out.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from lcc_sidecar.limits import (
    CACHE_READ_WORTH,
    CACHE_WRITE_HOUR_WORTH,
    CACHE_WRITE_WORTH,
    OUTPUT_WORTH,
    USUAL_CHARS_PER_TOKEN,
)
from lcc_sidecar.transcript.steps import Usage


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
        """Return the tokens that the requests since did not have to send again."""
        return (self.before - self.after) * self.requests

    @property
    def net(self) -> float:
        """Return what is left of it when the cache and the summary are paid."""
        saved = self.not_resent * CACHE_READ_WORTH
        return saved - self.rewrite_worth - self.summary_worth

    @property
    def summary_worth(self) -> float:
        return self.summary_read * CACHE_READ_WORTH + self.summary_written * OUTPUT_WORTH


class _Written(msgspec.Struct, frozen=True):
    ephemeral_1h_input_tokens: int | None = None


class _Usage(Usage, frozen=True):
    cache_creation: _Written | None = None

    @property
    def fresh(self) -> int:
        return (self.input_tokens or 0) + (self.cache_creation_input_tokens or 0)

    @property
    def fresh_worth(self) -> float:
        """Return what it costs beyond reading the same from the cache, in tokens of fresh input."""
        hour = (self.cache_creation and self.cache_creation.ephemeral_1h_input_tokens) or 0
        usual = (self.cache_creation_input_tokens or 0) - hour
        worth = hour * CACHE_WRITE_HOUR_WORTH + usual * CACHE_WRITE_WORTH + (self.input_tokens or 0)
        return worth - self.fresh * CACHE_READ_WORTH


class _Inner(msgspec.Struct, frozen=True):
    id: str | None = None
    content: Any = None
    usage: _Usage | None = None


class _Row(msgspec.Struct, frozen=True, rename="camel"):
    type: str | None = None
    subtype: str | None = None
    is_sidechain: bool | None = None
    is_compact_summary: bool | None = None
    message: _Inner | None = None


_decode = msgspec.json.Decoder(_Row).decode


def savings(lines: Iterable[bytes]) -> list[Saving]:
    """Return what each compaction saved so far; one that no request followed says nothing yet."""
    found: list[Saving] = []
    before: int | None = None
    for summary, requests in _epochs(lines):
        if before is not None and requests:
            found.append(_saving(before, requests, summary))
        before = requests[-1].billed if requests else before
    return found


def _saving(before: int, requests: list[_Usage], summary: str) -> Saving:
    first = requests[0]
    return Saving(
        before=before,
        after=first.billed,
        requests=len(requests),
        rewritten=first.fresh,
        rewrite_worth=first.fresh_worth,
        summary_read=before if summary else 0,
        summary_written=round(len(summary) / USUAL_CHARS_PER_TOKEN),
    )


def _epochs(lines: Iterable[bytes]) -> Iterator[tuple[str, list[_Usage]]]:
    """Yield (text of the summary it begins with, requests) of each stretch between compactions."""
    summary = ""
    requests: dict[str, _Usage] = {}
    seen: set[str] = set()
    for row in _main(lines):
        if row.type == "system":
            yield summary, list(requests.values())
            summary, requests = "", {}
        elif row.is_compact_summary and row.message:
            summary = _text(row.message.content)
        elif (request := _request(row)) and request[0] not in seen:
            # one response is several rows, and may be written again after a compaction
            requests.update([request])
            seen.add(request[0])
    yield summary, list(requests.values())


def _request(row: _Row) -> tuple[str, _Usage] | None:
    """Return a response's id and what its request was billed, if the row says it."""
    inner = row.message if row.type == "assistant" else None
    if inner is None or inner.id is None or inner.usage is None or not inner.usage.billed:
        return None
    return inner.id, inner.usage


def _main(lines: Iterable[bytes]) -> Iterator[_Row]:
    """Yield the rows of the main line that say something here; a damaged line says nothing."""
    for line in lines:
        try:
            row = _decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            continue
        is_boundary = row.type == "system" and row.subtype == "compact_boundary"
        if not row.is_sidechain and (is_boundary or row.type in ("user", "assistant")):
            yield row


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else ()
    return "".join(str(b.get("text") or "") for b in blocks if isinstance(b, dict))
