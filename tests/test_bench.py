from pathlib import Path

import pytest
from click.testing import CliRunner

from lcc_sidecar.bench.workspace import lay_out
from lcc_sidecar.cli.main import lcc
from tests.build import Session, lines, numbered, tool_use

TEXT = lines(30)


@pytest.fixture
def session() -> Session:
    made = Session()
    made.says("please fix it", cwd="/old/home/project")
    made.reads("r1", "/old/home/project/a.py", numbered(TEXT))
    path = "/old/home/project/sub/b.py"
    made.replies(tool_use("w1", "Write", file_path=path, content="one\ntwo\n"))
    made.returns("w1", "ok")
    edit = {"file_path": path, "old_string": "two", "new_string": "2"}
    made.replies(tool_use("e1", "Edit", **edit))
    made.returns("e1", "ok")
    made.reads("r2", "/old/home/project/c.py", numbered("\n".join(TEXT.split("\n")[4:8]), 5))
    made.chat(5)
    return made


def test_the_workspace_holds_what_the_session_showed(session: Session, tmp_path: Path):
    moved = lay_out(session.data(), str(tmp_path / "ws"))

    assert (tmp_path / "ws/a.py").read_text() == TEXT
    assert (tmp_path / "ws/sub/b.py").read_text() == "one\n2\n"
    assert (tmp_path / "ws/c.py").read_text().split("\n")[4:8] == TEXT.split("\n")[4:8]
    assert "was not seen" in (tmp_path / "ws/c.py").read_text().split("\n")[0]
    assert b"/old/home" not in moved
    assert str(tmp_path / "ws/a.py").encode() in moved


@pytest.mark.parametrize(
    "path", ["/old/home/project/../../evil", "/old/home/project/.git/hooks/x", "/elsewhere/x"]
)
def test_nothing_is_written_outside_the_workspace(tmp_path: Path, path: str):
    made = Session()
    made.says("go", cwd="/old/home/project")
    made.replies(tool_use("w1", "Write", file_path=path, content="x"))
    made.returns("w1", "ok")

    lay_out(made.data(), str(tmp_path / "ws"))

    assert [p for p in tmp_path.rglob("*") if p.is_file()] == []


def test_a_folder_of_sessions_is_measured_and_told(session: Session, tmp_path: Path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/one.jsonl").write_bytes(session.data())
    (tmp_path / "bad.jsonl").write_text("not a session\n")
    index = "file\trepo\tpath\tcommit\nsub/one.jsonl\towner/repo\ta/b.jsonl\t0123456789abcdef\n"
    (tmp_path / "index.tsv").write_text(index)

    done = CliRunner().invoke(lcc, ["bench", str(tmp_path), "--index", str(tmp_path / "index.tsv")])

    assert done.exit_code == 0, done.output
    assert "Not read: bad.jsonl" in done.output
    assert "| owner/repo a/b.jsonl @ 0123456789ab | 4 |" in done.output
    assert "2 of 2" in done.output


def test_a_folder_without_sessions_is_refused(tmp_path: Path):
    assert "holds no session" in str(CliRunner().invoke(lcc, ["bench", str(tmp_path)]).exception)
