"""A picture of a benchmark over sessions: what each mode frees, and how long it takes.

matplotlib is an extra (`plot`), and loaded here alone.
"""

import importlib
import importlib.util
import io
import os
from collections.abc import Sequence
from typing import Any

from lcc_sidecar.bench.sessions import MODES, Session, of_mode
from lcc_sidecar.errors import UsageError
from lcc_sidecar.extras import how_to_get
from lcc_sidecar.limits import BENCH_LEAST_CALLS
from lcc_sidecar.output import write_whole

_COLOURS = ("#5B8FF9", "#2CA58D", "#E8A33D", "#B0569A")  # told apart by the colour-blind, too
_KINDS = (".png", ".svg")


def check_plot(path: str) -> None:
    """Raise UsageError if a picture cannot be made into a file of this name."""
    if os.path.splitext(path)[1].lower() not in _KINDS:
        raise UsageError(f"--plot {path}: the name ends with neither {' nor '.join(_KINDS)}")
    if importlib.util.find_spec("matplotlib") is None:
        raise UsageError(f"--plot needs matplotlib: {how_to_get('plot')}")


def draw(sessions: Sequence[Session], path: str) -> None:
    """Write the picture. Raise LccError if the file cannot be written."""
    matplotlib: Any = importlib.import_module("matplotlib")
    matplotlib.use("agg")  # no window, whatever the machine has
    matplotlib.rcParams["svg.hashsalt"] = "lcc"  # the same figures give the same file
    plt: Any = importlib.import_module("matplotlib.pyplot")
    figure, (freed, times) = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
    for mode, colour in zip(MODES, _COLOURS, strict=True):
        found = [one for one in of_mode(sessions, mode) if one.calls >= BENCH_LEAST_CALLS]
        shares = sorted((100 * one.reduction for one in found), reverse=True)
        freed.plot(range(1, len(shares) + 1), shares, "o-", ms=4, color=colour, label=mode)
        sizes = [one.chars_before / 1000 for one in found]
        times.plot(sizes, [one.milliseconds for one in found], "o", ms=5, color=colour, alpha=0.8)
    freed.set(xlabel="sessions, by what went", ylabel="freed, % of all characters", ylim=(0, 100))
    times.set_xlim(left=0)
    times.set_ylim(bottom=0)
    freed.xaxis.get_major_locator().set_params(integer=True)
    freed.legend(frameon=False)
    times.set(xlabel="thousand characters", ylabel="ms a pass")
    for axes in (freed, times):
        axes.grid(visible=True, alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
    kind = os.path.splitext(path)[1][1:].lower()
    drawn = io.BytesIO()
    figure.savefig(drawn, format=kind, dpi=150, metadata={"Date": None} if kind == "svg" else None)
    plt.close(figure)
    write_whole(path, drawn.getvalue())
