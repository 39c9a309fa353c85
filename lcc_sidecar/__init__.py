"""`/compact` for Claude Code that forgets nothing: old tool results become proven pointers.

The names of the Python API below are loaded when they are asked for, and not before: every hook
imports this package. Their types stand in `__init__.pyi`.
"""

__version__ = "0.1.0"

__all__ = [
    "Elision",
    "StashError",
    "TranscriptCompactionRequest",
    "TranscriptCompactionResult",
    "TranscriptError",
    "TranscriptFitError",
    "UsageError",
    "__version__",
    "compact_transcript",
    "is_read_only_command",
    "messages_to_payload",
    "parse_transcript",
    "verify_elided",
    "verify_lossless",
    "verify_recoverable",
    "verify_stashed",
]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415

    return getattr(import_module("lcc_sidecar.api"), name)
