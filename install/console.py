"""What a person sees: one line for each step, with what and where."""

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator

_WIDTH = 14


@contextlib.contextmanager
def step(what: str) -> Iterator[Callable[[str], None]]:
    """Show `what` while it runs, then one line with what the body says of it and its time."""
    said: list[str] = []
    started = time.monotonic()
    on_terminal = sys.stdout.isatty()
    if on_terminal:
        print(f"  … {what}", end="\r", flush=True)
    mark = "✗"
    try:
        yield said.append
        mark = "✓"
    finally:
        took = time.monotonic() - started
        text = f"  {mark} {what:{_WIDTH}} {' '.join(said)}".rstrip()
        print(text + (f"  ({took:.1f} s)" if took >= 1 else ""), flush=True)


def short(path: object) -> str:
    """Return a path as a person reads it: `~` for their home."""
    home = os.path.expanduser("~")
    text = str(path)
    return "~" + text[len(home) :] if text.startswith(home + os.sep) else text


def use_utf8() -> None:
    """Print the marks above whatever the locale says, or a `?` where nothing else can be."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError):
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]
