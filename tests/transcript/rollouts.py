"""The lines of a made-up Codex rollout."""

import json
from typing import Any


class RolloutLines:
    def __init__(self, cwd: str = "/w") -> None:
        self.rows: list[dict[str, Any]] = []
        self.add("session_meta", id="s1", cwd=cwd, originator="codex")
        self.add("turn_context", cwd=cwd, model="m")

    def add(self, row_type: str, **payload: Any) -> None:
        row = {"timestamp": f"2026-01-01T00:00:{len(self.rows):02d}Z", "type": row_type}
        self.rows.append(row | {"payload": payload})

    def item(self, item_type: str, **fields: Any) -> None:
        self.add("response_item", type=item_type, **fields)

    def says(self, text: str, role: str = "user") -> None:
        kind = "output_text" if role == "assistant" else "input_text"
        self.item("message", role=role, content=[{"type": kind, "text": text}])

    def calls(self, call_id: str, name: str, **arguments: Any) -> None:
        self.item("function_call", name=name, arguments=json.dumps(arguments), call_id=call_id)

    def returns(self, call_id: str, output: Any, kind: str = "function_call_output") -> None:
        self.item(kind, call_id=call_id, output=output)

    def runs(self, call_id: str, command: str, output: str, code: int = 0) -> None:
        self.calls(call_id, "exec_command", cmd=command, yield_time_ms=1000)
        self.add("event_msg", type="exec_command_end", call_id=call_id, stdout=output)
        header = f"Command: /bin/zsh -lc '{command}'\nChunk ID: {call_id}\nWall time: 0.1 seconds\n"
        header += f"Process exited with code {code}\nOriginal token count: 9\nOutput:\n"
        self.returns(call_id, header + output)

    def data(self) -> bytes:
        return b"\n".join(json.dumps(row, separators=(", ", ": ")).encode() for row in self.rows)


def enveloped(output: str, code: int = 0) -> str:
    """Return an output as `apply_patch` gives it: JSON in a text."""
    return json.dumps({"output": output, "metadata": {"exit_code": code, "duration_seconds": 0.1}})
