"""Run `lcc` with the arguments given, as the mod's slash command does; the output is its own."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(__file__)))
from lcc_sidecar.near.start import command

line, environment = command(*sys.argv[1:])
os.execve(line[0], line, os.environ | environment)  # noqa: S606 - no shell, fixed words
