"""Find a session file by what a person calls it: the session's id, or the file's path."""

import glob
import os
import re

from lcc_sidecar.errors import UsageError

_NAME = re.compile(r"[A-Za-z0-9-]+")
_START_CHARS = 8  # of an id, as `lcc stash ls` shows it


def client_folder() -> str:
    """Return Claude Code's own folder, with its settings and sessions."""
    return os.path.expanduser(os.environ.get("CLAUDE_CONFIG_DIR") or "~/.claude")


def find_session(named: str) -> str:
    """Return the path of the session file that a person named.

    An id is looked for in Claude Code's own folder, the one that CLAUDE_CONFIG_DIR names if it
    does. Raise UsageError if no file has the id as its name, or several have.
    """
    if not _NAME.fullmatch(named) or os.path.isfile(named):
        return named
    folder = os.path.join(client_folder(), "projects")
    everywhere = os.path.join(glob.escape(folder), "*")
    found = sorted(glob.glob(os.path.join(everywhere, f"{named}.jsonl")))
    if not found and len(named) >= _START_CHARS:
        found = sorted(glob.glob(os.path.join(everywhere, f"{named}*.jsonl")))
    if not found:
        raise UsageError(f"no session {named} in {folder}: give its id, or the file's path")
    if len(found) > 1:
        raise UsageError(f"{named} is there {len(found)} times: give a path, {found[0]} or another")
    return found[0]
