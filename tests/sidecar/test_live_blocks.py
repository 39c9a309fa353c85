"""Blocks that the client's list does not show: what may be rebuilt, and what may not."""

import threading

import pytest

from tests.build import tool_use
from tests.sidecar.conversations import fell_back, image


@pytest.mark.parametrize(
    "kind", ["server_tool_use", "web_search_tool_result", "mcp_tool_use", "a_kind_of_tomorrow"]
)
@pytest.mark.parametrize("text", ["", "beside it"])
def test_what_a_server_tool_said_is_left_to_the_summary(talk, kind, text):
    words = [{"type": "text", "text": text}] if text else []
    talk.replies({"type": kind, "id": "srv"}, *words)
    talk.chat(4)
    assert fell_back(talk.ask()) == "strange_block"


@pytest.mark.parametrize("kind", ["thinking", "redacted_thinking"])
def test_thinking_may_go(talk, kind):
    talk.replies({"type": kind, "thinking": "hm"})
    talk.chat(4)
    assert talk.ask()["outcome"] == "replaced"


def test_an_image_beside_a_result_is_left_to_the_summary(talk):
    talk.replies(tool_use("toolu_x", "Bash", command="x"))
    result = {"type": "tool_result", "tool_use_id": "toolu_x", "content": "out"}
    feedback = {"type": "text", "text": "no, like this"}
    talk.add("user", {"role": "user", "content": [result, feedback, image(b"pasted")]})
    talk.chat(4)
    assert fell_back(talk.ask()) == "strange_block"


def test_a_row_that_the_file_does_not_hold_yet_is_left_to_the_summary(talk):
    talk.chat(4)
    late = talk.replies({"type": "text", "text": "too late for the file"})
    assert fell_back(talk.ask(file_without=late)) == "file_behind"


def test_a_row_that_the_client_is_still_writing_is_waited_for(talk):
    talk.chat(4)
    late = talk.replies({"type": "text", "text": "a moment late for the file"})
    talk.chat(1)
    whole = talk.data()
    writer = threading.Timer(0.2, lambda: talk.path.write_bytes(whole))
    writer.start()
    reply = talk.ask(file_without=late)
    writer.join()
    assert reply["outcome"] == "replaced"


def test_what_a_command_has_printed_is_carried(talk):
    talk.replies({"type": "text", "text": "done"})
    printed = "<local-command-stdout>42</local-command-stdout>"
    talk.add("system", subtype="local_command", content=printed)
    talk.chat(4)
    assert [row["text"] for row in talk.ask()["carry"]] == [printed]
