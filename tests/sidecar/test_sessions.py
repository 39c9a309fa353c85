import pytest

from lcc_sidecar.errors import SidecarError
from lcc_sidecar.sidecar.sessions import Sessions, locate
from tests.sidecar.worlds import row


@pytest.fixture
def projects(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    folder = tmp_path / ".claude" / "projects"
    for project in ("p", "q"):
        (folder / project).mkdir(parents=True)
    return folder


@pytest.fixture
def transcript(projects):
    path = projects / "p" / "s1.jsonl"
    path.write_bytes(row("u1"))
    return path


def test_the_path_that_was_told_counts(transcript):
    assert locate("s1", str(transcript)) == transcript


def test_an_empty_path_is_found_by_the_session_id(transcript):
    assert locate("s1", "") == transcript


def test_a_path_into_a_missing_folder_is_found_in_the_folder_beside_it(transcript, projects):
    assert locate("s1", str(projects / "-w--claude-worktrees-b" / "s1.jsonl")) == transcript


def test_a_moved_config_folder_is_searched(transcript, monkeypatch, tmp_path):
    (tmp_path / ".claude").rename(tmp_path / "moved")
    assert locate("s1", "") is None
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "moved"))
    assert locate("s1", "") == tmp_path / "moved/projects/p/s1.jsonl"


def test_two_files_of_one_id_are_none(transcript, projects):
    (projects / "q" / "s1.jsonl").write_bytes(row("u1"))
    assert locate("s1", "") is None


@pytest.mark.parametrize(
    "told", ["", "/nowhere/p/s1.jsonl", "relative.jsonl", "/a\0b", "/", "\ud83d"]
)
def test_a_transcript_that_is_nowhere_is_none(projects, told):
    assert locate("s1", told) is None


@pytest.mark.parametrize(
    "session_id", ["../../.claude/settings", "a/b", "a\0b", "x" * 10_240, "", "s1\n", "é", "a.b"]
)
def test_an_id_that_could_lead_elsewhere_is_refused(transcript, session_id):
    with pytest.raises(SidecarError, match="session id"):
        locate(session_id, str(transcript))


def test_an_id_with_another_file_starts_anew_and_leaves_the_other_session_alone(projects):
    parent, fork = projects / "p" / "a.jsonl", projects / "p" / "b.jsonl"
    parent.write_bytes(row("u1"))
    fork.write_bytes(row("u2"))
    sessions = Sessions()
    of_parent = sessions.get("a", str(parent))
    of_fork = sessions.get("b", str(fork))
    of_parent.update()
    of_fork.update()
    assert (list(of_parent.rows), list(of_fork.rows)) == (["u1"], ["u2"])
    assert sessions.get("a", str(parent)) is of_parent
    assert sessions.get("a", str(fork)).path == fork


def test_the_longest_unused_session_goes_first(projects, monkeypatch):
    monkeypatch.setattr("lcc_sidecar.sidecar.sessions.SESSIONS_MAX", 2)
    for name in "abc":
        (projects / "p" / f"{name}.jsonl").write_bytes(row("u1"))
    sessions = Sessions()
    first = sessions.get("a", "")
    sessions.get("b", "")
    assert sessions.get("a", "") is first
    sessions.get("c", "")
    assert [session.session_id for session in sessions.all()] == ["a", "c"]


def test_many_rows_push_other_sessions_out_but_never_the_one_in_use(projects, monkeypatch):
    monkeypatch.setattr("lcc_sidecar.sidecar.sessions.INDEXED_ROWS_MAX", 5)
    sessions = Sessions()
    for name in "ab":
        path = projects / "p" / f"{name}.jsonl"
        path.write_bytes(b"".join(row(f"u{n}") for n in range(10)))
        sessions.get(name, "").update()
        assert sessions.all()[-1].session_id == name
    assert [session.session_id for session in sessions.all()] == ["b"]
