"""An MCP server that is ready late: it says hello once the file that it was given appears."""

import json
import sys
import time
from pathlib import Path

TOOL = {"name": "late", "description": "late", "inputSchema": {"type": "object", "properties": {}}}


def reply_to(request):
    if request["method"] == "tools/list":
        return {"tools": [TOOL]}
    if request["method"] != "initialize":
        return {}
    while not Path(sys.argv[1]).exists():
        time.sleep(0.02)
    return {
        "protocolVersion": request["params"]["protocolVersion"],
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "late", "version": "1"},
        "instructions": "LATE-INSTRUCTIONS of a server",
    }


for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        answer = {"jsonrpc": "2.0", "id": asked["id"], "result": reply_to(asked)}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
