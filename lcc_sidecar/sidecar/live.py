"""The answer to a live compaction."""

from typing import Any

from lcc_sidecar.sidecar.sessions import SessionIndex


def answer(request: dict[str, Any], session: SessionIndex | None) -> dict[str, Any]:  # noqa: ARG001
    """Return the reply to a compact request: what to replace, or why the summary has to run."""
    return {"ok": True, "outcome": "fell_back", "receipt": "", "reason": "not_built"}
