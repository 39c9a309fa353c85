"""An uninstall takes the request log along: nobody is left to turn it off."""

from pathlib import Path

from install import selftest, uninstalling
from lcc_sidecar.paths import state_dir
from lcc_sidecar.request_log import log, marker
from tests.request_log.test_log import entry


def test_an_uninstall_takes_the_request_log_along():
    marker.turn_on()
    log.append(entry)
    assert log.files()

    uninstalling._remove_written()

    assert not Path(state_dir()).exists()


def test_the_self_test_is_nobodys_work(installed):
    marker.turn_on()
    assert "tokens freed" in selftest.run_sample(installed.python)

    assert log.files() == []
