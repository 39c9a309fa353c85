import pytest

from lcc_sidecar.elision import Elision
from lcc_sidecar.policy.evidence import is_evidence, is_test_run
from lcc_sidecar.transcript.model import Pair, ToolResult
from tests.build import call

DEFAULT = Elision().evidence_tools


def pair(tool, text="out", *, is_error=False, **arguments):
    return Pair(call("c", tool, **arguments), ToolResult("c", text, is_error), 0, 1)


@pytest.mark.parametrize("tool", ["grok_sink", "scan_sinks", "trace_callers", "record_finding"])
@pytest.mark.parametrize("server", ["", "mcp__locac__"])
def test_the_specifications_four_tools_make_evidence(server, tool):
    assert is_evidence(pair(server + tool), DEFAULT)


@pytest.mark.parametrize("tool", ["Edit", "MultiEdit", "Write", "NotebookEdit", "apply_patch"])
def test_edits_are_evidence(tool):
    assert is_evidence(pair(tool, file_path="a.py"), DEFAULT)


def test_a_patch_through_a_shell_is_an_edit():
    assert is_evidence(pair("shell", command="apply_patch '*** Begin Patch'"), DEFAULT)


@pytest.mark.parametrize(
    "made",
    [
        pair("Read", is_error=True),
        pair("Read", "<tool_use_error>no</tool_use_error>"),
        pair("exec_command", "Process exited with code 2\nOutput:\nno"),
    ],
    ids=["flagged", "told by the client", "exit code"],
)
def test_a_failed_call_is_evidence_whatever_the_tools(made):
    assert is_evidence(made, ())


@pytest.mark.parametrize("tool", ["Read", "Grep", "Bash", "scan_sinks_more", "Task"])
def test_other_output_is_none(tool):
    assert not is_evidence(pair(tool, command="ls", file_path="a"), DEFAULT)


def test_the_tools_are_chosen():
    assert is_evidence(pair("Grep"), ("Grep",))
    assert not is_evidence(pair("Edit", file_path="a"), ("Grep",))
    assert not is_evidence(pair("Bash", command="pytest"), ("Grep",))


@pytest.mark.parametrize(
    "command",
    [
        "pytest",
        "pytest -x tests/test_a.py::test_b",
        "cd /w && .venv/bin/python -m pytest -q 2>&1 | tail -5",
        "PYTHONPATH=. CI=1 timeout 60 uv run --frozen pytest",
        "python3.11 -W error -m unittest discover",
        "npm test",
        "npm t",
        "npm run test:unit -- --watch=false",
        "pnpm --filter web test",
        "yarn test",
        "bun test",
        "npx jest src",
        "npx --yes vitest run",
        "cargo test --all",
        "cargo +nightly nextest run",
        "go test ./...",
        "make test",
        "make -j4 check",
        "tox -e py311",
        "./gradlew test",
        "mvn -q verify",
        "dotnet test",
        "bazel test //...",
        "python manage.py test app",
        "bundle exec rspec",
        "(cd web; npx playwright test)",
        "set -e\ngo vet ./...\ngo test ./...",
    ],
)
def test_a_run_of_a_known_test_runner_is_seen(command):
    assert is_test_run(call("c", "Bash", command=command))
    assert is_evidence(pair("Bash", command=command), DEFAULT)


@pytest.mark.parametrize(
    "command",
    [
        "ls tests",
        "cat pytest.ini",
        "grep -rn pytest .",
        "pip install pytest",
        "npm install",
        "npm run build",
        "make",
        "make build",
        "cargo build",
        "go build ./...",
        "git commit -m 'make test'",
        "echo pytest",
        "vim jest.config.js",
        "python -m http.server",
        "",
    ],
)
def test_other_commands_are_no_test_runs(command):
    assert not is_test_run(call("c", "Bash", command=command))


def test_only_a_shell_runs_tests():
    assert not is_test_run(call("c", "Read", command="pytest"))


def test_a_long_command_is_looked_at_quickly():
    assert not is_test_run(call("c", "Bash", command="echo " * 1_000_000 + "; pytest"))
