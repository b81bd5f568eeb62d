"""``greville info``, ``greville merge`` and ``greville unlearn``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ._command import command
from ._files import InputTable, check_writable, load_table_model, read_table_model
from ._options import Names, ReadingOptions
from ._terminal import (
    UserError,
    counted,
    say,
    say_findings,
    say_skipped,
    show_json,
    show_table,
    with_options,
)


@command
def info(model: Path, *, as_json: bool = False) -> None:
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
    shown = {k: v for k, v in summary.items() if k not in ("file", "columns", "parameters")}
    rows = [(k.replace("_", " "), _in_words(v)) for k, v in shown.items() if v is not None]
    show_table(None, [*rows, *summary.get("parameters", {}).items()], str(model))
    if columns:
        show_table(("column", "what it is"), ((c.name, c.description()) for c in columns))


def _in_words(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)


@command
def merge(models: list[Path], *, output: Path, as_json: bool = False, quiet: bool = False) -> None:
    """Merge models into one that has learned all of their rows.

    The models must have the same columns and hidden layer: train the others with --like the first.

    Examples:

        greville train part1.csv --target y -o one.greville

        greville train part2.csv --like one.greville -o two.greville

        greville merge one.greville two.greville -o both.greville

    Parameters
    ----------
    models
        Two or more model files.
    output : PATH
        The file of the merged model.
    """
    from ..persistence import save
    from ..tables import TableError

    if len(models) < 2:
        raise UserError("merge: name at least two models.")
    check_writable(output)
    first, *others = (load_table_model(path) for path in models)
    for path, other in zip(models[1:], others, strict=True):
        try:
            first.merge(other)
        except ValueError as error:
            why = with_options(error)
            if isinstance(error, TableError):
                why = f"{error.message}; train it with --like {models[0]}, then they go together."
            raise UserError(f"{path}: it cannot be merged with {models[0]}: {why}") from error
    save(first, output)
    if as_json:
        show_json({"model": str(output), "rows": first.n_rows})
    if not quiet:
        say(f"{output} has learned {counted(first.n_rows, 'row')}.")


@command
def unlearn(
    model: Path,
    data: list[str],
    *,
    output: Path | None = None,
    certificate: Path | None = None,
    others: Names = None,
    reading: ReadingOptions,
    as_json: bool = False,
    quiet: bool = False,
) -> None:
    """Remove rows from a model, as if they had never been learned.

    It cannot check whether they were learned: pass exactly the rows that were.

    Examples:

        greville unlearn model.greville withdrawn.csv

        greville unlearn model.greville withdrawn.csv --certificate proof.json --others kept.csv

    Parameters
    ----------
    output : PATH
        Write the model here. Default: the model file itself.
    certificate : PATH
        Write fingerprints of the model before and after, and numbers of rows, into this JSON file.
    others : DATA
        All rows that the model still knows, which the certificate compares it with.
    """
    from ..persistence import locked, save
    from ..proof import Proof

    if others and certificate is None:
        raise UserError("--others: they are for --certificate; name a file for it.")
    output = output or model
    for path in filter(None, (output, certificate)):
        check_writable(path)
    with locked(model if output == model else None):
        known, _, fingerprint = read_table_model(model, replaced=output == model)
        table, removed = InputTable.find(data, reading), 0
        proof = None if certificate is None else Proof(known, fingerprint)
        with table.batches("unlearning", quiet, known.needed) as batches:
            for batch in batches:
                table.troubles.count_skipped(batch)
                removed += known.unlearn(batch, table.troubles)
        if proof is not None and certificate is not None:
            found = _certified(proof, known, others, reading, quiet)
            certificate.write_text(json.dumps(found, indent=2) + "\n", encoding="utf8")
        save(known, output)
    if as_json:
        show_json({"model": str(output), "removed": removed, "rows": known.n_rows})
    if not quiet:
        say_skipped(table.troubles)
        say_findings(table.troubles.findings)
        say(f"Removed {counted(removed, 'row')}; {output} now knows {known.n_rows:,}.")


def _certified(
    proof: Any, model: Any, others: Names, reading: ReadingOptions, quiet: bool
) -> dict[str, Any]:
    """The certificate, with what a model that never saw the rows says where others are given."""
    if not others:
        return proof.certify(model)
    table = InputTable.find(others, reading)
    with table.batches("comparing", quiet, model.needed) as batches:
        try:
            return proof.certify(model, batches)
        except ValueError as error:
            raise UserError(f"--{error}") from error
