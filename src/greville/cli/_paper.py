"""``greville paper``: the paper's experiments, and a report."""

from __future__ import annotations

import shlex
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from ._command import command
from ._options import Seed
from ._terminal import console, progress_bars, show_table

EXIT_FAILED, EXIT_NO_DATA = 1, 2


class Experiment(StrEnum):
    """The experiments; without a choice, all of them in this order."""

    sine = "sine"
    ecg = "ecg"
    exactness = "exactness"
    mnist = "mnist"


@command
def paper(
    experiments: list[Experiment] | None = None,
    *,
    runs: Annotated[int | None, {"min": 1, "max": 10**6}] = None,
    seed: Seed = 22,
    out: Annotated[Path, {"file_okay": False}] = Path("greville-paper"),
    data: Annotated[Path | None, {"exists": True, "file_okay": False}] = None,
    quick: bool = False,
    quiet: bool = False,
) -> None:
    """Repeat the experiments of the paper, and compare the numbers.

    Writes report.html, results.json and the figures. Exit codes: 0 success, 1 a worker process
    failed, 2 wrong usage or no data for one of the experiments (the others are run).

    Examples:

        greville paper

        greville paper sine ecg --quick

        greville paper mnist --data ~/data --out report

    Parameters
    ----------
    experiments
        sine, ecg, exactness, mnist. All by default.
    runs : N
        Random hidden layers to average over (sine: 100, ecg: 10).
    seed : N
        The same seed gives the same numbers.
    out : FOLDER
        The folder for the report.
    data : FOLDER
        A folder that contains the four MNIST files, or a folder mnist with them. Default:
        GREVILLE_DATA, then the cache, then a download.
    quick
        Fewer runs, shorter signals, a smaller network.
    quiet
        Print no progress and no tables.
    """
    import matplotlib as mpl  # noqa: F401 - said at once if it is not there

    from .. import paper as library
    from ..datasets import DataError, find_mnist

    left_out: dict[str, str] = {}
    results: list[Any] = []
    code = 0
    with _folder(out), progress_bars(quiet) as (progress, say):
        common: Any = {"seed": seed, "progress": progress}
        long: Any = {"long_samples": 30_000, "long_runs": 2} if quick else {}
        small: Any = {"units": 1000, "spread": 2} if quick else {}
        work: dict[str, Callable[[], Any]] = {
            "sine": lambda: library.sine(runs=runs or (10 if quick else 100), **long, **common),
            "ecg": lambda: library.ecg(runs=runs or (2 if quick else 10), **common),
            "exactness": lambda: library.exactness(**common),
            "mnist": lambda: library.mnist(directory=data, **small, **common),
        }
        todo = [(name, work[name]) for name in dict.fromkeys(experiments or Experiment)]
        if Experiment.mnist in dict(todo):  # say at once if it cannot be done
            todo.insert(0, (Experiment.mnist, lambda: find_mnist(data, progress=progress) and None))
        for name, action in todo:
            if name in left_out:
                continue
            try:
                results.append(action())
            except (DataError, library.WorkerError) as error:
                left_out[name] = str(error)
                say(f"{name} is left out: {error}")
                code = code or (EXIT_NO_DATA if isinstance(error, DataError) else EXIT_FAILED)
        if results := list(filter(None, results)):
            line = shlex.join(["greville", *sys.argv[1:]])
            library.write_report(results, out, command=line, skipped=left_out, progress=progress)
    if results and not quiet:
        _show(results)
        typer.echo(f"The report is in {out / 'report.html'}")
    raise typer.Exit(code)


@contextmanager
def _folder(out: Path) -> Iterator[None]:
    """Make the folder, or raise an error at once; remove the folder if it stays empty."""
    made = [path for path in (out, *out.parents) if not path.exists()]
    out.mkdir(parents=True, exist_ok=True)
    tempfile.TemporaryFile(dir=out).close()
    try:
        yield
    finally:
        for path in made:
            with suppress(OSError):  # it is not empty
                path.rmdir()


def _show(results: list[Any]) -> None:
    """The tables, on the terminal or as plain text."""
    from ..paper import Table

    for block in (block for result in results for block in result.blocks()):
        if isinstance(block, Table):
            rows = ([cell.replace("`", "") for cell in row] for row in block.rows)
            show_table(block.columns, rows, block.title)
            console().print(*([block.note] if block.note else []), "", sep="\n")
