import pytest

from tests.sidecar.conversations import BIG, Conversation
from tests.sidecar.worlds import world

__all__ = ["world"]


@pytest.fixture
def talk(tmp_path):
    """Return a conversation in which a big file was read that is still there."""
    talk = Conversation(tmp_path)
    talk.says("please look")
    talk.big = talk.file("big.txt", BIG)
    talk.reads_file("toolu_big", talk.big)
    return talk
