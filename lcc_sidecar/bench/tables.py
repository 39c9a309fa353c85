"""The tables of a benchmark over recorded sessions, as Markdown."""

import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from lcc_sidecar.bench.peer import COMPARED, Compared
from lcc_sidecar.bench.sessions import MODES, Measured, Session, of_mode
from lcc_sidecar.explain import STAYED, WENT
from lcc_sidecar.limits import BENCH_LEAST_CALLS

_KINDS = ("keep", "replace", "dedupe", "trim", "drop")
_CLOSE = 0.001  # of a conversation: what differs by less is called the same


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table whose columns but the first hold figures."""
    lines = [f"| {' | '.join(head)} |", f"| ---{' | --:' * (len(head) - 1)} |"]
    lines += [f"| {' | '.join(map(cell, row))} |" for row in rows]
    return "\n".join(lines) + "\n"


def cell(value: object) -> str:
    """Return what stands in a cell or a line: a file's name can hold anything."""
    text = str(value).replace("|", "\\|")
    return "".join(char if char.isprintable() else "\ufffd" for char in text)


def pooled(sessions: Sequence[Session]) -> str:
    """Return one row a mode: what it frees of all large sessions, and whether all of it holds."""
    head = ("mode", "sessions", "pooled", "median", "range", "middle half", "led back")
    rows = (_pooled(mode, of_mode(sessions, mode)) for mode in MODES)
    words = (
        f"Freed: of all characters of a conversation; sessions with {BENCH_LEAST_CALLS} calls or "
        "more.\nPointers, violations and what a second pass changed: over all sessions.\n"
    )
    found = table((*head, "violations", "second pass", "ms"), rows)
    return f"## By mode\n\n{words}\n{found}"


def _pooled(mode: str, every: Sequence[Measured]) -> Sequence[object]:
    large = [measured for measured in every if measured.calls >= BENCH_LEAST_CALLS]
    pointers, back = sum(m.pointers for m in every), sum(m.led_back for m in every)
    checks = (
        f"{back} of {pointers}",
        sum(m.violations for m in every),
        sum(m.again_changed for m in every),
    )
    if not large:
        return (mode, "none", *[""] * 4, *checks, "")
    shares = [measured.reduction for measured in large]
    low, high = _middle(shares)
    return (
        mode,
        len(large),
        f"{share_freed(large):.1%}",
        f"{statistics.median(shares):.1%}",
        f"{min(shares):.1%} to {max(shares):.1%}",
        f"{low:.1%} to {high:.1%}",
        *checks,
        f"{median_ms(large):.1f}",
    )


def share_freed(measured: Iterable[Measured]) -> float:
    """Return the share of all characters that passes freed, over all their sessions together."""
    sizes = [(one.chars_before, one.chars_after) for one in measured]
    before = sum(size for size, _ in sizes)
    return 1 - sum(size for _, size in sizes) / before if before else 0.0


def median_ms(measured: Iterable[Measured]) -> float:
    """Return the median of what passes over several sessions took, in milliseconds."""
    return statistics.median(one.milliseconds for one in measured)


def _middle(values: Sequence[float]) -> tuple[float, float]:
    if len(values) < 2:  # noqa: PLR2004 - one value has no spread
        return values[0], values[0]
    quarters = statistics.quantiles(values, n=4, method="inclusive")
    return quarters[0], quarters[2]


def kinds(sessions: Sequence[Session]) -> str:
    """Return how many calls each mode decided in which way."""
    counts = {
        mode: sum((m.kinds for m in of_mode(sessions, mode)), Counter[str]()) for mode in MODES
    }
    rows = ((mode, *(count[kind] for kind in _KINDS)) for mode, count in counts.items())
    return f"## Kinds of decision\n\n{table(('mode', *_KINDS), rows)}"


def reasons(sessions: Sequence[Session], mode: str) -> str:
    """Return why the calls of all sessions went or stayed in a mode."""
    words = WENT | STAYED
    found: Counter[str] = sum((m.reasons for m in of_mode(sessions, mode)), Counter())
    rows = ((words.get(reason, reason), n) for reason, n in found.most_common())
    return f"## Why, in mode {mode}\n\n{table(('reason', 'calls'), rows)}"


def by_session(sessions: Sequence[Session], sources: Mapping[str, str]) -> str:
    """Return one row a session, with where it can be fetched."""
    head = [part for mode in MODES for part in (mode, "led back", "ms")]
    rows = (
        (
            sources.get(session.name, session.name),
            session.measured[0].calls,
            session.bytes // 1024,
            *(cell for one in session.measured for cell in _cells(one)),
        )
        for session in sessions
        if session.error is None
    )
    return f"## By session\n\n{table(('session', 'calls', 'KB', *head), rows)}"


def _cells(one: Measured) -> tuple[str, str, str]:
    return f"{one.reduction:.1%}", f"{one.led_back} of {one.pointers}", f"{one.milliseconds:.1f}"


def beside(sessions: Sequence[Session], name: str) -> str:
    """Return ours and a peer's passes side by side; nothing if there was no peer."""
    if not any(session.compared for session in sessions):
        return ""
    head = ("mode", "sessions", "ours frees", f"{name} frees", "ours ms", f"{name} ms")
    words = (
        "The same messages, workspace and machine, passes of the two in turns: sessions with "
        f"{BENCH_LEAST_CALLS} calls or more.\nEach through its own Python function that takes a "
        "payload of texts, calls and results (no thinking, no images).\nMilliseconds are the "
        "median of sessions, the ratio is the median of each session's own ratio "
        f"({name} / ours).\n"
    )
    rows = side_by_side(sessions)
    figures = table((*head, "ratio of times", "smallest", "largest"), rows)
    return f"## Side by side\n\n{words}\n{figures}"


def side_by_side(sessions: Sequence[Session]) -> Iterator[Sequence[str]]:
    """Yield of each mode that was compared: sessions, shares freed, milliseconds, their ratios."""
    for mode in COMPARED:
        found = [one for session in sessions for one in session.compared if one.mode == mode]
        if large := [one for one in found if one.calls >= BENCH_LEAST_CALLS]:
            yield _beside(mode, large)


def _beside(mode: str, found: Sequence[Compared]) -> Sequence[str]:
    ratios = [one.peer_ms / one.ours_ms for one in found]
    ours = 1 - sum(one.ours_after for one in found) / sum(one.ours_before for one in found)
    peers = 1 - sum(one.peer_after for one in found) / sum(one.peer_before for one in found)
    return (
        mode,
        str(len(found)),
        f"{ours:.1%}",
        f"{peers:.1%}",
        f"{statistics.median(one.ours_ms for one in found):.1f}",
        f"{statistics.median(one.peer_ms for one in found):.1f}",
        f"{statistics.median(ratios):.1f}",
        f"{min(ratios):.1f}",
        f"{max(ratios):.1f}",
    )


def worse(sessions: Sequence[Session], sources: Mapping[str, str], name: str) -> str:
    """Return where this did worse: than a peer, or than a more cautious mode of its own."""
    found = [*_slower(sessions, name), *_freed_less(sessions, sources, name)]
    found += _inverted(sessions, sources)
    words = "\n".join(f"- {line}" for line in found) if found else "Nothing of what was measured."
    return f"## What got worse\n\n{words}\n"


def _slower(sessions: Sequence[Session], name: str) -> Iterator[str]:
    for mode in COMPARED:
        found = [one for session in sessions for one in session.compared if one.mode == mode]
        slower = [one for one in found if one.ours_ms > one.peer_ms]
        if slower:
            worst = max(slower, key=lambda one: one.ours_ms - one.peer_ms)
            yield (
                f"mode {mode} is slower than {name} over {len(slower)} of {len(found)} sessions, "
                f"most of all with {worst.ours_ms:.1f} ms against {worst.peer_ms:.1f} ms"
            )


def _freed_less(
    sessions: Sequence[Session], sources: Mapping[str, str], name: str
) -> Iterator[str]:
    for session in sessions:
        for one in session.compared:
            if one.ours < one.peers - _CLOSE:
                where = sources.get(session.name, session.name)
                yield (
                    f"mode {one.mode} frees less than {name}: {one.ours:.1%} against "
                    f"{one.peers:.1%} ({where})"
                )


def _inverted(sessions: Sequence[Session], sources: Mapping[str, str]) -> Iterator[str]:
    for session in sessions:
        shares = {one.mode: one.reduction for one in session.measured}
        for less, more in (("lossless", "recoverable"), ("recoverable", "stashed")):
            if less in shares and more in shares and shares[more] < shares[less] - _CLOSE:
                where = sources.get(session.name, session.name)
                yield (
                    f"mode {more} frees less than mode {less}: {shares[more]:.1%} against "
                    f"{shares[less]:.1%} ({where})"
                )
