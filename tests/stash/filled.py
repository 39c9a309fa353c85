"""A stash with something in it, for the tests of recall and search."""

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lcc_sidecar.stash import records
from lcc_sidecar.stash.database import Database
from lcc_sidecar.stash.objects import Body
from lcc_sidecar.stash.records import Entry

SESSION = "11111111-2222-3333-4444-555555555555"
PICTURE = b"\x89PNG picture"


@contextmanager
def stash_of(*entries: Entry, session: str = SESSION) -> Iterator[Database]:
    database = Database()
    try:
        add(database, *entries, session=session)
        yield database
    finally:
        database.close()


def add(database: Database, *entries: Entry, session: str = SESSION) -> list[int]:
    with database.writing() as db:
        return records.record(db, records.open_session(db, session), entries)


def said(text: str) -> Entry:
    return Entry("user", Body.of_text(text))


def result(call_id: str, text: str, tool: str = "Bash", target: str = "make", **more: Any) -> Entry:
    return Entry("result", Body.of_text(text), call_id, tool, target, **more)


def picture(call_id: str, *texts: str, pictures: int = 1) -> Entry:
    source = {
        "type": "base64",
        "media_type": "image/png",
        "data": base64.b64encode(PICTURE).decode(),
    }
    blocks = [{"type": "text", "text": text} for text in texts]
    blocks += [{"type": "image", "source": source}] * pictures
    return Entry("result", Body(json.dumps(blocks).encode(), "blocks"), call_id, "Read", "a.png")
