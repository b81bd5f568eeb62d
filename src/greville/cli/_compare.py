"""``greville compare``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from ._command import command
from ._files import InputTable, check_picture, save_picture
from ._options import ModelOptions, ReadingOptions, Task
from ._terminal import UserError, counted, say, show_json, show_table

# What the comparison decides itself.
_OWN = ("hidden", "device")


@command
def compare(
    data: list[str],
    *,
    target: str | None = None,
    task: Task = Task.auto,
    options: ModelOptions,
    folds: Annotated[int, {"min": 2, "max": 20}] = 5,
    rows: Annotated[int, {"min": 20}] = 10_000,
    plot: Path | None = None,
    reading: ReadingOptions,
    as_json: bool = False,
    quiet: bool = False,
) -> None:
    """Compare greville with scikit-learn's usual models on a table.

    All learn the same folds: greville's default and other sizes, ridge or logistic regression, a
    random forest and boosting, with their defaults.

    Examples:

        greville compare houses.csv --target price

        greville compare houses.csv --target price --plot compare.png

    Parameters
    ----------
    folds : N
        How many parts rows are cut into.
    rows : N
        A sample of so many rows is used, if there are more.
    plot : PATH
        Draw score against time (.png, .svg or .pdf).
    """
    from ..explain import compare_models, draw_comparison

    if target is None:
        raise UserError("--target is missing: name the column to predict.")
    check_picture(plot)
    settings = {k: v for k, v in options.settings(task).items() if k not in _OWN}
    with InputTable.find(data, reading).batches("reading", quiet) as batches:
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
    rows = [
        (
            name,
            f"{each.score:.4f}",
            f"{each.loss:,.0f}" if each.loss >= 10_000 else f"{each.loss:.4g}",
            f"{each.time:.2f}",
        )
        for name, each in found.models.items()
    ]
    title = f"{target}: {counted(found.n_rows, 'row')}{some}, {found.folds} folds"
    show_table(("model", found.score, found.loss, "seconds of learning"), rows, title)
