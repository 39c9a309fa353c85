"""Measure sessions in processes of their own: one that dies costs its own session and no other."""

import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

from lcc_sidecar.bench.sessions import Bench, Session, measure
from lcc_sidecar.limits import BENCH_SESSION_SECONDS


def spread(
    paths: Sequence[str], bench: Bench, jobs: int, seconds: float = BENCH_SESSION_SECONDS
) -> Iterator[tuple[int, Session]]:
    """Yield (place, what was measured) of each session file as it is done, `jobs` at a time.

    A process that takes longer than `seconds`, or dies, is told as its session's error.
    """
    with ThreadPoolExecutor(max(1, jobs)) as pool:
        running = {
            pool.submit(_in_a_process, path, bench, seconds): n for n, path in enumerate(paths)
        }
        for future in as_completed(running):
            yield running[future], future.result()


def cores() -> int:
    """Return how many processes can run at once."""
    return os.cpu_count() or 1


def _in_a_process(path: str, bench: Bench, seconds: float) -> Session:
    name = os.path.relpath(path, bench.root)
    try:
        # the folder is made here, so that a process which is killed leaves nothing behind
        with tempfile.TemporaryDirectory(prefix="lcc-bench-") as folder:
            done = subprocess.run(
                [sys.executable, "-m", __name__],
                input=pickle.dumps((path, bench)),
                stdout=subprocess.PIPE,
                timeout=seconds,
                check=True,
                env=os.environ | {"TMPDIR": folder},
            )
    except (OSError, subprocess.SubprocessError) as error:
        return Session(name, 0, error=f"its process did not finish: {error}")
    session: Session = pickle.loads(done.stdout)  # noqa: S301 - our own child wrote it
    return session


def main() -> None:
    """Measure the one session that standard input names, and write it to standard output."""
    path, bench = pickle.load(sys.stdin.buffer)  # noqa: S301 - our own parent wrote it
    sys.stdout.buffer.write(pickle.dumps(measure(path, bench)))


if __name__ == "__main__":
    main()
