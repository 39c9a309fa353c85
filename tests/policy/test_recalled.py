import pytest

from lcc_sidecar.policy.recalled import is_recall
from tests.build import call


@pytest.mark.parametrize(
    "tool",
    ["recall", "mcp__lcc__recall", "mcp__plugin_lcc-sidecar_lcc__recall", "mcp__my-lcc-2__recall"],
)
def test_the_tool_is_known_under_every_name_a_client_gives_it(tool):
    assert is_recall(call("a", tool, query="x"))


@pytest.mark.parametrize("tool", ["mcp__memory__recall", "mcp__lcc__explain", "recall_all", "Read"])
def test_another_tool_recalls_nothing_of_ours(tool):
    assert not is_recall(call("a", tool, query="recall"))


@pytest.mark.parametrize(
    "command",
    [
        "lcc recall 0123456789ab",
        "cd /w && lcc recall --query 'x y' | head -5",
        "/home/me/.local/bin/lcc recall seq=4",
        "'/home/my name/bin/lcc' recall 4",
        "FOO=1 lcc  recall x",
        "out=$(lcc recall x)",
        "python -m lcc_sidecar recall x",
        "/v/bin/python3 -I -m lcc_sidecar recall x",
        "lcc-sidecar recall x",
    ],
)
def test_a_shell_line_that_runs_recall_is_known(command):
    assert is_recall(call("a", "Bash", command=command))


def test_a_shell_line_given_as_words_is_known():
    assert is_recall(call("a", "shell", command=["lcc", "recall", "x"]))


@pytest.mark.parametrize(
    "command", ["lcc compact x", "glcc recall x", "lcc_recall x", "lcc\nrecall x", "lcc recalls"]
)
def test_another_shell_line_is_not(command):
    assert not is_recall(call("a", "Bash", command=command))
