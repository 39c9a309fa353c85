"""What a body holds besides text: images and other blocks of a result, out of their JSON."""

import base64
import binascii
import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Media:
    """A block of a result that is not text; `data` is empty where the block carries no bytes."""

    media_type: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Content:
    """A result's text, its text blocks joined by newlines, and what else was in it."""

    text: str
    media: tuple[Media, ...] = ()


def content_of(data: bytes, kind: str) -> Content:
    """Return what the bytes of a body of this kind (`text` or `blocks`) hold."""
    text = data.decode("utf-8", "surrogatepass")
    if kind == "text":
        return Content(text)
    blocks = json.loads(text)
    blocks = blocks if isinstance(blocks, list) else [blocks]
    texts = [block["text"] for block in blocks if _is_text(block)]
    return Content("\n".join(texts), tuple(_media(b) for b in blocks if not _is_text(b)))


def text_of(data: bytes, kind: str) -> str:
    """Return the text of a body, of which the end may be missing."""
    if kind == "text":
        return data.decode("utf-8", "replace")
    try:
        return content_of(data, kind).text
    except ValueError:
        return ""


def _is_text(block: Any) -> bool:
    return isinstance(block, dict) and isinstance(block.get("text"), str)


def _media(block: Any) -> Media:
    source = block.get("source") if isinstance(block, dict) else None
    if not isinstance(source, dict) or not isinstance(source.get("data"), str):
        kind = block.get("type") if isinstance(block, dict) else None
        return Media(str(kind or "block"), b"")
    try:
        data = base64.b64decode(source["data"], validate=True)
    except (binascii.Error, ValueError):
        data = b""
    return Media(str(source.get("media_type") or "application/octet-stream"), data)
