"""`lcc log review`, run as a person runs it."""

import json
import os
import re
import subprocess
import sys
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from lcc_sidecar.cli.log_review import review
from lcc_sidecar.paths import state_dir
from tests.request_log.conftest import HOSTILE
from tests.request_log.loglines import line, lines, recall, write


@click.group()
def lcc():
    """Stand in for the group that the verb is in."""


lcc.add_command(review)


def run(*words, columns=100):
    done = CliRunner().invoke(lcc, ["review", *words], env={"COLUMNS": str(columns)})
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.stdout


@pytest.fixture
def log(isolated_home):
    return partial(write, Path(state_dir(), "requests"))


def test_an_empty_log_says_how_to_begin(isolated_home):
    said = run()

    assert "empty" in said
    assert "lcc log on" in said


def test_one_pass_is_told_in_the_singular(log):
    log([line()])
    said = run()

    assert "1 pass, 1 session" in said
    assert "190 tokens" in said
    assert "60 % of what 1 pass had before" in said
    assert "1 of 1 live compaction" in said
    assert "in the newest messages" in said


@pytest.mark.parametrize("columns", [80, 100])
def test_a_usual_log_fits_the_terminal_and_cuts_nothing_off(log, columns):
    log(list(lines(300)))
    said = run(columns=columns)

    assert max(len(row) for row in said.splitlines()) <= columns
    assert "…" not in said
    for words in (
        "What keeps the most",
        "Where the bytes are",
        "Mode and tier",
        "Why a summary ran",
    ):
        assert words in said


def test_nothing_in_a_hostile_log_acts_on_the_terminal(log):
    log(HOSTILE)
    said = run()

    assert not [char for char in said if not char.isprintable() and char != "\n"]
    assert "Passed over: 2 lines damaged" in said


def test_who_pressed_escape_had_no_summary_and_avoided_none(log):
    log([line(), *(line(outcome=f"fell_back: {why}") for why in ("cancelled", "not_told"))])

    assert "100 % of summaries  1 of 1 live compaction; 2 more came to nothing" in run()


def test_where_nothing_was_freed_no_height_is_drawn(log):
    log([line(outcome="too_little", chars_after=1000, tokens_after=320)])

    assert "over time" not in run()


def test_what_was_refused_is_told_apart_from_passes(log):
    refusal = line(outcome="refused: UsageError", ms={"total": 0.0})
    log([line(), refusal])
    said = run()
    assert "1 pass, 1 session" in said
    assert "Outcomes: refused 1, replaced 1." in said
    assert "1 more was refused before it began." in said

    log([refusal, refusal])
    said = run()
    assert "No pass yet" in said
    assert "2 were refused before they began." in said
    assert "Outcomes" not in said


def test_recalls_are_told_as_often_as_they_were_and_by_results(log):
    log([line(), recall(1), recall(1), recall(2)])

    assert "2 results  in 3 recalls; 67 % of 3 results that went" in run()


def test_where_the_time_goes_has_a_row_for_what_no_stage_has(log):
    log([line(ms={"total": 20.0, "prove": 5.0})])
    rows = dict(re.findall(r"^ (prove|all else|total) .* (\d+ %) *$", run(), re.MULTILINE))

    assert rows == {"prove": "25 %", "all else": "75 %", "total": "100 %"}


def test_a_page_is_refused_where_it_cannot_be_written_before_anything_is_read(log, isolated_home):
    log([line()])
    for place, words in (("folder/", "the name of a folder"), ("no/p.html", "make the folder")):
        done = CliRunner().invoke(lcc, ["review", "--html", f"{isolated_home}/{place}"])
        assert words in str(done.exception)
    assert not (isolated_home / "folder").exists()


def test_json_has_every_figure(log):
    log([line(), line(outcome="too_little")])
    found = json.loads(run("--json"))

    assert found["schema"] == "lcc-review-2"
    assert found["tokens_freed"] == 190
    assert found["summaries"] == {
        "avoided": 1, "ran": 1, "unsettled": 0, "why": {"too_little": 1}
    }  # fmt: skip
    assert sum(found["latency_steps"].values()) == 2


def test_since_counts_days_back_from_now(log):
    log(
        [
            line(time=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.000Z}"),
            line(time="2020-01-01T00:00:00.000Z"),
        ]
    )

    assert json.loads(run("--json", "--since", "3"))["lines"] == 1
    assert json.loads(run("--json"))["lines"] == 2


def test_a_page_is_written_for_its_owner_alone(log, isolated_home):
    log([line()])
    path = isolated_home / "page.html"
    said = run("--html", str(path))

    assert "1 pass" in said
    assert path.read_bytes().startswith(b"<!doctype html>")
    assert os.stat(path).st_mode & 0o777 == 0o600
    assert not list(isolated_home.glob(".lcc-*"))


def test_a_page_never_replaces_the_log(log):
    folder = log([line()])
    before = (folder / "log.jsonl").read_bytes()
    path = str(folder / "log.jsonl")
    done = CliRunner().invoke(lcc, ["review", "--html", path])

    assert "never written" in str(done.exception)
    assert (folder / "log.jsonl").read_bytes() == before


def test_without_the_extra_a_page_is_refused_by_name_and_the_rest_works(log, isolated_home):
    log([line()])
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from lcc_sidecar.cli.log_review import review\n"
        "from lcc_sidecar.errors import UsageError\n"
        "review(['--json'], standalone_mode=False)\n"
        "try: review(['--html', 'p.html'], standalone_mode=False)\n"
        "except UsageError as error: print(error, file=sys.stderr)\n"
    )
    run = [sys.executable, "-c", code]
    where = {**os.environ, "PYTHONPATH": os.getcwd()}
    done = subprocess.run(run, capture_output=True, text=True, cwd=isolated_home, env=where)

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["passes"] == 1
    assert "python3 install --with page" in done.stderr
    assert not (isolated_home / "p.html").exists()


def test_a_review_without_a_page_loads_no_plotting_library(log):
    log([line()])
    code = (
        "import sys\nfrom lcc_sidecar.cli.log_review import review\n"
        "review([], standalone_mode=False)\nprint('matplotlib' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines()[-1] == "False"
