"""The judge Jev over HTTP: `POST /v1/systemone`, one state and some typed questions a request.

Whatever goes wrong is told in our own words: neither the key nor what was sent gets into an error,
and of what a server wrote only the error types that are known beforehand.

Requests run on an event loop of their own, because only there a request can be ended at a set time
wherever it is: a timeout of a socket begins anew with every byte.
"""

import asyncio
import ipaddress
import json
import os
import re
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

import httpx

from lcc_sidecar.errors import JudgeError, UsageError
from lcc_sidecar.judge.fitting import encoded
from lcc_sidecar.judge.key import Key
from lcc_sidecar.judge.redaction import REDACTED
from lcc_sidecar.limits import (
    JEV_ANSWER_MAX_BYTES,
    JEV_BACKOFF_SECONDS,
    JEV_CONNECT_SECONDS,
    JEV_KEY_MIN_CHARS,
    JEV_READ_SECONDS,
    JEV_RETRY_AFTER_MAX_SECONDS,
    JEV_TOTAL_SECONDS,
    JEV_TRIES_MAX,
)

BASE_URL = "https://api.typesafe.ai"
URL_VARIABLE = "TYPESAFE_BASE_URL"
_PATH = "/v1/systemone"
_TRY_AGAIN = {408, 425, 429}  # and every 5xx, 529 among them
_SAID_TWICE = object()  # of no type that an answer may have
_PLAIN_WORD = re.compile(r"[A-Za-z0-9_.-]{1,60}")
_KEY_RUN_CHARS = 6  # as many of the key in a row are no chance
_ERROR_TYPES = {
    "api_usage_error",
    "authentication_error",
    "internal_error",
    "invalid_request_error",
    "max_tokens_exceeded",
    "not_found",
    "overloaded_error",
    "permission_error",
    "rate_limit_error",
    "upstream_error",
    "validation_error",
}


@dataclass(frozen=True, slots=True)
class _Again:
    """A try that failed in a way that passes: why, and how long the server wants us to wait."""

    why: str
    after_s: float | None = None


class Jev:
    """A connection to the service, shared by the workers of one pass."""

    def __init__(self, key: Key, model: str, url: str | None = None) -> None:
        """Prepare, connect to nothing yet. Raise UsageError for an address that is not safe."""
        base = url or os.environ.get(URL_VARIABLE, "").strip() or BASE_URL
        parsed, local = _checked(base)
        self.host = parsed.host
        self.model = model
        self.answered_by: str | None = None
        self.sent_chars = 0
        self._url = base.rstrip("/") + _PATH
        self._deadline = time.monotonic() + JEV_TOTAL_SECONDS
        self._lock = threading.Lock()
        self._key = key.value
        long_enough = len(key.value) >= JEV_KEY_MIN_CHARS
        self._key_text = encoded(key.value)[1:-1] if long_enough else ""
        self._client = httpx.AsyncClient(
            headers={
                "Authorization": f"Bearer {key.value}",
                "Content-Type": "application/json",
                "Accept-Encoding": "identity",  # so that a small answer stays small
            },
            timeout=httpx.Timeout(JEV_READ_SECONDS, connect=JEV_CONNECT_SECONDS),
            follow_redirects=False,  # the key goes to one address
            trust_env=not local,  # a proxy has no business between us and this machine
        )
        self._loop = asyncio.new_event_loop()
        self._runner = threading.Thread(target=self._loop.run_forever, name="lcc-jev", daemon=True)
        self._runner.start()

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self._client.aclose(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._runner.join()
        self._loop.close()

    def evaluate(
        self, state: Mapping[str, Any], questions: Mapping[str, Mapping[str, Any]]
    ) -> Mapping[str, Any]:
        """Return the decoded answer to one request, after several tries if they are worth it.

        Raise JudgeError when it is given up.
        """
        text = encoded({"model": self.model, "state": state, "questions": questions})
        if self._key_text:
            text = text.replace(self._key_text, REDACTED)  # wherever somebody has written it
        body = text.encode("utf-8", "replace")
        with self._lock:
            self.sent_chars += len(text)
        for tried in range(1, JEV_TRIES_MAX + 1):
            outcome = self._try(body)
            if not isinstance(outcome, _Again):
                return outcome
            if tried == JEV_TRIES_MAX:
                raise JudgeError(f"{outcome.why}, {tried} times")
            self._wait(outcome, JEV_BACKOFF_SECONDS * 2 ** (tried - 1))
        raise AssertionError("unreachable")

    def _try(self, body: bytes) -> Mapping[str, Any] | _Again:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise JudgeError("out of time")
        sending = asyncio.run_coroutine_threadsafe(self._send(body, left), self._loop)
        try:
            response, data = sending.result()
        except TimeoutError:
            raise JudgeError("out of time") from None
        except httpx.TransportError as error:
            return _Again(f"no answer ({type(error).__name__})")
        except httpx.HTTPError as error:
            raise JudgeError(f"no request was possible ({type(error).__name__})") from None
        status = response.status_code
        if status == httpx.codes.OK:
            return self._decoded(data)
        why = f"HTTP {status}{_error_type(data)}"
        if status in _TRY_AGAIN or status >= httpx.codes.INTERNAL_SERVER_ERROR:
            return _Again(why, _retry_after(response.headers.get("retry-after")))
        if response.is_redirect:
            raise JudgeError(f"{why}: redirects are refused")
        raise JudgeError(why)

    async def _send(self, body: bytes, left_s: float) -> tuple[httpx.Response, bytes]:
        """Return the answer and its body, of a bounded size; TimeoutError after `left_s`."""
        data = bytearray()
        async with (
            asyncio.timeout(left_s),
            self._client.stream("POST", self._url, content=body) as response,
        ):
            async for chunk in response.aiter_raw():
                data += chunk
                if len(data) > JEV_ANSWER_MAX_BYTES:
                    raise JudgeError(f"the answer is longer than {JEV_ANSWER_MAX_BYTES} bytes")
        return response, bytes(data)

    def _decoded(self, data: bytes) -> Mapping[str, Any]:
        try:
            # takes NaN, as it does a name that is there twice: it is one answer's fault alone
            decoded = json.loads(data, object_pairs_hook=_once_each)
        except (ValueError, RecursionError):
            raise JudgeError("the answer is not JSON") from None
        if not isinstance(decoded, dict):
            raise JudgeError("the answer is not a JSON object")
        name = decoded.get("model")
        if isinstance(name, str) and _PLAIN_WORD.fullmatch(name) and not self._tells_key(name):
            self.answered_by = name
        return decoded

    def _tells_key(self, word: str) -> bool:
        """Return whether a word holds the key or a part of it that could not be chance."""
        key, word = self._key.lower(), word.lower()
        run = min(_KEY_RUN_CHARS, len(key))
        return any(key[at : at + run] in word for at in range(len(key) - run + 1))

    def _wait(self, again: _Again, backoff_s: float) -> None:
        wait = backoff_s if again.after_s is None else again.after_s
        if wait > JEV_RETRY_AFTER_MAX_SECONDS:
            raise JudgeError(f"{again.why}, and it asks us to wait too long")
        if time.monotonic() + wait > self._deadline:
            raise JudgeError(f"{again.why}, and no time is left to try again")
        self._sleep(wait)

    def _sleep(self, seconds: float) -> None:
        time.sleep(seconds)


def _checked(base: str) -> tuple[httpx.URL, bool]:
    """Return the address and whether it is this machine's own."""
    try:
        url = httpx.URL(base)
    except (httpx.InvalidURL, ValueError):
        raise UsageError(f"{URL_VARIABLE} is no address: use {BASE_URL}") from None
    local = _is_loopback(url.host)
    if not url.host or url.userinfo or url.query or url.fragment:
        raise UsageError(f"{URL_VARIABLE} has to be https://HOST, without user, query or fragment")
    if url.scheme != "https" and not (url.scheme == "http" and local):
        raise UsageError(
            f"{URL_VARIABLE} has to begin with https://; plain http is for this machine alone, "
            "because the key and the conversation would travel in the open"
        )
    return url, local


def _is_loopback(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object's members; one that is named twice says two things, so it is nothing."""
    members: dict[str, Any] = {}
    for name, value in pairs:
        members[name] = _SAID_TWICE if name in members else value
    return members


def _error_type(data: bytes) -> str:
    """Return the error's type if it is a known one; nothing else of a server's text is kept."""
    try:
        detail = json.loads(data)["detail"]
        word = detail["error_type"] if isinstance(detail, dict) else ""
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
    return f" ({word})" if isinstance(word, str) and word in _ERROR_TYPES else ""


def _retry_after(value: str | None) -> float | None:
    """Return the seconds that a Retry-After header names, as a number or as a date."""
    if value is None:
        return None
    if value.strip().isascii() and value.strip().isdigit():
        return float(value.strip()[:9])
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None
