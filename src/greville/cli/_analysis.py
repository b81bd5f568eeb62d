"""``greville check``, ``compare`` and ``explain``: what columns are, and what they are good for."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from ._command import command
from ._files import InputTable, check_picture, check_writable, load_table_model, save_picture
from ._options import ColumnOptions, ReadingOptions, Task
from ._terminal import (
    UserError,
    as_option,
    counted,
    digits,
    say,
    say_findings,
    show_json,
    show_table,
)


@command
def check(
    data: list[str],
    *,
    target: str | None = None,
    task: Task = Task.auto,
    columns: ColumnOptions,
    reading: ReadingOptions,
    as_json: bool = False,
) -> None:
    """Show how each column of a table is read; learn nothing.

    Prints types, examples, missing values and warnings. The types come from 4096 rows, chosen at
    random; then all rows are read, and what cannot be is said.

    Examples:

        greville check houses.csv --target price

        greville check 'logs/*.parquet' --json
    """
    from ..tables import look_at

    table = InputTable.find(data, reading, target, hints=columns.hints())
    rows = table if table.can_be_read_again else iter(table)
    overview = look_at(rows, target, **columns.settings(task))
    if as_json:
        show_json(overview.as_dict(as_option))
        return
    title = f"{', '.join(data)}: {counted(overview.rows, 'row')}"
    if overview.looked_at != overview.rows:
        title += f", {overview.looked_at:,} of them looked at"
    shown = [
        (column.name, _describe(column, overview.looked_at), "  ".join(column.examples))
        for column in overview.columns
    ]
    show_table(("column", "what it is", "examples"), shown, title)
    say_findings(table.row_errors, overview.findings)


def _describe(column: Any, n_rows: int) -> str:
    """Describe a column: its kind, its ends, and how much of it is missing."""
    parts = [("target: " if column.use == "target" else "") + column.what]
    if column.least is not None:
        parts.append(f"from {column.least} to {column.most}")
    if column.missing and column.use != "not used":
        parts.append(f"{column.missing / n_rows:.1%} missing")
    return "; ".join(parts)


@command
def compare(
    data: list[str],
    *,
    target: str | None = None,
    task: Task = Task.auto,
    columns: ColumnOptions,
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
    settings: dict[str, Any] = {"folds": folds, "most_rows": rows, **columns.settings(task)}
    table = InputTable.find(data, reading, hints=columns.hints())
    with table.batches("reading", quiet) as batches:
        comparison = compare_models(batches, target, **settings)
    if plot is not None:
        save_picture(draw_comparison(comparison), plot)
    if as_json:
        show_json(comparison.as_dict())
    elif not quiet:
        _show_comparison(comparison, target)
        if plot is not None:
            say(f"The picture is in {plot}.")


def _show_comparison(comparison: Any, target: str) -> None:
    some = "" if comparison.n_rows == comparison.n_total else f" of {comparison.n_total:,}"
    rows = [
        (name, f"{each.score:.4f}", digits(each.loss), f"{each.time:.2f}")
        for name, each in comparison.models.items()
    ]
    title = f"{target}: {counted(comparison.n_rows, 'row')}{some}, {comparison.folds} folds"
    show_table(("model", comparison.score, comparison.loss, "seconds of learning"), rows, title)


# Rows of the data that are looked at: a sample, if there are more.
PAGE_ROWS = 2000

_KINDS = {
    "change": "change of the prediction",
    "error": "growth of the error without it",
    "evidence": "loss of evidence without it",
}


@command
def explain(
    model: Path,
    data: list[str] | None = None,
    *,
    output: Path | None = None,
    learned: bool = False,
    reading: ReadingOptions,
    as_json: bool = False,
    quiet: bool = False,
) -> None:
    """Show which columns matter to a model, and how.

    Without DATA, only what the sums over all learned rows say. With it, -o writes a page: how good
    the model is, which columns matter, how predictions depend on them, the largest errors.

    Examples:

        greville explain model.greville

        greville explain model.greville data.csv -o page.html

    Parameters
    ----------
    data
        Rows with targets.
    output : PATH
        Write a page of HTML here; it needs DATA.
    learned
        The model has learned these rows: leave each out to predict it.
    """
    from ..tables import sampled

    check_writable(output)
    if output is not None and not data:
        raise UserError("--output: a page needs rows; name the files with DATA.")
    table_model = load_table_model(model, learned=True)
    rows: Any = None
    if data:
        table = InputTable.find(data, reading, hints=table_model.settings, output=output)
        with table.batches("reading", quiet) as batches:
            rows = sampled(batches, PAGE_ROWS)[0]
    try:
        importance = table_model.importance(rows).as_dict()
    except ValueError as error:
        if data:
            raise
        what = "what it keeps does not say which columns matter; name files of rows with DATA"
        raise UserError(f"{model}: {what}.") from error
    if output is not None:
        write_page(table_model, rows, output, learned=learned, source=model.name)
    if as_json:
        show_json({"model": str(model), "importance": importance})
    elif not quiet:
        kinds = [kind for kind in _KINDS if kind in next(iter(importance.values()))]
        shown = [(name, *(f"{of[k]:.4g}" for k in kinds)) for name, of in importance.items()]
        headers = ("column", *(_KINDS[kind] for kind in kinds))
        show_table(headers, shown, f"what predicts {table_model.target}")
        if output is not None:
            say(f"The page is in {output}.")


def write_page(model: Any, rows: Any, path: Path, *, learned: bool, source: str) -> None:
    """Write a page about a model from a sample of rows."""
    from ..explain import explain_page
    from ..persistence import whole_file

    page = explain_page(model, rows, learned=learned, source=source)
    with whole_file(path) as new:
        Path(new).write_text(page, encoding="utf-8")
