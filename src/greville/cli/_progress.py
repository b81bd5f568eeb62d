"""Progress bars on a terminal, and nothing anywhere else."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
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

Say = Callable[[str], None]


@contextmanager
def progress_bars(quiet: bool) -> Iterator[tuple[Progress, Say]]:
    """Bars on stderr, one below the other, with an estimate of the time that is left.

    The second function prints a line on stderr without getting into their way.
    """
    if quiet or not sys.stderr.isatty():
        yield silent, lambda line: print(line, file=sys.stderr)
        return
    console = Console(stderr=True)
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
        try:
            yield lambda done: bars.advance(task, done)
        except BaseException:
            bars.remove_task(task)
            raise
        bars.update(task, completed=total)

    with bars:
        yield bar, lambda line: console.print(line, markup=False, highlight=False)
