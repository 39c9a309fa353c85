"""The contract of the modes that may remove: pairs go whole, and only where they may.

First specification, section 2: a result is never left without its call, a call never dropped
without its result, and nothing but these is touched.
"""

from collections.abc import Collection, Iterable
from dataclasses import replace
from itertools import groupby

from lcc_sidecar.transcript.model import Message, Transcript
from lcc_sidecar.verify.unchanged import changed_results, changed_words


def verify_pairs(
    original: Transcript, compacted: Transcript, may_change: Collection[str]
) -> list[str]:
    """Return the violations. `may_change` are the ids of calls that may be dropped or trimmed."""
    calls_left = {call.id for _, call in compacted.calls()}
    results_left = {result.id for _, result in compacted.results()}
    had_call = {call.id for _, call in original.calls()}
    had_result = {result.id for _, result in original.results()}
    gone = had_call - calls_left
    violations = [
        *(f"the call {i} went without its result" for i in sorted(gone & results_left)),
        *(
            f"the result {i} went without its call"
            for i in sorted((had_result - results_left) & calls_left)
        ),
        *(f"the pair {i} was dropped, and must not be" for i in sorted(gone - set(may_change))),
    ]
    if violations:
        return violations
    left = _joined((_left(message, gone) for message in original.messages), original)
    after = _joined(compacted.messages, original)
    words = changed_words(left, after)
    if words:
        return words
    for old, new in changed_results(left, after):
        if old.id not in may_change:
            violations.append(f"the result {old.id} was trimmed, and must not be")
        elif len(new.text) >= len(old.text):
            violations.append(f"the result {old.id} was trimmed and did not get shorter")
    return violations


def _left(message: Message, gone: Collection[str]) -> Message:
    return replace(
        message,
        calls=tuple(call for call in message.calls if call.id not in gone),
        results=tuple(result for result in message.results if result.id not in gone),
    )


def _joined(messages: Iterable[Message], record: Transcript) -> Transcript:
    """Return what is left as the record keeps it: neighbours of a joined role are one message.

    A pair that goes lets the words around it stand together, which changes none of them.
    """
    full = (message for message in messages if not message.is_empty)
    runs = groupby(
        enumerate(full), lambda at: at[1].role if at[1].role in record.joined_roles else at[0]
    )
    return Transcript(tuple(_as_one([message for _, message in run]) for _, run in runs))


def _as_one(run: list[Message]) -> Message:
    return Message(
        role=run[0].role,
        text="\n".join(message.text for message in run if message.text),
        calls=tuple(call for message in run for call in message.calls),
        results=tuple(result for message in run for result in message.results),
        media=tuple(digest for message in run for digest in message.media),
    )
