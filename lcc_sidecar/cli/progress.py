"""A progress bar for work that takes long enough to be wondered about."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn


@contextmanager
def progress_bar() -> Iterator[Callable[[str, int, int], None]]:
    """Yield a function (stage, done, total) that shows one bar on standard error until the end.

    Where standard error is no terminal, it shows nothing.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _stage, _done, _total: None
        return
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("reading", total=None)
        yield lambda stage, done, total: bar.update(
            task, description=stage, completed=done, total=total
        )
