"""``greville forecast``: a series predicted from its own past while it is learned."""

from __future__ import annotations

from dataclasses import replace
from itertools import compress
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

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
    from ._series import Series, SeriesColumns

_COLUMNS = (
    "target", "prediction", "lower", "upper", "persistence", "seasonal", "linear",
)  # fmt: skip

_ROWS_AT_ONCE = 4096

# The rows to come, and the series, that are shown; the others are in the output.
_MOST_STEPS, _MOST_SERIES = 24, 30


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
            what = f"it draws one series, and there are {len(series):,}; leave it out"
            raise UserError(f"--plot: {what}.")
        results, left_out = _forecast_all(series, column, settings, source.name, quiet)
        _write(results, output, columns)
        if plot is not None:
            predictions = results[0].forecast
            from_1 = replace(predictions, index=predictions.index + 1)
            save_picture(from_1.plot(name=in_picture(column)), plot)
    notes += left_out
    if as_json:
        several = {"by": columns.keys, "series": [each.summary for each in results]}
        summary = several if columns.keys else results[0].summary
        where = {"predictions": str(output), "picture": None if plot is None else str(plot)}
        show_json({"column": column, **summary, "notes": notes, **where})
    elif not quiet:
        _show_all(columns, results) if columns.keys else _show(columns, results[0])
    if not quiet:
        for note in notes:
            say(note)
        say_skipped(table.row_errors)
        drawn = "." if plot is None else f", the picture is in {plot}."
        say(f"Predictions are in {output}{drawn}")


class Result(NamedTuple):
    """The forecast of one series, and its summary for ``--json``."""

    series: Series
    forecast: Any
    summary: dict[str, Any]


class TooShort(Exception):
    """A series from which nothing can be predicted."""


def _check_names(columns: SeriesColumns) -> None:
    taken = ("sample", "step", *_COLUMNS)
    for option, each in (("time", columns.time), *(("by", name) for name in columns.keys)):
        if each in taken:
            raise UserError(f"--{option} {each}: the output has a column of that name; rename it.")
    if columns.column in columns.keys or columns.time in columns.keys:
        raise UserError("--by: name a column other than those in --column and --time.")


def _forecast_all(
    every: list[Series], column: str, settings: dict[str, Any], source: str, quiet: bool
) -> tuple[list[Result], list[str]]:
    """A result for each series that is long enough, and findings about the others."""
    from ..forecasting import Forecaster

    results, problems = [], []
    total = sum(len(series.values) for series in every)
    with progress_bars(quiet) as (progress, _), progress("forecasting", total) as advance:
        for series in every:
            try:
                with fixable(f"{source}: "):
                    results.append(_forecast(Forecaster(**settings), series, column, advance))
            except TooShort as error:
                problems.append(f"{'/'.join(series.name)}: {error}" if series.name else str(error))
    if not results:
        raise UserError(f"{source}: {problems[0]}")
    return results, [f"{problem} It is left out." for problem in problems]


def _forecast(model: Any, series: Series, column: str, advance: Any) -> Result:
    import numpy as np

    from ..forecasting import Forecast

    n, needed = len(series.values), model.lags + model.horizon + 1
    if not np.isfinite(series.values[:, 0]).any():
        raise TooShort(f"there is no number in column {column!r}.")
    if n < needed:
        what = f"for {model.lags} lags and a horizon of {model.horizon}; at least {needed} are"
        raise TooShort(f"{n:,} samples are too few {what} needed.")
    parts, has_inputs = [], series.values.shape[1] > 1
    for start in range(0, n, _ROWS_AT_ONCE):
        block = series.values[start : start + _ROWS_AT_ONCE]
        parts.append(model.update(block[:, 0], block[:, 1:] if has_inputs else None))
        advance(len(block))
    future = model.future()
    if not np.isfinite(future.prediction).all():
        what = f"there are fewer than {model.lags} samples from the first number on"
        raise TooShort(f"nothing can be predicted: {what}.")
    columns = [future.prediction.tolist(), future.lower.tolist(), future.upper.tolist()]
    names, times = (
        ("step", "time", "prediction", "lower", "upper"),
        series.future_labels(len(future)),
    )
    rows = zip(future.step.tolist(), times, *columns, strict=True)
    whole = Forecast.concatenated([*parts, future])
    name = {"name": list(series.name)} if series.name else {}
    more = {"season": model.season_, "by_step": model.errors_by_step()}
    more["future"] = [dict(zip(names, row, strict=True)) for row in rows]
    return Result(series, whole, {**name, **whole.summary(), **more})


def _write(results: list[Result], output: Path, columns: SeriesColumns) -> None:
    import pyarrow as pa

    from ..tables import written

    with written(output) as writer:
        for series, predictions, summary in results:
            n, keys = len(predictions), zip(columns.keys, series.name, strict=True)
            rows = {name: pa.array([value] * n, pa.string()) for name, value in keys}
            rows |= {"sample": pa.array(predictions.index + 1), "step": pa.array(predictions.step)}
            if columns.time is not None:
                times = [*series.labels, *(row["time"] for row in summary["future"])]
                rows[columns.time] = pa.array([times[i] for i in predictions.index])
            for name in _COLUMNS:
                rows[name] = pa.array(getattr(predictions, name), from_pandas=True)  # nan: nothing
            writer.write(pa.RecordBatch.from_pydict(rows))


def _show(columns: SeriesColumns, result: Result) -> None:
    """Print the errors of one series, a verdict on these, and the next predictions."""
    out, summary = console(), result.summary
    rows, by_step = summary["future"], summary["by_step"]
    if summary["n"]:
        ahead = f", {len(rows)} steps ahead" if len(rows) > 1 else ""
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
    if summary["season"] is not None:
        out.print(f"The series repeats itself after {counted(summary['season'], 'sample')}.")
    timed = columns.time is not None and rows[0]["time"] is not None
    interval = f"{100 * summary['interval']:g} % interval"
    headers = ("step", columns.time or "", "prediction", interval, "error so far")
    shown = (True, timed, True, True, len(rows) > 1)
    cells = []
    for row, errors in zip(rows[:_MOST_STEPS], by_step, strict=False):
        limits = f"{row['lower']:.6g} to {row['upper']:.6g}"
        limits = limits if isfinite(row["lower"]) else "too few errors yet"
        error = f"{errors['mean_absolute']['greville']:.4g}" if errors["n"] else ""
        cells.append((row["step"], row["time"], f"{row['prediction']:.6g}", limits, error))
    show_table(compress(headers, shown), (compress(row, shown) for row in cells), "What comes next")
    if len(rows) > _MOST_STEPS:
        out.print(f"... and {len(rows) - _MOST_STEPS:,} more in the output.")


def _show_all(columns: SeriesColumns, results: list[Result]) -> None:
    """Print the errors of each series, and the number of series in which greville is better."""
    rows, better, compared = [], 0, 0
    for series, _, summary in results:
        errors, steps = list(summary["mean_absolute"].values()), summary["future"]
        compared += summary["n"] > 0
        better += summary["n"] > 0 and errors[0] < min(errors[1:])
        cells = [f"{error:.4g}" if isfinite(error) else "" for error in errors]
        ahead = [f"{row['prediction']:.6g}" for row in steps[:3]] + ["..."] * (len(steps) > 3)
        rows.append(("/".join(series.name), f"{len(series.values):,}", *cells, ", ".join(ahead)))
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
