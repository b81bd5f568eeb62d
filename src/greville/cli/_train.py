"""``greville train``: a model from files of any size."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ._analysis import PAGE_ROWS, write_page
from ._cluster import ClusterOptions, learn_on_cluster
from ._command import command
from ._files import InputTable, check_writable, read_table_model
from ._options import Count, ModelOptions, ReadingOptions, Task
from ._terminal import (
    UserError,
    as_option,
    counted,
    digits,
    say,
    say_findings,
    show_json,
)
from ._training import Training, fingerprint


@command
def train(
    data: list[str],
    *,
    target: str | None = None,
    output: Path | None = None,
    task: Task = Task.auto,
    options: ModelOptions,
    resume: Path | None = None,
    like: Path | None = None,
    checkpoint: Path | None = None,
    every: Count = 1_000_000,
    test: float = 0.0,
    page: Path | None = None,
    reading: ReadingOptions,
    on: ClusterOptions,
    as_json: bool = False,
    quiet: bool = False,
) -> None:
    """Learn to predict a column of a table from the others.

    Reads CSV, TSV, JSON lines, Parquet, Arrow, .npy, .npz, Excel and SQLite; text may be compressed
    (.gz, .zst, .bz2, .xz, .zip). The format is detected. Files are read in batches, in memory that
    does not grow with them.

    Numbers, booleans, text, dates and missing values are all used. Column types are decided from
    4096 rows of all files (of a pipe, its first rows) and then fixed. Rows without a target are
    skipped.

    Examples:

        greville train houses.csv --target price

        greville train 'logs/*.parquet' --target label --hidden 500

        greville train more.csv --resume model.greville

        zcat big.csv.gz | greville train - --target y --on-error skip

        greville train 's3://bucket/*.parquet' --target y --workers 4

    Parameters
    ----------
    output : PATH
        The model file. Default: model.greville, or that of --resume.
    resume : PATH
        Continue with this model, as in one run over all data.
    like : PATH
        Use the columns and hidden layer of this model, so that both can be merged.
    checkpoint : PATH
        Save the state here. After a crash, run the same command to continue.
    every : N
        The least number of rows between two checkpoints.
    test : SHARE
        The share of rows to hold out and score at the end, such as 0.2.
    page : PATH
        Write a page of HTML about the model here.
    """
    from ..persistence import locked
    from ..tables import Holdout, TableModel, TrainingScore

    output = output or resume or Path("model.greville")
    check_writable(output, checkpoint, page)
    if checkpoint is not None and os.path.realpath(checkpoint) == os.path.realpath(output):
        raise UserError(
            "--checkpoint and --output: name two files; the checkpoint is deleted at the end."
        )
    if resume is not None and like is not None:
        raise UserError("--resume and --like: pass one of them.")
    base, settings = resume or like, options.settings(task)
    with locked(checkpoint), locked(resume if output == resume else None):
        if base is not None:
            model, _, identity = read_table_model(base, replaced=output == resume)
            model = model if like is None else model.forgotten()
            model = options.going_on(model, base, target, task)
        elif target is not None:
            model, identity = TableModel(target, **settings), target
        else:
            raise UserError("--target is missing: name the column to predict.")
        before = _columns_of(model)
        table = InputTable.find(data, reading, model.target, hints=model.settings, output=output)
        asked = "test" if test else "report" if page is not None else on.option
        if asked is not None and not table.can_be_read_again:
            raise UserError(f"--{asked}: a pipe cannot be read twice; write it to a file first.")
        run = Training(
            *(table, model, output, checkpoint),
            fingerprint(table, identity, {**settings, "test": test}),
            holdout=Holdout(test),
            is_new=base is None,
            score=TrainingScore(),
        )
        if not run.restored(options):
            return
        scores = learn_on_cluster(run, on, quiet) if on.option else run.learn(every, quiet)
        _write_page(run, page)
    if as_json:
        show_json(_summary(run, scores))
    if not quiet:
        if resume is not None and not on.option:
            _say_changes(before, _columns_of(run.model))
        _say_learned(run)
        if scores is None:
            say("The error was not measured; pass --test 0.2 to hold out rows for it.")
        else:
            say(_scores_as_text(scores, run.model.target))
        say(f"The model is in {output}. See how good it is: greville score {output} OTHER_DATA")


def _write_page(run: Training, page: Path | None) -> None:
    """Write a page about the model from held-out rows; without any, from learned rows."""
    from ..tables import sampled

    if page is None:
        return
    held_out = bool(run.holdout.share)
    with run.table.batches("reading", True, run.model.needed) as batches:
        rows = sampled(run.holdout.held_out(batches) if held_out else batches, PAGE_ROWS)[0]
    write_page(run.model, rows, page, learned=not held_out, source=run.output.name)


def _columns_of(model: Any) -> dict[str, Any]:
    return {column.name: column for column in model.schema.columns} if model.has_schema else {}


def _say_changes(before: dict[str, Any], after: dict[str, Any]) -> None:
    """Report the columns whose interpretation changed when more rows came."""
    for name in {**before, **after}:
        was, now = (columns.get(name) for columns in (before, after))
        if type(was) is not type(now):
            texts = ["left out" if c is None else c.description() for c in (was, now)]
            say(f"Column {name!r} was: {texts[0]}. With the new rows it is: {texts[1]}.")


def _summary(run: Training, scores: dict[str, Any] | None) -> dict[str, Any]:
    """Return what was learned, for ``--json``."""
    from ..tables import model_summary

    model, findings = run.model, [*run.table.row_errors.findings, *run.model.schema.findings]
    return {
        **model_summary(model),
        "model": str(run.output),
        "classes": len(model.classes) or None,
        "columns": [column.as_dict() for column in model.schema.columns],
        "rows_skipped": run.table.row_errors.count,
        "workers": run.n_workers,
        "seconds": round(run.seconds, 3),
        "rows_per_second": run.rows_per_second,
        "score": scores,
        "findings": [finding.as_dict(as_option) for finding in dict.fromkeys(findings)],
    }


def _say_learned(run: Training) -> None:
    """Report findings about the columns, what was learned, and how fast."""
    model = run.model
    if model.n_without_target:
        total = model.n_rows + model.n_without_target
        say(f"{model.n_without_target:,} of {counted(total, 'row')} without a target; not learned.")
    say_findings(run.table.row_errors, model.schema.findings)
    what = f"{model.target!r}, a number"
    if model.classes:
        what = f"{len(model.classes):,} classes of {model.target!r}"
    if model.target_kind == "integer" and model.settings.task == "auto":
        what += " (for a number pass --task regression)"
    where = "" if run.n_workers is None else f" on {counted(run.n_workers, 'worker')}"
    units = counted(int(model.estimator.solver_.n_features_in_), "hidden unit")
    say(
        f"Learned {what}, from {counted(len(model.schema.used), 'column')} and "
        f"{counted(model.n_rows, 'row')} with {units}{where} in {run.seconds:.1f} s "
        f"({run.rows_per_second or 0:,} rows/s)."
    )


def _scores_as_text(scores: dict[str, Any], target: str) -> str:
    """Write the scores in one sentence."""
    rows = counted(scores["rows"], "row")
    where = {
        "leave-one-out": f"Leave-one-out, {rows}",
        "held out": f"On {rows} that were held out",
        "before learning": f"On {rows}, each chunk before it was learned",
    }[scores["how"]]
    if "accuracy" in scores:
        share = f"{scores['most_frequent_class']:.3g}"
        what = f"accuracy {scores['accuracy']:.3g} (predicting the most frequent class: {share})"
    else:
        mean = digits(scores["target_std"])
        what = f"RMSE {digits(scores['rmse'])} (predicting the mean of {target!r}: {mean})"
        what += "" if scores["r2"] is None else f"; R² {scores['r2']:.3g}"
    doubt = " That is no better than guessing." * scores.get("no_better_than_guessing", False)
    return f"{where}: {what}.{doubt}"
