"""How far a live compaction goes: a real stash, real files, the rows as the mod sends them."""

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from lcc_sidecar.settings import Settings
from lcc_sidecar.sidecar.index import SessionIndex
from lcc_sidecar.sidecar.live import answer
from lcc_sidecar.sidecar.stashing import Stashing
from lcc_sidecar.stash import journal
from lcc_sidecar.stash.recall import Recalled, Request
from lcc_sidecar.stash.recall import answer as recall
from tests.build import lines, tool_use
from tests.sidecar.conversations import Conversation, image


@pytest.fixture
def stashing() -> Iterator[Stashing]:
    opened = Stashing(Settings())
    yield opened
    opened.close()


class Talk(Conversation):
    """A conversation whose compactions have a stash behind them."""

    def __init__(self, folder, stashing):
        super().__init__(folder)
        self.stashing = stashing
        self.fate = "stands"  # of each answer; None: nothing is heard

    def compact(self, options=None, tokens=None, window=None, **fields):
        self.path.write_bytes(self.data())
        index = SessionIndex("s1", self.path)
        index.update()
        self.stashing.see(index)  # as the server does before it answers
        request = {
            "session_id": "s1", "transcript_path": str(self.path), "cwd": str(self.folder),
            "trigger": "manual", "options": options or {}, "rows": self.live(),
            "usage": {"tokens": tokens, "window": window},
        }  # fmt: skip
        reply = answer(request | fields, index, self.stashing)
        if self.fate:
            self.stashing.answers.settle("s1", self.fate)  # as the client's SessionStart tells
        return reply

    def runs(self, call_id, command, output, *, is_error=False):
        self.replies(tool_use(call_id, "Bash", command=command))
        self.returns(call_id, output, is_error=is_error)

    def tier(self):
        with self.stashing.database().reading() as db:
            return journal.tier_of(db, "s1")

    def recalled(self, reference):
        with self.stashing.database().reading():
            found = recall(self.stashing.database(), Request(id=reference))
        assert isinstance(found, Recalled)
        return found


@pytest.fixture
def talk(tmp_path: Path, stashing: Stashing) -> Talk:
    """Return a conversation: a file that is still there, an output that nothing else holds."""
    talk = Talk(tmp_path, stashing)
    talk.says("please look")
    talk.reads_file("on_disk", talk.file("big.txt", lines(300)))
    talk.runs("gone", "make all", lines(400, "compiled"))
    for n in range(4):
        talk.says(f"word {n}")
        talk.replies({"type": "text", "text": f"reply {n}"})
    return talk


def test_the_first_tier_takes_what_is_proven_elsewhere_and_stays_there(talk):
    reply = talk.compact()
    assert reply["outcome"] == "replaced"
    assert list(reply["notes"]) == ["on_disk"]
    assert talk.tier() == "recoverable"


def test_a_pointer_to_a_file_names_the_stash_as_well_and_outlives_the_file(talk):
    note = talk.compact()["notes"]["on_disk"]
    assert note.startswith(f"[removed: re-read {talk.folder}/big.txt to recover")
    reference = note.rpartition("[recall ")[2].rstrip("]")
    os.unlink(f"{talk.folder}/big.txt")
    assert (
        talk.recalled(reference)
        .text.splitlines()[0]
        .endswith("line 1 of the file, long enough to matter")
    )


def test_a_window_that_stays_too_full_is_taken_a_tier_further_for_good(talk):
    reply = talk.compact(tokens=170_000, window=200_000)
    assert set(reply["notes"]) == {"on_disk", "gone"}
    assert "in the stash" in reply["receipt"]
    assert talk.tier() in ("stashed", "aggressive")
    tier = talk.tier()
    talk.compact(tokens=1_000, window=200_000)
    assert talk.tier() == tier


def test_what_only_the_stash_holds_comes_back_word_for_word(talk):
    reply = talk.compact({"mode": "stashed"})
    note = reply["notes"]["gone"]
    assert "of Bash output; recall " in note
    assert "(400 lines)" in note
    assert talk.recalled(note.partition("recall ")[2][:24]).text == lines(400, "compiled")


def test_too_little_goes_a_tier_further_before_a_summary_has_to_run(tmp_path, stashing):
    talk = Talk(tmp_path, stashing)
    talk.says("go")
    talk.runs("gone", "make all", lines(400, "compiled"))
    for n in range(4):
        talk.says(f"word {n}")
        talk.replies({"type": "text", "text": f"reply {n}"})
    assert talk.compact({"escalate": "off"})["outcome"] == "nothing_to_prune"
    assert talk.tier() == "recoverable"
    assert list(talk.compact()["notes"]) == ["gone"]
    assert talk.tier() == "stashed"


def test_the_last_tier_lets_findings_go_but_the_newest_one(tmp_path, stashing):
    talk = Talk(tmp_path, stashing)
    talk.says("fix the tests")
    for n in range(3):
        talk.runs(f"failed{n}", "pytest -q", f"run {n}\n" + lines(300, "E assert"), is_error=True)
        talk.replies({"type": "text", "text": f"I see {n}"})
    talk.says("and?")
    talk.replies({"type": "text", "text": "one moment"})
    talk.runs("last", "ls", "x")
    talk.replies({"type": "text", "text": "done"})
    talk.says("fine")
    reply = talk.compact(tokens=190_000, window=200_000)
    assert set(reply["notes"]) == {"failed0", "failed1"}
    assert talk.tier() == "aggressive"
    with stashing.database().reading() as db:
        (done,) = journal.passes_of(db, "s1")
    assert (done.tier, done.elided, done.evidence) == ("aggressive", 2, 1)
    assert done.tokens_after < done.tokens_before


def test_without_room_for_a_fourth_tier_the_summary_runs(tmp_path, stashing):
    talk = Talk(tmp_path, stashing)
    talk.says("hello " * 2000)
    talk.replies({"type": "text", "text": "hello"})
    talk.says("bye")
    reply = talk.compact(tokens=190_000, window=200_000)
    assert reply["outcome"] == "nothing_to_prune"
    with stashing.database().reading() as db:
        assert journal.passes_of(db, "s1") == []
    assert talk.tier() == "recoverable"


@pytest.mark.parametrize("mode", ["stashed", "elide"])
@pytest.mark.parametrize("allowed", [False, True])
def test_a_credential_file_leaves_only_where_the_person_allows_it(tmp_path, mode, allowed):
    stashing = Stashing(Settings(stash_credentials=allowed))
    talk = Talk(tmp_path, stashing)
    talk.says("go")
    talk.runs("secret", "cat /app/.env", lines(300, "KEY"))
    talk.runs("gone", "make all", lines(400, "compiled"))
    for n in range(8):
        talk.says(f"word {n}")
        talk.replies({"type": "text", "text": f"reply {n}"})
    noted = talk.compact({"mode": mode, "escalate": "off"})["notes"]
    stashing.close()
    assert set(noted) == ({"gone", "secret"} if allowed else {"gone"})


def test_an_answer_that_never_stood_is_in_no_journal(talk, stashing):
    talk.fate = None
    talk.compact({"mode": "stashed"})
    stashing.give_up("s1")
    stashing.answers.settle("s1", "stands")
    with stashing.database().reading() as db:
        assert journal.passes_of(db, "s1") == []
    assert talk.tier() == "recoverable"


def test_an_answer_of_which_nothing_was_heard_is_found_in_the_rows_of_the_next(talk, stashing):
    talk.fate = None
    reply = talk.compact({"mode": "stashed"})
    with stashing.database().reading() as db:
        assert journal.passes_of(db, "s1") == []
    talk.put_in_place(reply["notes"])
    talk.compact({"mode": "stashed"})
    with stashing.database().reading() as db:
        assert len(journal.passes_of(db, "s1")) == 1


def test_what_stayed_as_a_finding_is_in_the_journal_of_every_tier(tmp_path, stashing):
    talk = Talk(tmp_path, stashing)
    talk.says("go")
    talk.runs("failed", "pytest", lines(300, "E assert"), is_error=True)
    talk.runs("gone", "make all", lines(400, "compiled"))
    for n in range(4):
        talk.says(f"word {n}")
        talk.replies({"type": "text", "text": f"reply {n}"})
    talk.compact({"mode": "stashed", "escalate": "off"})
    with stashing.database().reading() as db:
        (done,) = journal.passes_of(db, "s1")
    assert (done.elided, done.evidence, done.cutoff) == (1, 1, 6)


def test_the_tier_survives_another_sidecar(talk, tmp_path):
    talk.compact({"mode": "stashed"})
    talk.stashing.close()
    talk.stashing = Stashing(Settings())
    try:
        assert set(talk.compact()["notes"]) == {"on_disk", "gone"}
    finally:
        talk.stashing.close()


def test_lossless_never_goes_further_and_never_takes_a_tier_back(talk):
    talk.compact({"mode": "stashed"})
    assert talk.compact({"mode": "lossless"})["outcome"] == "nothing_to_prune"
    assert talk.tier() == "stashed"


@pytest.mark.parametrize(("recall", "named"), [(False, r"[0-9a-f]{24}"), (True, r"seq=\d+")])
def test_mode_elide_leaves_markers_as_the_config_file_says(talk, recall, named):
    config = Path(os.environ["LCC_SIDECAR_HOME"], "config")
    config.mkdir(parents=True)
    settings = {"compaction": {"recall": recall, "keepRecent": 4}}
    (config / "config.json").write_text(json.dumps(settings))
    reply = talk.compact({"mode": "elide"})
    marker = rf"\[elided \d+ chars of (Read|Bash) output — recall {named}\]"
    assert set(reply["notes"]) == {"on_disk", "gone"}
    assert all(re.fullmatch(marker, note) for note in reply["notes"].values())


def test_a_config_file_that_cannot_be_used_leaves_it_to_the_summary(talk):
    config = Path(os.environ["LCC_SIDECAR_HOME"], "config")
    config.mkdir(parents=True)
    (config / "config.json").write_text('{"compaction": {"keepRecent": "many"}}')
    reply = talk.compact({"mode": "elide"})
    assert (reply["outcome"], reply["reason"]) == ("fell_back", "bad_config")


def test_the_billed_size_counts_where_the_client_says_none(tmp_path, stashing):
    talk = Talk(tmp_path, stashing)
    talk.says("please look")
    talk.reads_file("on_disk", talk.file("big.txt", lines(300)))
    talk.runs("gone", "make all", lines(400, "compiled"))
    for n in range(4):
        talk.says(f"word {n}")
        usage = {"input_tokens": 5, "cache_read_input_tokens": 180_000}
        talk.replies({"type": "text", "text": f"reply {n}"})
        talk.rows[-1]["message"]["usage"] = usage
    assert "gone" in talk.compact(window=200_000)["notes"]


@pytest.mark.parametrize("tokens", [95_000, None])
def test_a_client_that_compacts_by_itself_is_full_however_large_it_says_its_window_is(talk, tokens):
    manual = talk.compact(tokens=tokens, window=1_000_000)
    assert set(manual["notes"]) == {"on_disk"}
    auto = talk.compact(tokens=tokens, window=1_000_000, trigger="auto")
    assert set(auto["notes"]) == {"on_disk", "gone"}


@pytest.mark.parametrize(("billed", "goes"), [(180_000, True), (2_000, False)])
def test_a_subagent_is_as_full_as_its_own_requests_say(talk, billed, goes):
    folder = talk.folder / "s1" / "subagents"
    folder.mkdir(parents=True)
    for row in talk.rows:
        row["isSidechain"] = True
    talk.rows[-1]["message"]["usage"] = {"input_tokens": billed}
    (folder / "agent-a1.jsonl").write_bytes(talk.data())
    reply = talk.compact(agent_id="a1", tokens=190_000 if not goes else 1_000, window=200_000)
    assert ("gone" in reply["notes"]) is goes


@pytest.mark.parametrize("mode", ["recoverable", "elide"])
def test_an_answer_that_never_came_to_be_is_given_again(talk, mode):
    """The person has stopped it, or gone back to before it."""
    first = talk.compact({"mode": mode}, tokens=190_000, window=200_000)
    again = talk.compact({"mode": mode}, tokens=190_000, window=200_000)
    assert set(again["notes"]) >= {"on_disk", "gone"}
    assert set(again["notes"]) == set(first["notes"])


def test_a_screenshot_that_no_file_holds_goes_into_the_stash(tmp_path, stashing):
    talk = Talk(tmp_path, stashing)
    talk.says("look at the page")
    talk.replies(tool_use("shot", "mcp__browser__screenshot"))
    talk.returns("shot", [image(b"\x89PNG pixels")])
    talk.runs("gone", "make all", lines(400, "compiled"))
    for n in range(4):
        talk.says(f"word {n}")
        talk.replies({"type": "text", "text": f"reply {n}"})
    note = talk.compact()["notes"]["shot"]
    assert note.startswith("[removed: 1 block of mcp__browser__screenshot output; recall ")
    found = talk.recalled(note.partition("recall ")[2][:24])
    assert found.kind == "blocks"
    assert json.loads(found.data) == [image(b"\x89PNG pixels")]


def test_where_the_stash_cannot_be_used_the_pass_is_as_it_was_without(talk, stashing):
    talk.compact()
    stashing.close()
    folder = Path(os.environ["LCC_SIDECAR_HOME"], "state", "stash")
    shutil.rmtree(folder)
    folder.mkdir(mode=0o755)
    folder.chmod(0o755)
    notes = talk.compact(tokens=170_000, window=200_000)["notes"]
    assert list(notes) == ["on_disk"]
    assert "[recall " not in notes["on_disk"]
