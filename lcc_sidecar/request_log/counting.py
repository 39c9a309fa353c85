"""Count the lines of the log's files: in bounded memory, a long log in several processes."""

import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import islice

from lcc_sidecar.limits import CLOCK_SKEW_SECONDS, REVIEW_PROCESSES_MAX, REVIEW_RANGE_BYTES
from lcc_sidecar.request_log import log, tallies
from lcc_sidecar.request_log.files import log_files
from lcc_sidecar.request_log.marker import folder, is_on
from lcc_sidecar.request_log.reading import Range, ranges
from lcc_sidecar.request_log.tally import Tally, tally_of


def counted(files: list[str], now: datetime, since: datetime | None = None) -> Tally:
    """Return the tally of the lines in files, from a time up to a day behind `now`; aware times.

    Raise RequestLogError if a file cannot be read.
    """
    whole, until = Tally(), now + timedelta(seconds=CLOCK_SKEW_SECONDS)
    for tally in _of_each(files, _stamp(since) if since else "", _stamp(until)):
        whole.merge(tally)
    return whole


def count_full(now: datetime) -> None:
    """Count the full files of the log that no tally is kept of, so that no review waits for them.

    Nothing is done while the log is off. Raise RequestLogError if one cannot be read.
    """
    if is_on():
        for path in filter(tallies.name_of, log_files(folder())):
            counted([path], now)


def _of_each(files: list[str], since: str, until: str) -> Iterator[Tally]:
    """Yield the tally of each file in turn: one that was kept, or a new one, and keep that.

    What is kept, the order and the cuts do not depend on the machine; nor does the outcome.
    """
    purges = log.purges()
    names = {path: "" if since else tallies.name_of(path) for path in files}
    kept = {path: tallies.found(name, until) for path, name in names.items() if name}
    parts = {path: ranges([path]) for path in files if kept.get(path) is None}
    tallied = _tallies([part for cut in parts.values() for part in cut], since, until)
    for path, name in names.items():
        tally = kept.pop(path, None)
        if tally is None:
            tally = Tally()
            for part in islice(tallied, len(parts[path])):
                tally.merge(part)
            if name:
                tallies.keep(tally, path, name, until, purges)
        yield tally


def _tallies(parts: list[Range], since: str, until: str) -> Iterator[Tally]:
    """Yield the tally of each part in order; of a long log in as many processes as serve."""
    is_long = sum(part.end - part.start for part in parts) > REVIEW_RANGE_BYTES
    workers = min(len(parts), REVIEW_PROCESSES_MAX, os.cpu_count() or 1) if is_long else 1
    count = partial(tally_of, since=since, until=until)
    if workers > 1:
        yield from _in_processes(workers, count, parts)
    else:
        yield from map(count, parts)


def _in_processes(
    workers: int, count: Callable[[Range], Tally], parts: list[Range]
) -> Iterator[Tally]:
    from concurrent.futures import ProcessPoolExecutor  # noqa: PLC0415 - only a long log pays, 25 ms
    from multiprocessing import get_context  # noqa: PLC0415 - as above

    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield from pool.map(count, parts)


def _stamp(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%S}"
