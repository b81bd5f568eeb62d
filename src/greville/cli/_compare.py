"""``greville compare``."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import typer

from ._errors import UserError, reported
from ._files import check_picture, save_picture
from ._options import (
    Data,
    JsonOption,
    ModelOptions,
    QuietOption,
    ReadingOptions,
    TargetOption,
    Task,
    TaskOption,
    expand_options,
)
from ._terminal import add_row, console, counted, say, show_json, table

# What the comparison decides itself.
_OWN = ("hidden", "device")


@reported
@expand_options
def compare(
    data: Data,
    *,
    target: TargetOption = None,
    task: TaskOption = Task.auto,
    options: ModelOptions,
    folds: Annotated[
        int, typer.Option(min=2, max=20, help="How many parts rows are cut into.")
    ] = 5,
    rows: Annotated[
        int, typer.Option(min=20, help="A sample of so many rows is used, if there are more.")
    ] = 10_000,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="Draw score against time (.png, .svg or .pdf).")
    ] = None,
    reading: ReadingOptions,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Compare greville with scikit-learn's usual models on a table.

    All learn the same folds: greville's default and other sizes, ridge or logistic regression, a
    random forest and boosting, with their defaults.

    Examples:

        greville compare houses.csv --target price

        greville compare houses.csv --target price --plot compare.png
    """
    from ..explain import compare_models, draw_comparison
    from ..tables import find_sources, read

    if target is None:
        raise UserError("--target is missing: name the column to predict.")
    check_picture(plot)
    settings = {k: v for k, v in options.settings(task).items() if k not in _OWN}
    sources = find_sources(data)
    with closing(read(sources, reading.reading(), reading.troubles(), None)) as batches:
        found = compare_models(batches, target, folds=folds, most_rows=rows, **settings)
    if plot is not None:
        save_picture(draw_comparison(found), plot)
    if as_json:
        show_json(found.as_dict())
    elif not quiet:
        _show(found, target)
        if plot is not None:
            say(f"The picture is in {plot}.")


def _show(found: Any, target: str) -> None:
    some = "" if found.n_rows == found.n_total else f" of {found.n_total:,}"
    title = f"{target}: {counted(found.n_rows, 'row')}{some}, {found.folds} folds"
    shown = table("model", found.score, found.loss, "seconds of learning", title=title)
    for name, each in found.models.items():
        numbers = (
            f"{each.score:.4f}",
            f"{each.loss:,.0f}" if each.loss >= 10_000 else f"{each.loss:.4g}",
            f"{each.time:.2f}",
        )
        add_row(shown, name, *numbers)
    console().print(shown)
