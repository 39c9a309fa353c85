"""Where files live, and the private folder in which the sidecar is met.

Stdlib only, and little of it: every hook imports this file. `data_dir` and `state_dir` follow
platformdirs' rules (a test compares them). One variable, LCC_SIDECAR_HOME, moves all of them.
"""

import os
import stat
import sys

from lcc_sidecar.limits import SOCKET_PATH_MAX_BYTES

APP_NAME = "lcc-sidecar"
HOME_VARIABLE = "LCC_SIDECAR_HOME"

_FNV_OFFSET, _FNV_PRIME, _64_BITS = 0xCBF29CE484222325, 0x100000001B3, (1 << 64) - 1


def moved_home() -> str | None:
    """Return the folder that LCC_SIDECAR_HOME names; a relative path counts as unset."""
    home = os.environ.get(HOME_VARIABLE, "")
    return home if os.path.isabs(home) else None


def data_dir() -> str:
    """Return the folder of what is installed: the private venv, the plugin, install.json."""
    return _user_dir("data", "XDG_DATA_HOME", "~/.local/share")


def state_dir() -> str:
    """Return the folder of what is written while running: logs, stash, journal."""
    return _user_dir("state", "XDG_STATE_HOME", "~/.local/state")


def statusline_dir() -> str:
    """Return the folder of what status lines show, a file a session."""
    return os.path.join(state_dir(), "statusline")


def install_record() -> str:
    """Return the path of the file in which the installer leaves its interpreter and version."""
    return os.path.join(data_dir(), "install.json")


def meeting_folders() -> list[str]:
    """Return the folders where the sidecar may be met, best first.

    None of them depends on variables that differ between a terminal, a desktop and a cron job of
    one user; so all of that user's processes look in the same places. The last one is short, for
    homes whose path leaves no room for a socket (FR-121).
    """
    home = moved_home()
    folders = [os.path.join(home or state_dir(), "run")]
    if os.name == "nt":
        return folders
    login = f"/run/user/{os.geteuid()}"  # in memory, local, and gone with the boot
    if not home and is_private(login):
        folders.insert(0, os.path.join(login, APP_NAME))
    return [*folders, f"/tmp/{APP_NAME}-{os.geteuid()}-{identity()}"]  # noqa: S108 - owner is checked


def meeting_point(*, make: bool = False) -> str | None:
    """Return the path, without its ending, at which the sidecar is met; None if there is none.

    It is in the first folder that is private to this user and short enough. `make` creates the
    folder where it is missing. A folder of somebody else, or one that others can enter, is passed
    over (FR-123, FR-126), and so is one that cannot be made (FR-127).
    """
    name = identity()
    for folder in meeting_folders():
        point = os.path.join(folder, name)
        too_long = len(os.fsencode(point + ".sock")) > SOCKET_PATH_MAX_BYTES
        if not too_long and (is_private(folder) or (make and make_private(folder))):
            return point
    return None


def is_private(folder: str) -> bool:
    """Return whether `folder` is a real folder of this user that nobody else can enter."""
    try:
        found = os.lstat(folder)
    except (OSError, ValueError):
        return False
    if not stat.S_ISDIR(found.st_mode):
        return False
    # Windows has no owner and mode here; the profile folder's access list stands for both.
    return os.name == "nt" or (found.st_uid == os.geteuid() and not found.st_mode & 0o077)


def identity() -> str:
    """Return 16 hex digits that name this host, this boot and this user's state.

    A folder shared between a host and its containers then holds one sidecar for each, and nobody
    takes a neighbour's for its own (FR-144). A name, not a secret: FNV-1a, because hashlib costs a
    hook a third of the interpreter's start.
    """
    parts = (_host(), _boot(), os.path.normpath(moved_home() or state_dir()))
    digest = _FNV_OFFSET
    for byte in os.fsencode("\0".join(parts)):
        digest = (digest ^ byte) * _FNV_PRIME & _64_BITS
    return f"{digest:016x}"


def _host() -> str:
    return os.environ.get("COMPUTERNAME", "") if os.name == "nt" else os.uname().nodename


def _boot() -> str:
    try:
        with open("/proc/sys/kernel/random/boot_id", "rb") as file:
            return os.fsdecode(file.read(36))
    except OSError:
        return ""  # elsewhere the host name has to do


def _user_dir(kind: str, xdg_variable: str, xdg_default: str) -> str:
    home = moved_home()
    if home:
        return os.path.join(home, kind)
    if os.name == "nt":
        local = os.environ.get("LOCALAPPDATA") or os.path.expanduser("~\\AppData\\Local")
        return os.path.join(os.path.normpath(local), APP_NAME)
    base = os.environ.get(xdg_variable, "").strip()
    if not os.path.isabs(base):  # the XDG rule: a relative path is ignored
        on_mac = sys.platform == "darwin"
        base = os.path.expanduser("~/Library/Application Support" if on_mac else xdg_default)
    return os.path.join(base, APP_NAME)


def make_private(folder: str) -> bool:
    """Make `folder`, and those above it, for this user alone; return whether it is private."""
    mask = os.umask(0o077)  # for the folders above it, too, where they are made now
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
    except (OSError, ValueError):
        return False
    finally:
        os.umask(mask)
    return is_private(folder)
