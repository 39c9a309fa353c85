"""The sidecar's loop: accept, admit, one request, one reply. A command is a row in one table."""

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from lcc_sidecar import __version__
from lcc_sidecar.errors import LccError, SidecarError
from lcc_sidecar.limits import (
    CONNECTIONS_MAX,
    DRAIN_SECONDS,
    FIRST_BYTES_SECONDS,
    HEADER_BYTES,
    LEAVE_SECONDS,
    REPLY_MAX_BYTES,
    REQUEST_MAX_BYTES,
    REQUEST_READ_SECONDS,
    SEE_SECONDS,
    TICK_SECONDS,
)
from lcc_sidecar.near import wire
from lcc_sidecar.settings import Settings
from lcc_sidecar.sidecar import live, log, statusline
from lcc_sidecar.sidecar.collecting import collect_now_and_then
from lcc_sidecar.sidecar.indexer import Indexer
from lcc_sidecar.sidecar.listener import Listener
from lcc_sidecar.sidecar.requests import (
    AnyRequest,
    Compact,
    Drain,
    HookInput,
    Nudge,
    Ping,
    Recall,
    Status,
    Stop,
    decode_as,
    decode_request,
    encode_reply,
)
from lcc_sidecar.sidecar.sessions import SessionIndex, Sessions
from lcc_sidecar.sidecar.stashing import Stashing
from lcc_sidecar.sidecar.watch import Watch

Reply = dict[str, Any]


class Server:
    """One sidecar at work. `asked` is the version of the caller that had it started."""

    def __init__(self, listener: Listener, settings: Settings, asked: str = "") -> None:
        self._listener = listener
        self._idle_exit_seconds = settings.idle_exit_seconds
        # Whoever had us started was newer than what is installed: it will not get better.
        self._newest = max(_parsed(__version__), _parsed(asked))
        self._sessions = Sessions()
        self._stashing = Stashing(settings)
        self._indexer = Indexer(self._stashing.see, statusline.refresh, statusline.is_waiting)
        statusline.forget_old()
        self._collecting = collect_now_and_then(self._stashing, settings)
        self._watch = Watch(self._indexer.nudge) if settings.watch else None
        self._started_at = self._active_at = time.monotonic()
        self._slots = threading.BoundedSemaphore(CONNECTIONS_MAX)
        self._leaving = threading.Event()
        self._commands: dict[type[Any], Callable[[Any], Reply]] = {
            Ping: self._ping,
            Nudge: self._nudge,
            Compact: self._compact,
            Recall: self._recall,
            Status: self._status,
            Drain: self._drain,
            Stop: self._stop,
        }

    def run(self) -> None:
        """Serve until asked to stop, replaced, cut off from the address, or idle for too long."""
        try:
            while not self._is_over():
                connection = self._listener.accept()
                if connection is None:
                    continue
                if self._has_slot():
                    threading.Thread(target=self._serve, args=(connection,), daemon=True).start()
                else:
                    connection.close()
        finally:
            self.leave()
            self._listener.close()
            self._wait_for_answers()
            self._collecting.set()
            self._stashing.close()

    def _has_slot(self) -> bool:
        """Wait for room to serve one more; False if it is over before there is any."""
        while not self._slots.acquire(timeout=TICK_SECONDS):
            if self._is_over():
                return False
        return True

    def leave(self) -> None:
        """Take no more callers. First: whoever comes from now on shall find nobody, not silence."""
        self._leaving.set()
        self._listener.withdraw()

    def _is_over(self) -> bool:
        is_idle = time.monotonic() - self._active_at > self._idle_exit_seconds
        return self._leaving.is_set() or is_idle or not self._listener.is_in_place()

    def _wait_for_answers(self) -> None:
        deadline = time.monotonic() + LEAVE_SECONDS
        for _ in range(CONNECTIONS_MAX):
            self._slots.acquire(timeout=max(deadline - time.monotonic(), 0))

    def _serve(self, connection: Any) -> None:
        # Silent callers are not waited for: they would keep everybody else out.
        begin_by = time.monotonic() + FIRST_BYTES_SECONDS
        deadline = time.monotonic() + REQUEST_READ_SECONDS
        try:
            self._listener.admit(connection, begin_by)
            self._active_at = time.monotonic()
            body = wire.receive(connection, deadline, REQUEST_MAX_BYTES, begin_by)
            reply = encode_reply(self._answer(body))
            if len(reply) > REPLY_MAX_BYTES:
                reply = encode_reply(_refusal("SidecarError", "the reply is too large to send"))
            frame = len(reply).to_bytes(HEADER_BYTES, "big"), reply
            wire.send(connection, frame, time.monotonic() + REQUEST_READ_SECONDS)
        except (EOFError, OSError):
            pass  # the caller went away or was too slow; nobody is left to tell
        except SidecarError as error:
            log.report("connection", error)
        finally:
            self._active_at = time.monotonic()
            connection.close()
            self._slots.release()

    def _answer(self, body: bytes) -> Reply:
        command = "request"
        try:
            request = decode_request(body)
            del body  # up to 100 MB, and the request holds what it needs
            command = type(request).__name__
            if self._is_outdated_by(request):
                self.leave()
                return {"ok": False, "restart": f"{__version__} makes room for {request.version}"}
            return {"ok": True, "version": __version__, **self._commands[type(request)](request)}
        except LccError as error:
            return _refusal(type(error).__name__, str(error))
        except Exception as error:  # noqa: BLE001 - the caller gets an answer, the log a bug report
            log.report(command, error)
            return _refusal(type(error).__name__, f"unexpected; see {log.log_path()}")

    def _is_outdated_by(self, request: AnyRequest) -> bool:
        """Only newer replaces older (FR-120); looking at us, or stopping us, any version may."""
        return not isinstance(request, Status | Stop) and _parsed(request.version) > self._newest

    def _ping(self, _: Ping) -> Reply:
        return {}

    def _nudge(self, request: Nudge) -> Reply:
        hook = decode_as(request.payload, HookInput)
        self._stashing.follow_client(request.client, request.event, hook)
        session = self._session_of(hook)  # raises for an id that is no part of a file's name
        if request.event == "SessionEnd" and hook.session_id and not hook.agent_id:
            statusline.forget(hook.session_id)  # with a transcript or without
        if session is None:
            return {}
        if request.event == "PreCompact":
            self._stashing.see_before_summary(session)
        elif request.event == "SessionEnd":  # a compaction is announced before anything else
            self._stashing.give_up(session.session_id)
        self._indexer.nudge(session)
        if request.event != "SessionStart" or hook.source != "compact":
            return {}
        told = self._stashing.told_after(session.session_id)
        return {"hook_output": _session_start(told)} if told else {}

    def _compact(self, request: Compact) -> Reply:
        asked = decode_as(request.payload, dict[str, Any])
        session = self._session_of(decode_as(request.payload, HookInput))
        if session is None:
            return live.answer(asked, None, self._stashing)
        self._stashing.see(session, time.monotonic() + SEE_SECONDS)
        with session.lock:
            try:
                session.update()
            except OSError:  # gone since it was found
                return live.answer(asked, None, self._stashing)
            answer = live.answer(asked, session, self._stashing)
        if answer["outcome"] == "replaced":
            self._stashing.answered(session.session_id, answer)
        return answer

    def _recall(self, request: Recall) -> Reply:
        """Stash what a session has gained: whoever is about to recall reads the stash itself."""
        named = decode_as(request.payload, _Named).session
        known = (session for session in self._sessions.all() if session.session_id == named)
        session = next(known, None) or self._session_of(HookInput(named))
        if session is not None:
            self._stashing.see(session, time.monotonic() + SEE_SECONDS)
        return {}

    def _status(self, _: Status) -> Reply:
        sessions = self._sessions.all()
        return {
            "pid": os.getpid(),
            "uptime_seconds": round(time.monotonic() - self._started_at, 1),
            "sessions": len(sessions),
            "indexed_bytes": sum(session.position for session in sessions),
            "indexed_rows": sum(len(session.rows) for session in sessions),
            "damaged_lines": sum(session.damaged for session in sessions),
            "memory_bytes": _memory_bytes(),
        }

    def _drain(self, _: Drain) -> Reply:
        if not self._indexer.drain(DRAIN_SECONDS):
            raise SidecarError(f"still indexing after {DRAIN_SECONDS:.0f} seconds; ask again")
        return {}

    def _stop(self, _: Stop) -> Reply:
        self.leave()
        return {}

    def _session_of(self, hook: HookInput) -> SessionIndex | None:
        """Return the session a hook speaks of; None without one, and for a subagent.

        A subagent's hook names its parent's session and file (FR-020): not what it speaks of.
        """
        if not hook.session_id or hook.agent_id:
            return None
        session = self._sessions.get(hook.session_id, hook.transcript_path or "")
        if session is not None and self._watch:
            self._watch.follow(self._sessions.all())
        return session


class _Named(msgspec.Struct):
    session: str


def _session_start(text: str) -> Reply:
    output = {"hookEventName": "SessionStart", "additionalContext": text}
    return {"hookSpecificOutput": output}


def _refusal(kind: str, message: str) -> Reply:
    return {"ok": False, "error": {"kind": kind, "message": message}}


def _parsed(version: str) -> tuple[int, ...]:
    """Return the numbers of a version, in an order that compares; () for what is none."""
    numbers = version.split("+", 1)[0].split(".")
    return tuple(int(n) for n in numbers) if all(n.isdecimal() for n in numbers) else ()


def _memory_bytes() -> int | None:
    """Return the resident size, None where the system does not say it in this way."""
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    except OSError:
        return None
    return int(pages) * os.sysconf("SC_PAGE_SIZE")
