"""The newest message of an open tool loop, in the client's own API form.

When the client compacts in the middle of a turn, the session file may not hold its newest rows yet.
So the mod sends that one message as the next request would have it: the results, and behind them,
or folded into their text, whatever hangs on them (client contract, sections 10 and 14).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lcc_sidecar.errors import LiveCompactionError
from lcc_sidecar.sidecar.live_rows import LiveRow
from lcc_sidecar.sidecar.riders import as_read

_REMINDER = "<system-reminder>"
_SPACE = "\t\n\v\f\r \xa0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(
    map(chr, range(0x2000, 0x200B))
)  # what JavaScript's trimEnd takes for space
_GAP = "\n\n"  # between reminders that the client folds into one text
_TOOLS_LOADED = "Tool loaded."  # the client's own words behind a reference to a tool


@dataclass(frozen=True, slots=True)
class Newest:
    """`riders` by the index of the row they hang on; `contents` of the results, by id.

    `riders` has an entry for each row of the group, so that the file is not asked for them.
    """

    riders: dict[int, list[str]] = field(default_factory=dict)
    contents: dict[str, Any] = field(default_factory=dict)


def read_newest(rows: Sequence[LiveRow], group: tuple[range, range] | None, message: Any) -> Newest:
    """Return what hangs on the newest results of an open tool loop, if the model waits for them.

    It does not if the person has spoken since, or if a compaction has carried something behind
    them: such rows come later than the results, and the file holds the results by then.

    `group` holds the loop's rows. `message` is the list of blocks of the newest user message. Raise
    LiveCompactionError if it does not hold every result of the loop, or holds something that cannot
    be told apart from them.
    """
    if group is None or any(rows[index].is_kept for index in group[1]):
        return Newest()
    if not isinstance(message, list) or not all(isinstance(block, dict) for block in message):
        raise LiveCompactionError("newest_unknown", "the newest message did not come along")
    user = group[1]
    texts = {r.id: r.text for index in user for r in rows[index].results}
    contents = {
        str(block.get("tool_use_id")): block.get("content")
        for block in message
        if block.get("type") == "tool_result"
    }
    if not texts.keys() <= contents.keys():
        raise LiveCompactionError("newest_unknown", "the newest message lacks a result")
    riders: dict[int, list[str]] = {index: [] for run in group for index in run}
    last = user[-1]
    own: dict[str, Any] = {}
    for result_id, text in texts.items():
        own[result_id], folded = _split(contents[result_id], text)
        riders[last] += folded
    riders[last] += _behind(message, own)
    riders[last] = [as_read(text) for text in riders[last]]
    return Newest(riders, own)


def _split(content: Any, text: str) -> tuple[Any, list[str]]:
    """Return a result's own content, and the reminders that the client has folded into it."""
    if isinstance(content, str):
        return text, _folded(content, text)
    own: list[Any] = []
    folded: list[str] = []
    left = text  # of the text that the list shows: its blocks' texts, joined
    for block in content or ():
        words = block.get("text") if isinstance(block, dict) else None
        if not isinstance(words, str) or block.get("type") != "text":
            own.append(block)
        elif left.startswith(words):
            own.append(block)
            left = left[len(words) :].removeprefix("\n")  # which joins it to the next one
        else:
            folded += _folded(words, left)
            own += [{**block, "text": left}] if left else []
            left = ""
    if left:
        raise LiveCompactionError("newest_unknown", "a result is not what the list shows of it")
    return own, folded


def _folded(words: str, own: str) -> list[str]:
    """Return the reminders in `words` behind the text `own`."""
    # The client takes the space off a text's end where it folds something in behind it.
    for stem in (own, own.rstrip(_SPACE)):
        rest = words[len(stem) :].lstrip("\n")
        if words.startswith(stem) and (not rest or rest.startswith(_REMINDER)):
            return _reminders(rest)
    raise LiveCompactionError("newest_unknown", "a result is not what the list shows of it")


def _behind(message: list[dict[str, Any]], contents: Mapping[str, Any]) -> Iterator[str]:
    """Yield the texts that stand behind the results."""
    loads_tools = any(
        isinstance(content, list) and any(b.get("type") == "tool_reference" for b in content)
        for content in contents.values()
    )
    for block in message:
        if block.get("type") == "tool_result":
            continue
        if block.get("type") != "text":
            raise LiveCompactionError("media_rider", "an image hangs on a rebuilt row")
        text = str(block.get("text"))
        if not (loads_tools and text.strip() == _TOOLS_LOADED):
            yield from _reminders(text) if text.startswith(_REMINDER) else (text,)


def _reminders(text: str) -> list[str]:
    """Return reminders that stand in one text, one by one."""
    start, end = _REMINDER, "</system-reminder>"
    parts = text.strip("\n").split(end + _GAP + start)
    parts = [part if number == 0 else start + part for number, part in enumerate(parts)]
    return [part + end for part in parts[:-1]] + [part for part in parts[-1:] if part]
