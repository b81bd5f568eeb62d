"""``greville info``, ``greville merge`` and ``greville unlearn``."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import typer

from ._errors import UserError, reported, with_options
from ._files import check_writable, load_table_model
from ._options import Data, JsonOption, Model, QuietOption, ReadingOptions, expand_options
from ._progress import rows_bar
from ._terminal import add_row, console, counted, say, say_findings, say_skipped, show_json, table


@reported
def info(model: Model, as_json: JsonOption = False) -> None:
    """Show what a model predicts, from which columns and rows.

    Examples:

        greville info model.greville

        greville info model.greville --json
    """
    from ..persistence import read
    from ..tables import Stream, TableModel, model_summary

    found, extra, header = read(model)
    summary: dict[str, Any] = {"file": str(model), **header}
    columns: list[Any] = []
    if isinstance(found, Stream):
        summary |= {"lines": found.lines, "rows_waiting_for_targets": len(found.waiting)}
        found = found.settled()
    if isinstance(found, TableModel):
        columns = found.schema.columns if found.has_schema else []
        summary |= model_summary(found)
        summary["classes"] = ", ".join(map(str, found.classes[:20])) or None
        summary["columns"] = [column.as_dict() for column in columns]
    elif hasattr(found, "get_params"):
        summary["parameters"] = {k: repr(v) for k, v in found.get_params(deep=False).items()}
        summary["rows"] = getattr(found, "n_samples_seen_", 0)
    if extra and "rows" in extra:
        summary["rows_of_an_unfinished_run"] = extra["rows"]
    if as_json:
        show_json(summary)
        return
    out = console()
    about = table(title=str(model), show_header=False)
    for key, value in summary.items():
        if key not in ("file", "columns", "parameters") and value is not None:
            add_row(about, key.replace("_", " "), _shown(value))
    for key, value in summary.get("parameters", {}).items():
        add_row(about, key, value)
    out.print(about)
    if columns:
        each = table("column", "what it is")
        for column in columns:
            add_row(each, column.name, column.description())
        out.print(each)


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)


@reported
def merge(
    models: Annotated[
        list[Path],
        typer.Argument(help="Two or more model files.", metavar="MODELS", show_default=False),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file of the merged model.")],
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Merge models into one that has learned all of their rows.

    The models must have the same columns and hidden layer: train the others with --like the first.

    Examples:

        greville train part1.csv --target y -o one.greville

        greville train part2.csv --like one.greville -o two.greville

        greville merge one.greville two.greville -o both.greville
    """
    from ..persistence import save

    if len(models) < 2:
        raise UserError("merge: name at least two models.")
    check_writable(output)
    first, *others = (load_table_model(path) for path in models)
    for path, other in zip(models[1:], others, strict=True):
        try:
            first.merge(other)
        except ValueError as error:
            raise _not_mergeable(path, models[0], error) from error
    save(first, output)
    if as_json:
        show_json({"model": str(output), "rows": first.n_rows})
    if not quiet:
        say(f"{output} has learned {counted(first.n_rows, 'row')}.")


def _not_mergeable(path: Path, first: Path, error: ValueError) -> UserError:
    from ..tables import TableError

    why = with_options(error)
    if isinstance(error, TableError):
        why = f"{error.message}; train it with --like {first}, then they go together."
    return UserError(f"{path}: it cannot be merged with {first}: {why}")


@reported
@expand_options
def unlearn(
    model: Model,
    data: Data,
    *,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Write the model here. Default: the model file itself."
        ),
    ] = None,
    reading: ReadingOptions,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Remove rows from a model, as if they had never been learned.

    It cannot check whether they were learned: pass exactly the rows that were.

    Examples:

        greville unlearn model.greville withdrawn.csv
    """
    from ..persistence import locked

    output = output or model
    check_writable(output)
    with locked(model if output == model else None):
        _unlearn(model, data, output, reading, as_json, quiet)


def _unlearn(
    model: Path,
    data: list[str],
    output: Path,
    reading: ReadingOptions,
    as_json: bool,
    quiet: bool,
) -> None:
    from ..persistence import save
    from ..tables import find_sources, read

    how, troubles = reading.reading(), reading.troubles()
    known = load_table_model(model, replaced=output == model)
    sources = find_sources(data)
    removed = rows = 0
    batches = read(sources, how, troubles, known.needed)
    with closing(batches), rows_bar(quiet, "unlearning", sources) as advance:
        for batch in batches:
            troubles.count_skipped(batch)
            removed += known.unlearn(batch, troubles)
            rows += len(batch)
            advance(batch, rows)
    save(known, output)
    if as_json:
        show_json({"model": str(output), "removed": removed, "rows": known.n_rows})
    if not quiet:
        say_skipped(troubles)
        say_findings(troubles.findings)
        say(f"Removed {counted(removed, 'row')}; {output} now knows {known.n_rows:,}.")
