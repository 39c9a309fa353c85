"""One line of the request log: counts, sizes, times and closed choices. Nothing of anybody's text.

`encoded` holds every value to its type right before it is written, so that a mistake elsewhere
costs a line and tells nothing.
"""

from typing import Annotated, Any, Final, Literal, get_args

import msgspec

from lcc_sidecar.limits import LOG_WORD_MAX_CHARS
from lcc_sidecar.policy.decision import Kind
from lcc_sidecar.stash.journal import Tier

Schema = Literal["lcc-request-2"]
SCHEMA: Final[Schema] = "lcc-request-2"
# Its own tools are no secret: that it has them stands in its documentation. All other names are.
Tool = Literal[
    "Agent", "AskUserQuestion", "Bash", "BashOutput", "CronCreate", "CronDelete", "CronList",
    "Edit", "EnterPlanMode", "EnterWorktree", "ExitPlanMode", "ExitWorktree", "Glob", "Grep",
    "KillBash", "KillShell", "LS", "LSP", "ListMcpResourcesTool", "Monitor", "MultiEdit",
    "NotebookEdit", "NotebookRead", "PowerShell", "PushNotification", "REPL", "Read",
    "ReadMcpResourceDirTool", "ReadMcpResourceTool", "RemoteTrigger", "ScheduleWakeup",
    "SendMessage", "SendUserFile", "SendUserMessage", "Skill", "SlashCommand", "StructuredOutput",
    "Task", "TaskCreate", "TaskGet", "TaskList", "TaskOutput", "TaskStop", "TaskUpdate",
    "TeamCreate", "TeamDelete", "TodoRead", "TodoWrite", "ToolSearch", "WebFetch", "WebSearch",
    "Write",
]  # fmt: skip
TOOLS: Final[frozenset[str]] = frozenset(get_args(Tool))
Trigger = Literal["manual", "auto", "plugin", "cli", "fork", "mcp", "api"]
Mode = Literal["lossless", "recoverable", "stashed", "elide", "aggressive", "lossy", "judged"]
Proofs = Literal["disk", "transcript", "none"]
By = Literal["id", "seq", "call", "query"]
Way = Literal["mcp", "cli"]

Time = Annotated[str, msgspec.Meta(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\Z")]
Hash = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{16}\Z")]
Version = Annotated[str, msgspec.Meta(pattern=r"^\d{1,5}(\.\d{1,5}){1,3}\Z")]
OwnVersion = Annotated[str, msgspec.Meta(pattern=r"^\d[0-9a-z.+]{0,39}\Z")]
Reason = Annotated[str, msgspec.Meta(pattern=rf"^[a-z][a-z_]{{0,{LOG_WORD_MAX_CHARS}}}\Z")]
Method = Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z-]{0,39}( [a-z0-9_]{1,40})?\Z")]
Outcome = Annotated[
    str,
    msgspec.Meta(
        pattern=r"^(replaced|written|too_little|nothing_to_prune|fell_back: [a-z_]{1,40}"
        r"|refused: [A-Za-z]{1,40})\Z"
    ),
]
Count = Annotated[int, msgspec.Meta(ge=0)]
Milliseconds = Annotated[float, msgspec.Meta(ge=0)]


class Stages(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the time went. `total` is the whole answer: reading and writing are in no stage."""

    total: Milliseconds
    decide: Milliseconds = 0.0
    prove: Milliseconds = 0.0
    stash: Milliseconds = 0.0
    verify: Milliseconds = 0.0
    report: Milliseconds = 0.0


class Recall(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was recalled, how it was named, and by which way. `id`: salted hash of the body's."""

    id: Hash
    by: By
    way: Way


class PassEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One pass.

    `session`: salted hash of the session's id; one and the same for all that have none.
    `messages` and `calls` leave out what a fork has copied from another session (FR-056).
    `decisions`: calls by kind and reason, as decided, and the characters of their results that are
    kept, or that go. `tools`: characters of results before and after. `billed_before`: tokens of
    the last request.
    Sizes after are those before unless the outcome is `replaced` or `written`.
    """

    schema: Schema = SCHEMA
    time: Time
    session: Hash
    trigger: Trigger
    client: Version | None = None
    version: OwnVersion
    mode: Mode
    tier: Tier | None = None
    proofs: Proofs = "none"
    messages: Count = 0
    calls: Count = 0
    decisions: dict[Kind, dict[Reason, tuple[Count, Count]]] = {}
    tools: dict[Tool | Literal["mcp", "other"], tuple[Count, Count]] = {}
    chars_before: Count = 0
    chars_after: Count = 0
    tokens_before: Count = 0
    tokens_after: Count = 0
    token_count_method: Method
    billed_before: Count | None = None
    ms: Stages
    outcome: Outcome
    recall: None = None


class RecallEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One recall of something that a pass removed."""

    schema: Schema = SCHEMA
    time: Time
    session: Hash
    outcome: Literal["recalled"] = "recalled"
    recall: Recall


Entry = PassEntry | RecallEntry


def encoded(entry: Entry) -> bytes:
    """Return an entry as one line. Raise msgspec.ValidationError if a value is not of its type."""
    checked: Any = msgspec.convert(msgspec.to_builtins(entry), type(entry))
    return msgspec.json.encode(checked) + b"\n"
