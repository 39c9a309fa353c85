"""The request log as a table for a team: one row a pass, flat columns, CSV or Parquet.

Sessions are salted hashes of this machine, so that many people's tables can be read at once and
never joined to anybody's sessions.
"""

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from lcc_sidecar.errors import UsageError
from lcc_sidecar.extras import how_to_get
from lcc_sidecar.request_log.entry import SCHEMA
from lcc_sidecar.request_log.line import REFUSED

KINDS: Final = ("keep", "replace", "dedupe", "trim", "drop")
STAGES: Final = ("total", "decide", "prove", "stash", "verify", "report")
COLUMNS: Final[dict[str, type]] = {
    "schema": str, "time": str, "session": str, "trigger": str, "client": str, "version": str,
    "mode": str, "tier": str, "proofs": str, "outcome": str, "reason": str,
    "messages": int, "calls": int, **dict.fromkeys(KINDS, int),
    "most_kept_reason": str, "most_kept_chars": int,
    "results_chars_before": int, "results_chars_after": int,
    "chars_before": int, "chars_after": int, "tokens_before": int, "tokens_after": int,
    "token_count_method": str, "billed_before": int,
    **{f"ms_{stage}": float for stage in STAGES},
    "recalls": int,
}  # fmt: skip


class _Line(msgspec.Struct, frozen=True):
    """A line as far as the table needs it; what a later version adds is passed over."""

    schema: str
    time: str
    session: str
    outcome: str
    trigger: str | None = None
    client: str | None = None
    version: str | None = None
    mode: str | None = None
    tier: str | None = None
    proofs: str | None = None
    messages: int | None = None
    calls: int | None = None
    decisions: dict[str, dict[str, int]] = {}
    kept_chars: dict[str, int] = {}
    tools: dict[str, tuple[int, int]] = {}
    chars_before: int | None = None
    chars_after: int | None = None
    tokens_before: int | None = None
    tokens_after: int | None = None
    token_count_method: str | None = None
    billed_before: int | None = None
    ms: dict[str, float] = {}


_AS_THEY_ARE = [name for name in COLUMNS if name in _Line.__struct_fields__]
_decode = msgspec.json.Decoder(_Line).decode


def table(lines: Iterable[bytes], since: str = "") -> tuple[list[dict[str, Any]], int]:
    """Return the rows, the oldest first, and how many lines could not be read.

    What is older than `since`, a time as lines have it, is left out.
    `recalls` counts what was recalled in a session between its pass and the next one.
    """
    rows: list[dict[str, Any]] = []
    newest: dict[str, dict[str, Any]] = {}  # the newest pass of each session
    unread = 0
    for written in lines:
        try:
            line = _decode(written)
        except msgspec.MsgspecError:
            unread += 1
            continue
        if line.schema != SCHEMA:
            unread += 1
        elif line.time < since:
            continue
        elif line.outcome == "recalled":
            if line.session in newest:
                newest[line.session]["recalls"] += 1
        else:
            rows.append(_row(line))
            if not line.outcome.startswith(REFUSED):  # it removed nothing to be recalled
                newest[line.session] = rows[-1]
    return rows, unread


def as_csv(rows: Sequence[dict[str, Any]]) -> bytes:
    """Return rows as CSV with a head; what is not known is empty."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(row.values() for row in rows)  # each has the columns in their order
    return text.getvalue().encode()


def as_parquet(rows: Sequence[dict[str, Any]]) -> bytes:
    """Return rows as a Parquet file. Raise UsageError if pyarrow is not installed."""
    try:
        import pyarrow as pa  # noqa: PLC0415 - optional, and large
        from pyarrow import parquet  # noqa: PLC0415
    except ImportError:
        raise UsageError(f"Parquet needs pyarrow: {how_to_get('parquet')}; or export CSV") from None
    kinds = {str: pa.string(), int: pa.int64(), float: pa.float64()}
    schema = pa.schema([(name, kinds[kind]) for name, kind in COLUMNS.items()])
    sink = pa.BufferOutputStream()
    parquet.write_table(pa.Table.from_pylist(list(rows), schema=schema), sink)
    written: bytes = sink.getvalue().to_pybytes()
    return written


def _row(line: _Line) -> dict[str, Any]:
    outcome, _, reason = line.outcome.partition(": ")
    kept = max(line.kept_chars.items(), key=lambda item: item[1], default=(None, None))
    values: dict[str, Any] = {
        **{name: getattr(line, name) for name in _AS_THEY_ARE},
        "outcome": outcome,
        "reason": reason or None,
        **{kind: sum(line.decisions.get(kind, {}).values()) for kind in KINDS},
        "most_kept_reason": kept[0],
        "most_kept_chars": kept[1],
        "results_chars_before": sum(before for before, _ in line.tools.values()),
        "results_chars_after": sum(after for _, after in line.tools.values()),
        **{f"ms_{stage}": line.ms.get(stage) for stage in STAGES},
        "recalls": 0,
    }
    return {name: values[name] for name in COLUMNS}
