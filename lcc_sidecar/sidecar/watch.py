"""Follow the known transcripts between nudges, where the system can tell of changes.

Only a convenience: where there are no watches left (FR-134) or no events (FR-136), nudges do.
"""

import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer

from lcc_sidecar.sidecar.sessions import SessionIndex


class Watch(FileSystemEventHandler):
    """Calls `changed` with a session whose transcript was written to."""

    def __init__(self, changed: Callable[[SessionIndex], None]) -> None:
        self._changed = changed
        self._lock = threading.Lock()
        self._followed: dict[Path, SessionIndex] = {}
        self._folders: set[Path] = set()
        self._observer = Observer()
        self._is_on = True
        try:
            self._observer.start()
        except OSError:
            self._is_on = False

    def follow(self, sessions: Sequence[SessionIndex]) -> None:
        """Follow exactly these sessions from now on."""
        with self._lock:
            self._followed = {session.path: session for session in sessions}
            folders = {path.parent for path in self._followed}
            if not self._is_on or folders == self._folders:
                return
            self._folders = folders
            self._observer.unschedule_all()
            try:
                for folder in folders:
                    self._observer.schedule(self, str(folder))
            except OSError:
                self._is_on = False

    def on_modified(self, event: FileSystemEvent) -> None:
        session = self._followed.get(Path(os.fsdecode(event.src_path)))
        if session is not None:
            self._changed(session)
