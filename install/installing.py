"""`python3 install`: the steps, in order. Each can be run again; three installs equal one."""

import contextlib
import os
import shlex
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from install import environment, lcc, plugin_copy, record, registration, selftest, settings_file
from install.console import short, step
from lcc_sidecar import __version__
from lcc_sidecar.errors import InstallError
from lcc_sidecar.limits import INSTALL_WAIT_SECONDS
from lcc_sidecar.near import lock
from lcc_sidecar.paths import HOME_VARIABLE, data_dir

_ASK_CACHE = "from lcc_sidecar.transcript.tokens import cache_folder; print(cache_folder())"

SOURCE = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Places:
    """Where things go: all but the settings file lies in our own data folder."""

    data: Path
    venv: Path
    wheels: Path
    plugin: Path
    settings: Path

    @property
    def python(self) -> Path:
        return environment.python_of(self.venv)

    @property
    def command(self) -> Path:
        return self.python.with_name("lcc.exe" if os.name == "nt" else "lcc")


def places() -> Places:
    """Return the places for this user and environment."""
    data = Path(data_dir())
    settings = registration.client_folder() / "settings.json"
    return Places(data, data / "venv", data / "wheels", data / "plugin", settings)


def install(wheels: Path | None, session: str | None, extras: Sequence[str]) -> None:
    """Install, or bring an installation up to date. Raise LccError at the step that failed.

    `extras` are added to those of earlier installs.
    """
    to = places()
    _check_settings(to)  # and the session: before anything is made
    file = selftest.find_session(session, registration.client_folder()) if session else None
    with alone(to.data):
        with step("python") as said:
            said(f"{environment.make(to.venv)}  {short(to.python)}")
        with step("packages") as said:
            chosen = sorted({*extras, *record.read().get("extras", ())})
            source = environment.gather_wheels(to.python, SOURCE, to.wheels, wheels, chosen)
            environment.install(to.python, to.wheels, chosen)
            with_ = f" with {', '.join(chosen)}" if chosen else ""
            said(f"lcc-sidecar {__version__}{with_} from {source}; kept in {short(to.wheels)}")
        with step("plugin") as said:
            count = plugin_copy.write(SOURCE, to.plugin, to.python)
            said(f"{count} files  {short(to.plugin)}")
            _record(to, chosen)
        with step("sidecar") as said:
            lcc.run(to.python, "sidecar", "stop", may_fail=True)  # one from before this install
            said(lcc.run(to.python, "sidecar", "start").partition(":")[0])
        with step("self-test") as said:
            receipt, proof = selftest.run(to.python, file)
            said(proof)
        with step("registration") as said:  # last: Claude Code hears only of what has worked
            _register(to)
            said(f"{registration.PLUGIN_ID} in {short(to.settings)}")
        with step("command") as said:
            said(short(_link_command(to) or to.command))
    print(f"\n{receipt}\n")
    _closing(to)


def preview() -> None:
    """Print what an install would do, with the exact change of the settings. Change nothing."""
    to = places()
    before, after = _check_settings(to)
    print("Would make or bring up to date:")
    for what in (to.venv, to.wheels, to.plugin, to.data / "install.json"):
        print(f"  {what}")
    target = _command_link(to)
    if target:
        print(f"  {target} -> {to.command}")
    print("Would fetch packages from the package index, unless these wheels or --wheels hold them;")
    print("start the sidecar; compact a made-up sample in a temporary folder; ask `claude` whether")
    print(
        "it accepts the plugin (Claude Code then makes its own ~/.claude.json, if there is none).\n"
    )
    print(registration.diff(to.settings, before, after) or f"{to.settings} stays as it is.")


@contextlib.contextmanager
def alone(data: Path) -> Iterator[None]:
    """Keep other installers out; wait for one that is at work."""
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    deadline = time.monotonic() + INSTALL_WAIT_SECONDS
    told = False
    while True:
        try:
            held = lock.take(str(data / "install.lock"))
            break
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise InstallError("another install has been running for too long") from None
            if not told:
                print("  another install is running; waiting for it", flush=True)
                told = True
            time.sleep(0.1)
    try:
        yield
    finally:
        os.close(held)


def _check_settings(to: Places) -> tuple[str | None, str]:
    """Return the settings before and after. Raise SettingsError where they cannot be edited."""
    before = settings_file.read(to.settings)
    after = settings_file.changed(
        to.settings, before, lambda text: registration.added(text, to.plugin)
    )
    return before, after


def _record(to: Places, extras: Sequence[str]) -> None:
    cache = environment.ask(to.python, _ASK_CACHE)
    made = {"python": str(to.python), "version": __version__, "cache": cache, "extras": extras}
    record.write({"registrations": {}, **record.read(), **made})


def _register(to: Places) -> None:
    known = record.read()
    key, registrations = str(to.settings), known["registrations"]
    registrations[key] = registration.register(to.settings, to.plugin, registrations.get(key))
    record.write(known)


def _command_link(to: Places) -> Path | None:
    """Return where a link to `lcc` is found by a shell; None if nowhere, or the name is taken."""
    folder = Path("~/.local/bin").expanduser()
    on_path = str(folder) in os.environ.get("PATH", "").split(os.pathsep)
    link = folder / "lcc"
    taken = link.is_symlink() or link.exists()
    if os.name == "nt" or not on_path or (taken and not is_our_link(link, to.command)):
        return None
    return link


def is_our_link(link: Path, command: Path) -> bool:
    return link.is_symlink() and link.readlink() == command


def _link_command(to: Places) -> Path | None:
    link = _command_link(to)
    if link and not link.is_symlink():
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(to.command)
        record.write({**record.read(), "command": str(link)})
    return link


def _closing(to: Places) -> None:
    """Let the doctor have the last word on this machine, then say what comes next."""
    print(lcc.run(to.python, "doctor", may_fail=True))
    found = shutil.which("lcc")
    is_found = found is not None and Path(found).resolve() == to.command.resolve()
    print("Next: start Claude Code, or type /reload-plugins in a session that runs; then /compact.")
    if not is_found:
        print(f"`lcc` is not on your PATH: alias lcc={short(to.command)}")
    print(f"Look: {'lcc' if is_found else short(to.command)} doctor")
    home = os.environ.get(HOME_VARIABLE)
    setting = f"{HOME_VARIABLE}={shlex.quote(home)} " if home else ""
    program = shlex.quote(str(SOURCE / "install"))
    print(f"Undo: {setting}{Path(sys.executable).name} {program} uninstall")
