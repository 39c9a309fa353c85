"""The files of the request log: whole lines, private, capped, and off when it is off."""

import json
import multiprocessing
import os
import stat
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from lcc_sidecar.near import lock
from lcc_sidecar.request_log import log, marker
from lcc_sidecar.request_log.entry import TOOLS, PassEntry, Stages, encoded
from lcc_sidecar.request_log.recording import _REASONS, recall_entry

ROOT = Path(__file__).parents[2]
HASH = "0123456789abcdef"
LINES, PROCESSES = 200, 10


def entry(number: int = 0, **fields):
    usual = {
        "time": "2026-11-30T21:55:48.123Z", "session": HASH, "trigger": "manual",
        "version": "0.1.0", "mode": "lossless", "token_count_method": "estimate",
        "ms": Stages(total=1.5), "outcome": "replaced", "messages": number,
    }  # fmt: skip
    return PassEntry(**usual | fields)


def append_many(who: int) -> None:
    for number in range(LINES):
        log.append(lambda number=number: entry(1000 * who + number))


def test_off_nothing_is_written_and_no_folder_made(folder: Path):
    log.append(lambda: pytest.fail("nobody asks for an entry"))

    assert not folder.exists()


def test_on_a_line_is_the_entry(logged):
    log.append(lambda: entry(7))

    [line] = logged()
    assert line == json.loads(encoded(entry(7)))
    assert list(line)[:4] == ["schema", "time", "session", "trigger"]


def append_until(stop: Path) -> None:
    while not stop.exists():
        log.append(entry)


def test_off_is_off_while_others_write(logged, tmp_path: Path):
    stop = tmp_path / "stop"
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=append_until, args=(stop,)) for _ in range(4)]
    for writer in writers:
        writer.start()
    try:
        for _ in range(10):
            before = total()
            marker.turn_on()
            deadline = time.monotonic() + 20
            while total() <= before and time.monotonic() < deadline:
                time.sleep(0.01)
            log.turn_off()
            after = total()
            assert after > before
            time.sleep(0.05)
            assert total() == after
    finally:
        stop.touch()
        for writer in writers:
            writer.join(60)


def total() -> int:
    return sum(path.stat().st_size for path in log.files())


def test_nobody_else_can_read_it(logged, folder: Path):
    mask = os.umask(0)
    try:
        log.append(entry)
    finally:
        os.umask(mask)

    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert modes == dict.fromkeys(("on", "lock", "log.jsonl"), 0o600)


def test_turned_off_no_further_byte_is_written_and_no_file_is_open(logged, folder: Path):
    log.append(entry)
    sizes = {path: path.stat().st_size for path in folder.iterdir() if path.name != "on"}

    marker.turn_off()
    for _ in range(3):
        log.append(lambda: pytest.fail("nobody asks for an entry"))

    assert {path: path.stat().st_size for path in folder.iterdir()} == sizes
    assert open_below(folder) == []


def test_no_handle_is_kept_open_while_it_is_on(logged, folder: Path):
    log.append(entry)

    assert open_below(folder) == []


def open_below(folder: Path) -> list[str]:
    found = []
    for link in Path("/proc/self/fd").iterdir():
        try:
            target = os.readlink(link)
        except OSError:
            continue
        if target.startswith(str(folder)):
            found.append(target)
    return found


@pytest.mark.parametrize("max_bytes", [1 << 24, 40_000])
def test_ten_processes_that_append_at_once_leave_every_line_whole(
    logged, monkeypatch: pytest.MonkeyPatch, max_bytes: int
):
    monkeypatch.setattr(log, "REQUEST_LOG_MAX_BYTES", max_bytes)
    monkeypatch.setattr(log, "REQUEST_LOG_FILES_MAX", 100)
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=append_many, args=(who,)) for who in range(PROCESSES)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)

    assert [worker.exitcode for worker in workers] == [0] * PROCESSES
    wanted = {1000 * who + number for who in range(PROCESSES) for number in range(LINES)}
    found = [line["messages"] for line in logged()]
    assert len(found) == len(wanted)
    assert set(found) == wanted
    assert len(log.files()) == 1 if max_bytes > 10**6 else len(log.files()) > 10


def test_a_full_file_makes_room_and_the_oldest_lines_go(logged, monkeypatch):
    monkeypatch.setattr(log, "REQUEST_LOG_MAX_BYTES", 4 * len(encoded(entry(10))))
    monkeypatch.setattr(log, "REQUEST_LOG_FILES_MAX", 3)
    for number in range(10, 40):
        log.append(lambda number=number: entry(number))

    assert [path.name for path in log.files()] == ["log.2.jsonl", "log.1.jsonl", "log.jsonl"]
    kept = [line["messages"] for line in logged()]
    assert kept == list(range(30, 40))


def test_one_who_never_lets_go_of_the_lock_costs_no_line(logged, folder: Path):
    descriptor = lock.take(str(folder / "lock"))
    try:
        log.append(entry)
    finally:
        os.close(descriptor)

    assert len(logged()) == 1


def test_half_a_line_costs_only_itself(logged, folder: Path):
    (folder / "log.jsonl").write_bytes(encoded(entry(1)) + b'{"schema": "lcc-re')
    log.append(lambda: entry(2))

    lines = list(log.lines())
    assert [json.loads(lines[0])["messages"], json.loads(lines[2])["messages"]] == [1, 2]
    assert len(lines) == 3


def test_a_full_disk_leaves_no_half_of_a_line(logged, folder: Path, monkeypatch):
    log.append(lambda: entry(1))
    write = os.write
    told = []
    with monkeypatch.context() as full:
        full.setattr(log.os, "write", lambda fd, data: write(fd, data[: len(data) // 2]))
        log.append(lambda: entry(2), told.append)

    assert [line["messages"] for line in logged()] == [1]
    assert "the disk is full" in str(told[0])


def test_a_link_in_the_logs_place_is_not_followed(logged, folder: Path, tmp_path: Path):
    target = tmp_path / "precious"
    target.write_text("mine")
    (folder / "log.jsonl").symlink_to(target)
    told = []
    log.append(entry, told.append)

    assert target.read_text() == "mine"
    assert len(told) == 1


def test_a_pipe_in_the_logs_place_is_not_waited_for(logged, folder: Path):
    os.mkfifo(folder / "log.jsonl")
    told = []
    log.append(entry, told.append)

    assert "is a FIFO, not a regular file" in str(told[0])


def test_a_folder_that_others_can_enter_is_not_used(logged, folder: Path):
    folder.chmod(0o755)
    told = []
    log.append(entry, told.append)

    assert "is not this user's alone" in str(told[0])
    assert not (folder / "log.jsonl").exists()


def test_the_warning_stands_on_standard_error_once(logged, folder: Path):
    (folder / "log.jsonl").mkdir()
    program = (
        "from tests.request_log.test_log import entry\n"
        "from lcc_sidecar.request_log import log\n"
        "for _ in range(3): log.append(entry)\n"
        "print('goes on')"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        capture_output=True, text=True, cwd=ROOT,
    )  # fmt: skip

    assert (done.returncode, done.stdout) == (0, "goes on\n")
    [line] = done.stderr.splitlines()
    assert line.startswith(f"lcc: {folder}/log.jsonl is a folder, not a regular file: remove it")
    assert line.endswith("; the pass itself is not affected")


def test_a_value_of_another_type_costs_the_line_and_tells_nothing(logged):
    told = []
    secret = "/home/kim/secret.pem"
    log.append(lambda: entry(outcome=f"fell_back: {secret}"), told.append)

    assert logged() == []
    assert secret not in str(told[0])


@pytest.mark.parametrize(
    "fields",
    [
        {"session": "11111111-2222-4333-8444-555555555555"},
        {"session": HASH + "\n"},
        {"client": "2.1.332 /home/kim"},
        {"token_count_method": "heuristic: no vocabulary of my-model"},
        {"decisions": {"keep": {"superseded_by_later_call:toolu_01": (1, 1)}}},
        {"decisions": {"kept": {"pinned_recent": (1, 1)}}},
        {"decisions": {"keep": {"/etc/passwd": (1, 3)}}},
        {"tools": {"mcp__acme__deploy": (1, 1)}},
        {"outcome": "refused: no such file /x"},
        {"trigger": "someone"},
        {"mode": "custom"},
        {"messages": -1},
    ],
)
def test_what_is_no_count_and_no_word_of_ours_is_no_entry(fields):
    with pytest.raises(msgspec.ValidationError):
        encoded(entry(**fields))


def test_the_longest_line_there_can_be_is_within_the_bound(logged):
    many = 10**12
    reasons = dict.fromkeys(_REASONS, (many, many))
    line = encoded(
        entry(
            decisions={"keep": reasons, "replace": reasons},
            tools=dict.fromkeys([*TOOLS, "mcp", "other"], (many, many)),
        )
    )

    assert len(line) < log.REQUEST_LINE_MAX_BYTES


def test_a_line_that_is_too_long_is_not_written(logged, monkeypatch):
    monkeypatch.setattr(log, "REQUEST_LINE_MAX_BYTES", 100)
    told = []
    log.append(entry, told.append)

    assert logged() == []
    assert "too long" in str(told[0])


def test_a_recall_is_a_short_line(logged):
    log.append(lambda: recall_entry(HASH, HASH, "seq", "mcp", datetime(2026, 1, 2, tzinfo=UTC)))

    assert logged() == [
        {
            "schema": "lcc-request-2",
            "time": "2026-01-02T00:00:00.000Z",
            "session": HASH,
            "outcome": "recalled",
            "recall": {"id": HASH, "by": "seq", "way": "mcp"},
        }
    ]
