"""Credentials out of what is sent: what looks like one is replaced before anything else is done.

It is redacted before it is cut, so that no cut hides the half of a key from these patterns.
"""

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
_PEM = re.compile(r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.*?(?:-----END|\Z)", re.DOTALL)
_SCHEME = re.compile(r"\b(bearer|basic)\s{1,4}[A-Za-z0-9._~+/=-]{8,}", re.IGNORECASE)
_USERINFO = re.compile(r"://[^\s/:@]{0,256}:[^\s/@]{1,256}@")
_NAMES = r"(?:pass(?:word|wd|phrase)|secret|api[_-]?key|access[_-]?key|private[_-]?key)"
# An option's name is looked at from its start alone, other names from their last part: each place
# of a text is tried once, whatever stands there.
_SECRET = re.compile(  # name = value, name: value, "name": "value", --name value
    rf"({_NAMES}[\w-]{{0,20}}[\"']?\s{{0,4}}[:=]\s{{0,4}}"
    rf"|(?<![\w-])--[\w-]{{0,40}}{_NAMES}[\w-]{{0,20}}\s{{1,4}})"
    r"(\"[^\"\n]{4,}\"|'[^'\n]{4,}'|[^\s\"',;]{4,})",
    re.IGNORECASE,
)
_TOKEN = re.compile(  # also a word of everyday code: only a value that holds a digit is taken
    r"((?:token|credentials?|auth)[\"']?\s{0,4}[:=]\s{0,4}[\"']?"
    r"|(?<![\w-])--[\w-]{0,40}(?:token|credentials?|auth)\s{1,4}[\"']?)"
    r"(?=[A-Za-z_./+=-]{0,200}\d)[A-Za-z0-9_./+=-]{16,}",
    re.IGNORECASE,
)
_SECRET_KEY = re.compile(rf"{_NAMES}|token$|credentials?$|^auth", re.IGNORECASE)


def redact(text: str) -> str:
    """Return a text without what looks like a credential, fit to be sent as UTF-8."""
    text = text.encode("utf-8", "replace").decode()
    text = _PEM.sub(REDACTED, text)
    text = _KEYS.sub(REDACTED, text)
    text = _USERINFO.sub(f"://{REDACTED}@", text)
    text = _SCHEME.sub(rf"\1 {REDACTED}", text)
    lower = text.lower()  # a plain look comes first: it is a hundred times faster
    if any(hint in lower for hint in ("pass", "secret", "key")):
        text = _SECRET.sub(rf"\1{REDACTED}", text)
    if any(hint in lower for hint in ("token", "credential", "auth")):
        text = _TOKEN.sub(rf"\1{REDACTED}", text)
    return text


def redact_value(value: Any, depth: int = 0) -> Any:
    """Return decoded JSON with every text in it redacted, and every value with a secret's name."""
    if isinstance(value, str):
        return redact(value)
    if depth >= REDACT_DEPTH_MAX:
        return None if isinstance(value, (Mapping, list)) else value
    if isinstance(value, Mapping):
        return {
            redact(str(key)): REDACTED
            if isinstance(item, str) and _SECRET_KEY.search(str(key))
            else redact_value(item, depth + 1)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [redact_value(item, depth + 1) for item in value]
    return value
