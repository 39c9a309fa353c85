"""Tool results that hold more than text: what can take the place of an image.

The client's list shows the text of a result and nothing else, so a rebuilt result would lose an
image without a word. The session file, or the client's own API form of the newest message, has it.
An image that a file on disk still holds, byte for byte, gets the pointer to that file; anything
else goes into the stash as it is, and is recalled from there (DESIGN section 7).
"""

import base64
import binascii
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lcc_sidecar.errors import LiveCompactionError
from lcc_sidecar.policy import notes
from lcc_sidecar.proof.files import read_regular
from lcc_sidecar.sidecar.index import SessionIndex
from lcc_sidecar.sidecar.live_rows import LiveRow, Use
from lcc_sidecar.sidecar.stashing import Hold
from lcc_sidecar.stash.recording import blocks_body
from lcc_sidecar.transcript.rows import decode_object


def media_notes(
    rows: Sequence[LiveRow],
    session: SessionIndex,
    newest: Mapping[str, Any],
    hold: Hold | None = None,
) -> dict[str, str]:
    """Return the note for each result with something else than text in it, by tool_use_id.

    `newest` holds the content of the open tool loop's results, by id; the file may not have them
    yet. `hold` is the stash for what nothing else holds. Raise LiveCompactionError if something
    would be lost, or if the file lacks a row.
    """
    uses = {use.id: use for row in rows for use in row.uses}
    found: dict[str, str] = {}
    for result_id, content in _contents(rows, session, newest):
        if isinstance(content, list) and any(_kind(block) != "text" for block in content):
            found[result_id] = _note(uses[result_id], content, hold)
    return found


def _contents(
    rows: Sequence[LiveRow], session: SessionIndex, newest: Mapping[str, Any]
) -> Iterator[tuple[str, Any]]:
    """Yield the content of each result that may hold blocks, with its id."""
    yield from newest.items()
    handles = [
        row.handle or "" for row in rows if any(result.id not in newest for result in row.results)
    ]
    found = [session.rows.get(handle) for handle in handles]
    if None in found:
        raise LiveCompactionError("file_behind", "the session file does not hold a result yet")
    lists = [row.uuid for row in found if row and row.uuid and row.has_lists]
    for line in session.lines(lists):
        yield from _stored(decode_object(line or b""))


def _stored(row: Any) -> Iterator[tuple[str, Any]]:
    content = row.get("message", {}).get("content") if isinstance(row, dict) else None
    for block in content if isinstance(content, list) else ():
        if _kind(block) == "tool_result":
            yield str(block.get("tool_use_id")), block.get("content")


def _note(use: Use, content: list[Any], hold: Hold | None) -> str:
    """Return what takes the place of a result's blocks, all of them."""
    kinds = {_kind(block) for block in content}
    note = None
    if kinds == {"tool_reference"}:
        note = notes.tools_found(str(block.get("tool_name")) for block in content)
    elif kinds == {"image"} and len(content) == 1:
        note = _image_on_disk(use, content[0])
    if note is None and hold is not None:
        body_id = hold.keep(blocks_body(content))
        note = notes.stashed_blocks(use.tool, len(content), body_id) if body_id else None
    if note is not None:
        return note
    raise LiveCompactionError(
        "media", f"a {use.tool} result is more than text, and no image that a file still holds"
    )


def _image_on_disk(use: Use, block: Mapping[str, Any]) -> str | None:
    path = use.input.get("file_path")
    if not isinstance(path, str) or not os.path.isabs(path) or ".." in path.split(os.sep):
        return None
    source = block.get("source")
    if not isinstance(source, dict) or source.get("type") != "base64":
        return None
    try:
        image = base64.b64decode(source.get("data") or "", validate=True)
    except (binascii.Error, ValueError, TypeError):
        return None
    return notes.re_read(path, None, verified=True) if image == read_regular(path) else None


def _kind(block: Any) -> Any:
    return block.get("type") if isinstance(block, dict) else None
