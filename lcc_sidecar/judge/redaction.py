"""Credentials out of what is sent: what looks like one is replaced before anything else is done.

It is redacted before it is cut, so that no cut hides the half of a key from these patterns.
"""

import math
import re
from collections.abc import Mapping
from typing import Any

from lcc_sidecar.limits import REDACT_DEPTH_MAX

REDACTED = "[redacted]"

_KEYS = re.compile(
    r"\b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}"
    r"|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}|\bglpat-[A-Za-z0-9_-]{16,}"
    r"|\bxox[a-z]-[A-Za-z0-9-]{10,}|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bAIza[A-Za-z0-9_-]{30,}"
    r"|\bhf_[A-Za-z0-9]{20,}|\bnpm_[A-Za-z0-9]{30,}|\bpypi-[A-Za-z0-9_-]{30,}"
    r"|\bya29\.[A-Za-z0-9_-]{20,}|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"
)
_PEM = re.compile(
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END|\Z)", re.DOTALL
)
_SCHEME = re.compile(r"\b(bearer|basic)\s{1,4}[A-Za-z0-9._~+/=-]{8,}", re.IGNORECASE)
_USERINFO = re.compile(  # user:password, or a token alone; "git@" and other short names stay
    r"://(?:[^\s/:@]{0,256}:[^\s/]{1,256}|[^\s/:@]{16,256})@"
)
_NAMES = r"(?:pass(?:word|wd|phrase)|secret|api[_-]?key|access[_-]?key|private[_-]?key)"
_QUOTE = r"(?:\\{0,4}[\"'])"  # also as it stands in JSON that stands in a string
_IS = r"\s{0,4}(?::=|=>|[:=])\s{0,4}"
_VALUE = (
    r"(?:\"[^\"\n]{4,}\"|'[^'\n]{4,}'|\\{1,4}\"[^\"\n]{4,}\"|\\{1,4}'[^'\n]{4,}'"
    rf"|{_QUOTE}?[^\s\"',;]{{4,}})"
)
# An option's name is looked at from its start alone, other names from their last part: each place
# of a text is tried once, whatever stands there.
_SECRET = re.compile(  # name = value, name: value, "name": "value", --name value, name("value")
    rf"({_NAMES}[\w-]{{0,64}}{_QUOTE}?{_IS}"
    rf"|{_NAMES}[\w-]{{0,64}}\(\s{{0,4}}(?=[\"'])"
    rf"|(?<![\w-])--[\w-]{{0,40}}{_NAMES}[\w-]{{0,64}}\s{{1,4}})"
    rf"{_VALUE}",
    re.IGNORECASE,
)
_TOKEN = re.compile(  # also a word of everyday code: only a value that holds a digit is taken
    rf"((?:token|credentials?|auth){_QUOTE}?{_IS}{_QUOTE}?"
    rf"|(?<![\w-])--[\w-]{{0,40}}(?:token|credentials?|auth)\s{{1,4}}{_QUOTE}?)"
    r"(?=[A-Za-z_./+=-]{0,200}\d)[A-Za-z0-9_./+=-]{16,}",
    re.IGNORECASE,
)
_HEADER = re.compile(  # to the end of its line or of the string it stands in
    rf"(\b(?:authorization|cookie){_QUOTE}?\s{{0,4}}:\s{{0,4}}{_QUOTE}?|(?<![\w-])--cookie[\s=]{{1,4}}"
    rf"{_QUOTE}?)[^\s\"'\\][^\"'\\\n]{{3,}}",
    re.IGNORECASE,
)
_LOGIN = re.compile(  # of curl and its like: -u user:password; sshpass -p password
    rf"((?<![\w-])(?:-u|--user|--proxy-user)[\s=]{{0,4}}(?P<user>{_QUOTE})?[^\s:\"'\\]{{1,64}}:)"
    r"(?(user)[^\"'\\\n]+|[^\s\"'\\]+)"
)
_SSHPASS = re.compile(
    rf"(\bsshpass\s{{1,4}}-p\s{{0,4}}(?P<quoted>{_QUOTE})?)(?(quoted)[^\"'\\\n]+|[^\s\"'\\]+)"
)
_SECRET_KEY = re.compile(
    rf"{_NAMES}|token$|credentials?$|cookies?$|(?:^|[_-])auth(?!ors?$)", re.IGNORECASE
)
_NAMING = ("name", "key", "header", "variable")  # of an object that is a name and its value


def redact(text: str) -> str:
    """Return a text without what looks like a credential, fit to be sent as UTF-8."""
    text = text.encode("utf-8", "replace").decode()
    text = _PEM.sub(REDACTED, text)
    text = _KEYS.sub(REDACTED, text)
    text = _USERINFO.sub(f"://{REDACTED}@", text)
    text = _SCHEME.sub(rf"\1 {REDACTED}", text)
    text = _LOGIN.sub(rf"\1{REDACTED}", text)
    text = _SSHPASS.sub(rf"\1{REDACTED}", text)
    lower = text.lower()  # a plain look comes first: it is a hundred times faster
    if any(hint in lower for hint in ("pass", "secret", "key")):
        text = _SECRET.sub(rf"\1{REDACTED}", text)
    if any(hint in lower for hint in ("token", "credential", "auth")):
        text = _TOKEN.sub(rf"\1{REDACTED}", text)
    if "authorization" in lower or "cookie" in lower:
        text = _HEADER.sub(rf"\1{REDACTED}", text)
    return text


def redact_value(value: Any, depth: int = 0, *, secret: bool = False) -> Any:
    """Return decoded JSON with every text in it redacted, and all that has a secret's name.

    `secret`: such a name stands over this value. A number that is none (NaN, Infinity) is null:
    JSON has no word for it.
    """
    if isinstance(value, str):
        return REDACTED if secret else redact(value)
    if isinstance(value, (Mapping, list, tuple)):
        if depth >= REDACT_DEPTH_MAX:
            return None
        if isinstance(value, Mapping):
            return _redact_members(value, depth + 1, secret=secret)
        return [redact_value(item, depth + 1, secret=secret) for item in value]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if secret:
            return REDACTED
        return None if isinstance(value, float) and not math.isfinite(value) else value
    return value


def _redact_members(members: Mapping[Any, Any], depth: int, *, secret: bool) -> dict[str, Any]:
    names = (members.get(naming) for naming in _NAMING)
    named = any(isinstance(name, str) and _SECRET_KEY.search(name) for name in names)
    return {
        redact(str(key)): redact_value(
            item,
            depth,
            secret=secret
            or _SECRET_KEY.search(str(key)) is not None
            or (named and key not in _NAMING),
        )
        for key, item in members.items()
    }
