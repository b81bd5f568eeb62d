"""``greville explain``."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import typer

from ._errors import UserError, reported
from ._files import check_apart, check_writable, load_learned_model
from ._options import JsonOption, Model, QuietOption, ReadingOptions, expand_options
from ._terminal import add_row, console, say, show_json, table

# Rows of the data that are looked at: a sample, if there are more.
_ROWS = 2000


@reported
@expand_options
def explain(
    model: Model,
    data: Annotated[
        list[str] | None,
        typer.Argument(help="Rows with targets.", metavar="DATA", show_default=False),
    ] = None,
    *,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write a page of HTML here; it needs DATA."),
    ] = None,
    learned: Annotated[
        bool,
        typer.Option(
            "--learned", help="The model has learned these rows: leave each out to predict it."
        ),
    ] = False,
    reading: ReadingOptions,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Show which columns matter to a model, and how.

    Without DATA, only what the sums over all learned rows say. With it, -o writes a page: how good
    the model is, which columns matter, how predictions depend on them, the largest errors.

    Examples:

        greville explain model.greville

        greville explain model.greville data.csv -o page.html
    """
    from ..tables import find_sources, read, sampled

    if output is not None:
        check_writable(output)
        if not data:
            raise UserError("--output: a page needs rows; name the files with DATA.")
    known = load_learned_model(model)
    rows = None
    if data:
        sources = find_sources(data)
        check_apart(output, sources)
        with closing(read(sources, reading.reading(), reading.troubles(), None)) as batches:
            rows = sampled(batches, _ROWS)[0]
    found = known.importance(rows)
    if output is not None and rows is not None:
        write_page(known, rows, output, learned=learned, source=model.name)
    if as_json:
        show_json({"model": str(model), "importance": found.as_dict()})
    elif not quiet:
        _show(found, known.target)
        if output is not None:
            say(f"The page is in {output}.")


def write_page(model: Any, rows: Any, output: Path, *, learned: bool, source: str) -> None:
    """Write a page about a model, whole or not at all."""
    from ..explain import explain_page
    from ..persistence import whole_file

    html = explain_page(model, rows, learned=learned, source=source)
    with whole_file(output) as new:
        Path(new).write_text(html, encoding="utf-8")


_KINDS = {
    "change": "change of the prediction",
    "error": "growth of the error without it",
    "evidence": "loss of evidence without it",
}


def _show(found: Any, target: str) -> None:
    columns = found.as_dict()
    kinds = [kind for kind in _KINDS if kind in next(iter(columns.values()))]
    shown = table("column", *(_KINDS[kind] for kind in kinds), title=f"what predicts {target}")
    for name, each in columns.items():
        add_row(shown, name, *(f"{each[kind]:.4g}" for kind in kinds))
    console().print(shown)
