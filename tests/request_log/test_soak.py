"""A million lines: in bounded memory, and in time that grows with the lines alone.

LCC_SOAK_FULL=1 holds reviews to 300 MB and 5 s on a machine that is otherwise idle: of a log at its
cap, of a million of the shortest lines, and of a million passes, six times what a log can hold. The
usual run compares 5,000 lines with 50,000.
"""

import json
import os
import subprocess
import sys
import time

import pytest

from tests.request_log.loglines import write_many

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


def _measured(folder, script):
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
    few = _measured(write_many(isolated_home / "few", 5_000), isolated_home / "m.py")
    many = _measured(write_many(isolated_home / "many", 50_000), isolated_home / "m.py")

    assert (few[0], many[0]) == (5_000, 50_000)
    assert many[3] < 300_000
    assert many[1] < 20 * few[1] + 1


@pytest.mark.soak
@pytest.mark.skipif(not FULL, reason="LCC_SOAK_FULL=1 writes a gigabyte and reviews it")
@pytest.mark.parametrize(
    ("count", "recalls"), [(170_000, False), (1_000_000, True), (1_000_000, False)]
)
def test_so_many_lines_take_five_seconds_and_300_megabytes(
    isolated_home, monkeypatch, count, recalls
):
    monkeypatch.setenv("PYTHONPATH", os.getcwd())
    folder = write_many(isolated_home / "all", count, recalls=recalls)
    lines, used, waited, held = _measured(folder, isolated_home / "m.py")
    figures = f"{lines:,} lines: {waited:.2f} s, {used:.2f} s of processors, {held / 1000:.0f} MB"

    assert lines == count
    assert held < 300_000, figures
    assert waited < 5, figures
