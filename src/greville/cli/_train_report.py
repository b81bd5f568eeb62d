"""What ``greville train`` says at the end."""

from __future__ import annotations

from typing import Any

from ._terminal import as_option, counted, part_of, say, say_findings, say_skipped, show_json
from ._training import Training


def report(run: Training, scores: dict[str, Any] | None, as_json: bool, quiet: bool) -> None:
    """Tell what was learned, from how many rows, and how good it is; as text or as JSON."""
    model, output, troubles, findings = run.model, run.output, run.table.troubles, run.findings()
    units = int(model.estimator.solver_.n_features_in_)
    if as_json:
        show_json(
            {
                "model": str(output),
                "task": model.task,
                "target": model.target,
                "classes": len(model.classes) or None,
                "rows": model.n_rows,
                "rows_without_target": model.n_without_target,
                "rows_skipped": troubles.count,
                "inputs": len(model.schema.inputs),
                "columns": [column.as_dict() for column in model.schema.columns],
                "units": units,
                "solver": model.settings["solver"],
                "workers": run.n_workers,
                "seconds": round(run.seconds, 3),
                "rows_per_second": run.rows_per_second,
                "score": scores,
                "findings": [finding.as_dict(as_option) for finding in findings],
            }
        )
    if quiet:
        return
    say_skipped(troubles)
    if model.n_without_target:
        total = model.n_rows + model.n_without_target
        say(f"{part_of(model.n_without_target, total, 'row')} without a target; not learned.")
    say_findings(findings)
    what = f"{model.target!r}, a number"
    if model.classes:
        what = f"{len(model.classes):,} classes of {model.target!r}"
    if model.target_kind == "integer" and model.settings["task"] == "auto":
        what += " (for a number pass --task regression)"
    where = "" if run.n_workers is None else f" on {counted(run.n_workers, 'worker')}"
    say(
        f"Learned {what}, from {counted(len(model.schema.used), 'column')} and "
        f"{counted(model.n_rows, 'row')} with {counted(units, 'hidden unit')}{where} in "
        f"{run.seconds:.1f} s ({run.rows_per_second or 0:,} rows/s)."
    )
    if scores is None:
        say("The error was not measured; pass --test 0.2 to hold out rows for it.")
    else:
        say(_in_words(scores, model.target))
    say(f"The model is in {output}. See how good it is: greville score {output} OTHER_DATA")


def _in_words(scores: dict[str, Any], target: str) -> str:
    """The scores in one sentence."""
    rows = counted(scores["rows"], "row")
    where = {
        "leave-one-out": f"Leave-one-out, {rows}",
        "held out": f"On {rows} that were held out",
        "before learning": f"On {rows}, each chunk before it was learned",
    }[scores["how"]]
    doubt = " That is no better than guessing." * scores.get("no_better_than_guessing", False)
    if "accuracy" in scores:
        return (
            f"{where}: accuracy {scores['accuracy']:.3g} (predicting the most frequent class: "
            f"{scores['most_frequent_class']:.3g}).{doubt}"
        )
    r2 = "" if scores["r2"] is None else f"; R² {scores['r2']:.3g}"
    return (
        f"{where}: RMSE {_digits(scores['rmse'])} (predicting the mean of {target!r}: "
        f"{_digits(scores['target_std'])}){r2}.{doubt}"
    )


def _digits(number: float) -> str:
    """Four digits, and no exponent where it is not needed."""
    return f"{number:,.0f}" if 1e4 <= number < 1e9 else f"{number:.4g}"
