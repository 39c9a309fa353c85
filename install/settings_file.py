"""A settings file of somebody else: read it, or change it in one step that cannot harm it."""

import contextlib
import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path

from lcc_sidecar.errors import SettingsError
from lcc_sidecar.limits import SETTINGS_EDIT_TRIES_MAX, SETTINGS_MAX_BYTES

_BOM = "\ufeff"


def read(path: Path) -> str | None:
    """Return the text of the file, or None if there is none.

    Raise SettingsError if it cannot be read as UTF-8: what was not understood is never written.
    """
    try:
        with path.open("rb") as file:
            content = file.read(SETTINGS_MAX_BYTES + 1)
        if len(content) > SETTINGS_MAX_BYTES:
            raise SettingsError(f"{path} holds more than {SETTINGS_MAX_BYTES} bytes; look at it")
        return content.decode()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path} is not UTF-8 text: {error}; save it as UTF-8") from None
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}") from None


def changed(path: Path, text: str | None, change: Callable[[str], str]) -> str:
    """Return `text` after `change`. Raise SettingsError where the file is not what it must be."""
    body = (text or "").removeprefix(_BOM)
    mark = _BOM if text and text.startswith(_BOM) else ""
    # A file that is missing or blank holds nothing that could be lost.
    try:
        return mark + change(body if body.strip() else "{}\n")
    except ValueError as error:
        raise SettingsError(
            f"{path} was left as it is, because Claude Code would not read it: {error}.\n"
            "Settings are strict JSON (no comments, no trailing commas): "
            f"mend that place, then run this again. To see it: python3 -m json.tool '{path}'"
        ) from None


def edit(path: Path, change: Callable[[str], str]) -> tuple[str | None, str]:
    """Apply `change` to the text of the file; return the text before (None: no file) and after.

    A link is followed and stays; the file is replaced as a whole or not at all, keeps its mode,
    and is not touched if nothing changes. Raise SettingsError if it cannot be done.
    """
    for _ in range(SETTINGS_EDIT_TRIES_MAX):
        before = read(path)
        after = changed(path, before, change)
        if after == before or replace(path, before, after):
            return before, after
    raise SettingsError(f"{path} is being written by others all the time; try again later")


def replace(path: Path, before: str | None, after: str | None) -> bool:
    """Put `after` in the place of `before`; None means that there is no file.

    Return False, with nothing done, if the file no longer holds `before`. Somebody who writes
    between that look and the rename is the one case that is left: some microseconds.
    """
    target = Path(os.path.realpath(path))  # a dotfile is often a link into a repository (FR-152)
    try:
        if after is None:
            if read(target) != before:
                return False
            target.unlink()
            return True
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary = _write_beside(target, after)
        try:
            if read(target) != before:
                return False
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)
        _sync_folder(target.parent)
    except OSError as error:
        raise SettingsError(
            f"{target} cannot be written: {error.strerror}; make it writable, then run this again"
        ) from None
    return True


def _write_beside(target: Path, text: str) -> Path:
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    with open(descriptor, "wb") as file:
        file.write(text.encode())
        file.flush()
        os.fsync(file.fileno())
    with contextlib.suppress(FileNotFoundError):  # a new file stays private, as mkstemp made it
        Path(name).chmod(stat.S_IMODE(target.stat().st_mode))
    return Path(name)


def _sync_folder(folder: Path) -> None:
    if os.name == "posix":  # elsewhere a folder cannot be opened
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
