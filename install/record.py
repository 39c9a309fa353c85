"""The installation's record, `install.json`: what was put where, and how to take it back."""

import json
from pathlib import Path
from typing import Any

from install import settings_file
from lcc_sidecar.errors import InstallError
from lcc_sidecar.paths import install_record


def read() -> dict[str, Any]:
    """Return the record; {} if nothing is installed. Raise InstallError if it is damaged.

    Keys: `python`, `version`, `cache` (a folder), `registrations` (settings file to its undoing),
    `command` (our link to `lcc`), `extras` (their names).
    """
    text = settings_file.read(Path(install_record()))
    if text is None:
        return {}
    try:
        return {"registrations": {}, **json.loads(text)}
    except (ValueError, TypeError):
        raise InstallError(
            f"{install_record()} is damaged; remove it, then run `python3 install` once more"
        ) from None


def write(record: dict[str, Any]) -> None:
    """Write the record, whole or not at all, for its owner alone: it holds settings of theirs."""
    path = Path(install_record())
    text = json.dumps(record, indent=2, sort_keys=True) + "\n"
    if not settings_file.replace(path, settings_file.read(path), text):
        raise InstallError(f"{path} was written by somebody else just now; run this again")
