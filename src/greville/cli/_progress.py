"""Progress bars on a terminal, and nothing anywhere else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import (
    Progress as RichProgress,
)

from ..progress import Advance, Progress, silent


@contextmanager
def progress_bars(quiet: bool) -> Iterator[Progress]:
    """Bars on stderr, one below the other, with an estimate of the time that is left."""
    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield silent
        return
    bars = RichProgress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console,
    )

    @contextmanager
    def bar(what: str, total: float) -> Iterator[Advance]:
        task = bars.add_task(what, total=total)
        yield lambda done: bars.advance(task, done)
        bars.update(task, completed=total)

    with bars:
        yield bar
