"""What a person can set: one file and the environment in, one frozen Settings out.

The file is `settings.toml` in the user's config folder; a variable named LCC_SIDECAR_ and the key
in capitals comes before it. An unknown key is warned about and otherwise ignored.
"""

import os
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import msgspec
from platformdirs import user_config_path

from lcc_sidecar.errors import SettingsError
from lcc_sidecar.limits import (
    IDLE_EXIT_SECONDS,
    REQUEST_LOG_DAYS,
    STASH_DAYS,
    STASH_DAYS_MAX,
    STASH_LEAST_BYTES,
    STASH_MAX_BYTES,
)
from lcc_sidecar.paths import APP_NAME, moved_home

ENVIRONMENT_PREFIX = "LCC_SIDECAR_"


class Settings(msgspec.Struct, frozen=True):
    """`idle_exit_seconds`: how long the sidecar stays without a caller. `watch`: follow files.

    `stash_credentials`: what looks like a credential file may be stashed, too. `stash_days`: how
    long the stash keeps what no pointer needs. `stash_max_bytes`: how large it may get before the
    oldest sessions' results go; a pointer's bytes never do. `log_days`: how long the request log
    keeps a line.
    """

    idle_exit_seconds: float = IDLE_EXIT_SECONDS
    watch: bool = True
    stash_credentials: bool = False
    stash_days: Annotated[int, msgspec.Meta(ge=1, le=STASH_DAYS_MAX)] = STASH_DAYS
    stash_max_bytes: Annotated[int, msgspec.Meta(ge=STASH_LEAST_BYTES)] = STASH_MAX_BYTES
    log_days: Annotated[int, msgspec.Meta(ge=1, le=STASH_DAYS_MAX)] = REQUEST_LOG_DAYS


def settings_path() -> Path:
    home = moved_home()
    folder = Path(home, "config") if home else user_config_path(APP_NAME, appauthor=False)
    return folder / "settings.toml"


def load(warn: Callable[[str], None]) -> Settings:
    """Return the settings; call `warn` with one sentence for each key that is unknown.

    Raise SettingsError if the file cannot be read or a value has the wrong type.
    """
    path = settings_path()
    values = _read(path)
    known = Settings.__struct_fields__
    for key in sorted(values.keys() - set(known)):
        warn(f"{path}: unknown key '{key}' is ignored; known are {', '.join(known)}")
    for key in known:
        variable = os.environ.get(ENVIRONMENT_PREFIX + key.upper())
        if variable is not None:
            values[key] = variable
    try:
        # not strict: a variable's value is text, and "600" is a number all the same
        return msgspec.convert(values, Settings, strict=False)
    except msgspec.ValidationError as error:
        raise SettingsError(f"{path}, or a variable {ENVIRONMENT_PREFIX}*: {error}") from None


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError) as error:
        raise SettingsError(f"{path} cannot be used: {error}; mend or remove it") from None
