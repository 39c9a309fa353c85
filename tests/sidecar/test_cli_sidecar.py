from click.testing import CliRunner

from lcc_sidecar import __version__
from lcc_sidecar.cli.sidecar import sidecar
from lcc_sidecar.errors import SidecarUnreachableError


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
