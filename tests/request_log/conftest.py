"""A log to write, logs to review, and a browser to look at their pages."""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from lcc_sidecar.request_log import log, marker
from tests.request_log.loglines import kept, line, recall, write

Read = Callable[[], list[dict[str, Any]]]

HOSTILE = [
    line(),
    kept({"</title><script>alert(1)</script>": 9_000, "a\x1b[31m\x07red\u202e": 8_000}),
    kept({"$\\frac{1}{0}$ --> <!-- ]]>": 7_000}, mode='"><img src=x onerror=alert(1)>'),
    line(tools={"<b>&amp;": [10**15, 0]}, tier="\x00", outcome="fell_back: <i>\u2028x"),
    line(trigger="auto", outcome="<svg/onload=alert(1)>", session="<b>", token_count_method="<u>"),
    line(decisions={"replace": {'url(#x) id="#010101': [5, 5]}}),
    kept({"\u6f22\u5b57" * 20: 6_000}),
    line(ms={"total": 1e9}, chars_before=10**15, tokens_before=10**15),
    line(ms={"total": 0.0}, chars_before=0, chars_after=10**15, tokens_after=10**15),
    line(time="1970-01-01T00:00:00.000Z"),
    line(time="9999-12-31T23:59:59.999Z"),
    line(time="2026-13-99T00:00:00.000Z"),
    line(time="yesterday, or so it seems"),
    line(chars_before=10**400),
    line(chars_before=-1),
    line(ms={"total": -1.0}),
    line(schema="lcc-request-3"),
    line(decisions={"keep": []}),
    line(decisions={"keep": {"one": 1}}),
    line(decisions={"keep": {"three": [1, 2, 3]}}),
    recall(1),
    b'{"schema": "lcc-request-2", "time"',
    b"\xff\xfe\x00",
    b"null",
    b"[" * 50_000,
    b"x" * 300_000,
    b"",
]  # fmt: skip


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


@pytest.fixture
def now() -> datetime:
    return datetime(2026, 11, 30, 22, tzinfo=UTC)


@pytest.fixture
def hostile(isolated_home: Path) -> Path:
    return write(isolated_home / "hostile", HOSTILE)


@pytest.fixture(scope="module")  # while it is there, its own event loop runs
def chromium() -> Iterator[object]:
    """Give a headless Chromium: the one that LCC_CHROMIUM names, or that is on the path."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    names = (os.environ.get("LCC_CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome")
    found = next(filter(None, map(shutil.which, filter(None, names))), None)
    if not found:
        pytest.skip("no Chromium here to look at the page with; on Debian: apt install chromium")
    flags = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    with sync_api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=found, args=flags)
        yield browser
        browser.close()
