"""`python3 install`: install, uninstall or test lcc-sidecar. Needs Python >= 3.11, nothing else."""

import os
import sys

# Before any other import: a folder named in PYTHONPATH must not decide what `import json` is
# (FR-028), neither here nor in a child. And a dry run leaves no bytecode behind.
for folder in os.environ.pop("PYTHONPATH", "").split(os.pathsep):
    if folder in sys.path:
        sys.path.remove(folder)
os.environ.pop("PYTHONHOME", None)
sys.dont_write_bytecode = True
sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

if sys.version_info < (3, 11):  # noqa: UP036 - whoever runs us may well be older
    found = ".".join(map(str, sys.version_info[:3]))
    sys.exit(
        "lcc-sidecar needs Python 3.11 or newer, and this is " + found + ".\n"
        "Run it with a newer one, for example: python3.11 install"
    )

from install.commands import main  # noqa: E402 - only now is it safe

sys.exit(main(sys.argv[1:]))
