"""What of a session could go now, kept in a file: a shell reads one in no time.

The status line's program makes an empty file for its session, and that asks for it.
"""

import os
import stat
import time
from contextlib import suppress

from lcc_sidecar.errors import LccError
from lcc_sidecar.forking import read_original
from lcc_sidecar.limits import STATUSLINE_KEPT_SECONDS, USUAL_CHARS_PER_TOKEN
from lcc_sidecar.output import write_whole
from lcc_sidecar.paths import statusline_dir
from lcc_sidecar.sidecar.index import SessionIndex
from lcc_sidecar.window import look


def refresh(session: SessionIndex) -> None:
    """Write down what could go, if a status line asks for it; nothing where that cannot be told.

    Raise LccError if the file cannot be written.
    """
    path = _file_of(session.session_id)
    if _is_asked_for(path):
        words = f"{_could_go(session)}\n"
        if _is_asked_for(path):  # still: the session may have ended meanwhile
            write_whole(path, words.encode())


def is_waiting(session: SessionIndex) -> bool:
    """Return whether a status line has asked, and nothing was written down for it yet."""
    try:
        found = os.lstat(_file_of(session.session_id))
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and not found.st_size


def forget(session_id: str) -> None:
    """Remove a session's file: it is over."""
    _remove(_file_of(session_id))


def forget_old() -> None:
    """Remove the files of sessions that nothing was heard of for a week."""
    old = time.time() - STATUSLINE_KEPT_SECONDS
    with suppress(OSError), os.scandir(statusline_dir()) as found:  # none if nobody has a line
        for file in found:
            if file.stat(follow_symlinks=False).st_mtime < old:
                _remove(file.path)


def _file_of(session_id: str) -> str:
    return os.path.join(statusline_dir(), session_id)


def _is_asked_for(path: str) -> bool:
    return os.path.isfile(path) and not os.path.islink(path)


def _remove(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)


def _could_go(session: SessionIndex) -> str:
    try:
        original = read_original(str(session.path))
        tools = look(original.document.transcript, original.folder).tools.values()
    except (LccError, OSError):
        return ""
    provable, stashable = (
        round(sum(getattr(tool, way) for tool in tools) / USUAL_CHARS_PER_TOKEN)
        for way in ("provable", "stashable")
    )
    ways = ((provable, "proven elsewhere"), (stashable, "by the stash"))
    parts = ", ".join(f"{_short(count)} {way}" for count, way in ways if count)
    return f"{_short(provable + stashable)} could go ({parts})" if parts else ""


def _short(tokens: int) -> str:
    return f"{tokens / 1000:.0f}k" if tokens >= 1000 else str(tokens)  # noqa: PLR2004 - thousands
