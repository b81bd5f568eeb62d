"""Writing report.html, results.json and the figures: all of them or none."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..progress import Progress, silent
from ._html import page
from .measure import environment
from .result import Result

REPORT_FORMAT = 1  # of results.json; increased when a key changes its meaning


def write_report(
    results: Sequence[Result],
    directory: str | os.PathLike[str],
    *,
    command: str = "",
    skipped: dict[str, str] | None = None,
    progress: Progress = silent,
) -> Path:
    """Write report.html, results.json and the figures, as PNG and SVG, into a directory.

    The files are written to a temporary folder inside it and moved when all of them are ready.

    Parameters
    ----------
    results : sequence of Result
    directory : path
        Made if it does not exist; files of an earlier report in it are replaced.
    command : str, optional
        The command line that gave these results.
    skipped : dict of str to str, optional
        Experiments that could not be run, and why.
    progress : callable, optional
        Called as the work goes on; see `greville.progress`.

    Returns
    -------
    path : Path
        The path of report.html.

    Examples
    --------
    >>> import tempfile
    >>> from greville import paper
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = paper.write_report([paper.exactness()], directory)
    ...     print(path.name)
    report.html
    """
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    before = _files_of_an_earlier_report(directory)
    facts = {
        "format": REPORT_FORMAT,
        "command": command,
        "skipped": skipped or {},
        "environment": environment(),
        "experiments": {result.name: result.numbers for result in results},
    }
    staging = Path(tempfile.mkdtemp(prefix=".report-", dir=directory))
    try:
        images: dict[str, bytes] = {}
        with progress("report", len(results)) as advance:
            for result in results:
                images |= _draw_figures(result, staging)
                advance(1)
        (staging / "report.html").write_text(page(results, facts, images), encoding="utf-8")
        facts["files"] = sorted([*(path.name for path in staging.iterdir()), "results.json"])
        text = json.dumps(facts, indent=1, allow_nan=False) + "\n"
        (staging / "results.json").write_text(text, encoding="utf-8", newline="\n")
        made = sorted(staging.iterdir(), key=lambda path: path.name == "report.html")  # last
        for path in made:
            if (directory / path.name).is_dir():
                raise IsADirectoryError(f"{directory / path.name} is a folder")
        for path in made:
            os.replace(path, directory / path.name)
        for name in before - {path.name for path in made}:
            (directory / name).unlink(missing_ok=True)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return directory / "report.html"


def _files_of_an_earlier_report(directory: Path) -> set[str]:
    """Return the file names of an earlier report; an error for another kind of results.json."""
    path = directory / "results.json"
    if not path.exists():
        return set()
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
        names = set(facts["files"])
    except (ValueError, TypeError, KeyError):
        raise FileExistsError(f"{path} is not from a report; choose another folder") from None
    return {name for name in names if Path(name).name == name}


def _draw_figures(result: Result, folder: Path) -> dict[str, bytes]:
    """The figures of a result as PNG; they are written into a folder too, and as SVG."""
    import matplotlib as mpl

    from .figures import SETTINGS

    images = {}
    with mpl.rc_context(SETTINGS):
        for name, figure in result.figures().items():
            path = folder / f"{name}.png"
            figure.savefig(path, dpi=150, metadata={"Software": None})
            images[name] = path.read_bytes()
            figure.set_layout_engine("none")  # the layout is done
            figure.savefig(folder / f"{name}.svg", metadata={"Date": None, "Creator": None})
    return images


def read_results(path: str | os.PathLike[str]) -> tuple[list[Result], dict[str, Any]]:
    """The results in a results.json, which cannot be drawn again, and all that it contains."""
    from ._ecg import ECGResult
    from ._exactness import ExactnessResult
    from ._mnist_result import MNISTResult
    from ._sine import SineResult

    facts = json.loads(Path(path).read_text(encoding="utf-8"))
    results: list[Result] = []
    for kind in (SineResult, ECGResult, MNISTResult, ExactnessResult):
        with suppress(KeyError):
            results.append(kind(facts["experiments"][kind.name]))
    return results, facts
