"""``greville explain``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ._command import command
from ._files import InputTable, check_writable, load_table_model
from ._options import ReadingOptions
from ._terminal import UserError, say, show_json, show_table

# Rows of the data that are looked at: a sample, if there are more.
_ROWS = 2000


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

    if output is not None:
        check_writable(output)
        if not data:
            raise UserError("--output: a page needs rows; name the files with DATA.")
    known = load_table_model(model, learned=True)
    rows = None
    if data:
        table = InputTable.find(data, reading, output=output)
        with table.batches("reading", quiet) as batches:
            rows = sampled(batches, _ROWS)[0]
    found = known.importance(rows)
    if output is not None and rows is not None:
        write_page(known, rows, output, learned=learned, source=model.name)
    if as_json:
        show_json({"model": str(model), "importance": found.as_dict()})
    elif not quiet:
        _show(found.as_dict(), known.target)
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


def _show(columns: dict[str, Any], target: str) -> None:
    kinds = [kind for kind in _KINDS if kind in next(iter(columns.values()))]
    rows = ((name, *(f"{each[kind]:.4g}" for kind in kinds)) for name, each in columns.items())
    headers = ("column", *(_KINDS[kind] for kind in kinds))
    show_table(headers, rows, f"what predicts {target}")
