"""`lcc recall`: what once stood in a session, word for word, from the stash.

Agents call it from Bash, so it starts fast, needs no sidecar, and puts nothing but the body on
standard output.
"""

import base64
import contextlib
import json
import os
import sys
from dataclasses import asdict
from typing import Any

import click

from lcc_sidecar.errors import StashError, UsageError
from lcc_sidecar.limits import RECALL_ID_DIGITS
from lcc_sidecar.output import write_stdout, write_whole
from lcc_sidecar.request_log import recalls
from lcc_sidecar.stash import overview
from lcc_sidecar.stash.freshen import freshen
from lcc_sidecar.stash.recall import Hits, Recalled, Request, answer
from lcc_sidecar.stash.telling import safe, title, told_hits
from lcc_sidecar.stash.view import View

SESSION_VARIABLE = "CLAUDE_CODE_SESSION_ID"  # Claude Code sets it for Bash; it follows /clear


@click.command()
@click.argument("reference", nargs=-1)
@click.option("--seq", help="The entry with this number in the session.")
@click.option("--call", "tool_use_id", help="The result of the call with this tool_use_id.")
@click.option("--query", metavar="WORDS...", help="Search all that the session ever held.")
@click.option(
    "--session",
    help=f"The session to look in; ${SESSION_VARIABLE} if it is set. A query without one searches "
    "all of them.",
)
@click.option("--lines", metavar="A-B", help="Only these lines; the first is 1.")
@click.option("-o", "--output", metavar="FILE", help="Write it into FILE, byte for byte.")
@click.option("--json", "as_json", is_flag=True, help="Print all that is known, as JSON.")
def recall(  # noqa: PLR0913 - one parameter an option
    reference: tuple[str, ...],
    *,
    seq: str | None,
    tool_use_id: str | None,
    query: str | None,
    session: str | None,
    lines: str | None,
    output: str | None,
    as_json: bool,
) -> None:
    r"""Give back what a note names: REFERENCE is the id in it, or `seq=61` as it stands there.

    The body goes to standard output word for word, everything else to standard error. For people
    and agents control characters are written as \x00; a pipe outside of an agent, and -o, get the
    true bytes.
    """
    if query is not None:
        reference, query = (), " ".join([query, *reference])
    if session is not None:
        with contextlib.suppress(StashError):  # the sidecar may know one that is not there yet
            _, session = overview.find(View(), session)
    asked = _request(reference, seq, tool_use_id, query, session, lines)
    if asked.session_id and (asked.seq or asked.query):
        freshen(asked.session_id)
    found = answer(View(), asked)
    recalls.note(found, asked, "cli")
    if as_json:
        write_stdout(json.dumps(_as_json(found), indent=1).encode() + b"\n")
    elif isinstance(found, Hits):
        write_stdout(told_hits(found).encode() + b"\n")
        click.echo("lcc: `lcc recall ID` gives one back whole, --lines A-B a part", err=True)
    elif output is not None:
        _write(found, output, is_part=lines is not None)
    else:
        _print(found)


def _request(  # noqa: PLR0913, PLR0917 - as many as there are ways to name a thing
    reference: tuple[str, ...],
    seq: str | None,
    tool_use_id: str | None,
    query: str | None,
    session: str | None,
    lines: str | None,
) -> Request:
    """Return what is asked. Raise UsageError if that is nothing, or several things."""
    body_id = None
    if len(reference) == 1:
        [written] = reference
        if written.startswith("seq="):
            seq = seq or written
        elif written.startswith("toolu_"):
            tool_use_id = tool_use_id or written
        else:
            body_id = written
    if len(reference) > 1 or sum(x is not None for x in (body_id, seq, tool_use_id, query)) != 1:
        raise UsageError(
            "name one thing to recall: the id in a note, seq=N, --call TOOL_USE_ID or --query WORDS"
        )
    here = os.environ.get(SESSION_VARIABLE) or None
    # A call's id and a body's id find their session by themselves, whichever one asks.
    return Request(
        body_id, seq, tool_use_id, query, session or (None if tool_use_id else here), lines
    )


def _print(found: Recalled) -> None:
    """Put the body on standard output, and what is to be known besides on standard error."""
    text, escaped = found.text, 0
    if sys.stdout.isatty() or SESSION_VARIABLE in os.environ:
        text, escaped = safe(text)
    write_stdout(text.encode("utf-8", "surrogatepass"))
    if sys.stdout.isatty() and not text.endswith("\n"):
        click.echo()
    short = found.id[:RECALL_ID_DIGITS]
    remarks = [title(found), *found.notes]
    if escaped:
        remarks.append(
            f"{escaped} control characters are written as \\x00: -o gives the true bytes"
        )
    if found.media:
        kinds = ", ".join(each.media_type for each in found.media)
        file = "FILE" if _only_picture(found) is not None else "FILE.json"
        remarks.append(f"it holds {kinds} besides: `lcc recall {short} -o {file}` writes that")
    for remark in remarks:
        click.echo(f"lcc: {remark}", err=True)


def _write(found: Recalled, output: str, *, is_part: bool) -> None:
    """Write the body; of a result with one picture that picture, unless FILE.json is asked for."""
    data = found.text.encode("utf-8", "surrogatepass") if is_part else found.data
    picture = _only_picture(found)
    if picture is not None and not is_part and not output.endswith(".json"):
        data = picture
    write_whole(output, data)
    for remark in (title(found), *found.notes, f"{len(data)} bytes written to {output}"):
        click.echo(f"lcc: {remark}", err=True)


def _only_picture(found: Recalled) -> bytes | None:
    pictures = [each.data for each in found.media if each.data]
    return pictures[0] if len(pictures) == 1 else None


def _as_json(found: Recalled | Hits) -> dict[str, Any]:
    if isinstance(found, Hits):
        return asdict(found)
    told = {key: value for key, value in asdict(found).items() if key not in ("data", "media")}
    told["entry"].pop("object")
    told["media"] = [
        {"media_type": each.media_type, "data": base64.b64encode(each.data).decode()}
        for each in found.media
    ]
    return told
