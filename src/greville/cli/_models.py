"""Commands on model files: ``greville info``, ``merge``, ``unlearn`` and ``export``."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Any

from ._command import command
from ._files import InputTable, check_writable, load_table_model, read_table_model
from ._options import Names, ReadingOptions
from ._terminal import (
    UserError,
    counted,
    fixable,
    say,
    say_findings,
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

    learned, extra, header = read(model)
    summary: dict[str, Any] = {"file": str(model), **header}
    columns: list[Any] = []
    if isinstance(learned, Stream):
        summary |= {"lines": learned.lines, "rows_waiting_for_targets": len(learned.waiting)}
        learned = learned.settled()
    if isinstance(learned, TableModel):
        columns = learned.schema.columns if learned.has_schema else []
        summary |= model_summary(learned)
        summary["classes"] = ", ".join(map(str, learned.classes[:20])) or None
        summary["columns"] = [column.as_dict() for column in columns]
    elif hasattr(learned, "get_params"):
        summary["parameters"] = {k: repr(v) for k, v in learned.get_params(deep=False).items()}
        summary["rows"] = getattr(learned, "n_samples_seen_", 0)
    if extra and "rows" in extra:
        summary["rows_of_an_unfinished_run"] = extra["rows"]
    if as_json:
        show_json(summary)
        return
    rows = {
        name.replace("_", " "): _as_text(value)
        for name, value in summary.items()
        if value is not None and name not in ("file", "columns", "parameters")
    }
    show_table(None, {**rows, **summary.get("parameters", {})}.items(), str(model))
    if columns:
        show_table(("column", "what it is"), ((c.name, c.description()) for c in columns))


def _as_text(value: Any) -> str:
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
    merged = load_table_model(models[0])
    for path in models[1:]:
        try:
            merged.merge(load_table_model(path))
        except ValueError as error:
            why = with_options(error)
            if isinstance(error, TableError):
                why = f"{error.message}; train it with --like {models[0]}, then they go together."
            raise UserError(f"{path}: it cannot be merged with {models[0]}: {why}") from error
    save(merged, output)
    if as_json:
        show_json({"model": str(output), "rows": merged.n_rows})
    if not quiet:
        say(f"{output} has learned {counted(merged.n_rows, 'row')}.")


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
    check_writable(output, certificate)
    with locked(model if output == model else None):
        loaded, _, fingerprint = read_table_model(model, replaced=output == model)
        table, removed = InputTable.find(data, reading, hints=loaded.settings), 0
        proof = Proof(loaded, fingerprint)
        with table.batches("unlearning", quiet, loaded.needed) as batches:
            for batch in batches:
                table.row_errors.count_skipped(batch)
                removed += loaded.unlearn(batch, table.row_errors)
        if certificate is not None:
            compared = InputTable.find(others or [], reading, hints=loaded.settings)
            with compared.batches("comparing", quiet, loaded.needed) as batches, fixable("--"):
                issued = proof.certify(loaded, batches if others else None)
            certificate.write_text(json.dumps(issued, indent=2) + "\n", encoding="utf8")
        save(loaded, output)
    if as_json:
        show_json({"model": str(output), "removed": removed, "rows": loaded.n_rows})
    if not quiet:
        say_findings(table.row_errors)
        say(f"Removed {counted(removed, 'row')}; {output} now knows {loaded.n_rows:,}.")


class ExportFormat(StrEnum):
    """Formats in which a model can be exported."""

    onnx = "onnx"
    c = "c"
    js = "js"


# What a model is exported as, by the ending of the file's name.
_EXPORTED = {".onnx": "onnx", ".c": "c", ".h": "c", ".js": "js", ".mjs": "js"}


@command
def export(
    model: Path,
    *,
    output: Path,
    format: ExportFormat | None = None,
    learn: bool = False,
    name: str = "model",
    as_json: bool = False,
    quiet: bool = False,
) -> None:
    """Write a model as ONNX, C or JavaScript.

    What is written predicts as the model does, and needs nothing of greville.

    Examples:

        greville export model.greville -o model.onnx

        greville export model.greville -o model.c

        greville export model.greville -o model.js

    Parameters
    ----------
    format
        Default: by the ending of the output's name.
    learn
        C that also learns; for the solvers light, and opium with --epsilon.
    name : NAME
        What names in the C file begin with.
    """
    from ..export import OPSET, notes, to_c, to_js, to_onnx
    from ..persistence import load

    check_writable(output)
    kind = format or _EXPORTED.get(output.suffix.lower())
    if kind is None:
        raise UserError(f"{output}: end its name in {', '.join(_EXPORTED)}, or pass --format.")
    if learn and kind != "c":
        raise UserError("--learn: only a C file can learn; end its name in .c, or pass --format c.")
    learned: Any = load(model)
    with fixable(f"{model}: "):
        if kind == "c":
            to_c(learned, output, name=name, learn=learn)
        else:
            (to_onnx if kind == "onnx" else to_js)(learned, output)
        remarks = notes(learned)
    size, opset = output.stat().st_size, OPSET if kind == "onnx" else None
    if as_json:
        summary = {"file": str(output), "format": kind, "bytes": size, "opset": opset}
        show_json({**summary, "notes": remarks})
    elif not quiet:
        version = "" if opset is None else f", opset {opset}"
        say(f"{output} has the model: {size:,} bytes{version}.")
        for remark in remarks:
            say(f"Note: {remark}.")
