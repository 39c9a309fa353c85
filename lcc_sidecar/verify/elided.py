"""The contract of mode elide, checked from the two transcripts alone.

Only results outside the final message may differ, and only by becoming a marker that tells the
truth about what stood there. Shares nothing with the policy. Source: second specification.
"""

import hashlib
import re

from lcc_sidecar.transcript.model import ToolResult, Transcript
from lcc_sidecar.verify.unchanged import changed_results, changed_words

# Plain ASCII of bounded length, as a marker is: what merely begins like one is a result like any
# other, and must not have the whole pass given up.
_MARKER = re.compile(
    r"\[elided (?P<chars>[0-9]{1,12}) chars of (?P<tool>[!-Z^-~]{1,128}) output — recall "
    r"(?:seq=(?P<seq>[1-9][0-9]{0,17})|(?P<id>[0-9a-f]{24}))\]"
    r"(?:\[ artifact ids cited in it: "
    r"(?P<ids>[!-+\--Z^-~]{1,64}(?:, [!-+\--Z^-~]{1,64})*)\])?"
)
_MOST_IDS = 8


def verify_elided(original: Transcript, compacted: Transcript) -> list[str]:
    """Return what breaks the contract of mode elide, a sentence each; an empty list is a pass."""
    words = changed_words(original, compacted)
    if words:
        return words
    pairs = {pair.result.id: pair for pair in original.pairs()}
    final = len(original.messages) - 1
    seqs = _standing_seqs(original)
    violations: list[str] = []
    for old, new in changed_results(original, compacted):
        pair = pairs.get(old.id)
        if pair is None:
            violations.append(f"result {old.id}: it has no call of its own, and changed")
        elif pair.result_index == final:
            violations.append(f"result {old.id}: it stands in the final message, and changed")
        else:
            wrong = _wrong(old, pair.call.tool, new.text, seqs)
            violations += [f"result {old.id}: {why}" for why in wrong]
    return violations


def _standing_seqs(original: Transcript) -> set[str]:
    """Return the numbers that markers of earlier passes name already."""
    found = (_MARKER.fullmatch(result.text) for _, result in original.results())
    return {marker["seq"] for marker in found if marker and marker["seq"]}


def _wrong(old: ToolResult, tool: str, text: str, seqs: set[str]) -> list[str]:
    """Return what is untrue of a marker; `seqs` gathers the numbers, which no two may share."""
    marker = _MARKER.fullmatch(text)
    if marker is None:
        return [f"{text[:120]!r} is no marker"]
    wrong = []
    if old.media:
        wrong.append("it holds more than text, and no marker stands for that")
    if _MARKER.fullmatch(old.text):
        wrong.append("a marker was written anew")
    if int(marker["chars"]) != len(old.text):
        wrong.append(f"it had {len(old.text)} characters, not {marker['chars']}")
    if marker["tool"] != tool:
        wrong.append(f"it is output of {tool[:80]!r}, not of {marker['tool'][:80]!r}")
    if len(text) >= len(old.text):
        wrong.append("its marker is no shorter")
    if marker["id"] and marker["id"] != _id(old.text):
        wrong.append(f"recall {marker['id']} is another text")
    if marker["seq"]:
        if marker["seq"] in seqs:
            wrong.append(f"seq={marker['seq']} stands for another result as well")
        seqs.add(marker["seq"])
    return wrong + _wrongly_cited(marker["ids"] or "", old.text)


def _wrongly_cited(cited: str, text: str) -> list[str]:
    ids = cited.split(", ") if cited else []
    wrong = [f"{artifact[:80]!r} does not stand in it" for artifact in ids if artifact not in text]
    if len(ids) > _MOST_IDS or len(ids) != len(set(ids)):
        wrong.append(f"it cites {len(ids)} artifact ids; at most eight, each once")
    return wrong


def _id(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]
