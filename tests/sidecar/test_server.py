import contextlib
import json
import os
import socket
import stat
import threading
import time
from pathlib import Path

import pytest

from lcc_sidecar import __version__, limits
from lcc_sidecar.errors import SidecarError
from lcc_sidecar.near import transport, wire
from lcc_sidecar.sidecar import lifecycle
from tests.sidecar.worlds import row, wait_until


@pytest.fixture
def transcript(world):
    path = world.home / "s1.jsonl"
    path.write_bytes(row("u1") + row("a1", "assistant", "u1"))
    return path


def _hook(transcript, **more):
    return {"session_id": "s1", "transcript_path": str(transcript), **more}


def _raw(address, sent: bytes) -> bytes:
    """Send bytes as they are; return all that comes back until the end."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(address))
        connection.settimeout(10)
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(65536), b""))


def _frame(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body


def test_every_reply_names_the_version(world):
    world.serve()
    for command in ("ping", "status", "drain", "stop"):
        assert world.ask(command).items() >= {"ok": True, "version": __version__}.items()


def test_socket_and_folder_are_private(world):
    world.serve()
    assert stat.S_IMODE(Path(world.point + ".sock").stat().st_mode) == 0o600
    assert stat.S_IMODE(Path(world.point).parent.stat().st_mode) == 0o700


def test_a_nudge_is_indexed_in_the_background_and_drain_waits_for_it(world, transcript):
    world.serve()
    assert world.ask("nudge", _hook(transcript))["ok"]
    world.ask("drain")
    status = world.ask("status")
    assert status["sessions"] == 1
    assert status["indexed_rows"] == 2
    assert status["indexed_bytes"] == transcript.stat().st_size


@pytest.mark.parametrize("watch", ["0", "1"])
def test_rows_written_after_the_last_nudge_are_indexed_too(world, transcript, watch):
    """Stop fires before the last row is on disk; and on some mounts no change is ever told."""
    world.serve(LCC_SIDECAR_WATCH=watch)
    world.ask("nudge", _hook(transcript))
    world.ask("drain")
    time.sleep(1.5)
    with transcript.open("ab") as file:
        file.write(row("late"))
    wait_until(lambda: world.ask("status")["indexed_rows"] == 3, seconds=3)


NO_WATCHES = """
import errno, sys
from watchdog.observers.api import BaseObserver
def refuse(*_, **__):
    raise OSError(errno.{error}, "no watches left")
BaseObserver.{method} = refuse
from lcc_sidecar.sidecar.lifecycle import serve
serve()
"""


@pytest.mark.parametrize(("error", "method"), [("EMFILE", "start"), ("ENOSPC", "schedule")])
def test_without_watches_nudges_are_enough(world, transcript, error, method):
    world.serve(code=NO_WATCHES.format(error=error, method=method))
    for n in range(3):
        with transcript.open("ab") as file:
            file.write(row(f"n{n}"))
        assert world.ask("nudge", _hook(transcript))["ok"]
        world.ask("drain")
        assert world.ask("status")["indexed_rows"] == 3 + n


def test_a_burst_of_lines_is_read_whole_after_the_next_nudge(world, transcript):
    world.serve()
    world.ask("nudge", _hook(transcript))
    with transcript.open("ab") as file:
        file.writelines(row(f"b{n}") for n in range(50_000))
    world.ask("nudge", _hook(transcript))
    world.ask("drain")
    assert world.ask("status")["indexed_rows"] == 50_002


def test_a_subagents_hook_is_not_taken_for_its_parent(world, transcript):
    world.serve()
    assert world.ask("nudge", _hook(transcript, agent_id="a1"))["ok"]
    world.ask("drain")
    assert world.ask("status")["sessions"] == 0


@pytest.mark.parametrize(
    "payload",
    [{}, {"session_id": None}, {"session_id": "s1"}, {"session_id": "s1", "transcript_path": ""}],
)
def test_a_nudge_about_nothing_we_can_find_is_no_error(world, payload):
    world.serve()
    assert world.ask("nudge", payload)["ok"]


@pytest.mark.parametrize("session_id", ["../../x", "a/b", "x" * 10_240, "a\0b"])
def test_a_nudge_with_an_id_that_could_lead_elsewhere_is_refused(world, transcript, session_id):
    world.serve()
    reply = world.ask("nudge", {"session_id": session_id, "transcript_path": str(transcript)})
    assert not reply["ok"]
    assert reply["error"]["kind"] == "SidecarError"
    assert world.ask("status")["sessions"] == 0


@pytest.mark.parametrize(
    "body",
    [
        b"{}",
        b'{"command":"erase","version":"0.1"}',
        b'{"command":"ping"}',
        b'{"command":"ping","version":7}',
        b'{"command":["ping"],"version":"0.1"}',
        b'{"command":"nudge","version":"0.1","event":"Stop","payload":3}',
        b'{"command":"nudge","version":"0.1","event":"Stop","payload":{"session_id":3}}',
        b'{"command":"compact","version":"0.1","payload":[]}',
        b'{"command":"ping","version":"0.1"',
        b'{"command":"nudge","version":"0.1","event":"Stop","payload":' + b"[" * 50_000 + b"}",
        b"{\xff}",
    ],
)
def test_a_request_that_does_not_fit_gets_a_refusal_and_harms_nothing(world, body):
    process = world.serve()
    if body.endswith(b"}"):
        reply = json.loads(_raw(world.point + ".sock", _frame(body))[4:])
        assert reply["ok"] is False
        assert set(reply["error"]) == {"kind", "message"}
    else:
        assert _raw(world.point + ".sock", _frame(body)) == b""
    assert process.poll() is None
    assert world.ask("ping")["ok"]


def test_a_broken_payload_cannot_pose_as_another_command(world):
    process = world.serve()
    parts = wire.request("nudge", b'{},"command":"stop","x":{}', "Stop")
    _raw(world.point + ".sock", b"".join(parts))
    assert world.ask("ping")["ok"]
    assert process.poll() is None


def test_lone_surrogates_in_a_payload_are_taken_as_they_are(world, transcript):
    world.serve()
    payload = {**_hook(transcript), "last_assistant_message": "\ud83d cut"}
    assert world.ask("nudge", payload)["ok"]
    assert world.ask("compact", {**payload, "rows": []})["ok"]
    world.ask("drain")
    assert world.ask("status")["sessions"] == 1


def test_callers_that_send_half_a_frame_or_nothing_hold_nobody_up(world):
    world.serve()
    silent = [socket.socket(socket.AF_UNIX) for _ in range(10)]
    for number, connection in enumerate(silent):
        connection.connect(world.point + ".sock")
        connection.sendall(b"\0\0\1\0{half"[: number * 2])
    started = time.monotonic()
    assert world.ask("ping")["ok"]
    assert time.monotonic() - started < 1
    for connection in silent:
        connection.close()


def test_a_failing_handler_answers_and_logs_a_report_without_any_text(world, transcript):
    code = (
        "import sys\n"
        "from lcc_sidecar.sidecar import live\n"
        "def answer(*_): raise KeyError('the words of a person')\n"
        "live.answer = answer\n"
        "from lcc_sidecar.sidecar.lifecycle import serve\n"
        "serve()"
    )
    world.serve(code=code)
    reply = world.ask("compact", {**_hook(transcript), "rows": []})
    assert reply["ok"] is False
    assert reply["error"]["kind"] == "KeyError"
    assert "sidecar.log" in reply["error"]["message"]
    (entry,) = [json.loads(line) for line in world.logged("sidecar.log").splitlines()]
    assert entry["where"] == "Compact"
    assert entry["version"] == __version__
    assert any("server.py" in frame for frame in entry["trace"])
    assert "words" not in json.dumps([reply, entry])
    assert world.ask("ping")["ok"]


def test_a_ping_is_answered_while_a_large_file_is_indexed(world):
    transcript = world.home / "s1.jsonl"
    with transcript.open("wb") as file:
        for n in range(60_000):
            file.write(row(f"u{n}", message={"id": f"m{n % 50}", "content": "x" * 1000}))
    process = world.serve()
    world.ask("nudge", _hook(transcript))
    drained = threading.Thread(target=lambda: world.ask("drain", seconds=60))
    drained.start()
    slowest = 0.0
    while drained.is_alive():
        started = time.monotonic()
        assert world.ask("ping", seconds=1)["ok"]
        slowest = max(slowest, time.monotonic() - started)
    drained.join()
    assert world.ask("status")["indexed_rows"] == 60_000
    assert world.sidecars() == [process.pid]
    assert slowest < 1


def test_memory_stays_far_below_the_transcript(world):
    transcript = world.home / "s1.jsonl"
    with transcript.open("wb") as file:
        for n in range(8_000):
            file.write(row(f"u{n:032}", message={"id": f"m{n}", "content": "x" * 5000}))
    world.serve()
    idle = world.ask("status")["memory_bytes"]
    assert idle < 60e6
    world.ask("nudge", _hook(transcript))
    world.ask("drain")
    status = world.ask("status")
    assert status["indexed_rows"] == 8_000
    assert status["memory_bytes"] - idle < 0.5 * transcript.stat().st_size


def test_a_caller_of_another_user_is_not_admitted(world):
    world.serve()
    if os.geteuid() != 0:
        pytest.skip("only root can become another user here")
    reader, writer = os.pipe()
    address = Path(world.point + ".sock")
    for path, mode in (
        (world.home.parent, 0o755),
        (world.home, 0o755),
        (address.parent, 0o755),
        (address, 0o666),
    ):
        path.chmod(mode)  # as if somebody had opened it all
    if (child := os.fork()) == 0:  # no thread of ours runs here
        try:
            os.setuid(65534)
            os.write(writer, _raw(address, b"".join(wire.request("status"))) or b"nothing")
        except OSError:
            os.write(writer, b"nothing")
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reader, 100) == b"nothing"
    os.close(reader)
    os.close(writer)
    assert "belongs to uid 65534" in world.logged("sidecar.log")


def test_a_transcript_that_is_gone_by_then_leaves_the_compaction_without_a_session(world):
    code = (
        "from lcc_sidecar.sidecar import live\n"
        "live.answer = lambda request, session, _: {'outcome': str(session)}\n"
        "from lcc_sidecar.sidecar import index\n"
        "def refuse(*_): raise FileNotFoundError(2, 'gone')\n"
        "index.SessionIndex.update = refuse\n"
        "from lcc_sidecar.sidecar.lifecycle import serve\n"
        "serve()"
    )
    world.serve(code=code)
    transcript = world.home / "s1.jsonl"
    transcript.write_bytes(row("u1"))
    assert world.ask("compact", _hook(transcript))["outcome"] == "None"


def test_stop_is_answered_by_the_one_that_goes(world):
    process = world.serve()
    assert lifecycle.stop()
    assert process.wait(1) == 0


def test_requests_in_the_queue_of_a_leaving_sidecar_reach_its_successor(world):
    """Hooks run on while the sidecar is stopped again and again; none of them is lost."""
    over = threading.Event()

    def stop_often() -> None:
        while not over.wait(0.1):
            lifecycle.stop()

    stopper = threading.Thread(target=stop_often)
    stopper.start()
    for _ in range(5):
        for ran in world.all_event_hooks(b'{"session_id":"s1"}'):
            assert (ran.code, ran.out) == (0, b"")
    over.set()
    stopper.join()


def test_silent_callers_keep_nobody_out_and_do_not_hold_up_the_end(world):
    process = world.serve()
    with contextlib.ExitStack() as silent:
        for _ in range(limits.CONNECTIONS_MAX + 3):
            connection = silent.enter_context(socket.socket(socket.AF_UNIX))
            connection.connect(world.point + ".sock")
        assert world.ask("ping", seconds=limits.FIRST_BYTES_SECONDS + 5)["ok"]
        process.terminate()
        assert process.wait(limits.LEAVE_SECONDS + limits.FIRST_BYTES_SECONDS + 5) == 0


def test_a_sidecar_of_another_user_is_not_spoken_to(world, monkeypatch):
    world.serve()
    point = world.point
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(SidecarError, match="belongs to uid"):
        transport.connect(point, time.monotonic() + 5)
