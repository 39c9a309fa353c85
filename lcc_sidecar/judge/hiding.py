"""What a report repeats of a conversation: never the key, nor a credential a judge was spared."""

from collections.abc import Callable
from typing import Any

from lcc_sidecar.judge.key import Key, find_key
from lcc_sidecar.judge.redaction import REDACTED, redact
from lcc_sidecar.limits import JEV_KEY_MIN_CHARS

Hide = Callable[[str], str]


def without_key(value: Any) -> Any:
    """Return decoded JSON with the key of the service, exactly as it is, out of every text of it.

    Without a key that is the value itself. Names stay as they are.
    """
    key = _key()
    return _hidden(value, key) if key else value


def hide_credentials(*, judged: bool) -> Hide:
    """Return what makes a text fit for a report, before it is cut.

    After a pass with a judge that is what the judge was shown, too.
    """
    key = _key()

    def hide(text: str) -> str:
        return text.replace(key, REDACTED) if key else text

    return (lambda text: redact(hide(text))) if judged else hide


def _key() -> str | None:
    """Return the key if there is one, and one too long to stand in a text by chance."""
    key = find_key()
    return key.value if isinstance(key, Key) and len(key.value) >= JEV_KEY_MIN_CHARS else None


def _hidden(value: Any, key: str) -> Any:
    if isinstance(value, str):
        return value.replace(key, REDACTED)
    if isinstance(value, dict):
        return {name: _hidden(item, key) for name, item in value.items()}
    return [_hidden(item, key) for item in value] if isinstance(value, list) else value
