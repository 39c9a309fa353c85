"""The tables of a benchmark, as Markdown."""

import os
import platform
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence

from lcc_sidecar import __version__
from lcc_sidecar.bench.sessions import MODES, REPEATS, Measured, Session
from lcc_sidecar.explain import STAYED, WENT

LEAST_CALLS = 20  # sessions with fewer are told, but not pooled: there is little to free in them


def markdown(sessions: Sequence[Session], sources: Mapping[str, str], command: str) -> str:
    """Return the benchmark page: bias first, then how, then the figures by mode and session."""
    parts = [_HEAD, _how(sessions, command), _pooled(sessions)]
    parts += [_reasons(sessions, mode) for mode in ("recoverable", "stashed")]
    parts += [_by_session(sessions, sources), _NOT_MEASURED]
    return "\n".join(parts)


_HEAD = """\
# Benchmarks on real sessions

**Bias first.** These are recorded sessions, no sample of anything. Their workspaces are rebuilt
from the sessions themselves: a file that a session read and never touched again is there as it was,
so proofs on disk succeed more often than they would on a disk that went on changing; lines that a
session never showed are fillers, so claims on them fail. Reads by clients up to 2.1.45 end with a
reminder that the client put behind the file's text; such a result is not exactly what the file
holds, and is kept. The figures say what a pass frees at the end of such a session, not what it
would save on a bill.
"""

_NOT_MEASURED = """
## What was not measured

Live compactions on people's own work, cost on a bill, other modes, other agents' transcripts, other
machines, and peers side by side.
"""


def _how(sessions: Sequence[Session], command: str) -> str:
    read = [session for session in sessions if session.error is None]
    megabytes = sum(session.bytes for session in read) / 1e6
    machine = f"{platform.machine()} {platform.system()}, {os.cpu_count()} cores"
    how = (
        f"lcc-sidecar {__version__}, Python {platform.python_version()}, {machine}. Made by "
        f"`{command}`: {len(read)} sessions, {megabytes:.1f} MB. Each pass ran {REPEATS} times and "
        "the median is told. Times are of the pass alone, reading and writing not included."
    )
    unread = [f"\nNot read: {s.name} ({s.error})." for s in sessions if s.error]
    return "\n".join([how, *unread]) + "\n"


def _pooled(sessions: Sequence[Session]) -> str:
    rows = [
        "## By mode",
        "",
        f"Freed: of all characters of a conversation; sessions with {LEAST_CALLS} calls or more.",
        "Pointers, violations and what a second pass changed: over all sessions.",
        "",
        "| mode | sessions | pooled | median | range | led back | violations | second pass | ms |",
        "| --- | --: | --: | --: | --: | --: | --: | --: | --: |",
    ]
    for mode in MODES:
        every = _of(sessions, mode)
        large = [measured for measured in every if measured.calls >= LEAST_CALLS]
        if not large:
            rows.append(f"| {mode} | none | | | | | | | |")
            continue
        shares = [measured.reduction for measured in large]
        before, after = sum(m.chars_before for m in large), sum(m.chars_after for m in large)
        pointers, back = sum(m.pointers for m in every), sum(m.led_back for m in every)
        rows.append(
            f"| {mode} | {len(large)} | {1 - after / before:.1%} | {statistics.median(shares):.1%} "
            f"| {min(shares):.1%} to {max(shares):.1%} | {back} of {pointers} "
            f"| {sum(m.violations for m in every)} | {sum(m.again_changed for m in every)} "
            f"| {statistics.median(m.milliseconds for m in large):.1f} |"
        )
    return "\n".join(rows) + "\n"


def _reasons(sessions: Sequence[Session], mode: str) -> str:
    words = WENT | STAYED
    found: Counter[str] = sum((m.reasons for m in _of(sessions, mode)), Counter())
    rows = [f"## Why, in mode {mode}", "", "| reason | calls |", "| --- | --: |"]
    rows += [f"| {words.get(reason, reason)} | {n} |" for reason, n in found.most_common()]
    return "\n".join(rows) + "\n"


def _by_session(sessions: Sequence[Session], sources: Mapping[str, str]) -> str:
    rows = [
        "## By session",
        "",
        f"| session | calls | KB |{''.join(f' {mode} | led back | ms |' for mode in MODES)}",
        f"| --- | --: | --: |{' --: |' * 3 * len(MODES)}",
    ]
    rows += [
        f"| {sources.get(session.name, session.name)} | {session.measured[0].calls} "
        f"| {session.bytes // 1024} |{''.join(map(_cells, session.measured))}"
        for session in sessions
        if session.error is None
    ]
    return "\n".join(rows) + "\n"


def _cells(one: Measured) -> str:
    return f" {one.reduction:.1%} | {one.led_back} of {one.pointers} | {one.milliseconds:.1f} |"


def _of(sessions: Sequence[Session], mode: str) -> list[Measured]:
    return [m for session in sessions for m in session.measured if m.mode == mode]
