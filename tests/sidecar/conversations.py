"""A made-up live conversation: its session file, and the rows that the client would hand over."""

import base64
from pathlib import Path
from typing import Any

from lcc_sidecar.sidecar.calibrating import calibrate_anew
from lcc_sidecar.sidecar.index import SessionIndex
from lcc_sidecar.sidecar.live import answer
from tests.build import Session, tool_use

VERSION = "2.1.332"
BIG = "".join(f"line {n} of a big file\n" for n in range(300))


class Conversation(Session):
    """A session file in a folder, with files that tools read beside it."""

    def __init__(self, folder):
        super().__init__()
        self.folder = folder
        self.path = folder / "s1.jsonl"

    def file(self, name, data):
        path = self.folder / name
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return str(path)

    def reads_file(self, call_id, path, content=None, **fields):
        """Have the model read a file of some lines; the result is what the read tool shows."""
        text = "" if content is not None else Path(path).read_text()
        lines = text.removesuffix("\n").split("\n")
        shown = "\n".join(f"{n}\t{line}" for n, line in enumerate(lines, 1))
        self.replies(tool_use(call_id, "Read", file_path=path), **fields)
        return self.returns(call_id, shown if content is None else content)

    def attach(self, kind, *texts, **fields):
        """Hang an attachment on the newest row; its texts are what the model reads of it."""
        rendered = {"rendered": [{"content": text} for text in texts]} if texts else {}
        fields = {"version": VERSION, "attachment": {"type": kind}} | rendered | fields
        return self.add("attachment", **fields)

    def put_in_place(self, notes):
        """Do as the client does with an answer: the rows hold the notes from now on."""
        for row in self.rows:
            content = row.get("message", {}).get("content")
            for block in content if isinstance(content, list) else ():
                block["content"] = notes.get(block.get("tool_use_id"), block.get("content"))

    def live(self):
        """Return the rows as the mod sends them: neither attachments nor meta rows."""
        spoken = (row for row in self.rows if row["type"] in ("user", "assistant"))
        return [_slim(row) for row in spoken if not row.get("isMeta")]

    def ask(self, file_without: str = "", *, is_calibrated: bool = False, **fields: Any):
        """Return the reply to a compaction of the whole conversation.

        The file lacks the row with the uuid `file_without`. `is_calibrated`: the sidecar has had
        the time to look at the bill.
        """
        lines = self.data().splitlines(keepends=True)
        missing = f'"uuid":"{file_without}"'.encode()
        self.path.write_bytes(b"".join(line for line in lines if missing not in line))
        index = SessionIndex("s1", self.path)
        index.update()
        if is_calibrated:
            calibrate_anew(index)
        request = {
            "session_id": "s1", "transcript_path": str(self.path), "cwd": str(self.folder),
            "trigger": "manual", "options": {}, "rows": self.live(),
        }  # fmt: skip
        return answer(request | fields, index)


def _slim(row):
    content = row["message"]["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return {
        "role": row["type"],
        "text": "".join(b["text"] for b in blocks if b["type"] == "text"),
        "uses": [
            {"id": b["id"], "tool": b["name"], "input": b["input"]}
            for b in blocks
            if b["type"] == "tool_use"
        ],
        "results": [
            {
                "id": b["tool_use_id"],
                "text": text_of(b["content"]),
                "error": b.get("is_error", False),
            }
            for b in blocks
            if b["type"] == "tool_result"
        ],
        "handle": row["uuid"],
    }


def text_of(content):
    if isinstance(content, str):
        return content
    return "".join(block["text"] for block in content if block["type"] == "text")


def image(data):
    source = {"type": "base64", "media_type": "image/png", "data": base64.b64encode(data).decode()}
    return {"type": "image", "source": source}


def fell_back(reply):
    """Return why a compaction was left to the summary."""
    assert reply["outcome"] == "fell_back"
    assert reply["receipt"].startswith("left to Claude's own summary; ")
    return reply["reason"]
