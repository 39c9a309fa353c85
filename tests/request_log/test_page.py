"""The page of a review: what stands in it, and that nothing in it acts, loads or gets out."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser

import pytest

from lcc_sidecar.request_log.page import render
from lcc_sidecar.request_log.review import review
from tests.request_log.conftest import HOSTILE
from tests.request_log.loglines import line, lines, write

VOID = {"meta", "br", "link", "img", "hr", "input"}
LOGS = {"empty": [], "one": [line()], "hostile": HOSTILE, "usual": list(lines(400))}


class Outline(HTMLParser):
    """Collects tags with what stands in them; fails where one closes that is not open."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.open, self.words = [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    def all(self, name):
        return [attrs for tag, attrs in self.tags if tag == name]


@pytest.fixture(params=LOGS)
def page(request, isolated_home, now):
    folder = write(isolated_home / "r", LOGS[request.param])
    return render(review(str(folder), now=now)).decode()


def test_a_page_has_landmarks_one_title_and_headings_in_order(page):
    outline = Outline(page)
    headings = [tag for tag, _ in outline.tags if re.fullmatch(r"h\d", tag)]

    assert [len(outline.all(tag)) for tag in ("header", "main", "footer", "title")] == [1] * 4
    assert outline.all("html") == [{"lang": "en"}]
    assert headings[0] == "h1"
    assert set(headings[1:]) == {"h2"}
    assert {"href": "#main", "class": "skip"} in outline.all("a")
    ids = [attrs["id"] for _, attrs in outline.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    assert {attrs["aria-labelledby"] for attrs in outline.all("section")} <= set(ids)


def test_a_page_has_no_script_loads_nothing_and_names_no_address(page):
    outline = Outline(page)
    tags = {tag for tag, _ in outline.tags}

    assert not tags & {
        "script",
        "link",
        "img",
        "iframe",
        "object",
        "embed",
        "base",
        "form",
        "b",
        "i",
    }
    assert not re.search(r"(https?:)?//[a-z]", page)
    for _, attrs in outline.tags:
        assert not [name for name in attrs if name.startswith("on")]
        for name in ("href", "src", "xlink:href", "clip-path"):
            assert attrs.get(name, "#").removeprefix("url(").startswith("#")
    assert "@import" not in page
    policy = [m["content"] for m in outline.all("meta") if "http-equiv" in m]
    assert policy[0].startswith("default-src 'none'")
    assert not [char for char in page if not char.isprintable() and char != "\n"]


def test_each_chart_says_its_numbers_and_has_a_table(isolated_home, now):
    found = review(str(write(isolated_home / "r", LOGS["usual"])), now=now)
    outline = Outline(render(found).decode())
    charts = outline.all("svg")
    said = " ".join(chart["aria-label"] for chart in charts)

    assert len(charts) == 5
    assert all(chart["role"] == "img" for chart in charts)
    assert "Read" in said
    assert "p99" in said
    assert len(outline.all("details")) == len(outline.all("table")) >= 9
    words = "".join(outline.words)
    assert f"{found.tools[0].chars_before:,}" in words
    assert f"{found.decisions['keep'][0].chars:,}" in words


def test_the_colours_of_charts_come_from_the_page_alone(isolated_home, now):
    text = render(review(str(write(isolated_home / "r", LOGS["usual"])), now=now)).decode()
    drawn = "".join(re.findall(r"<svg.*?</svg>", text, re.DOTALL))

    assert "var(--gone)" in drawn
    assert not re.search(r"#[0-9a-f]{6}\b", drawn)
    assert "DejaVu" not in drawn


def test_the_same_log_gives_the_same_bytes_in_any_process(isolated_home, now):
    folder = write(isolated_home / "r", LOGS["usual"])
    code = (
        "import sys, datetime as d\n"
        "from lcc_sidecar.request_log import page, review\n"
        "now = d.datetime(2026, 11, 30, 22, tzinfo=d.UTC)\n"
        "sys.stdout.buffer.write(page.render(review.review(sys.argv[1], now=now)))"
    )
    settings = isolated_home / "matplotlibrc"
    settings.write_text("font.size: 40\naxes.grid: True\nsvg.fonttype: path\n")
    run = [sys.executable, "-c", code, str(folder)]
    where = {**os.environ, "MATPLOTLIBRC": str(settings)}
    other = subprocess.run(run, capture_output=True, check=True, env=where).stdout

    assert other == render(review(str(folder), now=now))


def test_what_was_refused_is_said_and_the_times_add_up(isolated_home, now):
    entries = [line(ms={"total": 20.0, "prove": 5.0}), line(outcome="refused: UsageError")]
    found = review(str(write(isolated_home / "r", entries)), now=now)
    words = " ".join(Outline(render(found).decode()).words)

    assert "1 pass over 1 session. 1 more was refused before it began." in words
    assert "Outcomes: refused 1, replaced 1." in words
    assert re.search(r"all else\s+15 ms\s+75 %", words)
    assert re.search(r"total\s+20 ms\s+100 %", words)


def test_a_page_of_refusals_alone_says_so(isolated_home, now):
    folder = write(isolated_home / "r", [line(outcome="refused: UsageError")])

    assert "1 was refused before it began." in render(review(str(folder), now=now)).decode()


def test_what_is_hostile_is_shown_as_it_is_written(hostile, now):
    words = "".join(Outline(render(review(str(hostile), now=now)).decode()).words)

    assert "<script>alert(1)</script>" in words
    assert "1 line dated in the future" in words
    assert "2 lines damaged" in words
