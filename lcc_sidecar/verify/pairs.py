"""The contract of the modes that may remove: pairs go whole, and only where they may.

First specification, section 2: a result is never left without its call, a call never dropped
without its result, and nothing but these is touched.
"""

from collections.abc import Collection
from dataclasses import replace

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
    left = Transcript(tuple(_left(message, gone) for message in original.messages))
    words = changed_words(left, compacted)
    if words:
        return words
    for old, new in changed_results(left, compacted):
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
