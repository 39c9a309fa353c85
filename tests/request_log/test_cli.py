"""`lcc log` as a person types it."""

import csv
import io
import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner
from pyarrow import parquet

from lcc_sidecar.cli.main import lcc
from lcc_sidecar.errors import RequestLogError, SettingsError
from lcc_sidecar.request_log import export, log, marker
from lcc_sidecar.request_log.entry import Stages
from lcc_sidecar.request_log.recording import recall_entry
from tests.request_log.test_log import HASH, entry

README = (Path(__file__).parents[2] / "README.md").read_text()


def run(*arguments: object, code: int = 0, text: str = "") -> str:
    done = CliRunner().invoke(lcc, ["log", *map(str, arguments)], input=text)
    assert done.exit_code == code, done.output
    return done.output


def append(**fields) -> None:
    log.append(lambda: entry(**fields))


def at(**ago: float) -> str:
    return f"{datetime.now(UTC) - timedelta(**ago):%Y-%m-%dT%H:%M:%S}.000Z"


def test_it_is_off_until_it_is_turned_on():
    assert run("status").startswith("The request log is off.\n")
    assert not Path(marker.folder()).exists()

    assert run("on").startswith(f"The request log is on: {marker.folder()}/log.jsonl\n")
    assert run("status").startswith("The request log is on.\n")
    run("on")

    assert run("off") == "The request log is off.\n"
    run("off")
    assert run("status").startswith("The request log is off.\n")


def test_status_says_what_it_holds_and_what_is_never_in_it(logged):
    append(time="2026-01-01T00:00:00.000Z")
    append(time="2026-01-02T00:00:00.000Z")
    told = run("status")

    size = sum(len(line) + 1 for line in log.lines())
    assert f"Holds:  2 lines, {size} B in 1 file\n" in told
    assert "First:  2026-01-01T00:00:00.000Z\nLast:   2026-01-02T00:00:00.000Z\n" in told
    assert f"Where:  {marker.folder()}\n" in told
    assert "Never in it: texts, paths, commands, goals, names of files" in told


def test_status_says_how_long_a_line_is_kept(logged, monkeypatch):
    assert "Keeps:  90 days (log_days), " in run("status")
    monkeypatch.setenv("LCC_SIDECAR_LOG_DAYS", "1")
    assert "Keeps:  1 day (log_days), " in run("status")


def test_off_says_that_the_lines_stay(logged):
    append()

    assert run("off") == f"The request log is off; 1 line stays in {marker.folder()}.\n"


def test_off_says_that_it_is_off_even_where_the_log_cannot_be_read(logged, folder):
    log.newest().mkdir()
    done = CliRunner().invoke(lcc, ["log", "off"])

    assert done.stdout == "The request log is off.\n"
    assert "is a folder" in str(done.exception)
    assert not marker.is_on()


def test_settings_that_cannot_be_used_are_told_before_anything_else(logged, monkeypatch):
    monkeypatch.setenv("LCC_SIDECAR_LOG_DAYS", "ten")
    done = CliRunner().invoke(lcc, ["log", "status"])

    assert isinstance(done.exception, SettingsError)
    assert done.stdout == ""


def test_an_export_is_refused_under_a_name_that_says_neither_kind(logged, tmp_path: Path):
    append()
    done = CliRunner().invoke(lcc, ["log", "export", "-o", str(tmp_path / "x.xlsx")])

    assert "neither .csv nor .parquet" in str(done.exception)
    assert list(tmp_path.iterdir()) == []
    run("export", "--format", "csv", "-o", tmp_path / "x.txt")
    assert (tmp_path / "x.txt").read_text().startswith("schema,time,")


def test_an_export_never_replaces_the_log(logged):
    append()
    done = CliRunner().invoke(lcc, ["log", "export", "--format", "csv", "-o", str(log.newest())])

    assert "never written" in str(done.exception)
    assert len(logged()) == 1


def test_an_export_goes_back_as_far_as_it_is_told(logged):
    for days in (40, 2, 0):
        append(time=at(days=days), messages=days)

    assert [row["messages"] for row in csv.DictReader(io.StringIO(run("export")))] == [
        "40",
        "2",
        "0",
    ]
    told = csv.DictReader(io.StringIO(run("export", "--since", 7)))
    assert [row["messages"] for row in told] == ["2", "0"]


def test_export_writes_one_row_a_pass_with_its_recalls(logged):
    append(outcome="fell_back: file_behind")
    append(
        decisions={
            "keep": {"pinned_recent": (2, 10), "not_text": (1, 90)},
            "replace": {"stashed": (4, 80)},
        },
        tools={"Bash": (100, 20), "mcp": (50, 50)},
        chars_before=1000, chars_after=920, tokens_before=323, tokens_after=297,
    )  # fmt: skip
    for _ in range(2):
        log.append(lambda: recall_entry(HASH, HASH, "id", "cli", datetime.now(UTC)))
    append(outcome="refused: UsageError")
    log.append(lambda: recall_entry(HASH, HASH, "id", "cli", datetime.now(UTC)))
    log.append(lambda: recall_entry("f" * 16, HASH, "id", "cli", datetime.now(UTC)))

    first, second, refused, third = csv.DictReader(io.StringIO(run("export")))
    assert list(first) == list(export.COLUMNS)
    assert (first["outcome"], first["reason"], first["recalls"]) == (
        "fell_back",
        "file_behind",
        "0",
    )
    assert (second["keep"], second["replace"], second["drop"]) == ("3", "4", "0")
    assert (second["most_kept_reason"], second["most_kept_chars"]) == ("not_text", "90")
    assert (second["results_chars_before"], second["results_chars_after"]) == ("150", "70")
    assert (second["recalls"], second["billed_before"], second["ms_total"]) == ("3", "", "1.5")
    assert (refused["outcome"], refused["reason"], refused["recalls"]) == (
        "refused",
        "UsageError",
        "0",
    )
    assert (third["session"], third["outcome"], third["recalls"]) == ("f" * 16, "recalled", "1")


def test_a_damaged_line_is_left_out_and_said(logged):
    append()
    with log.newest().open("ab") as file:
        file.write(
            b'not json\n{"schema": "lcc-request-9", "time": "", "session": "", "outcome": ""}\n'
        )

    done = CliRunner().invoke(lcc, ["log", "export"])
    assert len(done.stdout.splitlines()) == 2
    assert done.stderr == "lcc: 2 lines could not be read and are left out\n"


def test_parquet_holds_the_same_rows_as_csv(logged, tmp_path: Path):
    append(billed_before=5)
    append(client="2.1.332")
    told = run("export", "-o", tmp_path / "me.parquet")

    assert told == f"2 rows written to {tmp_path / 'me.parquet'}\n"
    rows = parquet.read_table(tmp_path / "me.parquet").to_pylist()
    assert rows == export.table(marker.folder())[0]
    assert (rows[0]["billed_before"], rows[1]["billed_before"]) == (5, None)


def test_parquet_without_pyarrow_names_what_to_install(logged, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    append()
    done = CliRunner().invoke(lcc, ["log", "export", "-o", str(tmp_path / "x.parquet")])

    assert "python3 install --with parquet" in str(done.exception)
    assert not (tmp_path / "x.parquet").exists()


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_the_query_of_the_readme_reads_many_peoples_exports_at_once(
    logged, tmp_path: Path, monkeypatch, kind: str
):
    (tmp_path / "exports").mkdir()
    for person, passes in (("ada", 3), ("ben", 1)):
        for number in range(passes):
            append(tokens_before=1000, tokens_after=400, time=at(days=number), outcome="replaced")
        append(tokens_before=1000, tokens_after=1000, outcome="too_little")
        append(outcome="refused: UsageError", ms=Stages(total=0.0))
        append(tokens_before=1000, tokens_after=1000, outcome="fell_back: cancelled")
        append(outcome="refused: UsageError", trigger="cli", ms=Stages(total=0.0))
        log.append(lambda: recall_entry("f" * 16, HASH, "id", "cli", datetime.now(UTC)))
        run("export", "-o", tmp_path / f"exports/{person}.{kind}")
        run("purge", "--yes")
    monkeypatch.chdir(tmp_path)
    [query] = re.findall(r"```sql\n(.*?)```", README, re.DOTALL)
    if kind == "parquet":
        query = query.replace("read_csv", "read_parquet").replace(".csv'", ".parquet'")

    rows = duckdb.sql(query).fetchall()
    names = [column[0] for column in duckdb.sql(query).description]
    found = {row[0]: dict(zip(names, row, strict=True)) for row in rows}
    assert set(found) == {"ada", "ben"}
    assert (found["ada"]["passes"], found["ada"]["tokens_freed"]) == (5, 1800)
    assert (found["ben"]["passes"], found["ben"]["tokens_freed"]) == (3, 600)
    assert found["ada"]["recalls"] == 1
    assert found["ada"]["summaries_avoided"] == 0.75
    assert found["ada"]["ms_p50"] == found["ada"]["ms_p95"] == 1.5


def test_a_log_that_others_can_enter_is_not_read_and_says_so(logged):
    append()
    Path(marker.folder()).chmod(0o755)
    for verb in ("status", "review", "export", "purge", "off"):
        done = CliRunner().invoke(lcc, ["log", verb])

        assert isinstance(done.exception, RequestLogError)
        assert "`chmod 700`" in str(done.exception)
    assert "is off." in done.output


def test_where_the_environment_keeps_out_of_the_log_its_name_is_told(logged, monkeypatch):
    monkeypatch.setenv(marker.VARIABLE, "off")

    assert run("status").startswith("The request log is off for whatever has LCC_REQUEST_LOG=off ")


def test_review_is_a_verb_of_the_group():
    assert "review" in run("--help")
    assert "empty" in run("review")


def test_an_unreadable_salt_is_one_sentence(logged):
    (Path(marker.folder()) / "salt").write_bytes(b"short")
    append()
    done = CliRunner().invoke(lcc, ["log", "purge", "--session", "x", "--yes"])

    assert "is damaged: remove it, or run lcc log purge" in str(done.exception)
    assert json.loads(next(log.lines()))


@pytest.mark.parametrize("name", ["log.jsonl", "salt", "on", "lock"])
def test_nothing_is_exported_over_what_the_log_consists_of(logged, name: str):
    append()
    path = Path(marker.folder(), name)
    path.touch()
    before = path.read_bytes()
    for words in (["export", "--format", "csv", "-o"], ["review", "--html"]):
        done = CliRunner().invoke(lcc, ["log", *words, str(path)])
        assert done.exception is not None
    assert path.read_bytes() == before
