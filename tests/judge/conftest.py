from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from jevcompat.mock import MockConfig

from lcc_sidecar.judge import jev
from tests.judge.server import Service, serving

KEY = "sk-test-0123456789abcdefghij"


@pytest.fixture(autouse=True)
def no_service(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reaches the real service, and none waits as long as people do."""
    monkeypatch.setenv("TYPESAFE_BASE_URL", "http://127.0.0.1:1")
    monkeypatch.delenv("TYPESAFE_API_KEY", raising=False)
    monkeypatch.delenv("LCC_DISABLE_NETWORK", raising=False)
    monkeypatch.setattr(jev, "JEV_BACKOFF_SECONDS", 0.01)


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Service]]:
    """Return a function that starts the mock, with faults, and points the judge at it."""
    with ExitStack() as running:

        def start(*faults: str, key: str | None = KEY, **fields: object) -> Service:
            config = MockConfig(key=key, faults=frozenset(faults))
            service = running.enter_context(serving(config, **fields))
            monkeypatch.setenv("TYPESAFE_BASE_URL", service.url)
            monkeypatch.setenv("TYPESAFE_API_KEY", KEY)
            return service

        yield start
