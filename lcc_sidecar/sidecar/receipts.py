"""The one line that a person sees of a live compaction, behind the plugin's name (DESIGN 2)."""

from collections import Counter
from collections.abc import Iterable

from lcc_sidecar.policy import notes

_WORDS = {
    "file": "on disk",
    "identical": "identical",
    "stash": "in the stash",
    "tools": "by a tool search",
}


def replaced(
    tokens_freed: int,
    seconds: float,
    pointers: Iterable[str],
    *,
    error_percent: float | None = None,
) -> str:
    """Return the receipt of a compaction that was answered.

    Tokens are an estimate, so `about`; with an error, they are as the session is billed.
    """
    kinds = Counter(map(notes.way_back, pointers))
    results = sum(kinds.values())
    parts = [f"{kinds[kind]} {words}" for kind, words in _WORDS.items() if kinds[kind]]
    where = parts[0].partition(" ")[2] if len(parts) == 1 else ", ".join(parts)
    bar = f"; as billed, median error {error_percent} %" if error_percent else ""
    return (
        f"about {_short(tokens_freed)} tokens freed in {seconds * 1000:.0f} ms, every word "
        f"kept; {results} {'result' if results == 1 else 'results'} one read away ({where}){bar}"
    )


def too_little(share: float) -> str:
    """Return why the conversation cannot be compacted for much; `share` in percent of it."""
    if share <= 0:
        return "nothing more can be freed and proven recoverable"
    return f"only {share:.1f} % can be freed and proven recoverable"


def summary(reason: str) -> str:
    """Return the receipt where Claude Code's own summary runs instead."""
    return f"{reason}; Claude's own summary runs"


def fell_back(why: str) -> str:
    return f"left to Claude's own summary; {why}"


def _short(count: int) -> str:
    return f"{count / 1000:.0f}k" if count >= 1000 else str(count)  # noqa: PLR2004 - thousands
