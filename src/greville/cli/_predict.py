"""``greville predict`` and ``greville score``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ._command import command
from ._files import InputTable, check_writable, load_table_model
from ._options import ReadingOptions, check_std_and_proba
from ._terminal import (
    UserError,
    console,
    counted,
    printable_lines,
    say,
    say_findings,
    show_json,
    show_table,
)


@command
def predict(
    model: Path,
    data: list[str],
    *,
    output: Path | None = None,
    std: bool = False,
    proba: bool = False,
    why: bool = False,
    as_name: str = "prediction",
    reading: ReadingOptions,
    quiet: bool = False,
) -> None:
    """Predict the target of every row, and keep all columns.

    With --on-error skip, rows that cannot be used are kept, with an empty prediction. CSV has the
    delimiter of the file that was read, and the decimal mark of the rows that were learned.

    Examples:

        greville predict model.greville new.csv -o predicted.csv

        greville predict model.greville new.parquet --std

        cat new.jsonl | greville predict model.greville - --proba -o out.jsonl

    Parameters
    ----------
    output : PATH
        A .csv, .tsv, .jsonl, .parquet or .arrow file. Default: CSV to standard output.
    why
        Add the columns with the largest shares of each prediction.
    as_name : NAME
        The name of the column of predictions.
    """
    from ..tables import UnlearnedValues, with_predictions, written

    learned = load_table_model(model, learned=True)
    check_std_and_proba(learned, std, proba)
    check_writable(output)
    table = InputTable.find(data, reading, hints=learned.settings, output=output)
    unlearned = UnlearnedValues()
    with (
        table.batches("predicting", quiet) as batches,
        written(output, printable_lines) as writer,
    ):
        for batch in batches:
            answers = learned.answers(batch, std=std, proba=proba)
            unlearned.add(answers)
            shown = learned, batch, answers, table.row_errors, as_name
            rows = with_predictions(*shown, why=why)
            writer.write(rows, batch.delimiter, learned.decimal)  # as they were read
    if quiet:
        return
    n, row_errors = table.rows + table.left_out, table.row_errors
    message = f"{row_errors.count:,} of {counted(n, 'row')} without a prediction"
    say_findings(row_errors, unlearned.findings(), message)
    if output is not None:
        say(f"{counted(n - row_errors.count, 'row')} with a prediction: see {output}.")


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


@command
def score(
    model: Path,
    data: list[str],
    *,
    prequential: bool = False,
    reading: ReadingOptions,
    as_json: bool = False,
    quiet: bool = False,
) -> None:
    """Compare predictions with known targets.

    For numbers: RMSE, MAE, bias, R². For classes: accuracy, log loss, Brier score, ROC AUC of two
    classes, and for each class precision and recall.

    Examples:

        greville score model.greville test.csv

        greville score model.greville stream.csv --prequential --json

    Parameters
    ----------
    prequential
        Learn every row after it was predicted. The model file does not change.
    """
    from ..tables import UnlearnedValues, add_scores, empty_score, were_learned

    learned = load_table_model(model, learned=True)
    table = InputTable.find(data, reading, hints=learned.settings)
    unlearned, score = UnlearnedValues(), empty_score(learned)
    row_errors, no_target, is_known = table.row_errors, 0, None
    with table.batches("scoring", quiet, None if prequential else learned.needed) as batches:
        for batch in batches:
            if is_known is None:  # by its first rows
                is_known = were_learned(learned, batch)
            if not prequential:
                no_target += add_scores(score, learned, batch, row_errors, unlearned)
                continue
            for answers in learned.record(batch, row_errors):
                use = _usable(answers)
                no_target += len(use) - int(use.sum())
                score.add(answers.target[use], answers.prediction[use])
                unlearned.add(answers)
    if not score.n:
        raise UserError(
            f"no row has a value of {learned.target!r}; there is nothing to compare with."
        )
    summary = {
        **{"model": str(model), "target": learned.target, "task": learned.task, **score.summary()},
        "rows_without_target": no_target,
        "rows_skipped": row_errors.count,
        "unlearned_values": unlearned.as_dict(),
        "prequential": prequential,
    }
    if as_json:
        show_json(summary)
    if quiet:
        return
    if not as_json:
        _show(summary)
    if no_target:
        what = "a target or a prediction" if prequential else "a target"
        say(f"{no_target:,} of {counted(table.rows, 'row')} without {what}; they do not count.")
    say_findings(row_errors, unlearned.findings())
    if is_known:
        say("Warning: the model has learned these rows; score others to see how good it is.")


def _usable(answers: Any) -> Any:
    """Rows that have a target and a prediction."""
    import numpy as np

    if answers.target is None or answers.has_target is None:  # before anything was learned
        return np.zeros(len(answers.prediction), bool)
    use = answers.has_target.copy()
    use[list(answers.wrong)] = False
    return use & np.array([p is not None and p == p for p in answers.prediction])  # noqa: PLR0124


def _show(summary: dict[str, Any]) -> None:
    title = f"{summary['target']}, predicted by {summary['model']}"
    title += ", each row before it was learned" * summary["prequential"]
    measured = {text: summary[k] for k, text in _MEASURES.items() if summary.get(k) is not None}
    texts = {k: f"{v:,}" if isinstance(v, int) else f"{v:.5g}" for k, v in measured.items()}
    show_table(None, texts.items(), title)
    if summary.get("no_better_than_guessing"):
        console().print("This is no better than guessing.")
    if "classes" not in summary:
        return
    labels, counts = summary["confusion"]["labels"], summary["confusion"]["counts"]
    rows = []
    for i, label in enumerate(labels[:30]):
        one = summary["classes"][label]
        n, j = max(((n, -j) for j, n in enumerate(counts[i]) if j != i), default=(0, 0))
        shares = ("" if v is None else f"{v:.3f}" for v in (one["precision"], one["recall"]))
        rows.append((label, f"{one['rows']:,}", *shares, f"{labels[-j]} ({n})" if n else ""))
    show_table(("class", "rows", "precision", "recall", "most often taken for"), rows)
