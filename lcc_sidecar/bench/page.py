"""The benchmark page: bias first, then how it was made, then the figures, then what is missing."""

import os
import platform
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lcc_sidecar import __version__
from lcc_sidecar.bench import tables
from lcc_sidecar.bench.billing import at
from lcc_sidecar.bench.growth import Grown, growth_table
from lcc_sidecar.bench.near import Near, near_table
from lcc_sidecar.bench.peer import PACKAGE, VERSION
from lcc_sidecar.bench.sessions import REPEATS, Session
from lcc_sidecar.limits import BENCH_ELIDE_SHARE


@dataclass(frozen=True, slots=True)
class Run:
    """What a benchmark measured, and how it was called. `sources` says where sessions are from."""

    command: str
    sessions: Sequence[Session] = ()
    sources: Mapping[str, str] = field(default_factory=dict)
    jobs: int = 1
    grown: Sequence[Grown] = ()
    near: Near | None = None
    has_peer: bool = False

    @property
    def read(self) -> Sequence[Session]:
        """The sessions that could be measured."""
        return [session for session in self.sessions if session.error is None]

    @property
    def is_sound(self) -> bool:
        return all(one.is_sound for session in self.sessions for one in session.measured)


def markdown(run: Run) -> str:
    """Return the page."""
    parts = [_head(run), _how(run)]
    if run.read:
        parts += [tables.pooled(run.sessions), tables.beside(run.sessions, PACKAGE)]
        parts += [tokens_table(run.sessions, is_published=bool(run.sources))]
        parts += [tables.worse(run.sessions, run.sources, PACKAGE), tables.kinds(run.sessions)]
        parts += [tables.reasons(run.sessions, mode) for mode in ("recoverable", "stashed")]
    if run.grown:
        parts.append(growth_table(run.grown))
    if run.near:
        parts.append(near_table(run.near))
    if run.read:
        parts.append(tables.by_session(run.sessions, run.sources))
    parts.append(_not_measured(run))
    return "\n".join(part for part in parts if part)


def _head(run: Run) -> str:
    """Return the title, and what the figures are biased by: more is known of published sessions."""
    if not run.read:
        return "# Benchmarks\n\n**Bias first.** No recorded session was measured.\n"
    published = (_PUBLISHED_READS, _PUBLISHED_WINDOW) if run.sources else ("", _OWN_WINDOW)
    words = " ".join(filter(None, (_WORKSPACES, *published, _LIMITS)))
    return f"# Benchmarks on real sessions\n\n{textwrap.fill(words, 100, break_on_hyphens=False)}\n"


_WORKSPACES = """\
**Bias first.** These are recorded sessions, no sample of anything. Their workspaces are rebuilt
from the sessions themselves: a file that a session read and never touched again is there as it was,
so proofs on disk succeed more often than they would on a disk that went on changing; lines that a
session never showed are fillers, so claims on them fail."""
_PUBLISHED_READS = """\
Reads by clients up to 2.1.45 end with a reminder that the client put behind the file's text; such a
result is not exactly what the file holds, and is kept."""
_PUBLISHED_WINDOW = "No published session fills a window, so mode elide is given"
_OWN_WINDOW = "Whether a session fills a window or not, mode elide is given"
_LIMITS = f"""\
a window of {BENCH_ELIDE_SHARE:.0%} of each session's own size, and nothing for the system prompt:
its figures say what that limit makes it free, no more. The figures say what a pass frees at the end
of such a session, not what it would save on a bill."""


def _how(run: Run) -> str:
    read = run.read
    megabytes = sum(session.bytes for session in read) / 1e6
    machine = f"{platform.machine()} {platform.system()}, {os.cpu_count()} cores"
    peer = f" {PACKAGE} {VERSION} in a venv of its own." if run.has_peer else ""
    how = (
        f"lcc-sidecar {__version__}, Python {platform.python_version()}, {machine}.{peer} Made by "
        f"`{run.command}`: {len(read):,} session{'' if len(read) == 1 else 's'}, "
        f"{megabytes:.1f} MB, {run.jobs} at a time. Each "
        f"pass ran {REPEATS} times, each time with a stash of its own, and the median is told. "
        "Times are of the pass and its report, reading and writing not included."
    )
    unread = [
        f"\nNot read: {tables.cell(s.name)} ({tables.cell(s.error)})."
        for s in run.sessions
        if s.error
    ]
    return "\n".join([how, *unread]) + "\n"


def tokens_table(sessions: Sequence[Session], *, is_published: bool) -> str:
    """Return how far each way of counting tokens is from what requests were billed.

    Published sessions may be among those that the usual weights came from.
    """
    every = [billed for session in sessions for billed in session.billed]
    if not every:
        return ""
    rows = []
    for method in dict.fromkeys(billed.method for billed in every):
        found = [billed for billed in every if billed.method == method]
        kinds = ("steps", "in_a_row", "untold")
        errors = [[e for billed in found for e in getattr(billed, kind)] for kind in kinds]
        told = [f"{at(e, 50):.1%}, {at(e, 90):.0%}" if e else "none" for e in errors]
        rows.append((method, len(found), len(errors[0]), *told, len(errors[2])))
    head = ("counted by", "sessions", "steps", "a step", "ten in a row", "other steps", "of those")
    among = ", and they are likely among these here" if is_published else ""
    words = textwrap.fill(_TOKENS.format(among=among), 100, break_on_hyphens=False)
    return f"## Tokens, held against the bill\n\n{words}\n\n{tables.table(head, rows)}"


_TOKENS = """\
How far a count is from what one request was billed more than the one before it (input, cache reads
and cache writes together): median, and what 90 of 100 do not exceed. A step is a response whose
calls and results the file holds whole, as text. A fit knows only the steps before the one it is
held to, and what it begins with: the weights of kinds of characters (fitted) and the usual weights
(medians), both rounded. Those came from sessions of six public repositories, the kinds were chosen
by them as well{among}. Found anew without the repository that it is
held against, a fit by kinds of characters had 4.7%, 18% on a step of theirs (December 2026). Other
steps hold a person's turn, an image or an attachment: there the client adds what no file tells.
Compactions, another model and requests that shrank start anew.
"""


def _not_measured(run: Run) -> str:
    missing = [
        "live compactions on people's own work",
        "money",
        "what an agent makes of a pointer",
        "judged and lossy modes",
        *(["other agents' transcripts beyond two Codex rollouts"] if run.sources else []),
        "other machines and systems",
    ]
    if not run.read:
        missing.insert(0, "recorded sessions")
    if not run.has_peer:
        missing.append("peers side by side")
    if not run.grown:
        missing.append("growth with a session's length")
    if not run.near:
        missing.append("what a hook costs")
    words = ", ".join(missing)
    return f"## What was not measured\n\n{words[0].upper()}{words[1:]}.\n"
