"""``greville paper``: the paper's experiments, and a report."""

from __future__ import annotations

import shlex
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from ..progress import Progress
from . import EXIT_INTERRUPTED
from ._errors import fail
from ._progress import progress_bars

EXIT_FAILED, EXIT_NO_DATA = 1, 2


class Experiment(StrEnum):
    """The experiments; without a choice, all of them in this order."""

    sine = "sine"
    ecg = "ecg"
    exactness = "exactness"
    mnist = "mnist"


def paper(
    experiments: Annotated[
        list[Experiment] | None,
        typer.Argument(
            help="sine, ecg, exactness, mnist. All by default.",
            metavar="EXPERIMENTS",
            show_default=False,
        ),
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(
            min=1, max=10**6, help="Random hidden layers to average over (sine: 100, ecg: 10)."
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, max=2**31, help="The same seed gives the same numbers.")
    ] = 22,
    out: Annotated[Path, typer.Option(file_okay=False, help="The folder for the report.")] = Path(
        "greville-paper"
    ),
    data: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            file_okay=False,
            help="A folder that contains the four MNIST files, or a folder mnist with them. "
            "Default: GREVILLE_DATA, then the cache, then a download.",
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer runs, shorter signals, a smaller network.")
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print no progress and no tables.")
    ] = False,
) -> None:
    """Repeat the experiments of the paper, and compare the numbers.

    Writes report.html, results.json and the figures. Exit codes: 0 success, 1 failure, 2 wrong
    usage or no data for one of the experiments (the others are run), 130 interrupted.

    Examples:

        greville paper

        greville paper sine ecg --quick

        greville paper mnist --data ~/data --out report
    """
    if find_spec("matplotlib") is None:
        fail(
            "The report needs matplotlib; install it with: pip install 'greville[cli]'", EXIT_FAILED
        )
    chosen = list(dict.fromkeys(experiments or Experiment))
    try:
        with _folder(out):
            results, code = _run(chosen, runs, seed, out, data, quick, quiet)
    except KeyboardInterrupt:
        fail("Interrupted; no report was written.", EXIT_INTERRUPTED)
    except OSError as error:
        fail(f"The report could not be written: {error}", EXIT_FAILED)
    if results and not quiet:
        try:
            _show(results)
            typer.echo(f"The report is in {out / 'report.html'}")
        except OSError:  # a closed pipe, or a full disk; the report is there
            code = code or EXIT_FAILED
    raise typer.Exit(code)


def _run(
    chosen: list[Experiment],
    runs: int | None,
    seed: int,
    out: Path,
    data: Path | None,
    quick: bool,
    quiet: bool,
) -> tuple[list[Any], int]:
    """The results, of which the report is written, and the exit code."""
    from .. import paper as experiments
    from ..datasets import DataError, find_mnist

    left_out: dict[str, str] = {}
    results: list[Any] = []
    code = 0
    with progress_bars(quiet) as (progress, say):
        todo = _settings(experiments, runs, seed, data, quick, progress)
        work: list[tuple[Experiment, Callable[[], Any]]] = [(name, todo[name]) for name in chosen]
        if Experiment.mnist in chosen:  # say at once if it cannot be done

            def find() -> None:
                find_mnist(data, progress=progress)

            work.insert(0, (Experiment.mnist, find))
        for name, action in work:
            if name in left_out:
                continue
            try:
                result = action()
            except (DataError, experiments.WorkerError) as error:
                left_out[name] = str(error)
                say(f"{name} is left out: {error}")
                code = code or (EXIT_NO_DATA if isinstance(error, DataError) else EXIT_FAILED)
            else:
                results += [] if result is None else [result]
        if results:
            experiments.write_report(
                results, out, command=_command(), skipped=left_out, progress=progress
            )
    return results, code


@contextmanager
def _folder(out: Path) -> Iterator[None]:
    """Make the folder, or find out at once that it cannot be; take it away if it stays empty."""
    made = [path for path in (out, *out.parents) if not path.exists()]
    out.mkdir(parents=True, exist_ok=True)
    tempfile.TemporaryFile(dir=out).close()
    try:
        yield
    finally:
        for path in made:
            with suppress(OSError):  # it is not empty
                path.rmdir()


def _settings(
    experiments: Any,
    runs: int | None,
    seed: int,
    data: Path | None,
    quick: bool,
    progress: Progress,
) -> dict[Experiment, Callable[[], Any]]:
    common = {"seed": seed, "progress": progress}
    long = {"long_samples": 30_000, "long_runs": 2} if quick else {}
    small = {"units": 1000, "spread": 2} if quick else {}
    return {
        Experiment.sine: lambda: experiments.sine(
            runs=runs or (10 if quick else 100), **long, **common
        ),
        Experiment.ecg: lambda: experiments.ecg(runs=runs or (2 if quick else 10), **common),
        Experiment.exactness: lambda: experiments.exactness(**common),
        Experiment.mnist: lambda: experiments.mnist(directory=data, **small, **common),
    }


def _command() -> str:
    return shlex.join(["greville", *sys.argv[1:]])


def _show(results: list[Any]) -> None:
    """The tables, on the terminal or as plain text."""
    from rich.console import Console
    from rich.table import Table as RichTable

    from ..paper import Table

    console = Console(markup=False, highlight=False)
    if not console.is_terminal:
        console.width = 120
    for result in results:
        for block in result.blocks():
            if isinstance(block, Table):
                table = RichTable(title=block.title, title_justify="left", title_style="bold")
                for column in block.columns:
                    table.add_column(column)
                for row in block.rows:
                    table.add_row(*(cell.replace("`", "") for cell in row))
                console.print(table)
                if block.note:
                    console.print(block.note)
                console.print()
