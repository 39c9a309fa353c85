"""The one line that a person sees of a live compaction (DESIGN section 2)."""

from collections import Counter
from collections.abc import Iterable

from lcc_sidecar.policy import notes

_WORDS = {"file": "on disk", "identical": "identical", "tools": "by a tool search"}


def replaced(tokens_freed: int, seconds: float, pointers: Iterable[str]) -> str:
    """Return the receipt of a compaction that was answered. Tokens are an estimate, so `about`."""
    kinds = Counter(map(_kind, pointers))
    results = sum(kinds.values())
    parts = ", ".join(f"{kinds[kind]} {words}" for kind, words in _WORDS.items() if kinds[kind])
    return (
        f"lcc: about {_short(tokens_freed)} tokens freed in {seconds * 1000:.0f} ms, every word "
        f"kept; {results} {'result' if results == 1 else 'results'} one read away ({parts})"
    )


def too_little(share: float) -> str:
    """Return the receipt of a compaction that was not worth it; `share` in percent."""
    freed = "nothing" if share <= 0 else f"only {share:.1f} %"
    return f"lcc: {freed} is provably recoverable; Claude's own summary runs"


def fell_back(why: str) -> str:
    return f"lcc: left to Claude's own summary; {why}"


def _kind(pointer: str) -> str:
    if notes.kept_at(pointer) is not None:
        return "identical"
    return "tools" if notes.is_tools_found(pointer) else "file"


def _short(count: int) -> str:
    return f"{count / 1000:.0f}k" if count >= 1000 else str(count)  # noqa: PLR2004 - thousands
