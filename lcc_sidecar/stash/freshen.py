"""Have the sidecar bring a session up to date before the stash is asked; where none runs, go on."""

import json
import time

from lcc_sidecar.errors import LccError
from lcc_sidecar.limits import RECALL_UP_TO_DATE_SECONDS
from lcc_sidecar.near import client, wire
from lcc_sidecar.paths import meeting_point


def freshen(session_id: str) -> None:
    """Return when the sidecar has stashed what the session's file holds, or after a while.

    Never starts one, and never raises: what is in the stash already answers (FR-129, FR-145).
    """
    payload = json.dumps({"session": session_id}).encode()
    try:
        point = meeting_point()
        if point is not None:
            deadline = time.monotonic() + RECALL_UP_TO_DATE_SECONDS
            client.ask(point, wire.request("recall", payload), deadline)
    except (OSError, LccError):
        pass
