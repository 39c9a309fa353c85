"""`/compact` for Claude Code that forgets nothing: old tool results become proven pointers."""

__version__ = "0.1.0"
