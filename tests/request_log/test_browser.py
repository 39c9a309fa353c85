"""The page in a real browser, from a file: skipped, with the reason, where there is none."""

import pytest

from lcc_sidecar.request_log.page import render
from lcc_sidecar.request_log.review import review
from tests.request_log.conftest import HOSTILE
from tests.request_log.loglines import line, lines, write

LOGS = {"empty": [], "one": [line()], "hostile": HOSTILE, "usual": list(lines(400))}
SIZES = {"desk": (1100, 900), "tablet": (740, 900), "phone": (360, 780)}


@pytest.fixture(params=LOGS)
def address(request, isolated_home, now):
    folder = write(isolated_home / "r", LOGS[request.param])
    path = isolated_home / "page.html"
    path.write_bytes(render(review(str(folder), now=now)))
    return f"file://{path}"


def opened(chromium, address, *, size="desk", scheme="light"):
    width, height = SIZES[size]
    view = chromium.new_context(color_scheme=scheme, viewport={"width": width, "height": height})
    view.set_default_timeout(60_000)
    page, told = view.new_page(), []
    page.on("console", lambda message: told.append(message.text))
    page.on("pageerror", lambda error: told.append(str(error)))
    page.on("dialog", lambda dialog: told.append(dialog.message))
    page.on("request", lambda asked: told.append(asked.url) if asked.url != address else None)
    page.goto(address)
    return page, told


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_opens_in_silence_asks_for_nothing_and_fits(chromium, address, size, scheme):
    page, told = opened(chromium, address, size=size, scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
    width = page.evaluate("document.documentElement.scrollWidth")

    drawn = page.evaluate(
        "[...document.querySelectorAll('#h-time ~ svg')].filter(chart => chart.clientWidth).length"
    )

    assert told == []
    assert drawn == (page.evaluate("!document.getElementById('h-empty')"))
    assert width <= SIZES[size][0]
    assert page.title() == "lcc: what was freed"
    page.context.close()


def test_dark_is_dark_and_light_is_light(chromium, address):
    light, dark = (
        _brightness(opened(chromium, address, scheme=scheme)[0]) for scheme in ("light", "dark")
    )

    assert light["paper"] - dark["paper"] > 150
    assert dark["ink"] - light["ink"] > 150


def _brightness(page):
    colours = page.evaluate(
        "(({backgroundColor, color}) => [backgroundColor, color])(getComputedStyle(document.body))"
    )
    paper, ink = (sum(map(int, text[4:-1].split(","))) / 3 for text in colours)
    page.context.close()
    return {"paper": paper, "ink": ink}


def test_text_stays_within_its_chart(chromium, address):
    for size in ("desk", "phone"):
        page, _ = opened(chromium, address, size=size)
        over = page.evaluate(
            """[...document.querySelectorAll('svg.chart text')].filter(text => {
                 const box = text.getBoundingClientRect(), chart = text.closest('svg').getBoundingClientRect();
                 return chart.width && (box.left < chart.left - 6 || box.right > chart.right + 6);
               }).map(text => text.textContent)"""  # noqa: E501
        )
        page.context.close()

        assert over == []


def test_the_keyboard_reaches_every_part_and_opens_it(chromium, isolated_home, now):
    path = isolated_home / "page.html"
    path.write_bytes(render(review(str(write(isolated_home / "r", LOGS["usual"])), now=now)))
    page, _ = opened(chromium, f"file://{path}")
    page.keyboard.press("Tab")

    assert page.evaluate("document.activeElement.className") == "skip"
    assert page.evaluate("document.activeElement.getBoundingClientRect().left") >= 0
    reached = set()
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.textContent.slice(0, 20)"))
        if page.evaluate("document.activeElement.tagName") == "SUMMARY":
            assert page.evaluate("getComputedStyle(document.activeElement).outlineWidth") == "3px"
    page.evaluate("document.querySelector('details:not([open]) summary').focus()")
    page.keyboard.press("Enter")

    assert page.evaluate("document.activeElement.parentElement.open")
    summaries = page.evaluate("[...document.querySelectorAll('summary')].map(s => s.textContent)")
    assert set(summaries) <= reached
    page.context.close()


def test_a_page_of_many_lines_is_no_larger_for_the_browser(chromium, isolated_home, now):
    pages = []
    for count in (400, 20_000):
        page = render(review(str(write(isolated_home / "r", lines(count))), now=now))
        path = isolated_home / "page.html"
        path.write_bytes(page)
        seen, _ = opened(chromium, f"file://{path}")
        pages.append((len(page), seen.evaluate("document.querySelectorAll('*').length")))
        seen.context.close()

    assert pages[1][0] <= 1.1 * pages[0][0]
    assert pages[1][1] <= 1.1 * pages[0][1]
