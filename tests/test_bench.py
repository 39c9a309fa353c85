import contextlib
import io
import json
import os
import sys
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from lcc_sidecar.bench.billing import Billed
from lcc_sidecar.bench.growth import exponent
from lcc_sidecar.bench.page import Run, markdown
from lcc_sidecar.bench.peer import Peer, compare, peer_python
from lcc_sidecar.bench.sessions import Bench, Measured
from lcc_sidecar.bench.sessions import Session as BenchSession
from lcc_sidecar.bench.spread import spread
from lcc_sidecar.bench.synthetic import make_session
from lcc_sidecar.bench.tables import pooled
from lcc_sidecar.bench.workspace import lay_out
from lcc_sidecar.cli import bench as cli_bench
from lcc_sidecar.cli.bench import _table
from lcc_sidecar.cli.main import lcc
from lcc_sidecar.errors import LccError, UsageError
from lcc_sidecar.limits import BENCH_CALLS_MAX, TRANSCRIPT_MAX_BYTES
from lcc_sidecar.request_log import log, marker
from lcc_sidecar.transcript.files import parse_document
from tests.build import Session, lines, numbered, tool_use
from tests.cli.test_cli import lcc as lcc_process

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


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_what_is_no_file_is_not_waited_for(session: Session, tmp_path: Path):
    (tmp_path / "a.jsonl").write_bytes(session.data())
    os.mkfifo(tmp_path / "b.jsonl")
    done = CliRunner().invoke(lcc, ["bench", str(tmp_path), "--jobs", "1"])

    assert done.exit_code == 0, done.output
    assert "Not read: b.jsonl" in done.output


def test_a_folder_without_sessions_is_refused(tmp_path: Path):
    assert "holds no session" in str(CliRunner().invoke(lcc, ["bench", str(tmp_path)]).exception)


@pytest.mark.parametrize(
    ("index", "why"),
    [
        (b"file\trepo\none.jsonl\to/r\n", "lacks columns: it needs file, repo, path, commit"),
        (b"", "lacks columns"),
        (b"file\trepo\tpath\tcommit\none.jsonl\to/r\n", "row 1 is short"),
        (b"file\trepo\tpath\tcommit\n\xff\xfe\t\t\t\n", "cannot be read"),
        (b"file\trepo\tpath\tcommit\n" + b"x" * 200_000 + b"\t\t\t\n", "cannot be read"),
    ],
)
def test_an_index_that_says_too_little_is_refused_before_anything_is_measured(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, index: bytes, why: str
):
    (tmp_path / "one.jsonl").write_bytes(session.data())
    (tmp_path / "index.tsv").write_bytes(index)
    monkeypatch.setattr(cli_bench, "spread", lambda *_: pytest.fail("it was measured"))
    arguments = ["bench", str(tmp_path), "--index", str(tmp_path / "index.tsv")]

    done = CliRunner().invoke(lcc, arguments)

    assert isinstance(done.exception, UsageError)
    assert why in str(done.exception)


def test_a_made_up_session_is_no_longer_than_a_session_file_can_be(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setattr(cli_bench, "grow", lambda *_: pytest.fail("it was made"))
    for calls in (BENCH_CALLS_MAX + 1, 10**20):
        done = CliRunner().invoke(lcc, ["bench", "--synthetic", str(calls)])
        assert "is not in the range" in str(done.exception) + done.output

    each = len(make_session(str(tmp_path / "ws"), 1000)) / 1000
    assert 1.2 * each * BENCH_CALLS_MAX < TRANSCRIPT_MAX_BYTES  # longer ones have longer answers


def test_files_of_which_none_is_a_session_exit_1_with_what_to_do(tmp_path: Path):
    folder = tmp_path / "sessions"
    folder.mkdir()
    (folder / "a.jsonl").write_text('{"no": "session"}\n')
    (folder / "b.jsonl").write_text("")
    page = tmp_path / "page.md"
    done = lcc_process("bench", folder, "--report", page, check=1)

    assert done.stderr.count("\n") == 1
    assert f"none of the *.jsonl files in {folder} (2) is a session" in done.stderr
    assert "name a folder" in done.stderr
    told = page.read_text()
    assert "Not read: a.jsonl" in told
    assert "No recorded session was measured." in told
    assert "## What got worse" not in told


@pytest.mark.parametrize("option", ["--json", "--plot", "--report"])
def test_a_target_that_cannot_be_written_is_told_before_anything_is_measured(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str
):
    (tmp_path / "one.jsonl").write_bytes(session.data())
    monkeypatch.setattr("lcc_sidecar.cli.bench.spread", None)  # whoever measures, fails
    places = {
        str(tmp_path / "no/x.svg"): "make the folder",
        str(tmp_path / "one.jsonl"): "never written",
    }
    for place, words in places.items():
        done = CliRunner().invoke(lcc, ["bench", str(tmp_path), option, place])
        assert words in str(done.exception)
    assert (tmp_path / "one.jsonl").read_bytes() == session.data()


def measured(milliseconds: float) -> Measured:
    counts: Counter[str] = Counter()
    return Measured("lossless", 30, 100, 50, 1, 1, 0, 0, milliseconds, counts, counts)


def test_the_terminal_and_the_page_tell_the_same_time():
    run = Run("lcc bench", [BenchSession(f"{n}", 1, (measured(n),)) for n in (10.0, 40.0)])
    out = io.StringIO()
    Console(file=out, width=80).print(_table(run))

    [row] = [row for row in out.getvalue().splitlines() if "lossless" in row]
    [told] = [row for row in pooled(run.sessions).splitlines() if row.startswith("| lossless")]
    assert row.split()[-1] == told.split()[-2] == "25.0"


def test_what_is_said_of_published_sessions_is_said_of_them_alone():
    billed = Billed("fitted", (0.1,), (0.1,), ())
    sessions = [BenchSession("one.jsonl", 1, (measured(10.0),), billed=(billed,))]
    own = markdown(Run("lcc bench", sessions))
    published = markdown(Run("lcc bench", sessions, sources={"one.jsonl": "owner/repo a @ b"}))

    for words in ("No published session", "clients up to", "two Codex", "likely among these here"):
        assert words in published
        assert words not in own
    for page in (own, published):
        assert "Bias first" in page
        assert "mode elide is given a window of 60%" in " ".join(page.split())


def test_the_options_of_a_run_all_work_together(session: Session, tmp_path: Path):
    folder = tmp_path / "sessions"
    folder.mkdir()
    (folder / "one.jsonl").write_bytes(session.data())
    (folder / "two.jsonl").write_bytes(session.data())
    names = {what: str(tmp_path / what) for what in ("figures.json", "picture.svg", "page.md")}
    arguments = ["bench", str(folder), "--jobs", "2", "--json", names["figures.json"]]
    arguments += ["--plot", names["picture.svg"], "--report", names["page.md"]]

    done = CliRunner().invoke(lcc, arguments)

    assert done.exit_code == 0, done.output
    figures = json.loads(Path(names["figures.json"]).read_text())
    assert [one["name"] for one in figures["sessions"]] == ["one.jsonl", "two.jsonl"]
    modes = [measured["mode"] for measured in figures["sessions"][0]["measured"]]
    assert modes == ["lossless", "recoverable", "stashed", "elide"]
    assert "<svg" in Path(names["picture.svg"]).read_text()
    assert {os.stat(name).st_mode & 0o777 for name in names.values()} == {0o600}
    page = Path(names["page.md"]).read_text()
    assert page.index("Bias first") < page.index("## By mode") < page.index("## What was not")


def test_a_process_that_does_not_finish_is_told_as_its_sessions_error(
    session: Session, tmp_path: Path
):
    bad = tmp_path / "bad.jsonl"
    bad.write_bytes(session.data())  # and no process starts as fast as that

    ((place, found),) = spread([str(bad)], Bench(str(tmp_path)), jobs=2, seconds=0.01)

    assert (place, found.name) == (0, "bad.jsonl")
    assert "its process did not finish" in (found.error or "")


def test_a_file_that_claims_to_be_huge_is_not_rebuilt(tmp_path: Path):
    made = Session()
    made.says("read it", cwd="/old/home")
    made.reads("r1", "/old/home/a.py", "999999999\tend")
    lay_out(made.data(), str(tmp_path / "ws"))

    assert not list((tmp_path / "ws").rglob("*.py"))


def test_a_made_up_session_is_the_same_each_time_and_true_to_its_workspace(tmp_path: Path):
    data = make_session(str(tmp_path / "ws"), 300)

    assert data == make_session(str(tmp_path / "ws"), 300)
    transcript = parse_document(data).transcript
    assert len(transcript.pairs()) == 300
    last_reads = {pair.call.input["file_path"]: pair for pair in transcript.pairs() if pair.call.tool == "Read"}  # fmt: skip  # noqa: E501
    changed = {pair.call.input["file_path"] for pair in transcript.pairs() if pair.call.tool in ("Edit", "Write")}  # fmt: skip  # noqa: E501
    unchanged = [pair for path, pair in last_reads.items() if path not in changed]
    assert unchanged
    for pair in unchanged:
        text = Path(pair.call.input["file_path"]).read_text()
        assert pair.result.text == numbered(text)


def test_growth_is_the_power_that_time_grows_with():
    sizes = [500, 1000, 2000, 4000]

    assert exponent(sizes, [size**1.9 for size in sizes]) == pytest.approx(1.9)
    assert exponent([500], [1.0]) is None


def test_a_made_up_session_is_measured_beside_reading_its_file(tmp_path: Path):
    done = CliRunner().invoke(lcc, ["bench", "--synthetic", "60", "--synthetic", "120"])

    assert done.exit_code == 0, done.output
    assert "From 60 to 120 calls a pass grows with the power" in done.output
    assert "| 120 |" in done.output


def _sidecars_of_a_bench() -> list[Path]:
    mark = f"LCC_SIDECAR_HOME={tempfile.gettempdir()}/lcc-bench-".encode()
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):  # it ended meanwhile
            found += [path] if mark in path.read_bytes() else []
    return found


def test_what_hooks_cost_is_measured_with_a_sidecar_that_is_gone_afterwards(tmp_path: Path):
    figures, page = tmp_path / "near.json", tmp_path / "page.md"
    done = CliRunner().invoke(lcc, ["bench", "--near", "--json", figures, "--report", page])

    assert done.exit_code == 0, done.output
    near = json.loads(figures.read_bytes())["near"]
    assert 0 < near["statusline"] < near["empty"] < near["stop"]
    assert f"| the status line | {near['statusline']:.1f} |" in page.read_text()
    assert _sidecars_of_a_bench() == []


def test_what_is_measured_is_no_pass_of_the_persons(tmp_path: Path):
    marker.turn_on()
    done = CliRunner().invoke(lcc, ["bench", "--synthetic", "30"])

    assert done.exit_code == 0, done.output
    assert log.files() == []
    assert marker.is_on()


def test_a_run_without_anything_to_measure_is_refused(tmp_path: Path):
    assert "nothing to measure" in str(CliRunner().invoke(lcc, ["bench"]).exception)


def test_a_plot_of_an_unknown_kind_is_refused_before_anything_is_measured(
    session: Session, tmp_path: Path
):
    (tmp_path / "one.jsonl").write_bytes(session.data())
    done = CliRunner().invoke(lcc, ["bench", str(tmp_path), "--plot", str(tmp_path / "x.gif")])

    assert "neither .png nor .svg" in str(done.exception)


def test_a_peer_answers_the_same_payload_in_turns(session: Session, tmp_path: Path):
    """The peer here is a stand-in: a module of its name that removes half of all characters."""
    package = tmp_path / "site/lcc/relevance"
    package.mkdir(parents=True)
    (tmp_path / "site/lcc/__init__.py").write_text("")
    (package / "__init__.py").write_text(_STAND_IN)
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nshift\nPYTHONPATH={tmp_path}/site exec {sys.executable} "$@"\n')
    python.chmod(0o700)
    transcript = parse_document(session.data()).transcript

    with Peer(str(python), str(tmp_path)) as peer:
        found = list(compare(peer, transcript, str(tmp_path), str(tmp_path), repeats=2))
        with pytest.raises(LccError, match="refused by the stand-in"):
            peer.compact(str(tmp_path / "payload.json"), "lossy", None)

    assert [one.mode for one in found] == ["recoverable", "stashed"]
    assert all(one.peers == 0.5 and one.peer_ms >= 0 for one in found)
    assert all(one.ours_before > 0 for one in found)


_STAND_IN = """
class TranscriptCompactionRequest:
    def __init__(self, **given):
        self.given = given

class _Done:
    def __init__(self, size):
        self.report = {"chars_before": size, "chars_after": size / 2}

def compact_transcript(request):
    if request.given["rules_mode"] == "lossy":
        raise ValueError("refused by the stand-in")
    return _Done(len(str(request.given["payload"])))
"""


def test_a_peer_that_cannot_be_installed_is_told_with_what_to_do(monkeypatch, tmp_path: Path):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))

    for _ in range(2):  # what the first try left half made does not pass for a peer
        with pytest.raises(LccError, match=r"could not be installed .*; leave --against out"):
            peer_python()
