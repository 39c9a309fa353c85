"""What the sidecar can be asked: one type for each command of the wire, decoded and checked."""

import json
from typing import Any

import msgspec
import orjson

from lcc_sidecar.errors import SidecarError


class Request(msgspec.Struct, tag_field="command", kw_only=True):
    """`version` is the caller's; `payload` stays undecoded until a handler wants it.

    `client` is the process id of the Claude Code that the caller belongs to; 0 if to none.
    """

    version: str
    client: int = 0
    payload: msgspec.Raw = msgspec.Raw(b"{}")


class Ping(Request, tag="ping"):
    """Ask whether somebody is there."""


class Nudge(Request, tag="nudge"):
    """Tell that something happened in a session; `payload` is the hook's own input."""

    event: str


class Compact(Request, tag="compact"):
    """Ask for the answer to a live compaction; `payload` holds the rows."""


class Recall(Request, tag="recall"):
    """Tell that somebody is about to recall; `payload` names the session to bring up to date."""


class Status(Request, tag="status"):
    """Ask how the sidecar is."""


class Drain(Request, tag="drain"):
    """Ask for an answer when all that was nudged is indexed."""


class Stop(Request, tag="stop"):
    """Ask it to answer, then leave."""


AnyRequest = Ping | Nudge | Compact | Recall | Status | Drain | Stop


class HookInput(msgspec.Struct, frozen=True):
    """The fields that every hook of Claude Code passes on, as far as we look at them."""

    session_id: str | None = None
    transcript_path: str | None = None
    agent_id: str | None = None
    source: str | None = None  # of SessionStart: startup, resume, clear, fork, compact
    reason: str | None = None  # of SessionEnd: clear, resume, ...


def decode_request(body: bytes) -> AnyRequest:
    """Return the request in a frame. Raise SidecarError if it is none."""
    request: AnyRequest = decode_as(body, AnyRequest)
    return request


def decode_as(body: bytes | msgspec.Raw, kind: Any) -> Any:
    """Return JSON decoded as `kind`. Raise SidecarError, without quoting it, if it does not fit.

    What the fast decoder refuses, lone surrogates above all, goes to the standard parser (FR-051).
    """
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.ValidationError, RecursionError) as error:
        raise SidecarError(f"the request does not fit: {error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass
    try:
        found = json.loads(bytes(body).decode("utf-8", "surrogatepass"))
        return msgspec.convert(_with_raw_payload(found), type=kind)
    except msgspec.ValidationError as error:
        raise SidecarError(f"the request does not fit: {error}") from None
    except (ValueError, RecursionError):
        raise SidecarError("the request is no JSON object") from None


def encode_reply(reply: dict[str, Any]) -> bytes:
    """Return a reply as JSON, `ok` first: the near side looks at the first bytes alone."""
    try:
        return orjson.dumps(reply)
    except orjson.JSONEncodeError:  # a lone surrogate; the standard encoder escapes it
        return json.dumps(reply, separators=(",", ":")).encode()


def _with_raw_payload(found: Any) -> Any:
    if isinstance(found, dict) and "command" in found:
        payload = json.dumps(found.get("payload", {})).encode()
        return {**found, "payload": msgspec.Raw(payload)}
    return found
