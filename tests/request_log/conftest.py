import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lcc_sidecar.request_log import log, marker

Read = Callable[[], list[dict[str, Any]]]


@pytest.fixture(autouse=True)
def nothing_told_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test is a process of its own as far as the first failure goes."""
    monkeypatch.setattr(log, "_told", False)


@pytest.fixture
def folder() -> Path:
    return Path(marker.folder())


@pytest.fixture
def logged(isolated_home: Path) -> Read:
    """Turn the log on; give a function that reads it."""
    marker.turn_on()
    return lambda: [json.loads(line) for line in log.lines()]
