"""What a forecast says of its series."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

from ._terminal import console, counted, show_table

if TYPE_CHECKING:
    from ._series import SeriesColumns

# The rows to come, and the series, that are shown; the others are in the output.
_MOST_STEPS, _MOST_SERIES = 24, 30


@dataclass(frozen=True)
class ForecastResult:
    """The forecast of one series."""

    series: Any
    forecast: Any
    season: int | None
    by_step: list[dict[str, Any]]

    def labels(self) -> list[Any]:
        """The times of all rows."""
        known = [*self.series.labels, *self.series.future_labels(self.forecast.horizon)]
        return [known[i] for i in self.forecast.index]

    def future(self) -> list[dict[str, Any]]:
        """The rows to come."""
        rows = self.forecast[-self.forecast.horizon :]
        times = self.series.future_labels(len(rows))
        columns = {name: getattr(rows, name).tolist() for name in ("prediction", "lower", "upper")}
        return [
            {"step": int(rows.step[i]), "time": times[i], **{k: v[i] for k, v in columns.items()}}
            for i in range(len(rows))
        ]

    def summary(self) -> dict[str, Any]:
        """All that a program may want to know."""
        name = {"name": list(self.series.name)} if self.series.name else {}
        summary = {**name, **self.forecast.summary(), "season": self.season}
        return {**summary, "by_step": self.by_step, "future": self.future()}


def show(columns: SeriesColumns, results: list[ForecastResult]) -> None:
    """The errors of one series, what they mean, and what comes next."""
    (result,) = results
    out, summary = console(), result.summary()
    if summary["n"]:
        ahead = "" if len(result.by_step) == 1 else f", {len(result.by_step)} steps ahead"
        absolute, rms = summary["mean_absolute"], summary["rms"]
        # Without a season, its errors are those of persistence.
        same = absolute["seasonal"] == absolute["persistence"]
        names = [name for name in rms if not (same and name == "seasonal")]
        show_table(
            ("", "mean absolute error", "RMS error"),
            ((name, f"{absolute[name]:.5g}", f"{rms[name]:.5g}") for name in names),
            f"{columns.column}: errors of predictions{ahead}",
        )
    out.print(summary["verdict"])
    if isfinite(summary["coverage"]):
        out.print(f"{100 * summary['coverage']:.1f} % of the targets lie in the intervals.")
    if result.season is not None:
        out.print(f"The series repeats itself after {counted(result.season, 'sample')}.")
    _show_future(summary["future"], result, columns.time)


def _show_future(rows: list[dict[str, Any]], result: ForecastResult, time: str | None) -> None:
    timed = time is not None and rows[0]["time"] is not None
    percent = f"{100 * result.forecast.interval:g} % interval"
    headers = ["step", *([str(time)] * timed), "prediction", percent]
    headers += ["error so far"] * (len(rows) > 1)
    shown = []
    for row, errors in list(zip(rows, result.by_step, strict=True))[:_MOST_STEPS]:
        interval = f"{row['lower']:.6g} to {row['upper']:.6g}"
        cells = [row["step"], *([row["time"]] * timed), f"{row['prediction']:.6g}"]
        cells.append(interval if isfinite(row["lower"]) else "too few errors yet")
        if len(rows) > 1:
            cells.append(f"{errors['mean_absolute']['greville']:.4g}" if errors["n"] else "")
        shown.append(cells)
    show_table(headers, shown, "What comes next")
    if len(rows) > _MOST_STEPS:
        console().print(f"... and {len(rows) - _MOST_STEPS:,} more in the output.")


def show_several(columns: SeriesColumns, results: list[ForecastResult]) -> None:
    """The errors of each series, and in how many greville is better."""
    rows = []
    better = compared = 0
    for result in results:
        summary = result.summary()
        errors = summary["mean_absolute"]
        if summary["n"]:
            compared += 1
            others = (error for each, error in errors.items() if each != "greville")
            better += errors["greville"] < min(others)
        cells = [f"{e:.4g}" if isfinite(e) else "" for e in errors.values()]
        ahead = ", ".join(f"{row['prediction']:.6g}" for row in summary["future"][:3])
        more = ", ..." if result.forecast.horizon > 3 else ""
        name, n = "/".join(result.series.name), len(result.series.values)
        rows.append((name, f"{n:,}", *cells, ahead + more))
    headers = ("samples", "greville", "persistence", "seasonal", "linear", "what comes next")
    title = f"{columns.column}: mean absolute errors"
    show_table((",".join(columns.keys), *headers), rows[:_MOST_SERIES], title)
    out = console()
    if len(results) > _MOST_SERIES:
        out.print(f"... and {len(results) - _MOST_SERIES:,} more series in the output.")
    out.print(
        f"The mean absolute error is smaller than those of persistence, of repeating the last "
        f"season and of a linear predictor in {better:,} of {compared:,} series."
    )
