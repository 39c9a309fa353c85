from click.testing import CliRunner

from lcc_sidecar import __version__
from lcc_sidecar.cli.sidecar import _told, sidecar
from lcc_sidecar.errors import SidecarUnreachableError


def test_status_says_one_thing_in_the_singular():
    one = {"version": "1", "pid": 7, "uptime_seconds": 1.0, "memory_bytes": None}
    one |= {"sessions": 1, "indexed_rows": 1, "indexed_bytes": 10, "damaged_lines": 1}

    assert "1 session, 1 row of 0.0 MB, 1 damaged line, 0 MB" in _told(one)
    assert "2 sessions, 1,000 rows" in _told(one | {"sessions": 2, "indexed_rows": 1000})


def test_start_status_and_stop_say_what_is_the_case(world):
    runner = CliRunner()
    for command in ("start", "status"):
        result = runner.invoke(sidecar, [command])
        assert result.exit_code == 0
        assert result.output.startswith(f"sidecar {__version__}, pid {world.sidecars()[0]}, up 0 s")
    assert "there is one already" in str(runner.invoke(sidecar, ["serve"]).exception)
    assert runner.invoke(sidecar, ["stop"]).output == "stopped\n"
    assert world.sidecars() == []
    assert runner.invoke(sidecar, ["stop"]).output == "there was none\n"
    assert isinstance(runner.invoke(sidecar, ["status"]).exception, SidecarUnreachableError)
