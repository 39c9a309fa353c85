"""What a session's own bill says a token is: fitted in the background, at hand for a compaction.

A fit takes up to 0.1 s, which no live answer has. So the indexer has it made once a session's file
is quiet; weights change so slowly that those of the turn before serve as well.
"""

from typing import NamedTuple

from lcc_sidecar.limits import BILLED_TOKENS_MAX, CALIBRATED_BYTES_MAX
from lcc_sidecar.sidecar.index import SessionIndex
from lcc_sidecar.transcript.calibration import Calibration, calibrate, measure_of
from lcc_sidecar.transcript.files import open_regular
from lcc_sidecar.transcript.model import Transcript
from lcc_sidecar.transcript.tokens import token_counter

FITTED = "fitted: to the session's bill, by kinds of characters"


class Bill(NamedTuple):
    """How a session is billed, and what that makes of a conversation of its, in tokens."""

    calibration: Calibration
    size: float


class Counted(NamedTuple):
    """A conversation's tokens before and after; `error_percent` as held out, None if unknown."""

    before: int
    after: int
    method: str
    error_percent: float | None = None


def calibrate_anew(session: SessionIndex) -> None:
    """Fit the session's weights to the newest part of its file.

    Raise OSError if the file cannot be read. Takes no lock: weights are replaced as a whole.
    """
    through = session.position
    start = max(0, through - CALIBRATED_BYTES_MAX)
    with open_regular(session.path) as file:
        file.seek(start)
        lines = file.read(through - start).split(b"\n")
    newest = lines[1:] if start else lines  # the first one may be half
    session.calibration = calibrate(newest, token_counter("estimate"))


def bill_of(conversation: Transcript, session: SessionIndex) -> Bill | None:
    """Return the bill of a conversation; None if the session's file did not say enough.

    So it is with one that would be larger than any is.
    """
    known = session.calibration
    size = known.size(conversation) if known else 0.0
    return Bill(known, size) if known and size <= BILLED_TOKENS_MAX else None


def counted(before: Transcript, after: Transcript, bill: Bill | None) -> Counted:
    """Return the tokens of a conversation and of what is left of it once results are replaced.

    As the session is billed, if the bill of `before` is known; else the labelled estimate.
    """
    counter = token_counter("estimate")
    if bill is None:
        tokens = counter.count(before.texts()), counter.count(after.texts())
        return Counted(*tokens, counter.method)
    measure = measure_of(counter)
    pairs = zip(before.results(), after.results(), strict=True)
    changed = [(old.text, new.text) for (_, old), (_, new) in pairs if old.text is not new.text]
    went, came = (measure(texts) for texts in zip(*changed, strict=True)) if changed else (0, 0)
    calibration, size = bill
    freed = calibration.freed(went - came, 0)
    error = None if calibration.error is None else round(100 * calibration.error, 1)
    return Counted(round(size), max(0, round(size - freed)), FITTED, error)
