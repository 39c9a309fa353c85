"""Measure sessions in processes of their own: one that dies costs its own session and no other."""

import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

from lcc_sidecar.bench.sessions import Bench, Session, measure
from lcc_sidecar.limits import BENCH_SESSION_SECONDS


def spread(
    paths: Sequence[str], bench: Bench, jobs: int, seconds: float = BENCH_SESSION_SECONDS
) -> Iterator[tuple[int, Session]]:
    """Yield (place, what was measured) of each session file as it is done, `jobs` at a time.

    A process that takes longer than `seconds`, or dies, is told as its session's error. Whoever
    stops asking ends them all.
    """
    processes = _Processes(seconds)
    with ThreadPoolExecutor(max(1, jobs)) as pool:
        places = {
            pool.submit(_in_a_process, path, bench, processes): n for n, path in enumerate(paths)
        }
        try:
            for future in as_completed(places):
                yield places[future], future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            processes.end()


def cores() -> int:
    """Return how many processes can run at once."""
    return os.cpu_count() or 1


class _Processes:
    """The processes that run now, each for so many seconds at most."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._running: set[subprocess.Popen[bytes]] = set()
        self._is_over = False

    def run(self, command: Sequence[str], data: bytes, environment: Mapping[str, str]) -> bytes:
        """Return what a process makes of `data`. Raise SubprocessError or OSError if it fails."""
        # in a session of its own: a Ctrl-C is for us, and we end it
        with subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            start_new_session=True,
        ) as process:
            self._running.add(process)
            try:
                if self._is_over:
                    process.kill()
                made, _ = process.communicate(data, self._seconds)
            except BaseException:
                process.kill()
                raise
            finally:
                self._running.discard(process)
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, command)
        return made

    def end(self) -> None:
        """End those that run, and those that are about to."""
        self._is_over = True
        for process in list(self._running):
            process.kill()


def _in_a_process(path: str, bench: Bench, processes: _Processes) -> Session:
    name = os.path.relpath(path, bench.root)
    try:
        # the folder is made here, so that a process which is killed leaves nothing behind
        with tempfile.TemporaryDirectory(prefix="lcc-bench-") as folder:
            made = processes.run(
                [sys.executable, "-m", __name__],
                pickle.dumps((path, bench)),
                os.environ | {"TMPDIR": folder},
            )
    except (OSError, subprocess.SubprocessError) as error:
        return Session(name, 0, error=f"its process did not finish: {error}")
    session: Session = pickle.loads(made)  # noqa: S301 - our own child wrote it
    return session


def main() -> None:
    """Measure the one session that standard input names, and write it to standard output."""
    path, bench = pickle.load(sys.stdin.buffer)  # noqa: S301 - our own parent wrote it
    sys.stdout.buffer.write(pickle.dumps(measure(path, bench)))


if __name__ == "__main__":
    main()
