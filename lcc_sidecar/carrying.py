"""The decisions of a pass, carried out on the document they were taken on."""

from lcc_sidecar.compaction import Compaction
from lcc_sidecar.errors import LccError
from lcc_sidecar.transcript.files import Document, parse_document


def carried_out(document: Document, done: Compaction) -> bytes:
    """Return the document with the decisions of the pass carried out.

    Raise LccError if it does not read back as what was decided.
    """
    compacted = document.render(done.notes, done.dropped)
    if parse_document(compacted).transcript != done.transcript:
        raise LccError("the result could not be written as it was decided; nothing is written")
    return compacted
