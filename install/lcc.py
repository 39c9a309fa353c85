"""Run the installed command line, from the venv and nowhere else."""

import os
import shutil
import subprocess
from pathlib import Path

from lcc_sidecar.errors import InstallError
from lcc_sidecar.limits import LCC_SECONDS
from lcc_sidecar.request_log.marker import VARIABLE


def run(
    python: Path, *arguments: str | Path, may_fail: bool = False, is_logged: bool = True
) -> str:
    """Return what `lcc` prints with these arguments.

    Unless `is_logged` the person's request log hears nothing of it.

    Raise InstallError if it does not run, or fails and must not.
    """
    columns = shutil.get_terminal_size((100, 24)).columns
    logging = {} if is_logged else {VARIABLE: "off"}
    named = f"`lcc {' '.join(map(str, arguments))}`"
    try:
        done = subprocess.run(
            [python, "-I", "-m", "lcc_sidecar", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=LCC_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
            env=os.environ | {"PYTHONIOENCODING": "utf-8", "COLUMNS": str(columns)} | logging,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise InstallError(f"{named} did not run: {error}") from None
    said = done.stdout.decode(errors="replace").strip("\n")
    if done.returncode != 0 and not may_fail:
        raise InstallError(f"{named} failed:\n{said}")
    return said
