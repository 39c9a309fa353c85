import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lcc_sidecar.errors import SidecarError
from lcc_sidecar.near import wire
from lcc_sidecar.sidecar.requests import Compact, decode_as, decode_request, encode_reply

_TEXT = st.text(st.characters(), max_size=20)  # lone surrogates among them


def _body(payload: bytes) -> bytes:
    return b"".join(wire.request("compact", payload))[4:]


@settings(deadline=None)  # the machine may be busy
@given(st.dictionaries(_TEXT, _TEXT | st.integers() | st.lists(_TEXT)))
def test_what_a_client_says_is_what_a_handler_gets(payload):
    request = decode_request(_body(json.dumps(payload).encode()))
    assert isinstance(request, Compact)
    assert decode_as(request.payload, dict[str, Any]) == payload


@settings(deadline=None)  # the machine may be busy
@given(st.dictionaries(_TEXT, _TEXT | st.integers()))
def test_a_reply_keeps_every_text_and_begins_with_ok(found):
    found.pop("ok", None)
    reply = encode_reply({"ok": True, **found})
    assert reply.startswith(wire.OK)
    assert json.loads(reply) == {"ok": True, **found}


def test_a_restart_is_what_the_near_side_looks_for():
    assert encode_reply({"ok": False, "restart": "x"}).startswith(wire.RESTART)


@settings(deadline=None)  # the machine may be busy
@given(st.binary())
def test_garbage_is_refused_without_being_quoted(body):
    with pytest.raises(SidecarError):
        decode_request(b"{" + body)
