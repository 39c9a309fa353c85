"""Every live compaction is one line, however it ends: real files, a real stash, a real sidecar."""

import json
import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from lcc_sidecar.cli.checks import QUESTION
from lcc_sidecar.limits import SESSIONS_MAX
from lcc_sidecar.request_log import log, marker
from lcc_sidecar.request_log.recording import as_written
from lcc_sidecar.settings import Settings
from lcc_sidecar.sidecar.answers import Answers, Fate
from lcc_sidecar.sidecar.collecting import collect_now_and_then
from lcc_sidecar.sidecar.index import SessionIndex
from lcc_sidecar.sidecar.live import answer
from lcc_sidecar.sidecar.stashing import Stashing
from lcc_sidecar.stash.database import stash_path
from tests.build import lines, tool_use
from tests.request_log.test_log import entry, open_below
from tests.sidecar.conversations import Conversation
from tests.sidecar.worlds import wait_until, world

__all__ = ["world"]
OTHER = "another-session"


class Talk(Conversation):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.says("please look")
        self.reads_file("on_disk", self.file("big.txt", lines(300)))
        self.replies(tool_use("gone", "Bash", command="make all"))
        self.returns("gone", lines(400, "compiled"))
        self.chat(6)
        for row in self.rows:
            row["version"] = "2.1.332"
            if row["type"] == "assistant":
                row["message"]["usage"] = {"input_tokens": 7, "cache_read_input_tokens": 90_000}

    def request(self, **fields):
        self.path.write_bytes(self.data())
        return {
            "session_id": "s1", "transcript_path": str(self.path), "cwd": str(self.folder),
            "trigger": "manual", "options": {}, "rows": self.live(),
        } | fields  # fmt: skip

    def compact(self, stashing: Stashing | None = None, fate: Fate | None = "stands", **fields):
        """Return the reply; `fate` is what the client tells of it then, None for nothing."""
        request = self.request(**fields)
        index = SessionIndex("s1", self.path)
        index.update()
        reply = answer(request, index, stashing)
        if stashing and fate:
            stashing.answers.settle("s1", fate)
        return reply


@pytest.fixture
def talk(tmp_path: Path) -> Talk:
    return Talk(tmp_path)


@pytest.fixture
def stashing() -> Iterator[Stashing]:
    opened = Stashing(Settings())
    yield opened
    opened.close()


def test_off_a_compaction_leaves_no_trace(talk, stashing):
    assert talk.compact(stashing)["outcome"] == "replaced"

    assert not Path(marker.folder()).exists()


def test_a_compaction_is_one_line_that_agrees_with_its_reply(talk, stashing, logged):
    reply = talk.compact(stashing, trigger="plugin")

    [line] = logged()
    assert (line["outcome"], line["trigger"], line["mode"]) == ("replaced", "plugin", "recoverable")
    assert (line["tier"], line["proofs"], line["client"]) == ("recoverable", "disk", "2.1.332")
    assert line["tokens_before"] == reply["tokens_before"]
    assert line["tokens_after"] == reply["tokens_after"]
    [(reason, (results, gone))] = line["decisions"]["replace"].items()
    assert (reason, results) == ("replace_disk_verified", 1)
    assert line["tools"]["Bash"][0] == line["tools"]["Bash"][1] == len(lines(400, "compiled"))
    assert line["billed_before"] == 90_007
    assert line["calls"] == 2
    freed = line["chars_before"] - line["chars_after"]
    assert freed == gone == line["tools"]["Read"][0] - line["tools"]["Read"][1] > 10_000
    assert sum(took for stage, took in line["ms"].items() if stage != "total") < line["ms"]["total"]


def test_the_aggressive_tier_is_one_line_with_both_of_its_steps(talk, stashing, logged):
    talk.compact(stashing, usage={"tokens": 199_000, "window": 200_000})

    [line] = logged()
    assert (line["tier"], line["mode"]) == ("aggressive", "aggressive")
    [(disk, on_disk), (elided, short)] = line["decisions"]["replace"].items()
    assert (disk, elided, on_disk[0], short[0]) == ("replace_disk_verified", "elided", 1, 1)
    assert on_disk[1] + short[1] == line["chars_before"] - line["chars_after"]


def test_a_pass_that_would_free_too_little_says_so_and_freed_nothing(talk, logged):
    talk.compact(options={"least_share": 100})

    [line] = logged()
    assert line["outcome"] == "too_little"
    assert line["chars_before"] == line["chars_after"] > 0


@pytest.mark.parametrize(
    ("usage", "trigger", "outcome"),
    [
        ({"tokens": 90_000, "window": 200_000}, "manual", "fell_back: skipped"),
        ({"tokens": 120_000, "window": 200_000}, "manual", "too_little"),
        ({"tokens": 90_000, "window": 200_000}, "auto", "too_little"),
        ({"tokens": 90_000}, "manual", "too_little"),
        (None, "manual", "too_little"),
    ],
)
def test_where_the_conversation_rather_stays_no_summary_is_said_to_run(
    talk, logged, usage, trigger, outcome
):
    options = {"least_share": 100, "too_little": "skip", "escalate": "off"}
    reply = talk.compact(options=options, usage=usage, trigger=trigger)

    [line] = logged()
    assert (reply["outcome"], line["outcome"]) == ("too_little", outcome)
    assert reply.get("skip", False) is (outcome == "fell_back: skipped")


def test_nothing_to_prune_and_every_way_to_fall_back_is_a_line(tmp_path, logged):
    talk = Conversation(tmp_path)
    talk.says("go")
    talk.chat(6)
    talk.ask()
    talk.ask(rows=[])
    talk.ask(options={"mode": "custom"})
    talk.ask(agent_id="a1")

    assert [line["outcome"] for line in logged()] == [
        "nothing_to_prune", "fell_back: bad_rows", "fell_back: bad_option",
        "fell_back: unreadable_file",
    ]  # fmt: skip


def test_what_falls_back_still_tells_how_large_the_conversation_is(talk, logged):
    talk.compact(agent_id="../x")

    [line] = logged()
    assert line["outcome"] == "fell_back: no_file"
    assert line["chars_before"] == line["chars_after"] > 20_000
    assert line["calls"] == 2


def test_an_answer_that_is_too_large_is_a_fall_back_and_no_pass(talk, stashing, logged):
    for number in range(5):
        talk.attach("hook_additional_context", f"{number}" * 1_000_000)
    talk.chat(4)
    reply = talk.compact(stashing)

    assert (reply["outcome"], reply["reason"]) == ("fell_back", "too_much")
    assert [line["outcome"] for line in logged()] == ["fell_back: too_much"]
    with stashing.database().reading() as db:
        assert db.execute("SELECT count(*) FROM passes").fetchone() == (0,)


def test_rows_copied_from_another_session_are_not_counted_again(tmp_path, logged):
    talk = Conversation(tmp_path)
    talk.says("please look")
    talk.reads_file("copied", talk.file("big.txt", lines(300)))
    talk.chat(8)
    talk.replies({"type": "text", "text": "billed there"})
    talk.rows[-1]["message"]["usage"] = {"input_tokens": 50_000}
    for row in talk.rows:
        row["sessionId"] = OTHER
    copied = len(talk.rows)
    talk.says("a new word")
    talk.replies({"type": "text", "text": "a new answer"})
    reply = talk.ask()

    [line] = logged()
    assert copied == 20
    assert reply["outcome"] == line["outcome"] == "replaced"
    assert (line["messages"], line["calls"]) == (2, 0)
    assert (
        line["chars_before"] - line["chars_after"] > 10_000
    )  # freed in this session, all the same


def test_a_bill_in_a_copied_row_is_another_sessions(tmp_path, logged):
    talk = Talk(tmp_path)
    for row in talk.rows:
        row["sessionId"] = OTHER
    talk.says("a new word")
    talk.compact()

    assert logged()[0]["billed_before"] is None


def test_a_log_that_cannot_be_written_changes_no_answer(talk, stashing, logged):
    first = talk.compact(stashing)
    (Path(marker.folder()) / "log.jsonl").unlink()
    (Path(marker.folder()) / "log.jsonl").mkdir()
    second = talk.compact(stashing)

    assert {**first, "receipt": ""} == {**second, "receipt": ""}


def test_an_answer_is_no_line_before_it_stands_and_has_the_time_of_its_pass_then(
    talk, stashing, logged
):
    talk.compact(stashing, fate=None)
    assert logged() == []
    over = datetime.now(UTC).isoformat()
    time.sleep(0.05)
    stashing.told_after("s1")

    [line] = logged()
    assert line["outcome"] == "replaced"
    assert line["time"][:23] <= over[:23]
    assert line["chars_before"] > line["chars_after"]


@pytest.mark.parametrize("fate", ["not_taken", "cancelled", "not_told"])
def test_an_answer_that_came_to_nothing_freed_nothing(talk, stashing, logged, fate):
    talk.compact(stashing, fate)

    [line] = logged()
    assert line["outcome"] == f"fell_back: {fate}"
    assert line["chars_before"] == line["chars_after"] > 0
    assert line["tokens_before"] == line["tokens_after"] > 0
    assert line["tools"]["Read"][0] == line["tools"]["Read"][1] > 0
    assert line["decisions"]["replace"]["replace_disk_verified"][0] == 1


def test_the_next_compaction_tells_by_its_rows_whether_the_answer_before_stood(
    talk, stashing, logged
):
    talk.compact(stashing, fate=None)
    reply = talk.compact(stashing, fate=None)
    talk.put_in_place(reply["notes"])
    talk.compact(stashing, fate=None)

    assert [line["outcome"] for line in logged()] == ["fell_back: cancelled", "replaced"]


def test_a_stash_that_cannot_be_used_changes_nothing_of_that(talk, stashing, logged):
    stash_path().parent.mkdir(parents=True, mode=0o755)
    stash_path().parent.chmod(0o755)
    talk.compact(stashing, "not_taken")
    talk.compact(stashing)

    assert [line["outcome"] for line in logged()] == ["fell_back: not_taken", "replaced"]
    assert [line["tier"] for line in logged()] == ["recoverable"] * 2


def test_who_leaves_does_not_know_what_becomes_of_an_answer_and_says_so(talk, logged):
    stashing = Stashing(Settings())
    talk.compact(stashing, fate=None)
    stashing.close()

    assert [line["outcome"] for line in logged()] == ["fell_back: not_told"]


def test_of_many_sessions_only_the_newest_are_waited_for():
    fates, answers = [], Answers()
    for number in range(SESSIONS_MAX + 2):
        answers.expect(f"s{number}", {}, lambda fate, n=number: fates.append((n, fate)))
    answers.settle("s1", "stands")

    assert fates == [(0, "not_told"), (1, "not_told")]


def test_a_subagents_answer_counts_as_standing(talk, stashing, logged):
    data = talk.data()
    path = talk.path.with_suffix("") / "subagents" / "agent-a1.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    reply = talk.compact(stashing, fate=None, agent_id="a1")

    assert reply["outcome"] == "replaced"
    assert [line["outcome"] for line in logged()] == ["replaced"]


ENDS = {
    "a compaction is announced": ("session_start", {"source": "compact"}, "replaced"),
    "a summary begins": ("pre_compact", {"trigger": "manual"}, "fell_back: not_taken"),
    "the session ends": ("session_end", {"reason": "exit"}, "fell_back: cancelled"),
}


@pytest.mark.parametrize("end", list(ENDS))
def test_what_a_hook_tells_of_an_answer_is_its_outcome_if(world, tmp_path, logged, end):
    hook, told, outcome = ENDS[end]
    world.serve()
    talk = Talk(tmp_path)
    world.hook("compact", json.dumps(talk.request()).encode())
    world.hook("stop", spoken(talk, stop_hook_active=False))
    world.hook("session_start", spoken(talk, source="resume"))
    world.hook(hook, spoken(talk, agent_id="a1", **told))
    world.ask("drain")
    assert logged() == []
    world.hook(hook, spoken(talk, **told))

    wait_until(logged)
    assert [line["outcome"] for line in logged()] == [outcome]


def test_a_sidecar_that_is_stopped_writes_what_it_knows(world, tmp_path, logged):
    process = world.serve()
    world.hook("compact", json.dumps(Talk(tmp_path).request()).encode())
    assert logged() == []
    world.ask("stop")
    process.wait(20)

    assert [line["outcome"] for line in logged()] == ["fell_back: not_told"]


def test_a_sidecar_lets_go_of_what_is_older_than_its_days(stashing, logged):
    for ago in (8, 6):
        time_ = as_written(datetime.now(UTC) - timedelta(days=ago))
        log.append(lambda time_=time_, ago=ago: entry(ago, time=time_))
    over = collect_now_and_then(stashing, Settings(log_days=7), first=0, every=3600)

    wait_until(lambda: [line["messages"] for line in logged()] == [6])
    over.set()


def test_what_the_doctor_asks_is_nobodys_compaction(world, logged):
    world.serve()
    reply = json.loads(world.hook("compact", json.dumps(QUESTION).encode()).out)

    assert (reply["ok"], reply["outcome"]) == (True, "fell_back")
    assert logged() == []


def spoken(talk: Talk, **more: object) -> bytes:
    named = {"session_id": "s1", "transcript_path": str(talk.path)}
    return json.dumps(named | more).encode()


def announce(world, talk: Talk) -> None:
    world.hook("session_start", spoken(talk, source="compact"))


def test_a_sidecar_logs_from_when_it_is_turned_on_until_it_is_turned_off(world, tmp_path):
    process = world.serve()
    talk = Talk(tmp_path)
    folder = Path(marker.folder())

    def compact() -> dict:
        ran = world.hook("compact", json.dumps(talk.request()).encode())
        return json.loads(ran.out)

    def state() -> dict:
        return {path.name: path.stat().st_size for path in folder.iterdir()}

    assert compact()["outcome"] == "replaced"
    assert not folder.exists()
    marker.turn_on()
    compact()
    compact()
    announce(world, talk)
    assert [line["outcome"] for line in map(json.loads, log.lines())] == [
        "fell_back: cancelled", "replaced"
    ]  # fmt: skip
    compact()
    marker.turn_off()
    before = state()
    announce(world, talk)
    compact()
    announce(world, talk)
    assert state() == before
    links = Path(f"/proc/{process.pid}/fd").iterdir()
    assert [to for to in map(os.readlink, links) if to.startswith(str(folder))] == []
    assert open_below(folder) == []


def test_a_failure_to_write_stands_once_in_the_sidecars_log(world, tmp_path):
    world.serve()
    talk = Talk(tmp_path)
    marker.turn_on()
    (Path(marker.folder()) / "log.jsonl").mkdir()
    for _ in range(2):
        ran = world.hook("compact", json.dumps(talk.request()).encode())
        assert json.loads(ran.out)["outcome"] == "replaced"
        announce(world, talk)

    wait_until(lambda: "request log" in world.logged("sidecar.log"))
    assert world.logged("sidecar.log").count('"where": "request log"') == 1
