"""The key of the Jev service: from the environment, or from a file that only its owner can read.

The key is handed to the one who sends it, and to nobody else: `Key` shows itself as `Key(hidden)`.
"""

import os
import re
import stat
from dataclasses import dataclass, field

from lcc_sidecar.limits import JEV_KEY_FILE_MAX_BYTES
from lcc_sidecar.settings import settings_path

KEY_VARIABLE = "TYPESAFE_API_KEY"
NETWORK_VARIABLE = "LCC_DISABLE_NETWORK"
KEY_FILE = "typesafe-api-key"

_USABLE = re.compile(r"[!-~]+")  # what a header may carry


@dataclass(frozen=True, slots=True)
class Key:
    value: str = field(repr=False)

    def __repr__(self) -> str:
        return "Key(hidden)"


def network_disabled() -> bool:
    """Return whether the person forbids every connection (LCC_DISABLE_NETWORK=1)."""
    return os.environ.get(NETWORK_VARIABLE, "").strip().lower() not in ("", "0", "false", "no")


def key_file() -> str:
    return str(settings_path().with_name(KEY_FILE))


def find_key() -> Key | str:
    """Return the key, or in words why there is none that can be used."""
    value = os.environ.get(KEY_VARIABLE, "").strip()
    if not value:
        found = _from_file(key_file())
        if found is None:
            return f"no key: set {KEY_VARIABLE}, or write the key to {key_file()} with mode 0600"
        if not found[0]:
            return found[1]
        value = found[1]
    if not _USABLE.fullmatch(value):
        return f"the key in {KEY_VARIABLE} or {key_file()} holds a character that no key has"
    return Key(value)


def _from_file(path: str) -> tuple[bool, str] | None:
    """Return (True, the file's text) or (False, why not); None without a file."""
    try:
        # never a link, and a FIFO is not waited for
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        with open(os.open(path, flags), "rb") as file:
            state = os.fstat(file.fileno())
            if not stat.S_ISREG(state.st_mode):
                return False, f"{path} is not a regular file"
            if os.name != "nt" and (state.st_uid != os.geteuid() or state.st_mode & 0o077):
                return False, f"{path} can be read by others: chmod 600 it, and renew the key"
            return True, file.read(JEV_KEY_FILE_MAX_BYTES).decode("utf-8", "replace").strip()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        return False, f"{path} cannot be read: {error.strerror}"
