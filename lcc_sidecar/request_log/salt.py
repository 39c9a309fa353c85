"""Names that tell two sessions apart and nothing else: hashes with a salt of this machine.

Without the salt nobody can try ids against them; two machines' hashes never meet. A purge takes the
salt along, and old exports can no longer be joined with what comes later.
"""

import contextlib
import os
import secrets
from hashlib import blake2b
from typing import Literal

from lcc_sidecar.errors import RequestLogError
from lcc_sidecar.paths import make_private
from lcc_sidecar.request_log.files import check, not_private, reading
from lcc_sidecar.request_log.marker import folder

_SALT_BYTES, _HASH_BYTES = 32, 8


def hashed(kind: Literal["session", "body"], name: str | None) -> str:
    """Return 16 hex digits for an id; None, too, has its own. Raise RequestLogError, OSError."""
    given = (name or "").encode("utf-8", "surrogatepass")
    return blake2b(given, digest_size=_HASH_BYTES, key=_salt(), person=kind.encode()).hexdigest()


def forget() -> None:
    """Remove the salt: the next hash has a new one. Raise RequestLogError if it is no file."""
    check(_path())
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        os.unlink(_path())


def _salt() -> bytes:
    return _read() or _made()


def _read() -> bytes | None:
    try:
        with reading(_path()) as file:
            salt = file.read(_SALT_BYTES + 1)
    except FileNotFoundError:
        return None
    if len(salt) != _SALT_BYTES:
        raise RequestLogError(f"{_path()} is damaged: remove it, or run lcc log purge")
    return salt


def _made() -> bytes:
    """Make the salt. Whoever comes first has made it: it appears whole, under its name, once."""
    if not make_private(folder()):
        raise not_private(folder())
    salt = secrets.token_bytes(_SALT_BYTES)
    draft = os.path.join(folder(), f"{secrets.token_hex(8)}.draft")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(salt)
            file.flush()
            os.fsync(file.fileno())
        os.link(draft, _path())
    except FileExistsError:
        return _read() or salt
    finally:
        os.unlink(draft)
    return salt


def _path() -> str:
    return os.path.join(folder(), "salt")
