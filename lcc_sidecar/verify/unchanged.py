"""The part of every rules contract that is about words: nothing but results' texts may differ."""

from collections.abc import Iterator

from lcc_sidecar.transcript.model import Message, ToolResult, Transcript


def changed_words(original: Transcript, compacted: Transcript) -> list[str]:
    """Return what differs between two transcripts apart from the texts of results.

    Messages without text, call and result hold nothing, and may be missing.
    """
    before = [message for message in original.messages if not message.is_empty]
    after = [message for message in compacted.messages if not message.is_empty]
    if len(before) != len(after):
        return [f"{len(before)} messages became {len(after)}"]
    return [
        f"message {index}: {what} changed"
        for index, (old, new) in enumerate(zip(before, after, strict=True))
        if old is not new  # what is one object is the same in every byte
        for what in _differences(old, new)
    ]


def changed_results(
    original: Transcript, compacted: Transcript
) -> Iterator[tuple[ToolResult, ToolResult]]:
    """Yield (old, new) for each result whose text differs; call only when no words changed."""
    old = (result for _, result in original.results())
    new = (result for _, result in compacted.results())
    for before, after in zip(old, new, strict=True):
        if before.text != after.text:
            yield before, after


def _differences(old: Message, new: Message) -> Iterator[str]:
    if old.role != new.role:
        yield "the role"
    if old.text != new.text:
        yield "the text"
    if _media(old) != _media(new):
        yield "an image or another block that is no text"
    if _calls(old) != _calls(new):
        yield "a tool call"
    if [(r.id, r.is_error) for r in old.results] != [(r.id, r.is_error) for r in new.results]:
        yield "a result's id or error flag"


def _media(message: Message) -> tuple[tuple[str, ...], ...]:
    return (message.media, *(result.media for result in message.results))


def _calls(message: Message) -> list[tuple[str, str, str]]:
    """Return the calls with their inputs as text: NaN differs from itself, and 1 equals true."""
    return [(call.id, call.tool, call.input_json()) for call in message.calls]
