"""What a report repeats of a conversation: never the key, nor a credential a judge was spared."""

from collections.abc import Callable
from typing import Any

from lcc_sidecar.judge.key import Key, find_key
from lcc_sidecar.judge.redaction import REDACTED, redact
from lcc_sidecar.limits import JEV_KEY_MIN_CHARS

Hide = Callable[[str], str]


def hide_key() -> Hide:
    """Return what takes the key of the service, exactly as it is, out of a text."""
    key = find_key()
    if not isinstance(key, Key) or len(key.value) < JEV_KEY_MIN_CHARS:
        return lambda text: text
    return lambda text: text.replace(key.value, REDACTED)


def hide_credentials(*, judged: bool) -> Hide:
    """Return what makes a text fit for a report, before it is cut.

    After a pass with a judge that is what the judge was shown, too.
    """
    hide = hide_key()
    return (lambda text: redact(hide(text))) if judged else hide


def hidden(value: Any, hide: Hide) -> Any:
    """Return decoded JSON with every text of it, names aside, made fit."""
    if isinstance(value, str):
        return hide(value)
    if isinstance(value, dict):
        return {name: hidden(item, hide) for name, item in value.items()}
    return [hidden(item, hide) for item in value] if isinstance(value, list) else value
