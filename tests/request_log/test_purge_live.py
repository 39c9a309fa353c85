"""A purge meets lines that are still to be written, and a collector that goes round and round."""

import os
from pathlib import Path

import pytest

from lcc_sidecar.request_log import log, marker, purge, salt
from lcc_sidecar.settings import Settings
from lcc_sidecar.sidecar import collecting
from lcc_sidecar.sidecar.collecting import collect_now_and_then
from lcc_sidecar.sidecar.stashing import Stashing
from tests.request_log.test_live import stashing, talk
from tests.request_log.test_log import entry
from tests.sidecar.worlds import wait_until

__all__ = ["stashing", "talk"]


@pytest.mark.parametrize("which", ["all", "this session", "another session", "by age"])
def test_a_purge_takes_along_the_line_of_an_answer_that_waits(talk, stashing, logged, which: str):
    talk.compact(stashing)
    talk.compact(stashing, fate=None)
    name = salt.hashed("session", "s1" if which == "this session" else "s2")
    if which == "all":
        assert purge.purge_all() == 1
    elif which == "by age":
        assert purge.purge_where(lambda head: head.time < "9") == 1
    else:
        assert purge.purge_where(lambda head: head.session == name) == (which == "this session")
    before = list(log.lines())
    stashing.answers.settle("s1", "stands")
    assert list(log.lines()) == before

    talk.compact(stashing)
    assert len(logged()) == len(before) + 1


def test_a_line_that_is_made_while_all_are_purged_does_not_bring_the_old_name_back(logged):
    def made():
        told = entry(session=salt.hashed("session", "s1"))
        purge.purge_all()
        return told

    log.append(made)
    assert logged() == []
    log.append(entry)
    assert len(logged()) == 1


def test_what_is_only_too_old_takes_no_waiting_line_along(talk, stashing, logged):
    talk.compact(stashing, fate=None)
    purge.expire("2020-01-01T00:00:00.000Z", "2020-04-01T00:00:00.000Z")
    stashing.answers.settle("s1", "stands")

    assert [line["outcome"] for line in logged()] == ["replaced"]


@pytest.mark.timeout(60)
def test_a_pipe_in_the_logs_place_does_not_hold_the_collector_up(logged, monkeypatch):
    os.mkfifo(Path(marker.folder()) / "log.1.jsonl")
    told = []
    monkeypatch.setattr(collecting.log, "report", lambda where, error: told.append((where, error)))
    opened = Stashing(Settings())
    over = collect_now_and_then(opened, Settings(), first=0.01, every=0.05)
    wait_until(lambda: len(told) > 1)  # it has come round again
    over.set()
    opened.close()

    assert {where for where, _ in told} == {"request log"}
    assert "log.1.jsonl is a FIFO, not a regular file: remove it" in str(told[0][1])
    log.append(entry)
    assert len(log.newest().read_bytes().splitlines()) == 1
