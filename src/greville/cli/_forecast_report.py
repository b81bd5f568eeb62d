"""What a forecast says of its series."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Any

from ._terminal import add_row, console, counted, table

# The rows to come, and the series, that are shown; the others are in the output.
_MOST_STEPS, _MOST_SERIES = 24, 30


@dataclass(frozen=True)
class Result:
    """The forecast of one series."""

    series: Any
    forecast: Any
    season: int | None
    by_step: list[dict[str, Any]]

    def labels(self) -> list[Any]:
        """The times of all rows."""
        all_labels = [
            *self.series.labels,
            *self.series.future_labels(self.forecast.horizon),
        ]
        return [all_labels[i] for i in self.forecast.index]

    def future(self) -> list[dict[str, Any]]:
        """The rows to come."""
        rows = self.forecast[-self.forecast.horizon :]
        times = self.series.future_labels(len(rows))
        return [
            {
                "step": int(rows.step[i]),
                "time": times[i],
                "prediction": float(rows.prediction[i]),
                "lower": float(rows.lower[i]),
                "upper": float(rows.upper[i]),
            }
            for i in range(len(rows))
        ]

    def summary(self) -> dict[str, Any]:
        """All that a program may want to know."""
        name = {"name": list(self.series.name)} if self.series.name else {}
        return {
            **name,
            **self.forecast.summary(),
            "season": self.season,
            "by_step": self.by_step,
            "future": self.future(),
        }


def show(wanted: Any, results: list[Result]) -> None:
    """The errors of one series, what they mean, and what comes next."""
    (result,) = results
    out, summary = console(), result.summary()
    if summary["n"]:
        ahead = "" if len(result.by_step) == 1 else f", {len(result.by_step)} steps ahead"
        errors = table(
            "",
            "mean absolute error",
            "RMS error",
            title=f"{wanted.column}: errors of predictions{ahead}",
        )
        for name in summary["rms"]:
            if name == "seasonal" and not _had_season(summary):
                continue
            mean, rms = summary["mean_absolute"][name], summary["rms"][name]
            add_row(errors, name, f"{mean:.5g}", f"{rms:.5g}")
        out.print(errors)
    out.print(summary["verdict"])
    if isfinite(summary["coverage"]):
        out.print(f"{100 * summary['coverage']:.1f} % of the targets lie in the intervals.")
    if result.season is not None:
        out.print(f"The series repeats itself after {counted(result.season, 'sample')}.")
    _show_future(out, result, wanted.time)


def _had_season(summary: dict[str, Any]) -> bool:
    """Without a season, its errors are those of persistence."""
    errors = summary["mean_absolute"]
    return bool(errors["seasonal"] != errors["persistence"])


def _show_future(out: Any, result: Result, time: str | None) -> None:
    rows = result.future()
    timed = time is not None and rows[0]["time"] is not None
    percent = f"{100 * result.forecast.interval:g} % interval"
    headers = ["step", *([str(time)] if timed else []), "prediction", percent]
    if len(rows) > 1:
        headers.append("error so far")
    shown = table(*headers, title="What comes next")
    for row, errors in list(zip(rows, result.by_step, strict=True))[:_MOST_STEPS]:
        known = isfinite(row["lower"])
        cells = [
            row["step"],
            *([row["time"]] if timed else []),
            f"{row['prediction']:.6g}",
            f"{row['lower']:.6g} to {row['upper']:.6g}" if known else "too few errors yet",
        ]
        if len(rows) > 1:
            cells.append(f"{errors['mean_absolute']['greville']:.4g}" if errors["n"] else "")
        add_row(shown, *cells)
    out.print(shown)
    if len(rows) > _MOST_STEPS:
        out.print(f"... and {len(rows) - _MOST_STEPS:,} more in the output.")


def show_several(wanted: Any, results: list[Result]) -> None:
    """The errors of each series, and in how many greville is better."""
    out = console()
    shown = table(
        ",".join(wanted.keys),
        "samples",
        "greville",
        "persistence",
        "seasonal",
        "linear",
        "what comes next",
        title=f"{wanted.column}: mean absolute errors",
    )
    better = compared = 0
    for i, result in enumerate(results):
        summary = result.summary()
        errors = summary["mean_absolute"]
        if summary["n"]:
            compared += 1
            others = (error for each, error in errors.items() if each != "greville")
            better += errors["greville"] < min(others)
        if i < _MOST_SERIES:
            cells = [f"{e:.4g}" if isfinite(e) else "" for e in errors.values()]
            ahead = ", ".join(f"{row['prediction']:.6g}" for row in summary["future"][:3])
            more = ", ..." if result.forecast.horizon > 3 else ""
            name, n = "/".join(result.series.name), len(result.series.values)
            add_row(shown, name, f"{n:,}", *cells, ahead + more)
    out.print(shown)
    if len(results) > _MOST_SERIES:
        out.print(f"... and {len(results) - _MOST_SERIES:,} more series in the output.")
    out.print(
        f"The mean absolute error is smaller than those of persistence, of repeating the last "
        f"season and of a linear predictor in {better:,} of {compared:,} series."
    )
