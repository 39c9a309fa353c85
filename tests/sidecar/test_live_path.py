"""A compaction all the way: the mod's process, the wire, the sidecar, and back."""

import json

from tests.sidecar.conversations import Conversation

BIG = "".join(f"line {n} of a big file\n" for n in range(300))


def hooked(world, talk):
    request = {
        "session_id": "s1",
        "transcript_path": str(talk.path),
        "cwd": str(talk.folder),
        "trigger": "manual",
        "rows": talk.live(),
    }
    talk.path.write_bytes(talk.data())
    return world.hook("compact", json.dumps(request).encode())


def started(tmp_path):
    talk = Conversation(tmp_path)
    talk.says("please look")
    talk.reads_file("toolu_big", talk.file("big.txt", BIG))
    return talk


def test_a_request_on_stdin_has_its_reply_on_stdout(world, tmp_path):
    talk = started(tmp_path)
    talk.chat(4)
    ran = hooked(world, talk)
    reply = json.loads(ran.out)
    assert (ran.code, reply["outcome"], list(reply["notes"])) == (0, "replaced", ["toolu_big"])


def test_the_newest_rows_are_read_without_a_nudge(world, tmp_path):
    talk = started(tmp_path)
    talk.chat(4)
    hooked(world, talk)
    talk.reads_file("toolu_more", talk.file("more.txt", BIG))
    talk.chat(4)
    assert set(json.loads(hooked(world, talk).out)["notes"]) == {"toolu_big", "toolu_more"}


def test_an_answer_that_the_client_would_cut_is_left_to_the_summary(world, tmp_path):
    talk = started(tmp_path)
    for number in range(5):
        talk.attach("hook_additional_context", f"{number}" * 1_000_000)
    talk.chat(4)
    reply = json.loads(hooked(world, talk).out)
    assert (reply["outcome"], reply["reason"]) == ("fell_back", "too_much")
