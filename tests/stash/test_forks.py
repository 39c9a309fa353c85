"""Seven copies of one session, as forks make them: their texts cost once (FR-057)."""

import json
import random
from pathlib import Path

from lcc_sidecar.stash.database import Database
from lcc_sidecar.stash.recording import Recorder
from tests.stash import worlds

_ROOM = {  # bytes of texts, of the rows that number them, of the search index
    "objects": "SELECT sum(length(packed)) + 80 * count(*) FROM objects",
    "entries": "SELECT 150 * count(*) FROM entries",
    "words": "SELECT sum(length(block)) FROM words_data",
}


def session_file(path: Path, results: int) -> int:
    """Write a session of so many calls, with results of all sizes; return its size."""
    chance = random.Random(57)
    with path.open("w", encoding="utf-8") as file:
        for number in range(results):
            call = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {}}
            text = worlds.noise(number, chance.choice((200, 2000, 8000, 30_000)))
            result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": text}
            for role, block in (("assistant", call), ("user", result)):
                row = {"type": role, "message": {"role": role, "content": [block]}}
                file.write(json.dumps(row) + "\n")
    return path.stat().st_size


def test_seven_copies_of_a_session_cost_its_texts_once(database: Database, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    assert session_file(path, 320) > 3_000_000
    Recorder(database, "first", path).catch_up()
    one = room(database)
    for number in range(6):
        Recorder(database, f"fork {number}", path).catch_up()
    seven = room(database)
    assert seven["objects"] <= 1.05 * one["objects"]
    assert seven["entries"] == 7 * one["entries"]
    assert seven["words"] < 7 * one["words"]  # a fork's words stand in lists that are there already
    assert seven["used"] < 4 * one["used"]


def room(database: Database) -> dict[str, int]:
    with database.reading() as db:
        found = {name: db.execute(query).fetchone()[0] for name, query in _ROOM.items()}
    return found | {"used": database.used_bytes()}
