"""What one pass is asked to do."""

from dataclasses import dataclass
from typing import Literal

from lcc_sidecar.limits import MIN_REDUCTION, PRESERVE_RECENT_MESSAGES
from lcc_sidecar.transcript.tokens import Method

RulesMode = Literal["lossless", "recoverable"]


@dataclass(frozen=True, slots=True)
class Options:
    """What one pass is asked to do (first specification, sections 3, 6 and "Offline policy").

    `question` is the goal. `workspace_root` switches the disk proofs on; it does not contain them.
    `min_reduction` is the share of characters from which the report calls the pass worth it.
    """

    question: str = ""
    rules_mode: RulesMode = "lossless"
    preserve_recent: int = PRESERVE_RECENT_MESSAGES
    workspace_root: str | None = None
    disk_check: bool = True
    allow_command_pointers: bool = False
    min_reduction: float = MIN_REDUCTION
    tokens: Method = "estimate"

    @property
    def uses_disk(self) -> bool:
        on = self.workspace_root is not None and self.disk_check
        return on and self.rules_mode == "recoverable"
