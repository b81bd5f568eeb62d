"""``greville paper``: the paper's experiments, and a report."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table as RichTable

from ..progress import Progress
from ._progress import progress_bars

INTERRUPTED, NO_DATA = 130, 2


class Experiment(StrEnum):
    """The experiments, in the order they are run."""

    sine = "sine"
    ecg = "ecg"
    exactness = "exactness"
    mnist = "mnist"


def paper(
    experiments: Annotated[
        list[Experiment] | None,
        typer.Argument(help="Which ones; all by default.", show_default=False),
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(min=1, help="Random hidden layers to average over (sine: 100, ecg: 10)."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same numbers.")] = 22,
    out: Annotated[Path, typer.Option(file_okay=False, help="Where the report goes.")] = Path(
        "greville-paper"
    ),
    data: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            file_okay=False,
            help="A folder with MNIST's four files, or with a folder mnist that holds them. "
            "Otherwise GREVILLE_DATA, the cache, and the network are tried.",
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer runs, shorter signals, a smaller network.")
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="No progress and no tables.")
    ] = False,
) -> None:
    """Run the experiments of the paper again and show its numbers and ours side by side.

    Writes report.html, results.json and the figures. Exit codes: 0 all went well, 2 wrong usage or
    no data for one of the experiments (the others are run), 130 interrupted.

    Examples:

        greville paper

        greville paper sine ecg --quick

        greville paper mnist --data ~/data --out report
    """
    if find_spec("matplotlib") is None:
        _fail("The report needs matplotlib; install it with: pip install 'greville[cli]'", 1)
    chosen = list(dict.fromkeys(experiments or Experiment))
    try:
        path, skipped = _run(chosen, runs, seed, out, data, quick, quiet)
    except KeyboardInterrupt:
        _fail("Interrupted; no report was written.", INTERRUPTED)
    except OSError as error:
        _fail(f"The report could not be written: {error}", 1)
    if not quiet and path is not None:
        typer.echo(f"The report is in {path}")
    if skipped:
        raise typer.Exit(NO_DATA)


def _run(
    chosen: list[Experiment],
    runs: int | None,
    seed: int,
    out: Path,
    data: Path | None,
    quick: bool,
    quiet: bool,
) -> tuple[Path | None, dict[str, str]]:
    from .. import paper as experiments
    from ..datasets import DataError
    from ..datasets._mnist import find_mnist

    skipped: dict[str, str] = {}
    results = []
    with progress_bars(quiet) as progress:
        todo = _settings(experiments, runs, seed, data, quick, progress)
        if Experiment.mnist in chosen:  # say at once if it cannot be done
            try:
                find_mnist(data, progress=progress)
            except DataError as error:
                skipped["mnist"] = str(error)
                typer.echo(f"mnist is left out: {error}", err=True)
        for name in chosen:
            if name in skipped:
                continue
            try:
                results.append(todo[name]())
            except DataError as error:
                skipped[name] = str(error)
                typer.echo(f"{name} is left out: {error}", err=True)
        if not results:
            return None, skipped
        path = experiments.write_report(
            results, out, command=_command(), skipped=skipped, progress=progress
        )
    if not quiet:
        _show(results)
    return path, skipped


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
    from ..paper._result import Table

    console = Console()
    if not console.is_terminal:
        console.width = 120
    for result in results:
        for block in result.blocks():
            if isinstance(block, Table):
                table = RichTable(title=block.title, title_justify="left", title_style="bold")
                for column in block.columns:
                    table.add_column(column)
                for row in block.rows:
                    table.add_row(*row)
                console.print(table)


def _fail(message: str, code: int) -> None:
    with suppress(BrokenPipeError):
        typer.echo(message, err=True)
    raise typer.Exit(code)
