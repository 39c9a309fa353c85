"""A line that is none costs itself, whoever reads it; and all readers agree on which those are."""

import csv
import io
import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyarrow import parquet

from lcc_sidecar.request_log import export, marker, overview, purge, words
from lcc_sidecar.request_log.line import RECALLED
from lcc_sidecar.request_log.recording import as_written
from lcc_sidecar.request_log.review import review
from tests.request_log.loglines import line, lines, recall, write

NOW = datetime(2026, 12, 1, tzinfo=UTC)
UNREADABLE = {
    "too deep": b'{"x": ' + b"[" * 20_000,
    "too deep, and closed": b'{"x": ' + b"[" * 20_000 + b"]" * 20_000 + b"}",
    "no UTF-8": b'{"schema": "lcc-request-2", "time": "\xff\xfe", "outcome": "x"}',
    "no JSON": b"{",
    "no object": b"[]",
    "no text": b'{"time": 5, "session": []}',
}
FOREIGN = {
    "a week": line(time="2025-W01-1T00:00:00.000Z"),
    "bare digits": line(time="20251231T00:00:00.000Z"),
    "digits of another script": line(time="\u0662\u0660\u0662\u0665-12-31T00:00:00.000Z"),
    "no day of any year": line(time="2025-02-30T00:00:00.000Z"),
    "more messages than there can be": line(messages=2**63),
    "a bill beyond all bounds": line(billed_before=10**400),
    "a version that goes on": line(version="1" * 65),
    "a recall of nothing": recall(1, recall=None),
    "longer than a line can be": line(mode="m", x="y" * 300_000),
}


def table() -> tuple[list[dict], int]:
    return export.table(marker.folder())


@pytest.mark.parametrize("bad", UNREADABLE.values(), ids=UNREADABLE)
def test_a_line_that_cannot_be_decoded_costs_only_itself(isolated_home, bad):
    folder = write(Path(marker.folder()), [line(), bad, line()])
    found = review(str(folder), now=NOW)

    assert (found.lines, found.damaged + found.foreign) == (2, 1)
    rows, unread = table()
    assert (len(rows), unread) == (2, 1)
    assert overview.look().lines == 3
    assert overview.head_of(bad) == overview.Head()
    assert purge.purge_where(lambda head: head.session == line()["session"]) == 2
    assert overview.look().lines == 1
    purge.expire(as_written(NOW), as_written(NOW))
    assert overview.look().lines == 0


@pytest.mark.parametrize("neighbour", [line(), b"{"])
def test_what_keeps_to_no_line_is_none_whatever_stands_beside_it(isolated_home, neighbour):
    two = json.dumps(line()).encode() * 2
    many = json.dumps(line(), indent=1).encode()
    folder = write(Path(marker.folder()), [line(), two, many, neighbour])
    found = review(str(folder), now=NOW)

    is_line = isinstance(neighbour, dict)
    assert found.lines == 1 + is_line
    assert found.damaged + found.foreign == 1 + len(many.split(b"\n")) + (not is_line)


def test_two_on_one_line_do_not_make_up_for_one_on_two(isolated_home):
    text = json.dumps(line()).encode()
    folder = write(Path(marker.folder()), [text + text, text.replace(b",", b",\n", 1), line()])
    found = review(str(folder), now=NOW)

    assert (found.lines, found.damaged + found.foreign) == (1, 3)


@pytest.mark.parametrize("bad", FOREIGN.values(), ids=FOREIGN)
def test_a_line_that_is_not_as_ours_are_is_none_for_review_and_export_alike(isolated_home, bad):
    folder = write(Path(marker.folder()), [line(), bad, line()])
    found = review(str(folder), now=NOW)

    assert (found.lines, found.foreign) == (2, 1)
    assert words.stretches(found.days)[0] == 1
    rows, unread = table()
    assert (len(rows), unread) == (2, 1)
    assert parquet.read_table(io.BytesIO(export.as_parquet(rows))).num_rows == 2


def test_review_and_export_find_the_same_in_whatever_there_is(hostile, now):
    found = review(str(hostile), now=now)
    rows, unread = export.table(str(hostile))

    assert unread == found.damaged + found.foreign
    passes = [row for row in rows if row["outcome"] != RECALLED]
    assert len(passes) == found.passes + found.future
    assert sum(row["recalls"] for row in rows) == found.recalls.calls == 1


def test_no_recall_is_lost_between_a_review_and_an_export(isolated_home):
    alone = [recall(number, session="a" * 16) for number in range(3)]
    early = [recall(7, session="b" * 16), line(session="b" * 16), recall(8, session="b" * 16)]
    folder = write(Path(marker.folder()), [*alone, *early, *lines(2000)])
    found = review(str(folder), now=NOW)
    rows, _ = table()

    assert sum(row["recalls"] for row in rows) == found.recalls.calls > 100
    assert [(row["outcome"], row["recalls"]) for row in rows[:3]] == [
        ("recalled", 3), ("recalled", 1), ("replaced", 1)
    ]  # fmt: skip
    assert rows[0]["tokens_before"] == 0
    assert rows[0]["mode"] is rows[0]["ms_total"] is None


def test_the_table_has_what_the_review_has_summed_up(isolated_home):
    folder = write(Path(marker.folder()), lines(2000))
    found = review(str(folder), now=NOW)
    went = [row for row in table()[0] if row["outcome"] in ("replaced", "written")]

    assert sum(row["tokens_before"] - row["tokens_after"] for row in went) == found.tokens_freed
    assert sum(row["chars_before"] - row["chars_after"] for row in went) == found.chars_freed


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n", "\x00", "\x7f"])
def test_no_field_of_a_csv_begins_a_formula(isolated_home, start):
    text = f"{start}1+cmd|' /C calc'!A0\r=2"
    named = ["session", "trigger", "client", "version", "mode", "tier", "proofs"]
    forged = line(
        **dict.fromkeys(named, text),
        token_count_method=text,
        outcome=f"{text}: {text}",
        decisions={"keep": {text: [1, 5]}},
    )
    write(Path(marker.folder()), [forged, line()])
    written = export.as_csv(table()[0]).decode()
    bad, good = csv.DictReader(io.StringIO(written, newline=""))

    inert = "'" + text.replace("\r", "\ufffd")
    inert = inert if start.isprintable() else f"'\ufffd{inert[2:]}"
    for name in [*named, "token_count_method", "outcome", "reason", "most_kept_reason"]:
        assert bad[name] == inert, name
    assert not any(value.startswith("'") for value in good.values())
    assert [bad[name] for name in ("messages", "chars_before", "ms_total")] == [
        "30",
        "1000",
        "14.0",
    ]


@pytest.mark.parametrize("year", [1, 931, 1969, 2026, 9999])
def test_written_times_have_the_order_of_their_times_in_every_year(year):
    written = as_written(datetime(year, 3, 4, 5, 6, 7, 8_999, tzinfo=UTC))

    assert written == f"{year:04}-03-04T05:06:07.008Z"


@pytest.mark.parametrize("days", ["nan", "NaN", "inf", "-inf", "1e9", "800000", "400000", "-1"])
def test_an_age_that_no_line_can_have_is_refused_and_nothing_goes(isolated_home, days):
    write(Path(marker.folder()), [line()])
    done = subprocess.run(
        [sys.executable, "-m", "lcc_sidecar", "log", "purge", f"--older-than={days}", "--yes"],
        capture_output=True, text=True, env=dict(os.environ),
    )  # fmt: skip

    assert (done.returncode, done.stdout) == (2, "")
    assert "--older-than" in done.stderr
    assert "Traceback" not in done.stderr
    assert overview.look().lines == 1


def test_the_greatest_age_is_taken(isolated_home):
    write(Path(marker.folder()), [line()])
    done = subprocess.run(
        [sys.executable, "-m", "lcc_sidecar", "log", "purge", "--older-than=36500", "--yes"],
        capture_output=True, text=True, env=dict(os.environ),
    )  # fmt: skip

    assert (done.returncode, done.stdout) == (0, "0 lines removed.\n")
