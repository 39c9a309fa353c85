"""A recall beside a living sidecar: what a session gained a moment ago is found; or alone."""

import os
import subprocess
import sys
from pathlib import Path

from lcc_sidecar.limits import RECALL_UP_TO_DATE_SECONDS
from tests.build import Session, tool_use
from tests.sidecar.test_stashing import hook_input, talk
from tests.sidecar.worlds import ROOT, impostor

LATE = "E   KeyError: 'voucher_code' in shop/checkout.py:88"


def recalled(*arguments: str, check: int = 0) -> bytes:
    done = subprocess.run(
        [sys.executable, "-m", "lcc_sidecar", "recall", *arguments],
        capture_output=True,
        check=False,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == check, done.stderr
    return done.stdout


def goes_on(path: Path) -> None:
    """Add a failed call to the session, and tell no hook."""
    more = Session()
    more.replies(tool_use("t9", "Bash", command="pytest -k voucher"))
    more.returns("t9", LATE, is_error=True)
    with path.open("ab") as file:
        file.write(more.data())


def test_what_no_hook_has_told_of_yet_is_found(world, isolated_home):
    project = isolated_home / ".claude/projects/-app"
    project.mkdir(parents=True)
    path = talk(project)
    world.serve(LCC_SIDECAR_WATCH="0")
    world.nudge(hook_input(path))
    world.ask("drain")
    goes_on(path)

    found = recalled("--query", "voucher code", "--session", "s1").decode()

    assert LATE in found
    assert "Bash pytest -k voucher (failed, 1 line)" in found


def test_after_the_sidecar_is_gone_recall_goes_on(world, tmp_path):
    path = talk(tmp_path)
    world.nudge(hook_input(path))
    world.ask("drain")
    [pid] = world.sidecars()
    os.kill(pid, 9)

    assert recalled("t1", "--lines", "1", check=2) == b""  # no id: a call is named by --call
    assert recalled("--call", "t1", "--lines", "1") == b"1 failed"
    assert recalled("--seq", "1", "--session", "s1") == b"the total is wrong"


def test_a_sidecar_that_hangs_is_not_waited_for_long(world, tmp_path):
    path = talk(tmp_path)
    world.nudge(hook_input(path))
    world.ask("drain")
    world.ask("stop")
    assert RECALL_UP_TO_DATE_SECONDS < 5

    with impostor(world.point, lambda _, over: over.wait(20)):
        assert recalled("--seq", "1", "--session", "s1") == b"the total is wrong"
