import json
import os
import threading
import time

import pytest

from lcc_sidecar import limits
from lcc_sidecar.sidecar import index as module
from lcc_sidecar.sidecar.index import SessionIndex
from tests.sidecar.worlds import row


@pytest.fixture
def path(tmp_path):
    return tmp_path / "s1.jsonl"


@pytest.fixture
def index(path):
    return SessionIndex("s1", path)


def _count_reads(monkeypatch) -> list[int]:
    counts: list[int] = []
    bytes_at = module._bytes_at

    def counted(*arguments):
        found = bytes_at(*arguments)
        counts.append(len(found))
        return found

    monkeypatch.setattr(module, "_bytes_at", counted)
    return counts


def _append(path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def test_rows_are_found_by_uuid_with_their_place_and_kind(path, index):
    path.write_bytes(
        row("u1")
        + row("a1", "assistant", "u1", message={"id": "msg_1", "content": [1]})
        + row("m1", "user", "a1", isMeta=True)
        + row("x1", "user", "a1", isSidechain=True)
    )
    assert index.update() == path.stat().st_size
    assert list(index.rows) == ["u1", "a1", "m1", "x1"]
    found = index.rows["a1"]
    assert (found.type, found.parent_uuid, found.message_id) == ("assistant", "u1", "msg_1")
    assert (found.offset, found.length) == (
        len(row("u1")),
        len(row("a1", "assistant", "u1", message={"id": "msg_1", "content": [1]})) - 1,
    )
    assert index.rows["m1"].is_meta
    assert index.rows["x1"].is_sidechain
    assert index.read_row("a1")["message"]["content"] == [1]
    assert index.read_row("unknown") is None


@pytest.mark.parametrize(
    ("content", "has_lists"),
    [
        ([{"type": "text", "text": "[one]"}], False),
        ([{"type": "tool_result", "content": "[{}]"}], False),
        ([{"type": "tool_result"}, {"type": "tool_result", "content": None}], False),
        ([{"type": "tool_result", "content": []}], True),
        ([{"type": "tool_result", "content": "one"}, {"type": "text", "content": [{}]}], True),
        ("[{}]", False),
    ],
)
@pytest.mark.parametrize("more", ["", "\ud83d"], ids=["fast", "tolerant"])
def test_a_row_tells_whether_a_result_in_it_is_a_list(path, index, content, has_lists, more):
    path.write_bytes(row("u1", message={"content": content}, subtype=more))
    index.update()
    assert index.rows["u1"].has_lists is has_lists


def test_only_what_was_added_is_read(path, index, monkeypatch):
    path.write_bytes(row("u1") * 1000)
    index.update()
    read = _count_reads(monkeypatch)
    _append(path, row("u2"))
    assert index.update() == len(row("u2"))
    assert sum(read) <= len(row("u2")) + 4 * limits.ANCHOR_BYTES


def test_a_file_touched_without_growth_is_not_read_again(path, index, monkeypatch):
    path.write_bytes(row("u1") * 10)
    index.update()
    monkeypatch.setattr(index, "_read_on", lambda *_: pytest.fail("read again"))
    for _ in range(1000):
        assert index.update() == 0


def test_bytes_after_the_last_line_end_wait_for_their_end(path, index):
    line = row("u1")
    for cut in range(len(line)):
        path.write_bytes(row("u0") + line[:cut])
        index.update()
        assert list(index.rows) == ["u0"]
        assert index.position == len(row("u0"))
    _append(path, line[-1:])
    index.update()
    assert list(index.rows) == ["u0", "u1"]
    assert index.damaged == 0


def test_a_damaged_line_costs_only_itself_and_is_counted(path, index):
    good = [row(f"u{n}") for n in range(6)]
    path.write_bytes(b"".join(good[:3]) + good[0][:40] + b"\n" + b"".join(good[3:]))
    index.update()
    assert len(index.rows) == 6
    assert index.damaged == 1


def test_a_row_behind_the_stub_of_a_killed_write_is_recovered_and_counted(path, index):
    path.write_bytes(b'{"type":"pr-link","prNu' + row("u9") + row("u10"))
    index.update()
    assert list(index.rows) == ["u9", "u10"]
    assert index.damaged == 1
    assert index.read_row("u9")["uuid"] == "u9"


def test_a_run_of_nul_bytes_hides_nothing_behind_it(path, index):
    path.write_bytes(row("u1") + b"\0" * 300 + row("u2") + b"\0" * 300 + b"\n" + row("u3"))
    index.update()
    assert list(index.rows) == ["u1", "u2", "u3"]
    assert index.damaged == 0


@pytest.mark.parametrize(
    "odd",
    [b"", b"null", b"3", b"[]", b"   ", b'{"type":"atis-latch","atis":"","sessionId":"s1"}', b"{}"],
)
def test_lines_that_are_no_rows_are_ignored(path, index, odd):
    path.write_bytes(row("u1") + odd + b"\n" + row("u2"))
    index.update()
    assert list(index.rows) == ["u1", "u2"]
    assert index.damaged == 0


@pytest.mark.parametrize(
    "text",
    [
        r'"\ud83d cut"',
        "NaN",
        "1e400",
        "-Infinity",
        '"' + "x" * 100_000 + '"',
        "[" * 900 + "]" * 900,
    ],
)
def test_a_row_that_fast_parsers_refuse_is_a_row_all_the_same(path, index, text):
    path.write_bytes(row("u1").replace(b'"uuid"', b'"x":' + text.encode() + b',"uuid"'))
    index.update()
    assert index.read_row("u1") is not None
    assert index.damaged == 0


@pytest.mark.parametrize("line", [b"[" * 100_000, b'{"a":' * 2_000 + b"1" + b"}" * 2_000])
def test_deep_nesting_costs_only_its_line(path, index, line):
    path.write_bytes(row("u1") + line + b"\n" + row("u2"))
    index.update()
    assert list(index.rows) == ["u1", "u2"]


def test_a_truncated_emoji_in_raw_bytes_costs_nothing(path, index):
    path.write_bytes(row("u1").replace(b'"uuid"', b'"x":"\xed\xa0\xbd\xff","uuid"') + row("u2"))
    index.update()
    assert list(index.rows) == ["u1", "u2"]


def test_a_row_written_again_is_one_row_at_its_newest_place(path, index):
    path.write_bytes(b"".join(row(f"u{n % 10}") for n in range(20)))
    index.update()
    assert len(index.rows) == 10
    assert index.rows["u0"].offset == 10 * len(row("u0"))


@pytest.mark.parametrize("how", ["cut", "replaced", "rewritten in place"])
def test_a_file_that_is_not_what_was_read_is_read_anew(path, index, how):
    path.write_bytes(row("old1") + row("old2"))
    index.update()
    if how == "cut":
        os.truncate(path, len(row("old1")))
    elif how == "replaced":
        other = path.with_suffix(".new")
        other.write_bytes(row("new1") + row("new2") + row("new3"))
        other.replace(path)
    else:
        with path.open("r+b") as file:
            file.write(row("new1") + row("new2") + row("new3"))
    index.update()
    assert list(index.rows) == (["old1"] if how == "cut" else ["new1", "new2", "new3"])


def test_a_half_line_that_was_cut_and_written_anew_is_read_anew(path, index):
    path.write_bytes(row("u1") + row("half")[:60])
    index.update()
    os.truncate(path, len(row("u1")))
    _append(path, b"{}\n")
    index.update()
    _append(path, row("u2"))
    index.update()
    assert list(index.rows) == ["u1", "u2"]
    assert index.damaged == 0


def test_a_copy_that_differs_only_far_from_its_ends_is_read_anew(path, index):
    ends = row("u1", text="x" * 9000)
    path.write_bytes(ends + row("old") + ends)
    index.update()
    other = path.with_suffix(".new")
    other.write_bytes(ends + row("new") + ends)
    other.replace(path)
    index.update()
    assert "new" in index.rows


def test_what_stands_elsewhere_now_is_not_given_out_as_the_row(path, index):
    path.write_bytes(row("u1") + row("u2"))
    index.update()
    path.write_bytes(row("v1") + row("v2"))
    assert index.read_row("u1") is None
    path.unlink()
    assert index.read_row("u1") is None


def test_a_file_that_is_gone_leaves_what_is_known(path, index):
    path.write_bytes(row("u1"))
    index.update()
    path.unlink()
    with pytest.raises(OSError, match="No such file"):
        index.update()
    assert list(index.rows) == ["u1"]


@pytest.mark.timeout(5)
def test_a_fifo_in_place_of_the_file_is_refused_without_waiting(path, index):
    os.mkfifo(path)
    with pytest.raises(OSError, match="no regular file"):
        index.update()


def test_attachments_and_meta_rows_ride_on_others(path, index):
    path.write_bytes(
        row("r1")
        + row("t1", "attachment", "r1", attachment={"type": "queued_command"})
        + row("m1", "user", "t1", isMeta=True)
        + row("a1", "assistant", "m1")
    )
    index.update()
    assert [uuid for uuid, found in index.rows.items() if found.is_rider] == ["t1", "m1"]


def test_lines_are_given_as_they_stand_in_the_file(path, index):
    path.write_bytes(row("u1") + row("u2"))
    index.update()
    assert list(index.lines(["u2", "unknown", "u1"])) == [row("u2")[:-1], None, row("u1")[:-1]]


def test_queue_operations_are_kept_in_order_and_can_be_read(path, index):
    lines = [{"type": "queue-operation", "operation": "enqueue", "content": f"p{n}"} for n in "12"]
    path.write_bytes(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    index.update()
    assert [index.read(found) for found in index.queue] == lines


def test_a_long_line_in_small_pieces_is_read_twice_at_most(path, index, monkeypatch):
    line = row("u1", message={"content": "x" * 13_000_000})
    read = _count_reads(monkeypatch)
    path.touch()
    for start in range(0, len(line), 65_536):
        _append(path, line[start : start + 65_536])
        index.update()
    _append(path, row("u2"))
    index.update()
    assert list(index.rows) == ["u1", "u2"]
    assert sum(read) < 2.2 * len(line)


def test_an_endless_line_is_passed_over(path, index, monkeypatch):
    monkeypatch.setattr("lcc_sidecar.sidecar.index.LINE_MAX_BYTES", 1000)
    monkeypatch.setattr("lcc_sidecar.sidecar.index.READ_CHUNK_BYTES", 400)
    path.write_bytes(row("u1") + b"x" * 5000)
    index.update()
    _append(path, b"x" * 5000 + b"\n" + row("u2"))
    index.update()
    assert list(index.rows) == ["u1", "u2"]
    assert index.damaged == 1


@pytest.mark.parametrize("chunk", [1, 7, 64, 1000])
def test_the_size_of_a_read_changes_nothing(path, monkeypatch, chunk):
    path.write_bytes(b"".join(row(f"u{n}", text="é" * n) for n in range(40)) + b'{"half')
    whole, small = SessionIndex("s1", path), SessionIndex("s1", path)
    whole.update()
    monkeypatch.setattr("lcc_sidecar.sidecar.index.READ_CHUNK_BYTES", chunk)
    small.update()
    assert small.rows == whole.rows
    assert small.position == whole.position


def test_foreign_types_are_not_kept(path, index):
    path.write_bytes(b"".join(row(f"p{n}", "progress") for n in range(100)) + row("u1"))
    index.update()
    assert list(index.rows) == ["u1"]


def test_the_transcript_is_never_written(path, index):
    path.write_bytes(row("u1") * 100)
    path.chmod(0o400)
    before = path.stat()
    index.update()
    index.read_row("u1")
    after = path.stat()
    assert (after.st_mtime_ns, after.st_size) == (before.st_mtime_ns, before.st_size)


def test_a_writer_at_work_is_followed_to_its_end(path, index):
    def write() -> None:
        with path.open("ab", buffering=0) as file:
            for n in range(2000):
                line = row(f"u{n}", text="x" * 500)
                file.write(line[:300])
                file.write(line[300:])

    path.touch()
    writer = threading.Thread(target=write)
    writer.start()
    while writer.is_alive():
        index.update()
        time.sleep(0.001)
    writer.join()
    index.update()
    assert len(index.rows) == 2000
    assert index.damaged == 0
