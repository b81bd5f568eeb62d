"""``greville predict`` and ``greville score``."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from ._cluster import ClusterOptions, check_folder, cluster, cluster_bar, new_folder
from ._errors import UserError, ignoring_closed_output, reported
from ._files import check_apart, check_picture, check_writable, load_learned_model
from ._options import (
    Data,
    JsonOption,
    Model,
    ProbaOption,
    QuietOption,
    ReadingOptions,
    StdOption,
    check_std_and_proba,
    expand_options,
)
from ._progress import rows_bar
from ._terminal import (
    add_row,
    console,
    counted,
    part_of,
    printable_lines,
    say,
    say_examples,
    say_findings,
    say_skipped,
    show_json,
    table,
)


@reported
@expand_options
def predict(
    model: Model,
    data: Data,
    *,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            help="A .csv, .tsv, .jsonl, .parquet or .arrow file; with --workers, a folder. "
            "Default: CSV to standard output.",
            metavar="PATH",
        ),
    ] = None,
    std: StdOption = False,
    proba: ProbaOption = False,
    why: Annotated[
        bool,
        typer.Option("--why", help="Add the columns with the largest shares of each prediction."),
    ] = False,
    name: Annotated[
        str, typer.Option("--as", help="The name of the column of predictions.")
    ] = "prediction",
    reading: ReadingOptions,
    on: ClusterOptions,
    quiet: QuietOption = False,
) -> None:
    """Predict the target of every row, and keep all columns.

    With --on-error skip, rows that cannot be used are kept, with an empty prediction.

    Examples:

        greville predict model.greville new.csv -o predicted.csv

        greville predict model.greville new.parquet --std

        cat new.jsonl | greville predict model.greville - --proba -o out.jsonl

        greville predict model.greville 'new/*.parquet' --workers 4 -o out/
    """
    from ..tables import UnlearnedValues, find_sources, read, with_predictions, written

    how, troubles = reading.reading(), reading.troubles()
    known = load_learned_model(model)
    check_std_and_proba(known, std, proba)
    if on.wanted:
        if why:
            raise UserError("--why: not on a cluster; leave --workers and --scheduler out.")
        folder = check_folder(output)
        sources = find_sources(data)
        predicted = _predict_on_cluster(
            on, known, sources, how, troubles, folder, name, std, proba, quiet
        )
        _say_predicted(predicted, folder, quiet)
        return
    path = None if output is None else Path(output)
    if path is not None:
        check_writable(path)
    sources = find_sources(data)
    check_apart(path, sources)
    with ignoring_closed_output(), rows_bar(quiet, "predicting", sources) as advance:
        rows, left_out, unlearned = 0, 0, UnlearnedValues()
        batches = read(sources, how, troubles)
        with closing(batches), written(path, printable_lines) as writer:
            for batch in batches:
                answers = known.answers(batch, std=std, proba=proba)
                unlearned.add(answers)
                rows_with = with_predictions(known, batch, answers, troubles, name, why=why)
                writer.write(rows_with)
                rows += len(batch)
                left_out += len(batch.skipped)
                advance(batch, rows)
    _say_predicted(_Predicted(rows, left_out, troubles, unlearned), output, quiet)


@dataclass(frozen=True)
class _Predicted:
    """How many rows were read and left out by readers, and findings about them."""

    rows: int
    left_out: int
    troubles: Any
    unlearned: Any


def _say_predicted(found: Any, output: Any, quiet: bool) -> None:
    if quiet:
        return
    total, troubles = found.rows + found.left_out, found.troubles
    if troubles.count:
        say_examples(f"{part_of(troubles.count, total, 'row')} without a prediction", troubles)
    say_findings([*troubles.findings, *found.unlearned.findings()])
    if output is not None:
        say(f"{counted(total - troubles.count, 'row')} with a prediction: see {output}.")


def _predict_on_cluster(
    on: ClusterOptions,
    model: Any,
    sources: Any,
    how: Any,
    troubles: Any,
    folder: str,
    name: str,
    std: bool,
    proba: bool,
    quiet: bool,
) -> Any:
    """Predict each part of the files where it is read, and write it into a folder."""
    with cluster(on) as client, new_folder(folder) as write:
        from ..dask.tables import Job

        job = Job(client, sources, how, troubles.skip)
        with cluster_bar(quiet, "predicting", job):
            return job.predict(model, write, name, std=std, proba=proba)


@reported
@expand_options
def score(
    model: Model,
    data: Data,
    *,
    prequential: Annotated[
        bool,
        typer.Option(
            "--prequential",
            help="Learn every row after it was predicted. The model file does not change.",
        ),
    ] = False,
    plot: Annotated[
        Path | None, typer.Option(help="Draw a picture into this file: .png, .svg or .pdf.")
    ] = None,
    reading: ReadingOptions,
    on: ClusterOptions,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Compare predictions with known targets.

    For numbers: RMSE, MAE, bias, R². For classes: accuracy, log loss, Brier score, ROC AUC of two
    classes, and for each class precision and recall.

    Examples:

        greville score model.greville test.csv

        greville score model.greville test.csv --plot test.png

        greville score model.greville stream.csv --prequential --json

        greville score model.greville 'test/*.parquet' --workers 4
    """
    from ..tables import find_sources

    how, troubles = reading.reading(), reading.troubles()
    known = load_learned_model(model)
    check_picture(plot)
    sources = find_sources(data)
    if on.wanted and prequential:
        raise UserError(
            "--prequential: rows must be learned in order, which a cluster does not do; "
            "leave --workers and --scheduler out."
        )
    if on.wanted:
        scored = _score_on_cluster(on, known, sources, how, troubles, quiet)
    else:
        scored = _score_here(known, sources, how, troubles, prequential, quiet)
    found, rows, left_out = scored.found, scored.rows, scored.left_out
    troubles, unlearned = scored.troubles, scored.unlearned
    if not found.n:
        raise UserError(
            f"no row has a value of {known.target!r}; there is nothing to compare with."
        )
    summary = {"model": str(model), "target": known.target, "task": known.task, **found.summary()}
    summary |= {
        "rows_without_target": left_out,
        "rows_skipped": troubles.count,
        "unlearned_values": unlearned.as_dict(),
        "prequential": prequential,
    }
    if plot is not None:
        from ._pictures import draw_score

        draw_score(found, summary, plot)
    if as_json:
        show_json(summary)
    elif not quiet:
        _show(summary)
    if not quiet:
        say_skipped(troubles)
        if left_out:
            what = "a target or a prediction" if prequential else "a target"
            say(f"{part_of(left_out, rows, 'row')} without {what}; they do not count.")
        say_findings([*troubles.findings, *unlearned.findings()])
        if plot is not None:
            say(f"The picture is in {plot}.")


@dataclass(frozen=True)
class _Scored:
    """Scores of rows, how many were read and had no target, and findings about them."""

    found: Any
    rows: int
    left_out: int
    troubles: Any
    unlearned: Any


def _score_here(
    known: Any, sources: Any, how: Any, troubles: Any, prequential: bool, quiet: bool
) -> _Scored:
    from ..tables import UnlearnedValues, add_scores, empty_score, read

    found, unlearned = empty_score(known), UnlearnedValues()
    rows = left_out = 0
    batches = read(sources, how, troubles, None if prequential else known.needed)
    with closing(batches), rows_bar(quiet, "scoring", sources) as advance:
        for batch in batches:
            if prequential:
                for answers in known.record(batch, troubles):
                    use = _usable(answers)
                    left_out += len(use) - int(use.sum())
                    found.add(answers.target[use], answers.prediction[use])
                    unlearned.add(answers)
            else:
                left_out += add_scores(found, known, batch, troubles, unlearned)
            rows += len(batch)
            advance(batch, rows)
    return _Scored(found, rows, left_out, troubles, unlearned)


def _score_on_cluster(
    on: ClusterOptions, model: Any, sources: Any, how: Any, troubles: Any, quiet: bool
) -> Any:
    with cluster(on) as client:
        from ..dask.tables import Job

        job = Job(client, sources, how, troubles.skip)
        with cluster_bar(quiet, "scoring", job):
            return job.score(model)


def _usable(answers: Any) -> Any:
    """Rows that have a target and a prediction."""
    import numpy as np

    if answers.target is None or answers.known is None:  # before anything was learned
        return np.zeros(len(answers.prediction), bool)
    use = answers.known.copy()
    use[list(answers.wrong)] = False
    return use & np.array([p is not None and p == p for p in answers.prediction])  # noqa: PLR0124


_MEASURES = {
    "rows": "rows",
    "rmse": "RMSE",
    "mae": "mean absolute error",
    "bias": "mean error",
    "r2": "R²",
    "target_std": "standard deviation of the target",
    "within_90_percent_interval": "targets within the 90 % interval",
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "most_frequent_class": "predicting the most frequent class",
    "log_loss": "log loss",
    "brier": "Brier score",
    "roc_auc": "ROC AUC",
}


def _show(summary: dict[str, Any]) -> None:
    out = console()
    title = f"{summary['target']}, predicted by {summary['model']}"
    if summary["prequential"]:
        title += ", each row before it was learned"
    measures = table(title=title, show_header=False)
    measures.add_column()
    measures.add_column(justify="right")
    for key, name in _MEASURES.items():
        if summary.get(key) is not None:
            value = summary[key]
            add_row(measures, name, f"{value:,}" if isinstance(value, int) else f"{value:.5g}")
    out.print(measures)
    if summary.get("no_better_than_guessing"):
        out.print("This is no better than guessing.")
    if "classes" in summary:
        each = table("class", "rows", "precision", "recall", "most often taken for")
        labels, counts = summary["confusion"]["labels"], summary["confusion"]["counts"]
        for i, label in enumerate(labels[:30]):
            one = summary["classes"][label]
            others = [(n, labels[j]) for j, n in enumerate(counts[i]) if j != i]
            n, other = max(others, key=lambda each: each[0], default=(0, ""))
            taken = f"{other} ({n})" if n else ""
            shares = _share(one["precision"]), _share(one["recall"])
            add_row(each, label, f"{one['rows']:,}", *shares, taken)
        out.print(each)


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
