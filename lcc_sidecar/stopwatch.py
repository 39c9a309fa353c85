"""Where the time of a pass went. One reading of the clock a stage: next to nothing."""

import time
from typing import Literal

Stage = Literal["decide", "prove", "stash", "verify", "report"]


class Stopwatch:
    """Charges the time since the last charge to a stage. A stage may be charged more than once."""

    def __init__(self) -> None:
        self._seconds: dict[Stage, float] = {
            "decide": 0.0, "prove": 0.0, "stash": 0.0, "verify": 0.0, "report": 0.0
        }  # fmt: skip
        self._since = time.perf_counter()

    def charge(self, stage: Stage) -> None:
        now = time.perf_counter()
        self._seconds[stage] += now - self._since
        self._since = now

    def resume(self) -> None:
        """Leave out the time since the last charge: it was nobody's."""
        self._since = time.perf_counter()

    @property
    def total_s(self) -> float:
        """Return the seconds charged so far."""
        return sum(self._seconds.values())

    def milliseconds(self) -> dict[str, float]:
        """Return what each stage took, in milliseconds."""
        return {stage: round(1000 * seconds, 3) for stage, seconds in self._seconds.items()}
