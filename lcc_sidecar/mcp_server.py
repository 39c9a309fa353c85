"""`lcc mcp`: the pass, its story and recall as tools of the Model Context Protocol, over stdio.

An answer stays under the client's 25,000 tokens: it names files and sums up, and never holds a
transcript. First specification, section 8.
"""

import base64
import inspect
import json
import math
import os
from collections.abc import Callable
from dataclasses import asdict
from functools import wraps
from typing import Annotated, Any, ParamSpec, TypeVar, cast, get_args

import msgspec
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.types import ContentBlock, ImageContent, TextContent
from pydantic import Field, ValidationError

from lcc_sidecar import __version__, explain
from lcc_sidecar.carrying import carried_out
from lcc_sidecar.compaction import compact
from lcc_sidecar.errors import LccError, UsageError
from lcc_sidecar.kept import keep
from lcc_sidecar.limits import (
    MCP_ANSWER_MAX_CHARS,
    MCP_ERROR_MAX_CHARS,
    MCP_GROUPS_MAX,
    MCP_TEXT_MAX_CHARS,
    MCP_WARNING_MAX_CHARS,
    MCP_WARNINGS_MAX,
)
from lcc_sidecar.options import Options, Provider, RulesMode, calibrated, check
from lcc_sidecar.output import to_json
from lcc_sidecar.request_log import recalls
from lcc_sidecar.request_log.by_hand import log_refused, logged
from lcc_sidecar.stash import journal
from lcc_sidecar.stash.freshen import freshen
from lcc_sidecar.stash.recall import Hits, Recalled, Request, answer
from lcc_sidecar.stash.refused import NoSessionError
from lcc_sidecar.stash.telling import told_body, told_hits
from lcc_sidecar.stash.view import View
from lcc_sidecar.stashing import stasher_by_hand
from lcc_sidecar.transcript.files import (
    Document,
    load_document,
    parse_document,
    session_id_of,
)

_Arguments = ParamSpec("_Arguments")
_Answer = TypeVar("_Answer")
_DEFAULT = Options()
_INT_BITS_MAX = 64  # no count is larger; a report from elsewhere may hold thousands of digits
_COUNTS = (
    *("messages_before", "messages_after", "chars_before", "chars_after", "reduction_ratio"),
    *("tokens_before", "tokens_after", "token_count_method", "worth_it", "provider_used"),
    *("rules_mode", "recoverability_check", "degraded", "degradation_reason"),
    *("semantic_guarantee", "tool_calls_total", "tool_calls_kept", "tool_calls_trimmed"),
    *("tool_calls_dropped", "tool_calls_deduped", "tool_calls_replaced"),
)

_takes: dict[str, tuple[str, ...]] = {}  # the names of a tool's arguments


class _Server(MCPServer):
    """Refuses arguments that a tool does not take; each error is one sentence, and short."""

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> Any:
        unknown = [key for key in arguments if key not in _takes.get(name, arguments)]
        if unknown:
            _log_refusal(name)
            takes = ", ".join(_takes[name])
            raise ToolError(f"{name} takes no argument {_cut(unknown[0])!r}: it takes {takes}")
        try:
            return await super().call_tool(name, arguments, context)
        except UnexpectedToolError:
            raise  # the SDK tells of it without a word of what it was
        except ToolError as error:
            if isinstance(error.__cause__, ValidationError):
                _log_refusal(name)
            raise ToolError(_sentence(error)) from None


def _log_refusal(tool: str) -> None:
    """Log that a pass was asked for with arguments that do not fit."""
    if tool == "compact_transcript":
        log_refused("mcp", UsageError())


server = _Server(
    "lcc-sidecar",
    version=__version__,
    instructions="Compacts transcripts of agent sessions: old tool results become pointers that "
    "were proven recoverable. Recall gives their exact text back, and finds what a session ever "
    "held. Other answers name files; read them where their content is needed.",
    log_level="WARNING",
)


def _tool(name: str) -> Callable[[Callable[_Arguments, dict[str, Any]]], Callable[..., str]]:
    """Make a tool of a function: its answer is one JSON text, an expected failure one sentence."""

    def register(function: Callable[_Arguments, dict[str, Any]]) -> Callable[_Arguments, str]:
        @wraps(function)
        def answer(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> str:
            try:
                text = json.dumps(function(*args, **kwargs), ensure_ascii=False)
            except LccError as error:
                raise ToolError(str(error)) from None
            except RecursionError:
                raise ToolError("what was given is nested too deep to be read") from None
            if len(text) > MCP_ANSWER_MAX_CHARS:
                raise ToolError("the answer would fill the window: read the report's file instead")
            return text.encode(errors="replace").decode()  # half an emoji is no UTF-8

        return _register(name)(answer)

    return register


def _register(
    name: str,
) -> Callable[[Callable[_Arguments, _Answer]], Callable[_Arguments, _Answer]]:
    """Make a tool of a function, whose arguments are known from then on."""

    def register(function: Callable[_Arguments, _Answer]) -> Callable[_Arguments, _Answer]:
        _takes[name] = tuple(inspect.signature(function).parameters)
        server.tool(name, structured_output=False)(function)
        return function

    return register


@_tool("compact_transcript")
def compact_transcript(  # noqa: PLR0913 - one parameter an option
    transcript: Annotated[
        list[Any] | dict[str, Any] | None,
        Field(description="The transcript: an array of messages, or {messages: [...]}."),
    ] = None,
    path: Annotated[
        str | None,
        Field(
            description="Or the file that holds it: messages JSON, a Claude Code session, a Codex "
            "rollout."
        ),
    ] = None,
    *,
    question: Annotated[str, Field(description="The goal: what it names is kept.")] = "",
    provider: Annotated[
        str,  # and no Literal: the pass says of an unknown one what to use instead
        Field(
            json_schema_extra={"enum": list(get_args(Provider))},
            description="rules: offline. jev: a judge over the network. laya: a judge on this "
            "machine. auto: jev where there is a key, else laya.",
        ),
    ] = _DEFAULT.provider,
    rules_mode: Annotated[
        str,
        Field(
            json_schema_extra={"enum": list(get_args(RulesMode))},
            description="lossless; recoverable: also what the disk gives back; stashed: also all "
            "else that is large, into the stash on this machine; lossy: "
            "EXPERIMENTAL, what goes does not come back.",
        ),
    ] = _DEFAULT.rules_mode,
    workspace_root: Annotated[
        str | None, Field(description="The session's folder: lets the disk decide.")
    ] = None,
    disk_check: bool = _DEFAULT.disk_check,
    allow_command_pointers: bool = _DEFAULT.allow_command_pointers,
    stash_credentials: bool = _DEFAULT.stash_credentials,
    preserve_recent: int = _DEFAULT.preserve_recent,
    min_reduction: float = _DEFAULT.min_reduction,
    threshold: float = _DEFAULT.threshold,
    trim_head_chars: int = _DEFAULT.trim_head_chars,
    max_state_tokens: int = _DEFAULT.max_state_tokens,
    max_request_tokens: int = _DEFAULT.max_request_tokens,
    batch_size: int = _DEFAULT.batch_size,
    max_workers: int = _DEFAULT.max_workers,
    model: str | None = _DEFAULT.model,
    jev_model: str = _DEFAULT.jev_model,
) -> dict[str, Any]:
    """Compact a transcript of an agent session; every word in it stays as it is.

    Give `transcript` or `path`. The answer names the file with the compacted transcript (the same
    shape) and the file with the report, and sums the report up.
    """
    options = Options(
        question=question,
        provider=cast("Provider", provider),
        rules_mode=cast("RulesMode", rules_mode),
        workspace_root=workspace_root,
        disk_check=disk_check,
        allow_command_pointers=allow_command_pointers,
        stash_credentials=stash_credentials,
        preserve_recent=preserve_recent,
        min_reduction=min_reduction,
        threshold=threshold,
        trim_head_chars=trim_head_chars,
        max_state_tokens=max_state_tokens,
        max_request_tokens=max_request_tokens,
        batch_size=batch_size,
        max_workers=max_workers,
        model=model,
        jev_model=jev_model,
    )
    with logged("mcp") as told:
        told.options = options
        document = told.document = _document(transcript, path)
        check(options)
        options = told.options = calibrated(options, document)
        told.session_id = session_id_of(path, document) if path else None
        with stasher_by_hand(options, document.transcript, told.session_id) as stash:
            done = told.done = compact(document.transcript, options, stasher=stash)
        kept = keep(carried_out(document, done), done)
    return {"transcript": kept.transcript, "report": kept.report, **_summary(done.report)}


@_tool("explain")
def explain_report(
    report: Annotated[
        dict[str, Any] | str,
        Field(description="The report itself, or the path of its file."),
    ],
    call_id: Annotated[
        str | None, Field(description="Tell about this tool call alone, with all that is known.")
    ] = None,
) -> dict[str, Any]:
    """Say what a compaction did and why: calls grouped by reason, with sizes in characters."""
    decoded = explain.load(report) if isinstance(report, str) else report
    story = explain.tell(decoded)
    if call_id is None:
        return _summary(decoded)
    row = next((row for row in story.report.decisions if row.id == call_id), None)
    if row is None:
        raise UsageError(f"the report tells of no call {_cut(call_id)!r}")
    return _row(row)


@_register("recall")
def recall(  # noqa: PLR0913, PLR0917 - one parameter a way to name a thing
    id: Annotated[  # noqa: A002 - the word that stands in the notes
        str | None,
        Field(
            description="The id in a note: the hex digits after `recall` in `[removed: ...; recall "
            "0123456789abcdef01234567 to get it back]` or `[recall 0123456789abcdef01234567]`. The "
            "first 12 digits do."
        ),
    ] = None,
    seq: Annotated[
        int | None, Field(description="The number in a note: 61 of `[elided ... recall seq=61]`.")
    ] = None,
    tool_use_id: Annotated[
        str | None, Field(description="The id of the tool call whose result is wanted.")
    ] = None,
    query: Annotated[
        str | None,
        Field(
            description="A few words that must have stood in the text: an error's words, a name, a "
            "path. `extract path join` finds extractPathJoin and extract_path_join. The answer "
            "lists the best places with ids; recall one by its id to have all of it."
        ),
    ] = None,
    lines: Annotated[
        str | None, Field(description="Only these lines of the text, `10-40`; the first is 1.")
    ] = None,
    session_id: Annotated[
        str | None, Field(description="Another session than this one. Leave it out to mean this.")
    ] = None,
) -> list[ContentBlock]:
    """Get back, word for word, what once stood in this session and left it.

    Old tool results are replaced by notes such as `[removed: 1234 tokens (87 lines) of Bash output;
    recall 0123456789abcdef01234567 to get it back]`. Whenever the exact text matters (an error, a
    path, a line of code), recall it; do not guess and do not run the command again. Give exactly
    one of id, seq, tool_use_id, query. After a summary, query finds anything said or shown before
    it.
    """
    try:
        needs_session = seq is not None or query is not None
        session = session_id or _current_session(required=needs_session)
        if session is not None and needs_session:
            freshen(session)
        scope = session if needs_session else session_id
        asked = Request(id, seq, tool_use_id, query, scope, lines)
        found = answer(View(), asked)
        recalls.note(found, asked, "mcp")
    except LccError as error:
        raise ToolError(str(error)) from None
    if isinstance(found, Hits):
        return [TextContent(type="text", text=told_hits(found))]
    return _content(found)


def run() -> None:
    """Serve over standard input and output until they are closed."""
    server.run("stdio")


def _current_session(*, required: bool) -> str | None:
    """Return the session that our client is on now, as its hooks told.

    Our own environment names the one it was started with, which /clear and /resume leave behind: a
    number would then mean another session's entry.
    """
    if not required:
        return None
    with View().reading() as db:
        session = journal.current_session(db, os.getppid())
    if session is None:
        raise NoSessionError(
            "it is not known which session this is: pass session_id, which "
            "`echo $CLAUDE_CODE_SESSION_ID` shows in Bash, or use an id"
        )
    return session


def _content(found: Recalled) -> list[ContentBlock]:
    """Return a body as content: its text alone in the first block, then images, then remarks."""
    told = told_body(found)
    blocks: list[ContentBlock] = [TextContent(type="text", text=told.text)]
    remarks = list(told.remarks)
    for media in found.media:
        if media.data and media.media_type.startswith("image/"):
            data = base64.b64encode(media.data).decode()
            blocks.append(ImageContent(type="image", data=data, mime_type=media.media_type))
        else:
            remarks.append(
                f"a block of {media.media_type} is left out: `lcc recall {found.id[:24]} -o "
                "FILE.json` writes it"
            )
    if remarks:
        blocks.append(TextContent(type="text", text=f"lcc: {'; '.join(remarks)}."))
    return blocks


def _document(transcript: Any, path: str | None) -> Document:
    if (transcript is None) == (path is None):
        raise UsageError("give the transcript either as `transcript` or as a `path` to its file")
    return load_document(path) if path is not None else parse_document(to_json(transcript))


def _summary(report: dict[str, Any]) -> dict[str, Any]:
    """Return what fits an answer: bounded in number and length, whatever the report holds."""
    story = explain.tell(report)
    warnings = [_cut(text, MCP_WARNING_MAX_CHARS) for text in story.report.warnings]
    return {
        **{key: _short(report[key]) for key in _COUNTS if key in report},
        "warnings": warnings[:MCP_WARNINGS_MAX],
        "warnings_total": len(warnings),
        "went": [_group(group) for group in story.went[:MCP_GROUPS_MAX]],
        "stayed": [_group(group) for group in story.stayed[:MCP_GROUPS_MAX]],
        "largest_still_there": [_row(row) for row in story.largest],
        "hint": story.hint,
    }


def _group(group: explain.Group) -> dict[str, Any]:
    told = {key: _short(value) for key, value in asdict(group).items() if key != "keep_result"}
    return {**told, "keep_result": group.keep_result and [_short(n) for n in group.keep_result]}


def _row(row: explain.Row) -> dict[str, Any]:
    return {key: _short(value) for key, value in msgspec.structs.asdict(row).items()}


def _short(value: Any) -> Any:
    """Return a plain value as it is, a text cut; of anything else only what it is."""
    if isinstance(value, str):
        return _cut(value)
    if value is None or isinstance(value, (bool, float)):
        return value if value is None or math.isfinite(value) else str(value)
    if isinstance(value, int) and value.bit_length() <= _INT_BITS_MAX:
        return value
    return f"left out: {type(value).__name__}"


def _sentence(error: ToolError) -> str:
    """Return an error on one line, its middle left out if it is long; never an argument's value."""
    text = str(error)
    if isinstance(error.__cause__, ValidationError):
        found = error.__cause__.errors(
            include_url=False, include_context=False, include_input=False
        )
        text = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in found)
    line = "".join(c if c.isprintable() else " " for c in text)
    if len(line) <= MCP_ERROR_MAX_CHARS:
        return line
    half = MCP_ERROR_MAX_CHARS // 2
    return f"{line[:half]} … {line[-half:]}"


def _cut(text: str, room: int = MCP_TEXT_MAX_CHARS) -> str:
    return text if len(text) <= room else f"{text[: room - 1]}…"
