"""The request log as a table for a team: one row a pass, flat columns, CSV or Parquet.

Sessions are salted hashes of this machine, so that many people's tables can be read at once and
never joined to anybody's sessions.
"""

import csv
import io
import re
from collections.abc import Sequence
from itertools import chain
from operator import itemgetter
from typing import Any, Final

from lcc_sidecar.errors import UsageError
from lcc_sidecar.extras import how_to_get
from lcc_sidecar.request_log.files import log_files
from lcc_sidecar.request_log.line import RECALLED, REFUSED, Decisions, Line, Stages
from lcc_sidecar.request_log.reading import PassedOver, ranges, read

KINDS: Final = Decisions.__struct_fields__
STAGES: Final = Stages.__struct_fields__
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


_AS_THEY_ARE: Final = [name for name in COLUMNS if name in Line.__struct_fields__]
# What a spreadsheet takes for the beginning of a formula, or passes over before it looks for one.
_ACTS: Final = re.compile(r"[=+\-@\x00-\x1f\x7f]")


def table(folder: str, since: str = "") -> tuple[list[dict[str, Any]], int]:
    """Return the rows of the log in `folder`, the oldest first, and how many lines are none.

    What is older than `since`, a time as lines have it, is left out.
    `recalls` counts what was recalled in a session between its pass and the next one. Before its
    first pass, or where it has none, a recall has a row of its own, with the outcome `recalled`.
    Raise RequestLogError if a file cannot be read.
    """
    rows: list[dict[str, Any]] = []
    newest: dict[str, dict[str, Any]] = {}  # the row of each session that recalls are counted in
    over = PassedOver()
    for part in ranges(log_files(folder)):
        for line in chain.from_iterable(read(part, over)):
            if line.time < since:
                continue
            is_recall = line.outcome == RECALLED
            if is_recall and line.session in newest:
                newest[line.session]["recalls"] += 1
                continue
            rows.append(_row(line) | {"recalls": int(is_recall)})
            if not line.outcome.startswith(REFUSED):  # it removed nothing to be recalled
                newest[line.session] = rows[-1]
    return rows, over.damaged + over.foreign


def as_csv(rows: Sequence[dict[str, Any]]) -> bytes:
    """Return rows as CSV with a head; what is not known is empty.

    A text in which a spreadsheet would see a formula gets an apostrophe before it, and no text has
    a character that is not for reading.
    """
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        writer.writerow([_inert(value) for value in row.values()])  # in the columns' order
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


def _inert(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    shown = "".join(char if char.isprintable() else "\ufffd" for char in value)  # no end of a row
    return f"'{shown}" if _ACTS.match(value) else shown


def _row(line: Line) -> dict[str, Any]:
    outcome, _, reason = line.outcome.partition(": ")
    kept = ((reason, chars) for reason, (_, chars) in line.decisions.keep.items())
    most_kept = max(kept, key=itemgetter(1), default=(None, None))
    values: dict[str, Any] = {
        **{name: None if (known := getattr(line, name)) == "" else known for name in _AS_THEY_ARE},
        "outcome": outcome,
        "reason": reason or None,
        **{kind: sum(n for n, _ in getattr(line.decisions, kind).values()) for kind in KINDS},
        "most_kept_reason": most_kept[0],
        "most_kept_chars": most_kept[1],
        "results_chars_before": sum(before for before, _ in line.tools.values()),
        "results_chars_after": sum(after for _, after in line.tools.values()),
        **{f"ms_{stage}": getattr(line.ms, stage, None) for stage in STAGES},
        "recalls": 0,
    }
    return {name: values[name] for name in COLUMNS}
