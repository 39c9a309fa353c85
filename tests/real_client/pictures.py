"""Small PNG files that a test makes up."""

import base64
import random
import struct
import zlib


def png(seed, side=8):
    """Return the bytes of a square of random pixels; the same seed gives the same picture."""
    noise = random.Random(seed)
    lines = b"".join(b"\0" + noise.randbytes(side * 3) for _ in range(side))
    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    parts = (b"IHDR", head), (b"IDAT", zlib.compress(lines)), (b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in parts)


def image_block(data):
    """Return a picture as a prompt's content block."""
    source = {"type": "base64", "media_type": "image/png", "data": base64.b64encode(data).decode()}
    return {"type": "image", "source": source}


def _chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
