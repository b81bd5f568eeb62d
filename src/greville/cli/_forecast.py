"""``greville forecast``: a series predicted from its own past while it is learned."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ._command import command
from ._files import InputTable, check_picture, check_writable, save_picture
from ._options import Names, ReadingOptions, Seed, names, number_or_word
from ._terminal import (
    UserError,
    console,
    counted,
    fixable,
    in_picture,
    progress_bars,
    say,
    say_skipped,
    show_json,
    show_table,
    stoppable,
)

if TYPE_CHECKING:
    from ._series import SeriesColumns

_FORECAST_COLUMNS = (
    "target", "prediction", "lower", "upper", "persistence", "seasonal", "linear",
)  # fmt: skip

_ROWS_AT_ONCE = 4096


@command
def forecast(
    data: list[str],
    *,
    column: str,
    lags: str = "auto",
    horizon: Annotated[int, {"min": 1, "max": 1000}] = 1,
    alpha: str = "auto",
    hidden: str = "auto",
    inputs: Names = None,
    time: str | None = None,
    by: Names = None,
    interval: Annotated[float, {"min": 0.01, "max": 0.999}] = 0.9,
    output: Path | None = None,
    plot: Path | None = None,
    seed: Seed = 0,
    reading: ReadingOptions,
    as_json: bool = False,
    quiet: bool = False,
) -> None:
    """Predict the next samples of a series, in one pass.

    Every prediction is made before its target is known, and learned when the target comes. The
    errors are compared with three simple predictors: the last value, the last season, and a linear
    model. The last rows of the output are the future: steps 1 to --horizon after the last sample.

    Examples:

        greville forecast load.csv --column load

        greville forecast load.csv --column load --time date --horizon 24

        greville forecast prices.csv --column close --by symbol --time date

    Parameters
    ----------
    data
        A file, several that follow each other, or - for standard input.
    column : COLUMN
        The series to forecast.
    lags : N
        How many past values to predict from. auto: the last 10, and those a season ago.
    horizon : N
        How many steps ahead to predict.
    alpha : NUMBER
        How fast old samples are forgotten: auto, 1 (never), 1.003, ...
    hidden : N
        Hidden units: a number, or auto.
    inputs : COLUMNS
        Other columns of numbers to predict from.
    time : COLUMN
        The column of times. It gives the order, the gaps and the times of the future.
    by : COLUMNS
        The columns that name the series, where there are several; none: one series.
    interval : SHARE
        The share of targets that should lie in the intervals.
    output : PATH
        The file of predictions. Default: FILE-forecast.csv.
    plot : PATH
        Draw a picture into this file, such as load.png.
    """
    from ..forecasting import Forecaster
    from ._series import SeriesColumns, read_series

    table = InputTable.find(data, reading)
    source = table.sources[0]
    name = source.path.name.split(".")[0] + "-" if source.path is not None else ""
    output = output or Path(f"{name}forecast.csv")
    check_writable(output)
    check_picture(plot)
    table.check_apart(output)
    columns = SeriesColumns(column, names(inputs), time, names(by))
    _check_names(columns)
    settings: dict[str, Any] = {"lags": lags, "alpha": alpha, "hidden": hidden}
    settings = {name: number_or_word(value) for name, value in settings.items()}
    settings |= {"horizon": horizon, "interval": interval, "random_state": seed}
    with fixable():
        Forecaster(**settings)
    with stoppable(lambda: "Stopped.") as stop, stop.at_once():
        series, notes = read_series(table, columns, quiet)
        if plot is not None and len(series) > 1:
            raise UserError(
                f"--plot: it draws one series, and there are {len(series):,}; leave it out."
            )
        results, left_out = _forecast_all(series, column, settings, source.name, quiet)
        _write(results, output, columns)
        if plot is not None:
            predictions = results[0].forecast
            from_1 = replace(predictions, index=predictions.index + 1)
            save_picture(from_1.plot(name=in_picture(column)), plot)
    notes += left_out
    if as_json:
        several = {"by": columns.keys, "series": [each.summary() for each in results]}
        summary = several if columns.keys else results[0].summary()
        where = {"predictions": str(output), "picture": None if plot is None else str(plot)}
        show_json({"column": column, **summary, "notes": notes, **where})
    elif not quiet:
        (show_several if columns.keys else show)(columns, results)
    if not quiet:
        for note in notes:
            say(note)
        say_skipped(table.row_errors)
        drawn = "." if plot is None else f", the picture is in {plot}."
        say(f"Predictions are in {output}{drawn}")


class TooShort(Exception):
    """A series from which nothing can be predicted."""


def _check_names(columns: SeriesColumns) -> None:
    taken = ("sample", "step", *_FORECAST_COLUMNS)
    for option, each in (("time", columns.time), *(("by", name) for name in columns.keys)):
        if each in taken:
            raise UserError(f"--{option} {each}: the output has a column of that name; rename it.")
    if columns.column in columns.keys or columns.time in columns.keys:
        raise UserError("--by: name a column other than those in --column and --time.")


def _forecast_all(
    found: list[Any], column: str, settings: dict[str, Any], source: str, quiet: bool
) -> tuple[list[Any], list[str]]:
    """A result for each series that is long enough, and findings about the others."""
    from ..forecasting import Forecaster

    results, problems = [], []
    total = sum(len(series.values) for series in found)
    with progress_bars(quiet) as (progress, _), progress("forecasting", total) as advance:
        for series in found:
            try:
                with fixable(f"{source}: "):
                    results.append(_forecast(Forecaster(**settings), series, column, advance))
            except TooShort as error:
                problems.append(f"{'/'.join(series.name)}: {error}" if series.name else str(error))
    if not results:
        raise UserError(f"{source}: {problems[0]}")
    return results, [f"{problem} It is left out." for problem in problems]


def _forecast(model: Any, series: Any, column: str, advance: Any) -> Any:
    import numpy as np

    from ..forecasting import Forecast

    n, needed = len(series.values), model.lags + model.horizon + 1
    if not np.isfinite(series.values[:, 0]).any():
        raise TooShort(f"there is no number in column {column!r}.")
    if n < needed:
        raise TooShort(
            f"{n:,} samples are too few for {model.lags} lags and a horizon of {model.horizon}; at "
            f"least {needed} are needed."
        )
    parts, has_inputs = [], series.values.shape[1] > 1
    for start in range(0, n, _ROWS_AT_ONCE):
        block = series.values[start : start + _ROWS_AT_ONCE]
        parts.append(model.update(block[:, 0], block[:, 1:] if has_inputs else None))
        advance(len(block))
    future = model.future()
    if not np.isfinite(future.prediction).all():
        raise TooShort(
            f"nothing can be predicted: there are fewer than {model.lags} samples from the first "
            "number on."
        )
    joined = Forecast.joined([*parts, future])
    return ForecastResult(series, joined, model.season_, model.errors_by_step())


def _write(results: list[Any], output: Path, columns: SeriesColumns) -> None:
    import pyarrow as pa

    from ..tables import written

    with written(output) as writer:
        for result in results:
            found, named = result.forecast, zip(columns.keys, result.series.name, strict=True)
            rows = {name: pa.array([value] * len(found), pa.string()) for name, value in named}
            rows |= {"sample": pa.array(found.index + 1), "step": pa.array(found.step)}
            if columns.time is not None:
                rows[columns.time] = pa.array(result.labels())
            for name in _FORECAST_COLUMNS:
                rows[name] = pa.array(getattr(found, name), from_pandas=True)  # nan is nothing
            writer.write(pa.RecordBatch.from_pydict(rows))


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
        """Return the time labels of all rows of the forecast."""
        known = [*self.series.labels, *self.series.future_labels(self.forecast.horizon)]
        return [known[i] for i in self.forecast.index]

    def future(self) -> list[dict[str, Any]]:
        """Return the rows of predictions after the end of the series."""
        rows = self.forecast[-self.forecast.horizon :]
        times = self.series.future_labels(len(rows))
        columns = {name: getattr(rows, name).tolist() for name in ("prediction", "lower", "upper")}
        return [
            {"step": int(rows.step[i]), "time": times[i], **{k: v[i] for k, v in columns.items()}}
            for i in range(len(rows))
        ]

    def summary(self) -> dict[str, Any]:
        """Return the results of the forecast as a dict, for ``--json``."""
        name = {"name": list(self.series.name)} if self.series.name else {}
        summary = {**name, **self.forecast.summary(), "season": self.season}
        return {**summary, "by_step": self.by_step, "future": self.future()}


def show(columns: SeriesColumns, results: list[ForecastResult]) -> None:
    """Print the errors of one series, a verdict on these, and the next predictions."""
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
    """Print the errors of each series, and the number of series in which greville is better."""
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
