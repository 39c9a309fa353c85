"""Every number that bounds something: the unit in the name, the reason beside it.

Imports nothing: the near side reads it in every hook.
"""

from typing import Final

# --- disk proofs (first specification, "disk") ---
DISK_MAX_BYTES: Final = 4 * 1024 * 1024  # a larger file is kept: keep_disk_too_large

# --- compaction defaults (first specification, sections 2, 3 and 6) ---
PRESERVE_RECENT_MESSAGES: Final = 6
MIN_REDUCTION: Final = 0.25  # share of characters from which a pass is called worth it

# --- duplicate search ---
ANCHOR_HITS_MAX: Final = 64  # places of one anchor line that are compared; bounds repeated text

# --- reading session files ---
STUB_TRIES_MAX: Final = 4  # row starts tried on a damaged line; bounds work on hostile text
