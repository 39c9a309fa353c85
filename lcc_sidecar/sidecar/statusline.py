"""The line under the prompt: how full the window is, and what of it could go now.

The first number is the client's own. The second takes a pass over the session, so it is made in the
background, when somebody asks for the line; the line shows what is known by then.
"""

import os
import threading
from collections import OrderedDict
from dataclasses import dataclass

import msgspec

from lcc_sidecar.errors import LccError
from lcc_sidecar.forking import read_original
from lcc_sidecar.limits import SESSIONS_MAX, STATUSLINE_CELLS, USUAL_CHARS_PER_TOKEN
from lcc_sidecar.sidecar import log
from lcc_sidecar.sidecar.index import SessionIndex
from lcc_sidecar.window import look


class ContextWindow(msgspec.Struct, frozen=True):
    """What the client says of its window; the numbers are absent before the first response."""

    used_percentage: float | None = None


class Shown(msgspec.Struct, frozen=True):
    """What the client passes to a status line, as far as it is looked at."""

    session_id: str | None = None
    transcript_path: str | None = None
    context_window: ContextWindow | None = None


@dataclass(frozen=True, slots=True)
class CouldGo:
    """Tokens that a compaction would free by now, and the size of the file they were found in."""

    provable: int
    stashable: int
    size: int


class Statusline:
    """What could go, by session. Safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[str, CouldGo] = OrderedDict()
        self._busy = False

    def line(self, shown: Shown, session: SessionIndex | None) -> str:
        """Return the line for a session; have what could go looked up, if its file has grown."""
        known = self._of(session) if session is not None else None
        percent = shown.context_window.used_percentage if shown.context_window else None
        return "  ".join(filter(None, (_fill(percent), _could_go(known))))

    def _of(self, session: SessionIndex) -> CouldGo | None:
        try:
            size = os.stat(session.path).st_size
        except OSError:
            return None
        with self._lock:
            known = self._known.get(session.session_id)
            if not self._busy and (known is None or known.size != size):
                self._busy = True
                threading.Thread(target=self._look, args=(session, size), daemon=True).start()
            return known

    def _look(self, session: SessionIndex, size: int) -> None:
        """Find out what could go; where that cannot be told, nothing can."""
        found = CouldGo(0, 0, size)
        try:
            original = read_original(str(session.path))
            tools = look(original.document.transcript, original.folder).tools.values()
            provable, stashable = (
                round(sum(getattr(tool, way) for tool in tools) / USUAL_CHARS_PER_TOKEN)
                for way in ("provable", "stashable")
            )
            found = CouldGo(provable, stashable, size)
        except (LccError, OSError):
            pass
        except Exception as error:  # noqa: BLE001 - one odd session is not the end of the line
            log.report("statusline", error)
        finally:
            with self._lock:
                self._busy = False
                self._known[session.session_id] = found
                self._known.move_to_end(session.session_id)
                if len(self._known) > SESSIONS_MAX:
                    self._known.popitem(last=False)


def _fill(percent: float | None) -> str:
    if percent is None:
        return ""
    share = min(max(percent, 0.0), 100.0)
    full = round(share / 100 * STATUSLINE_CELLS)
    return f"{'█' * full}{'░' * (STATUSLINE_CELLS - full)} {share:.0f}%"


def _could_go(known: CouldGo | None) -> str:
    if known is None or not known.provable + known.stashable:
        return ""
    ways = ((known.provable, "proven elsewhere"), (known.stashable, "by the stash"))
    parts = ", ".join(f"{_short(count)} {way}" for count, way in ways if count)
    return f"{_short(known.provable + known.stashable)} could go ({parts})"


def _short(tokens: int) -> str:
    return f"{tokens / 1000:.0f}k" if tokens >= 1000 else str(tokens)  # noqa: PLR2004 - thousands
