"""The sidecar's log. Each line is a bug report: versions, platform, where it happened.

No message of a foreign exception goes in, for it may quote a transcript.
"""

import contextlib
import json
import platform
import time
import traceback
from pathlib import Path

from lcc_sidecar import __version__
from lcc_sidecar.errors import LccError
from lcc_sidecar.limits import LOG_LINE_MAX_CHARS, SIDECAR_LOG_MAX_BYTES
from lcc_sidecar.near.log import append
from lcc_sidecar.paths import state_dir

SIDECAR_LOG_NAME = "sidecar.log"


def log_path() -> Path:
    return Path(state_dir(), SIDECAR_LOG_NAME)


def report(where: str, error: BaseException) -> None:
    """Append one line about an error, if there is a place for it."""
    frames = traceback.extract_tb(error.__traceback__)
    entry = {
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "version": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "where": where,
        "error": type(error).__name__,
        "message": _message(error),
        "trace": [f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames],
    }
    with contextlib.suppress(OSError):
        append(SIDECAR_LOG_NAME, json.dumps(entry), SIDECAR_LOG_MAX_BYTES)


def _message(error: BaseException) -> str:
    is_ours = isinstance(error, LccError | OSError)
    return str(error)[:LOG_LINE_MAX_CHARS] if is_ours else ""
