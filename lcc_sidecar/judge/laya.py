"""The judge Laya on this machine: an optional package, weights that are there already, no network.

Its checkpoints see some hundred tokens. So it is shown one call at a time, and of the conversation
only the goal and the words nearest to the call.
"""

import os
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from lcc_sidecar.errors import JudgeError
from lcc_sidecar.extras import how_to_get
from lcc_sidecar.judge.fitting import Count, ShownCall, ShownMessage, State, cut, encoded
from lcc_sidecar.judge.redaction import redact
from lcc_sidecar.limits import LAYA_INPUT_CHARS, LAYA_MARGIN_TOKENS

MODEL = "convaiinnovations/laya"
_OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
}


class LayaMissingError(Exception):
    """No local judge; `str()` says why and what to do."""


class Laya:
    """A loaded agent, asked by one thread at a time."""

    def __init__(self, agent: Any) -> None:
        self._agent = agent
        self._lock = threading.Lock()
        config = getattr(agent, "cfg", None)
        known = config if isinstance(config, Mapping) else {}
        room = int(known.get("max_len", 512)) - int(known.get("head_max_len", 192))
        self.state_tokens = max(1, room - LAYA_MARGIN_TOKENS)

    def count(self, text: str) -> int:
        """Return the tokens of a text in the model's own vocabulary, which it brings along."""
        return len(self._agent.tok.encode(text))

    def evaluate(self, state: Mapping[str, Any], questions: Mapping[str, Mapping[str, Any]]) -> Any:
        """Return what the agent says; what it says is checked where it is read."""
        with self._lock:
            answer = self._agent.predict(state, questions)
        usage = answer.get("usage") if isinstance(answer, Mapping) else None
        if isinstance(usage, Mapping) and usage.get("truncated"):
            raise JudgeError("the model's context cut off what it was shown")
        return answer


def load_laya(model: str) -> Laya:
    """Return the local judge, from files that are on this machine.

    Raise LayaMissingError without the package or without its weights. The offline flags stay set
    for this process: the package could otherwise fetch weights at any later time.
    """
    os.environ.update(_OFFLINE)
    constants = sys.modules.get("huggingface_hub.constants")
    if constants is not None:  # it read the flags when it was imported
        constants.HF_HUB_OFFLINE = True  # type: ignore[attr-defined]
    try:
        import laya  # noqa: PLC0415 - optional, and brings PyTorch
    except ImportError:
        raise LayaMissingError(f"the package is not installed: {how_to_get('laya')}") from None
    except Exception as error:  # noqa: BLE001 - a broken PyTorch fails in many ways
        raise LayaMissingError(f"the package does not start ({type(error).__name__})") from None
    try:
        return Laya(laya.load(model))
    except Exception as error:  # noqa: BLE001 - so does a folder that holds no weights
        raise LayaMissingError(
            f"no weights could be loaded for {model} ({type(error).__name__}): name a folder that "
            "holds them, or fetch them once with the package's own command"
        ) from None


def item_state(
    messages: Sequence[ShownMessage], call: ShownCall, goal: str, limit_tokens: int, count: Count
) -> State | None:
    """Return what Laya is shown about one call, as much as fits; None if nothing does."""
    at = next(n for n, message in enumerate(messages) if call in message.calls)
    note = next((n for m in messages for i, n in m.results if i == call.id), "no result yet")
    spoken = [message.text for message in messages if message.role == "user" and message.text]
    near = next((m.text for m in reversed(messages[: at + 1]) if m.text), "")
    goal = redact(goal)
    for chars in LAYA_INPUT_CHARS:
        value = {
            "goal": cut(goal, chars),
            "newest_request": cut(spoken[-1], chars) if spoken else "",
            "said_before": cut(near, chars),
            "call": {"id": call.id, "tool": call.tool, "input": cut(encoded(call.input), chars)},
            "result": note,
            "messages_since": len(messages) - at - 1,
        }
        tokens = count(encoded(value))
        if tokens <= limit_tokens:
            return State(value, "one-call", tokens)
    return None
