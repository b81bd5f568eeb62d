"""Progress bars on a terminal, and nothing anywhere else."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ..progress import Advance, Progress, silent

Say = Callable[[str], None]


@contextmanager
def progress_bars(quiet: bool) -> Iterator[tuple[Progress, Say]]:
    """Bars on stderr, one below the other; they go when the work has ended.

    A total of 0 is one that is not known. The second function prints a line on stderr without
    getting into their way.
    """
    if quiet or not sys.stderr.isatty():
        yield silent, lambda line: print(line, file=sys.stderr, flush=True)
        return
    from rich.console import Console
    from rich.progress import Progress as Bars
    from rich.progress import TimeElapsedColumn

    columns = *Bars.get_default_columns(), TimeElapsedColumn()
    bars = Bars(*columns, console=Console(stderr=True), transient=True)

    @contextmanager
    def bar(what: str, total: float) -> Iterator[Advance]:
        task = bars.add_task(what, total=total or None)
        try:
            yield lambda done: bars.advance(task, done)
        except BaseException:
            bars.remove_task(task)
            raise
        bars.update(task, completed=total)

    with bars:
        yield bar, lambda line: bars.console.print(line, markup=False, highlight=False)
