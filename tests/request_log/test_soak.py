"""A million lines: in bounded memory, and in time that grows with the lines alone.

LCC_SOAK_FULL=1 holds reviews to 300 MB and 5 s on a machine that is otherwise idle: of a log at its
cap and of a million of the shortest lines, nothing of them counted before; and of a million passes,
six times what a log can hold, appended one by one and counted as the sidecar does. The usual run
compares 5,000 lines with 50,000, and appends 20,000.
"""

import json
import os
import subprocess
import sys
import time

import pytest

from lcc_sidecar.request_log import log, marker
from lcc_sidecar.request_log.counting import count_full
from tests.request_log.loglines import NOW, lines, write_many

FULL = os.environ.get("LCC_SOAK_FULL") == "1"
MEASURE = """
import json, re, resource, sys
from datetime import UTC, datetime
from lcc_sidecar.request_log.review import review

def main():
    found = review(sys.argv[1], now=datetime(2026, 11, 30, 22, tzinfo=UTC))
    own, children = (
        resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    used = own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime
    # ru_maxrss begins with what the starting process held; the high-water mark is our own.
    held = int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1])
    print(json.dumps([found.lines, used, held, children.ru_maxrss]))

if __name__ == "__main__":
    main()
"""


def measured(folder, script):
    """Return the lines, the seconds of processors and of the clock, and kilobytes held at most."""
    script.write_text(MEASURE)
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, script, folder], capture_output=True, text=True, check=True
    )
    lines, used, own, children = json.loads(done.stdout)
    return lines, used, time.monotonic() - began, own + children * (os.cpu_count() or 1)


@pytest.mark.soak
@pytest.mark.skipif(sys.platform != "linux", reason="kilobytes of a process are told on Linux")
def test_ten_times_the_lines_take_no_more_memory(isolated_home, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.getcwd())
    few = measured(write_many(isolated_home / "few", 5_000), isolated_home / "m.py")
    many = measured(write_many(isolated_home / "many", 50_000), isolated_home / "m.py")

    assert (few[0], many[0]) == (5_000, 50_000)
    assert many[3] < 300_000
    assert many[1] < 20 * few[1] + 1


@pytest.mark.soak
@pytest.mark.skipif(not FULL, reason="LCC_SOAK_FULL=1 writes 300 MB and reviews them")
@pytest.mark.parametrize(("count", "recalls"), [(170_000, False), (1_000_000, True)])
def test_so_many_lines_take_five_seconds_and_300_megabytes(
    isolated_home, monkeypatch, count, recalls
):
    monkeypatch.setenv("PYTHONPATH", os.getcwd())
    folder = write_many(isolated_home / "all", count, recalls=recalls)
    held_to_the_limits(folder, isolated_home / "m.py", count)


@pytest.mark.timeout(1200)  # a million lines are appended one by one
@pytest.mark.soak
@pytest.mark.skipif(sys.platform != "linux", reason="kilobytes of a process are told on Linux")
def test_a_log_that_was_counted_as_it_grew_takes_five_seconds_and_300_megabytes(
    isolated_home, monkeypatch
):
    count = 1_000_000 if FULL else 20_000
    monkeypatch.setenv("PYTHONPATH", os.getcwd())
    monkeypatch.setattr(log, "REQUEST_LOG_FILES_MAX", 100)
    monkeypatch.setattr(log, "REQUEST_LOG_MAX_BYTES", 16 * count)  # as many files either way
    marker.turn_on()
    texts = [json.dumps(entry, separators=(",", ":")).encode() + b"\n" for entry in lines(5000)]
    for number in range(count):
        log.append_line(texts[number % 5000], log.purges())
    monkeypatch.setenv(marker.VARIABLE, "off")
    not_counted = measured(marker.folder(), isolated_home / "m.py")
    assert not_counted[3] < 300_000
    monkeypatch.delenv(marker.VARIABLE)
    count_full(NOW)

    used = held_to_the_limits(marker.folder(), isolated_home / "m.py", count)
    assert used < not_counted[1]


def held_to_the_limits(folder, script, count):
    """Return the seconds of processors that a review took, within its limits."""
    reviewed, used, waited, held = measured(folder, script)
    figures = (
        f"{reviewed:,} lines: {waited:.2f} s, {used:.2f} s of processors, {held / 1000:.0f} MB"
    )
    assert reviewed == count
    assert held < 300_000, figures
    assert waited < 5, figures
    return used
