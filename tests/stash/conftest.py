from collections.abc import Iterator

import pytest

from lcc_sidecar.stash.database import Database


@pytest.fixture
def database() -> Iterator[Database]:
    opened = Database()
    yield opened
    opened.close()
