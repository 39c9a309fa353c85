"""What happens in a session before it is compacted: everything that a compaction could lose."""

import json
import sys
from pathlib import Path

from tests.real_client.harness import call, step, text, think, until
from tests.real_client.pictures import image_block, png

PROMPT = "PROMPT-ONE please look"
MEANWHILE = "MEANWHILE also use tabs"
NESTED = "NESTED-RULE of the folder"
AFTER_TOOL = "CONTEXT-AFTER-TOOL"
AT_PROMPT = "CONTEXT-AT-PROMPT"
AT_START = "CONTEXT-AT-START"


LATE_SERVER = Path(__file__).with_name("late_server.py")
BOUNDED = "for n in $(seq 3000); do"  # a wait that ends though the test that opens it is gone
CONNECTED = 'MCP server "late": Successfully connected'
LATE = "LATE-INSTRUCTIONS of a server"
NOT_DONE = "FEEDBACK-AT-STOP there is more to do"
SKILL = "SKILL-WORDS do it like this"


def context_hooks(folder):
    """Return settings with hooks that give the model context, as people have them.

    The Stop hook has something to say once; it remembers that in `folder`.
    """
    said = folder / "said"
    feedback = f"[ -e {said} ] || {{ touch {said}; echo '{NOT_DONE}' >&2; exit 2; }}"

    def hook(event, words):
        output = {"hookSpecificOutput": {"hookEventName": event, "additionalContext": words}}
        return [{"hooks": [{"type": "command", "command": f"echo '{json.dumps(output)}'"}]}]

    return {
        "hooks": {
            "PostToolUse": hook("PostToolUse", AFTER_TOOL),
            "UserPromptSubmit": hook("UserPromptSubmit", AT_PROMPT),
            "SessionStart": [{"matcher": "startup", **hook("SessionStart", AT_START)[0]}],
            "Stop": [{"hooks": [{"type": "command", "command": feedback}]}],
        }
    }


class Story:
    """A turn with all that can hang on a row: images, rules of a folder, a skill, hooks, words."""

    def __init__(self, world):
        self.world = world
        self.big = world.file("big.txt", "\n".join(f"line {n} of the big file" for n in range(400)))
        self.inner = world.file("inner/part.txt", "a part\n" * 100)
        world.file("inner/CLAUDE.md", NESTED)
        self.picture = world.file("picture.png", png(1))
        world.file(".claude/skills/how/SKILL.md", f"---\nname: how\ndescription: how\n---\n{SKILL}")
        self.gate = world.root / "gate"
        self.ready = world.root / "ready"
        world.add_server("late", sys.executable, LATE_SERVER, self.ready)
        self.read_big = call("Read", file_path=self.big)
        self.read_inner = call("Read", file_path=self.inner)
        self.read_picture = call("Read", file_path=self.picture)
        self.search = call("ToolSearch", query="select:WebFetch", max_results=3)
        self.skill = call("Skill", skill="how")
        self.wait_for_server = call(
            "Bash",
            command=f"{BOUNDED} [ -e {self.ready} ] && grep -qs '{CONNECTED}' {world.root}/debug* "
            "&& break; sleep 0.02; done; echo connected",
            description="wait for the server",
        )
        self.wait = call(
            "Bash",
            command=f"{BOUNDED} [ -e {self.gate} ] && break; sleep 0.02; done; echo waited",
            description="wait",
        )

    def steps(self, **at_wait):
        """Return the answers of the turn; `at_wait` is reported with the last call of it."""
        return [
            step(
                think("THOUGHT-ONE"),
                text("SAID-ONE"),
                text("SAID-TWO"),
                self.read_big,
                self.read_picture,
                self.read_inner,
            ),
            step(self.search),
            step(self.skill),
            step(self.wait_for_server),
            step(think("THOUGHT-TWO"), text("SAID-THREE"), self.wait, **at_wait),
            step(text("SAID-FOUR")),
            step(text("SAID-FIVE")),
        ]

    def play(self, client):
        """Run the turn: while the last call waits, the person types on."""
        client.send([text(PROMPT), image_block(png(2))])
        until(lambda: any("echo connected" in line for line in calls_in(self.world)))
        self.ready.touch()
        until(lambda: any("waited" in line for line in calls_in(self.world)))
        before = queued(self.world)
        client.send(MEANWHILE)
        until(lambda: queued(self.world) > before)
        self.gate.touch()
        client.result()


def queued(world):
    return sum(row.get("operation") == "enqueue" for row in world.transcript())


def calls_in(world):
    return [json.dumps(row) for row in world.transcript() if row["type"] == "assistant"]
