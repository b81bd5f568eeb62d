"""Progress bars on a terminal, and nothing anywhere else."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..progress import Advance, Progress, silent

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress

Say = Callable[[str], None]


def _bars(what: str, *texts: str, transient: bool = False) -> RichProgress:
    """Make progress bars on stderr, with texts, the elapsed time and the remaining time."""
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as RichProgress

    columns = [*map(TextColumn, texts), TimeElapsedColumn(), TextColumn("left")]
    columns = [TextColumn(what), BarColumn(), *columns, TimeRemainingColumn()]
    return RichProgress(*columns, console=Console(stderr=True), transient=transient)


@contextmanager
def progress_bars(quiet: bool) -> Iterator[tuple[Progress, Say]]:
    """Bars on stderr, one below the other.

    The second function prints a line on stderr without getting into their way.
    """
    if quiet or not sys.stderr.isatty():
        yield silent, lambda line: print(line, file=sys.stderr, flush=True)
        return
    bars = _bars("{task.description}", "{task.percentage:>3.0f} %")

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
        yield bar, lambda line: bars.console.print(line, markup=False, highlight=False)


@contextmanager
def rows_bar(quiet: bool, what: str, sources: Any) -> Iterator[Callable[[Any, int], None]]:
    """A bar for reading files: rows, rows a second, time left.

    The function it gives takes the last batch that was done and the number of rows so far.
    """
    if quiet or not sys.stderr.isatty():
        yield lambda batch, rows: None
        return
    sizes = {source.name: source.size for source in sources}
    order = list(sizes)
    texts = ("{task.fields[rows]:,} rows", "{task.fields[rate]:,.0f} rows/s")
    with _bars(what, *texts, transient=True) as bars:
        task = bars.add_task(what, total=sum(sizes.values()) or None, rows=0, rate=0.0)
        start = time.monotonic()

        def advance(batch: Any, rows: int) -> None:
            earlier = sum(sizes[name] for name in order[: order.index(batch.source)])
            rate = rows / max(time.monotonic() - start, 1e-9)
            done = earlier + batch.done * sizes[batch.source]
            bars.update(task, completed=done, rows=rows, rate=rate)

        yield advance
