import errno
import os
import stat
from pathlib import Path

import pytest

from lcc_sidecar.limits import DISK_MAX_BYTES
from lcc_sidecar.policy.decision import FileClaim
from lcc_sidecar.proof.disk import Disk, DiskProof, changed_since
from lcc_sidecar.proof.files import Refused, read_regular
from tests.build import lines

TEXT = lines(9)
ROWS = TEXT.split("\n")


def prove(path: Path, body: str, first: int | None = None, last: int | None = None):
    found = Disk().prove(FileClaim(str(path), body, first, last))
    return found.reason if isinstance(found, Refused) else found.lines


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.py"
    path.write_text(TEXT)
    return path


def test_a_whole_file_is_proven_with_or_without_its_last_line_end(file: Path):
    assert prove(file, TEXT) is None
    assert prove(file, TEXT[:-1]) is None
    assert prove(file, TEXT[:-1], 1, 9) is None


def test_a_range_is_proven_at_its_own_lines_only(file: Path):
    body = "\n".join(ROWS[2:5])

    assert prove(file, body, 3, 5) == (3, 5)
    assert prove(file, body, 2, 4) == "keep_disk_mismatch"
    assert prove(file, body) == "keep_disk_mismatch"
    assert prove(file, body, 300, 302) == "keep_disk_mismatch"


def test_a_part_of_a_line_is_not_the_line(file: Path):
    assert prove(file, ROWS[2][:-1], 3, 3) == "keep_disk_mismatch"


def test_crlf_never_matches_lf(tmp_path: Path):
    path = tmp_path / "a.txt"
    path.write_bytes(TEXT.replace("\n", "\r\n").encode())

    assert prove(path, TEXT[:-1], 1, 9) == "keep_disk_mismatch"
    assert prove(path, ROWS[2], 3, 3) == "keep_disk_mismatch"


def test_a_byte_order_mark_is_content(tmp_path: Path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbf" + TEXT.encode())

    assert prove(path, TEXT) == "keep_disk_mismatch"


def test_what_is_missing_too_large_or_no_text_is_refused(tmp_path: Path):
    large = tmp_path / "large"
    large.write_bytes(b"x" * (DISK_MAX_BYTES + 1))
    just = tmp_path / "just"
    just.write_bytes(b"x" * DISK_MAX_BYTES)
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe\x00")

    assert prove(tmp_path / "gone", TEXT) == "keep_disk_missing"
    assert prove(large, TEXT) == "keep_disk_too_large"
    assert prove(just, "x" * DISK_MAX_BYTES) is None
    assert prove(binary, TEXT) == "keep_disk_unreadable"
    assert prove(tmp_path / "a\0b", TEXT) == "keep_disk_unreadable"
    assert prove(large / "below", TEXT) == "keep_disk_missing"


def test_what_is_no_regular_file_is_refused_and_cannot_make_us_wait(tmp_path: Path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)

    assert prove(fifo, TEXT) == "keep_disk_not_regular"
    assert prove(tmp_path, TEXT) == "keep_disk_not_regular"
    assert prove(Path("/dev/zero"), TEXT) == "keep_disk_not_regular"


def test_a_link_within_its_folder_is_followed_and_one_that_leads_out_is_not(file: Path):
    folder = file.parent / "sub"
    folder.mkdir()
    (folder / "real.py").write_text(TEXT)
    (folder / "inside.py").symlink_to("real.py")
    (folder / "outside.py").symlink_to(file)
    (folder / "dangling.py").symlink_to("nowhere")
    (folder / "loop.py").symlink_to("loop.py")
    os.mkfifo(folder / "fifo")
    (folder / "tofifo").symlink_to("fifo")

    assert prove(folder / "inside.py", TEXT) is None
    assert prove(folder / "outside.py", TEXT) == "keep_disk_outside_root"
    assert prove(folder / "dangling.py", TEXT) == "keep_disk_missing"
    assert prove(folder / "loop.py", TEXT) in ("keep_disk_unreadable", "keep_disk_missing")
    assert prove(folder / "tofifo", TEXT) == "keep_disk_not_regular"


def test_a_folder_that_is_a_link_does_not_matter(file: Path):
    (file.parent / "link").symlink_to(".", target_is_directory=True)

    assert prove(file.parent / "link" / "a.py", TEXT) is None


def test_a_file_that_may_not_be_read_is_refused(file: Path, monkeypatch):
    def denied(*_args, **_kwargs):  # root may read everything, so the mode cannot say it
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "open", denied)

    assert prove(file, TEXT) == "keep_disk_unreadable"


def test_a_file_swapped_for_a_fifo_after_the_look_is_refused(file: Path, monkeypatch):
    state = os.lstat(file)

    def swapped(path, **_):
        monkeypatch.undo()
        Path(path).unlink()
        os.mkfifo(path)
        return state

    monkeypatch.setattr(os, "lstat", swapped)

    assert prove(file, TEXT) == "keep_disk_not_regular"


def test_a_file_swapped_for_a_link_after_the_look_is_refused(file: Path, monkeypatch):
    state = os.lstat(file)
    secret = file.parent / "secret"
    secret.write_text(TEXT)

    def swapped(path, **_):
        monkeypatch.undo()
        Path(path).unlink()
        Path(path).symlink_to(secret)
        return state

    monkeypatch.setattr(os, "lstat", swapped)

    assert prove(file, TEXT) == "keep_disk_unreadable"


def test_a_file_that_changed_since_its_proof_is_noticed(file: Path):
    proof = Disk().prove(FileClaim(str(file), TEXT))
    assert isinstance(proof, DiskProof)
    assert changed_since([proof]) == set()

    before = file.stat()
    file.write_text(TEXT.replace("line 1", "line X"))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert changed_since([proof]) == {str(file)}
    file.unlink()
    assert changed_since([proof]) == {str(file)}


def test_reading_leaves_no_descriptor_open_and_changes_nothing(file: Path):
    before = (file.read_bytes(), file.stat().st_mtime_ns, stat.S_IMODE(file.stat().st_mode))
    opened = set(os.listdir("/proc/self/fd"))

    read_regular(str(file))
    read_regular(str(file.parent))

    assert set(os.listdir("/proc/self/fd")) == opened
    assert (file.read_bytes(), file.stat().st_mtime_ns, stat.S_IMODE(file.stat().st_mode)) == before


def test_a_file_that_grows_past_the_cap_while_it_is_read_is_too_large(tmp_path: Path):
    path = tmp_path / "growing"
    path.write_bytes(b"x" * DISK_MAX_BYTES)
    real_read = os.read

    def growing(handle: int, size: int) -> bytes:
        with path.open("ab") as file:
            file.write(b"y" * 4096)
        return real_read(handle, size)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "read", growing)
        found = read_regular(str(path))

    assert found == Refused("keep_disk_too_large")
