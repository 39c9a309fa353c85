"""Transcripts for judges, and judges that answer as a test wants."""

import math
from typing import Any

from lcc_sidecar.transcript.model import Transcript
from tests.build import call, conversation, used

SECRET_OUTPUT = "the payload that no judge may see"


def session(calls: int, *, size: int = 1000, tail: int = 6) -> Transcript:
    """Return a session of `calls` pairs, t0 on, each result `size` characters or more."""
    body = (SECRET_OUTPUT + "\n") * (size // len(SECRET_OUTPUT) + 1)
    return conversation(
        *(
            used(call(f"t{n}", "Bash", command=f"pytest -q {n}"), f"{n}\n{body}")
            for n in range(calls)
        ),
        tail=tail,
    )


class Scripted:
    """A judge with set answers: call id -> (keep_call, keep_result); None leaves an answer out."""

    def __init__(self, **answers: tuple[Any, Any]) -> None:
        self.answers = answers
        self.asked: list[tuple[Any, Any]] = []

    def evaluate(self, state: Any, questions: Any) -> Any:
        self.asked.append((state, questions))
        answers = {}
        for name in questions:
            kind, _, call_id = name.rpartition("_")
            value = self.answers.get(call_id, (1.0, 1.0))[kind == "keep_result"]
            if value is not None:
                answers[name] = (
                    value if isinstance(value, dict) else {"type": "noul", "noul": value}
                )
        return {"answers": answers, "usage": {}}


NOT_A_NUMBER = math.nan
