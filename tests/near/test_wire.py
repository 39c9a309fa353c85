import json
import socket
import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lcc_sidecar import __version__
from lcc_sidecar.errors import SidecarError
from lcc_sidecar.near import wire

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


def _deadline(seconds: float = 5) -> float:
    return time.monotonic() + seconds


def _received(sent: bytes, *, pieces: int = 1, max_bytes: int = 10_000) -> bytes:
    """Return what `receive` makes of bytes that come in so many pieces before the end."""
    ours, theirs = socket.socketpair()
    step = max(len(sent) // pieces, 1)
    chunks = [sent[start : start + step] for start in range(0, len(sent), step)]

    def write() -> None:
        with theirs:
            for chunk in chunks:
                theirs.sendall(chunk)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        with ours:
            return wire.receive(ours, _deadline(), max_bytes)
    finally:
        writer.join()


@settings(deadline=None)  # the machine may be busy
@given(st.dictionaries(st.text(), _JSON), st.integers(1, 20))
def test_a_request_arrives_as_it_was_sent_in_whatever_pieces(payload, pieces):
    sent = b"".join(wire.request("nudge", json.dumps(payload).encode(), "Stop", 7))
    body = _received(sent, pieces=pieces, max_bytes=1 << 20)
    assert json.loads(body) == {
        "command": "nudge",
        "version": __version__,
        "event": "Stop",
        "client": 7,
        "payload": payload,
    }


@settings(deadline=None)  # the machine may be busy
@given(st.binary(max_size=200))
def test_garbage_is_refused_or_ends_early_but_is_never_taken_for_a_frame(sent):
    try:
        body = _received(sent)
    except (EOFError, SidecarError):
        return
    assert body[:1] + body[-1:] == b"{}"
    assert len(body) == int.from_bytes(sent[:4], "big")


@settings(deadline=None)  # the machine may be busy
@given(st.integers(0, 30))
def test_a_frame_cut_anywhere_is_no_frame(length):
    whole = (27).to_bytes(4, "big") + b'{"ok":true,"version":"1.0"}'
    assert _received(whole) == whole[4:]
    with pytest.raises(EOFError):
        _received(whole[:length])


def test_a_frame_longer_than_allowed_is_refused_before_it_is_read():
    with pytest.raises(SidecarError, match="4294967295 bytes"):
        _received(b"\xff\xff\xff\xff")


@pytest.mark.parametrize("body", [b"[1]", b"ok", b'"{}"', b"{} "])
def test_a_frame_that_is_no_object_is_refused(body):
    with pytest.raises(SidecarError, match="no JSON object"):
        _received(len(body).to_bytes(4, "big") + body)


def test_a_sender_of_single_bytes_meets_one_deadline_for_all_of_them():
    ours, theirs = socket.socketpair()
    over = threading.Event()

    def trickle() -> None:
        with theirs:
            theirs.sendall((100).to_bytes(4, "big"))
            while not over.wait(0.05):
                theirs.sendall(b"{")

    writer = threading.Thread(target=trickle)
    writer.start()
    started = time.monotonic()
    with pytest.raises(TimeoutError):
        wire.receive(ours, _deadline(0.3))
    assert time.monotonic() - started < 1
    over.set()
    writer.join()
    ours.close()


def test_a_receiver_that_never_reads_meets_the_senders_deadline():
    ours, theirs = socket.socketpair()
    with ours, theirs, pytest.raises(TimeoutError):
        wire.send(ours, (b"x" * 10_000_000,), _deadline(0.2))
