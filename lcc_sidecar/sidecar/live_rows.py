"""The rows of a live compaction as the mod sends them: checked, paired, and as a transcript.

A row is one entry of the client's own list, which is finer than an API message: one response may be
several rows. `handle` is the row's uuid in the session file (client contract, section 14).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec

from lcc_sidecar.errors import LiveCompactionError
from lcc_sidecar.transcript.model import Message, ToolCall, ToolResult, Transcript


class Use(msgspec.Struct, frozen=True):
    id: str
    tool: str
    input: dict[str, Any] = {}


class Result(msgspec.Struct, frozen=True):
    id: str
    text: str = ""
    error: bool = False


class LiveRow(msgspec.Struct, frozen=True):
    role: str
    text: str = ""
    uses: tuple[Use, ...] = ()
    results: tuple[Result, ...] = ()
    handle: str | None = None

    @property
    def is_kept(self) -> bool:
        """Whether the mod hands the client's own object back: all that hangs on it stays."""
        return self.role == "user" and not self.results


MessageId = Callable[[LiveRow], str | None]


def read_rows(value: Any) -> tuple[LiveRow, ...]:
    """Return the rows of a request. Raise LiveCompactionError if they are none."""
    try:
        return msgspec.convert(value, tuple[LiveRow, ...])
    except msgspec.ValidationError:
        raise LiveCompactionError("bad_rows", "the client's rows were not understood") from None


def check_rows(rows: Sequence[LiveRow]) -> None:
    """Raise LiveCompactionError if the rows are not fit to be rebuilt.

    Fit means: the first row is the user's, no id is used twice, and each result stands in the user
    rows right after the assistant rows that hold its call (FR-084, FR-087, FR-109).
    """
    if not rows or rows[0].role != "user":
        raise LiveCompactionError("bad_rows", "the conversation does not begin with a user row")
    if any(row.role not in ("user", "assistant") for row in rows):
        raise LiveCompactionError("bad_rows", "a row has a role that is not known")
    _check_pairs(rows)


def runs(rows: Sequence[LiveRow]) -> Iterator[range]:
    """Yield the runs of rows with one role, in order, as ranges of row indices."""
    start = 0
    for index in range(1, len(rows) + 1):
        if index == len(rows) or rows[index].role != rows[start].role:
            yield range(start, index)
            start = index


def newest_group(rows: Sequence[LiveRow], message_id: MessageId) -> tuple[range, range] | None:
    """Return the assistant rows and the user rows of a tool loop that is still open.

    That is: the newest response holds calls, and nothing but user rows follows. None if the model
    has spoken its last word, so that a turn is over. The provider wants that response back whole,
    with its thinking (client contract, section 13).
    """
    all_runs = list(runs(rows))
    if len(all_runs) < 2 or rows[-1].role != "user":  # noqa: PLR2004 - a group is two runs
        return None
    spoken, answered = all_runs[-2:]
    newest = message_id(rows[spoken[-1]])
    while newest and message_id(rows[spoken.start]) not in (newest, None):
        spoken = spoken[1:]
    return (spoken, answered) if any(rows[index].uses for index in spoken) else None


def to_transcript(
    rows: Sequence[LiveRow], message_id: MessageId, cwd: str | None = None
) -> Transcript:
    """Return the rows as API messages.

    A call counts as run in `cwd`, the session's folder: a relative path leads from there, and only
    the bytes that are found decide.

    User rows that follow one another are one message. So are assistant rows, unless the session
    file tells two responses apart by their `message_id`.
    """
    messages: list[Message] = []
    for run in runs(rows):
        for part in _responses([rows[index] for index in run], message_id):
            message = _message(part, cwd)
            if not message.is_empty:
                messages.append(message)
    return Transcript(tuple(messages))


def _responses(run: list[LiveRow], message_id: MessageId) -> Iterable[list[LiveRow]]:
    if run[0].role == "user":
        return [run]
    parts: list[list[LiveRow]] = []
    current: str | None = None
    for row in run:
        own = message_id(row)
        if parts and (own is None or current is None or own == current):
            parts[-1].append(row)
        else:
            parts.append([row])
        current = own
    return parts


def _message(rows: Sequence[LiveRow], cwd: str | None) -> Message:
    calls = [ToolCall(use.id, use.tool, use.input, cwd) for row in rows for use in row.uses]
    results = [ToolResult(one.id, one.text, one.error) for row in rows for one in row.results]
    text = "\n".join([row.text for row in rows if row.text])
    return Message(rows[0].role, text, tuple(calls), tuple(results))


def _check_pairs(rows: Sequence[LiveRow]) -> None:
    """Hold every call to its one result, in the user rows right behind its own."""
    uses = Counter(use.id for row in rows for use in row.uses)
    results = Counter(result.id for row in rows for result in row.results)
    if max([*uses.values(), *results.values()], default=1) > 1:
        raise LiveCompactionError("ambiguous_ids", "two calls or two results carry one id")
    open_ids: set[str] = set()
    for run in runs(rows):
        if rows[run.start].role == "assistant":
            if open_ids:
                raise LiveCompactionError("unpaired", "a call has no result behind it")
            open_ids = {use.id for index in run for use in rows[index].uses}
            continue
        answered = {result.id for index in run for result in rows[index].results}
        if answered != open_ids:
            raise LiveCompactionError("unpaired", "the results of some calls are not behind them")
        open_ids = set()
    if open_ids:
        raise LiveCompactionError("unpaired", "a call is still under way")
