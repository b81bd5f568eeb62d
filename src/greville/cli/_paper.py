"""``greville paper``: the paper's experiments, and a report."""

from __future__ import annotations

import shlex
import sys
import tempfile
from contextlib import suppress
from enum import StrEnum
from functools import partial
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

    names = dict.fromkeys(experiments or Experiment)
    settings: dict[str, dict[str, Any]] = {
        "sine": {"runs": runs or 100},
        "ecg": {"runs": runs or 10},
        "exactness": {},
        "mnist": {"directory": data},
    }
    if quick:
        settings["sine"] = {"runs": runs or 10, "long_samples": 30_000, "long_runs": 2}
        settings["ecg"] = {"runs": runs or 2}
        settings["mnist"] |= {"units": 1000, "spread": 2}
    left_out: dict[str, str] = {}
    results: list[Any] = []
    code = 0
    out.mkdir(parents=True, exist_ok=True)
    tempfile.TemporaryFile(dir=out).close()  # before the work, if nothing can be written there
    try:
        with progress_bars(quiet) as (progress, say):
            common: Any = {"seed": seed, "progress": progress}
            work: list[Any] = [
                (name, partial(getattr(library, name), **settings[name])) for name in names
            ]
            if Experiment.mnist in names:  # said at once if it cannot be done
                work.insert(0, (Experiment.mnist, lambda **_: find_mnist(data, progress=progress)))
            for name, action in work:
                if name in left_out:
                    continue
                try:
                    results.append(action(**common))
                except (DataError, library.WorkerError) as error:
                    left_out[name] = str(error)
                    say(f"{name} is left out: {error}")
                    code = code or (EXIT_NO_DATA if isinstance(error, DataError) else EXIT_FAILED)
            if results := [each for each in results if hasattr(each, "blocks")]:
                facts: Any = {"command": shlex.join(["greville", *sys.argv[1:]])}
                library.write_report(results, out, skipped=left_out, progress=progress, **facts)
    finally:
        with suppress(OSError):  # there is something in it
            out.rmdir()
    if results and not quiet:
        _show(results)
        typer.echo(f"The report is in {out / 'report.html'}")
    raise typer.Exit(code)


def _show(results: list[Any]) -> None:
    """The tables, on the terminal or as plain text."""
    from ..paper import Table

    for block in (block for result in results for block in result.blocks()):
        if isinstance(block, Table):
            rows = ([cell.replace("`", "") for cell in row] for row in block.rows)
            show_table(block.columns, rows, block.title)
            console().print(*([block.note] if block.note else []), "", sep="\n")
