"""`python3 install uninstall`: everything that an install made goes, in the order that is safe."""

import os
import re
import shutil
import time
from pathlib import Path
from typing import Any

from install import record, registration, settings_file, stash_files
from install.console import short, step
from install.installing import Places, alone, is_our_link, places
from lcc_sidecar.errors import InstallError, LccError, SidecarUnreachableError
from lcc_sidecar.limits import TAKE_OVER_SECONDS
from lcc_sidecar.near import client, lock, wire
from lcc_sidecar.paths import HOME_VARIABLE, meeting_folders, meeting_point, state_dir

_POINT = re.compile(r"[0-9a-f]{16}\.lock")
_REQUESTS = "requests"
_MADE = ("venv", "wheels", "wheels.new", "plugin", "install.json", "install.lock")


def uninstall(*, purge: bool = False) -> None:
    """Undo the install. Raise LccError at a step that failed; the rest can then be run again.

    The stash stays if it holds anything of the person's sessions, unless `purge`.
    """
    to = places()
    known = record.read()
    registrations = _registrations(known, to)
    if not to.data.exists() and not registrations:
        print(_nothing_here(to))
        _stash_left_behind(purge=purge)
        return
    with alone(to.data):
        # First so that no new session finds us, then so that no running one can start a sidecar.
        for settings, undo in registrations.items():
            with step("registration") as said:
                registration.unregister(Path(settings), undo)
                registration.forget(Path(settings).parent, to.plugin)
                said(f"removed from {short(settings)}")
        _remove_link(known, to)
        with step("plugin") as said:
            shutil.rmtree(to.plugin, ignore_errors=True)
            said(f"removed {short(to.plugin)}")
        with step("sidecar") as said:
            said("stopped" if _stop_sidecar() else "there was none")
        with step("files") as said:
            logged = [f"your request log in {_request_log()}"] if _request_log().exists() else []
            _remove_made(to.data)
            _remove_written()
            if "cache" in known:
                shutil.rmtree(known["cache"], ignore_errors=True)
            said("removed " + ", ".join(map(short, [*_gone(known, to), *logged])))
        with step("stash") as said:
            said("removed" if stash_files.remove(purge=purge) else f"kept, {_why_kept()}")
            _remove_empty(Path(state_dir()))
    _tell_what_is_left(to)


def _stash_left_behind(*, purge: bool) -> None:
    """Remove what an earlier uninstall has kept, if the person says so by now; else name it."""
    if not stash_files.texts():
        return
    with step("stash") as said:
        said("removed" if stash_files.remove(purge=purge) else f"kept, {_why_kept()}")
        _remove_empty(Path(state_dir()))


def preview(*, purge: bool = False) -> None:
    """Print what an uninstall would do, with the exact change of the settings. Change nothing."""
    to = places()
    known = record.read()
    for settings, undo in _registrations(known, to).items():
        before, after = registration.restored(Path(settings), undo)
        print(registration.diff(Path(settings), before, after) or f"{settings} stays as it is.")
    print("Would stop the sidecar and remove:")
    for what in _gone(known, to):
        print(f"  {what}")
    if _request_log().exists():
        print(f"  {_request_log()}: your request log; `lcc log export -o FILE` keeps its figures")
    if stash_files.texts() and not purge:
        print(f"But for {stash_files.folder()}: {_why_kept()}")


def _why_kept() -> str:
    count = stash_files.texts()
    texts = "1 text" if count == 1 else f"{count:,} texts"
    return f"{texts} of your sessions; pointers lead there (--purge removes it)"


def _nothing_here(to: Places) -> str:
    elsewhere = registration.registered_path(to.settings)
    if elsewhere is None:
        return "Nothing is installed for this user."
    return (
        f"Nothing is installed in {to.data}, but {to.settings} names {elsewhere}:\n"
        f"run this again with {HOME_VARIABLE}={Path(elsewhere).parent.parent}"
    )


def _gone(known: dict[str, Any], to: Places) -> list[str]:
    """Return what an uninstall takes away, apart from the registration."""
    return [str(to.data), state_dir(), *([known["cache"]] if "cache" in known else [])]


def _request_log() -> Path:
    return Path(state_dir(), _REQUESTS)


def _registrations(known: dict[str, Any], to: Places) -> dict[str, registration.Record]:
    """Return what is recorded; without a record, what stands in the settings all the same."""
    return known.get("registrations") or registration.found(to.settings, to.plugin)


def _remove_link(known: dict[str, Any], to: Places) -> None:
    link = Path(known["command"]) if "command" in known else None
    if link and is_our_link(link, to.command):
        link.unlink()


def _stop_sidecar() -> bool:
    """Stop the sidecar, by the near side alone: the venv may be broken. Return if there was one."""
    deadline = time.monotonic() + TAKE_OVER_SECONDS
    try:
        client.exchange(wire.request("stop"), deadline, may_start=False)
    except SidecarUnreachableError:
        return False
    except (OSError, LccError) as error:
        raise InstallError(f"the sidecar does not stop: {error}; run this again") from None
    point = meeting_point()
    while point is not None and time.monotonic() < deadline:
        try:
            os.close(lock.take(point + ".lock"))  # it holds that for life
        except BlockingIOError:
            time.sleep(0.05)
        else:
            break
    return True


def _remove_made(data: Path) -> None:
    for name in _MADE:
        path = data / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    _remove_empty(data)


def _remove_written() -> None:
    """Remove what the sidecar and the hooks wrote: logs, and the files of their meeting point."""
    for folder in map(Path, meeting_folders()):
        _remove_meeting_points(folder)
        _remove_empty(folder)
    state = Path(state_dir())
    for path in (*state.glob("*.log"), *state.glob("*.log.1")):
        path.unlink(missing_ok=True)
    for name in ("compactions", "statusline", _REQUESTS):
        shutil.rmtree(state / name, ignore_errors=True)
    _remove_empty(state)


def _remove_meeting_points(folder: Path) -> None:
    """Remove the files of sidecars that are gone: of this boot, and of earlier ones.

    One that still holds its lock lives: on another host that shares the folder.
    """
    for held in folder.glob("*.lock"):
        if _POINT.fullmatch(held.name) and not _is_held(held):
            for path in folder.glob(f"{held.stem}.*"):
                path.unlink(missing_ok=True)


def _is_held(path: Path) -> bool:
    try:
        os.close(lock.take(str(path)))
    except OSError:
        return True
    return False


def _remove_empty(folder: Path) -> None:
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


def _tell_what_is_left(to: Places) -> None:
    ours = {stash_files.folder()}
    folders = (to.data, Path(state_dir()))
    left = [folder for folder in folders if folder.exists() and set(folder.iterdir()) - ours]
    for folder in left:
        print(f"  left, because we did not make it: {folder}")
    if str(to.plugin) in (settings_file.read(to.settings) or ""):
        print(f"  left, because you wrote it: the status line in {to.settings}; take it out there")
    print(
        "\nlcc-sidecar is uninstalled. Sessions that are open say so at their next turn, until you"
    )
    print("type /reload-plugins there; /compact is Claude Code's own summary again.")
