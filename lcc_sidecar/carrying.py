"""The decisions of a pass, carried out on the document they were taken on."""

from dataclasses import replace

from lcc_sidecar.compaction import Compaction
from lcc_sidecar.errors import LccError
from lcc_sidecar.transcript.files import Document, parse_document
from lcc_sidecar.transcript.model import Message, Transcript


def carried_out(document: Document, done: Compaction) -> bytes:
    """Return the document with the decisions of the pass carried out.

    Raise LccError if it does not read back as what was decided.
    """
    compacted = document.render(done.notes, done.dropped)
    read = parse_document(compacted).transcript
    if read != done.transcript and _as_text(read) != _as_text(done.transcript):
        raise LccError("the result could not be written as it was decided; nothing is written")
    return compacted


def _as_text(transcript: Transcript) -> list[Message]:
    """Return the messages with inputs as text: NaN in one is unequal even to itself."""
    return [
        replace(message, calls=tuple(replace(c, input={"": c.input_json()}) for c in message.calls))
        for message in transcript.messages
    ]
