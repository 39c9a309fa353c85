"""Compactions left as files for whoever asked over MCP.

An answer over MCP is a reference. The files it names lie in the state folder, readable by their
owner alone; the oldest go when there are too many.
"""

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

import xxhash

from lcc_sidecar.compaction import Compaction
from lcc_sidecar.errors import LccError
from lcc_sidecar.limits import KEPT_COMPACTIONS_MAX
from lcc_sidecar.output import to_json, write_whole
from lcc_sidecar.paths import make_private, state_dir

_REPORT = ".report.json"


@dataclass(frozen=True, slots=True)
class Kept:
    """Where a compacted transcript lies, and its report."""

    transcript: str
    report: str


def keep(compacted: bytes, done: Compaction) -> Kept:
    """Write a compaction into the state folder. Raise LccError if that cannot be done."""
    folder = Path(state_dir(), "compactions")
    if not make_private(str(folder)):
        raise LccError(f"{folder} is not this user's alone: mend or remove it")
    report = to_json(done.report)
    # Both name the files: passes of one outcome have reports of their own.
    name = xxhash.xxh3_128(compacted)
    name.update(report)
    place = folder / name.hexdigest()
    kept = Kept(f"{place}.json", f"{place}{_REPORT}")
    write_whole(kept.transcript, compacted)
    write_whole(kept.report, report)
    _forget_oldest(folder)
    return kept


def _forget_oldest(folder: Path) -> None:
    reports = folder.glob(f"*{_REPORT}")
    with contextlib.suppress(OSError):  # somebody else forgets, too
        newest_first = sorted(reports, key=os.path.getmtime, reverse=True)
        for report in newest_first[KEPT_COMPACTIONS_MAX:]:
            report.with_name(report.name.replace(_REPORT, ".json")).unlink(missing_ok=True)
            report.unlink()
