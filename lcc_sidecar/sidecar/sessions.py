"""The sessions that the sidecar knows: found by id, few at a time, the longest unused go first."""

import os
import re
import threading
from collections import OrderedDict
from pathlib import Path

from lcc_sidecar.errors import SidecarError
from lcc_sidecar.limits import INDEXED_ROWS_MAX, SESSION_ID_MAX_CHARS, SESSIONS_MAX
from lcc_sidecar.sidecar.index import IndexedRow, SessionIndex

__all__ = ["IndexedRow", "SessionIndex", "Sessions", "locate"]

_SESSION_ID = re.compile(rf"[A-Za-z0-9_-]{{1,{SESSION_ID_MAX_CHARS}}}")


class Sessions:
    """All sessions, least recently used first. Safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sessions: OrderedDict[str, SessionIndex] = OrderedDict()

    def get(self, session_id: str, transcript_path: str) -> SessionIndex | None:
        """Return the session's index, made now if need be; None if it has no transcript.

        A session whose file is another one now starts anew: an id reported at a fork's start may
        still be its parent's (FR-018). Raise SidecarError if the id is none (FR-164).
        """
        path = locate(session_id, transcript_path)
        if path is None:
            return None
        with self._lock:
            session = self._sessions.get(session_id)
            if session is None or session.path != path:
                session = self._sessions[session_id] = SessionIndex(session_id, path)
            self._sessions.move_to_end(session_id)
            self._evict()
            return session

    def all(self) -> list[SessionIndex]:
        with self._lock:
            return list(self._sessions.values())

    def _evict(self) -> None:
        """Let sessions go until the rest is few and small; the newest one always stays."""
        rows = sum(len(session.rows) for session in self._sessions.values())
        while len(self._sessions) > 1 and (
            len(self._sessions) > SESSIONS_MAX or rows > INDEXED_ROWS_MAX
        ):
            _, gone = self._sessions.popitem(last=False)
            rows -= len(gone.rows)


def locate(session_id: str, transcript_path: str) -> Path | None:
    """Return the path of a session's transcript, None if it is not to be found.

    Clients have passed an empty path (FR-001) and one into a folder that does not exist (FR-015);
    then the one file of that name among all project folders counts, and only if it is the only one.
    Raise SidecarError if `session_id` could not be part of a file name.
    """
    if not _SESSION_ID.fullmatch(session_id):
        raise SidecarError("the session id is not made of letters, digits, '-' and '_' alone")
    told = Path(transcript_path)
    if told.is_absolute() and _is_file(told):
        return told
    try:
        folders = list(_projects(told).iterdir())
    except (OSError, ValueError):
        return None
    candidates = (folder / f"{session_id}.jsonl" for folder in folders)
    matches = [candidate for candidate in candidates if _is_file(candidate)]
    return matches[0] if len(matches) == 1 else None


def _projects(told: Path) -> Path:
    """Return the folder of all projects: of the path that was told, else of this user."""
    if told.is_absolute():
        return told.parent.parent
    config = os.environ.get("CLAUDE_CONFIG_DIR")
    return (Path(config) if config else Path.home() / ".claude") / "projects"


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # not to be entered; a NUL in it
        return False
