"""``greville forecast``: a series predicted from its own past while it is learned."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from ._errors import UserError, reported
from ._files import check_apart, check_picture, check_writable, save_picture
from ._options import (
    JsonOption,
    QuietOption,
    ReadingOptions,
    expand_options,
    names,
    number_or_auto,
    units,
)
from ._signals import EXIT_STOPPED, TERMINATION, stopping_on
from ._terminal import in_picture, say, say_skipped, show_json

_FORECAST_COLUMNS = (
    "target", "prediction", "lower", "upper", "persistence", "seasonal", "linear",
)  # fmt: skip


@reported
@expand_options
def forecast(
    data: Annotated[
        list[str],
        typer.Argument(
            help="A file, several that follow each other, or - for standard input.",
            metavar="DATA",
            show_default=False,
        ),
    ],
    *,
    column: Annotated[str, typer.Option("--column", "-c", help="The series to forecast.")],
    lags: Annotated[
        str,
        typer.Option(
            help="How many past values to predict from. auto: the last 10, and those a season ago."
        ),
    ] = "auto",
    horizon: Annotated[
        int, typer.Option(min=1, max=1000, help="How many steps ahead to predict.")
    ] = 1,
    alpha: Annotated[
        str, typer.Option(help="How fast old samples are forgotten: auto, 1 (never), 1.003, ...")
    ] = "auto",
    hidden: Annotated[str, typer.Option(help="Hidden units: a number, or auto.")] = "auto",
    inputs: Annotated[
        list[str] | None,
        typer.Option(help="Other columns of numbers to predict from."),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(
            help="The column of times. It gives the order, the gaps and the times of the future."
        ),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            help="The columns that name the series, where there are several; none: one series.",
        ),
    ] = None,
    interval: Annotated[
        float,
        typer.Option(
            min=0.01, max=0.999, help="The share of targets that should lie in the intervals."
        ),
    ] = 0.9,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The file of predictions. Default: FILE-forecast.csv."),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw a picture into this file, such as load.png.")
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, max=2**31, help="Random seed of the hidden layer.")
    ] = 0,
    reading: ReadingOptions,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Predict the next samples of a series, in one pass.

    Every prediction is made before its target is known, and learned when the target comes. The
    errors are compared with three simple predictors: the last value, the last season, and a linear
    model. The last rows of the output are the future: steps 1 to --horizon after the last sample.

    Examples:

        greville forecast load.csv --column load

        greville forecast load.csv --column load --time date --horizon 24

        greville forecast prices.csv --column close --by symbol --time date
    """
    from ..tables import Stopped, find_sources
    from ._reading_series import Wanted

    sources = find_sources(data)
    name = sources[0].path.name.split(".")[0] + "-" if sources[0].path is not None else ""
    output = output or Path(f"{name}forecast.csv")
    check_writable(output)
    check_picture(plot)
    check_apart(output, sources)
    wanted = Wanted(column, names(inputs), time, names(by))
    _check_names(wanted)
    maker = {
        "lags": _lags(lags),
        "horizon": horizon,
        "alpha": number_or_auto("alpha", alpha),
        "hidden": units(hidden),
        "interval": interval,
        "random_state": seed,
    }
    with stopping_on(*TERMINATION) as stop:
        try:
            with stop.at_once():
                _run(sources, reading, wanted, maker, output, plot, as_json, quiet)
        except Stopped:
            say("Stopped.")
            raise typer.Exit(EXIT_STOPPED) from None


def _check_names(wanted: Any) -> None:
    taken = ("sample", "step", *_FORECAST_COLUMNS)
    for option, each in (("time", wanted.time), *(("by", name) for name in wanted.keys)):
        if each in taken:
            raise UserError(f"--{option} {each}: the output has a column of that name; rename it.")
    if wanted.column in wanted.keys or (wanted.time is not None and wanted.time in wanted.keys):
        raise UserError("--by: name a column other than those in --column and --time.")


def _lags(lags: str) -> Any:
    if lags == "auto":
        return lags
    if not lags.isdigit() or not 1 <= int(lags) <= 10_000:
        raise UserError(f"--lags {lags}: pass auto or a number from 1 to 10000.")
    return int(lags)


def _run(
    sources: Any,
    reading: Any,
    wanted: Any,
    maker: dict[str, Any],
    output: Path,
    plot: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    from ._forecast_report import show, show_several
    from ._reading_series import read_series

    troubles = reading.troubles()
    found, notes = read_series(sources, reading.reading(), troubles, wanted, quiet)
    if plot is not None and len(found) > 1:
        raise UserError(f"--plot: it draws one series, and there are {len(found):,}; leave it out.")
    results, left_out = _forecast_all(found, wanted, maker, sources[0].name, quiet)
    notes += left_out
    _write(results, output, wanted)
    if plot is not None:
        forecast = results[0].forecast
        counted_from_1 = replace(forecast, index=forecast.index + 1)
        save_picture(counted_from_1.plot(name=in_picture(wanted.column)), plot)
    where = {"predictions": str(output), "picture": None if plot is None else str(plot)}
    if as_json:
        several = {"by": wanted.keys, "series": [each.summary() for each in results]}
        summary = several if wanted.keys else results[0].summary()
        show_json({"column": wanted.column, **summary, "notes": notes, **where})
    elif not quiet:
        (show_several if wanted.keys else show)(wanted, results)
    if not quiet:
        for note in notes:
            say(note)
        say_skipped(troubles)
        drawn = "." if plot is None else f", the picture is in {plot}."
        say(f"Predictions are in {output}{drawn}")


def _forecast_all(
    found: list[Any], wanted: Any, maker: dict[str, Any], source: str, quiet: bool
) -> tuple[list[Any], list[str]]:
    """A result for each series that is long enough, and findings about the others."""
    from ..forecasting import Forecaster
    from ._progress import progress_bars

    results, problems = [], []
    total = sum(len(series.values) for series in found)
    with progress_bars(quiet) as (progress, _), progress("forecasting", total) as advance:
        for series in found:
            try:
                model = Forecaster(**maker)
                _check_length(series, wanted, model)
                results.append(_forecast(model, series, advance))
            except UserError as error:
                problems.append(f"{'/'.join(series.name)}: {error}" if series.name else str(error))
            except ValueError as error:
                raise UserError(f"{source}: {error}") from error
    if not results:
        raise UserError(f"{source}: {problems[0]}")
    return results, [f"{problem} It is left out." for problem in problems]


def _check_length(series: Any, wanted: Any, model: Any) -> None:
    import numpy as np

    n, known = len(series.values), int(np.isfinite(series.values[:, 0]).sum())
    if not known:
        raise UserError(f"there is no number in column {wanted.column!r}.")
    needed = model.lags + model.horizon + 1
    if n < needed:
        raise UserError(
            f"{n:,} samples are too few for {model.lags} lags and a horizon of {model.horizon}; at "
            f"least {needed} are needed."
        )


def _forecast(model: Any, series: Any, advance: Any) -> Any:
    import numpy as np

    from ..forecasting import Forecast
    from ._forecast_report import Result

    parts, step, has_inputs = [], 4096, series.values.shape[1] > 1
    for start in range(0, len(series.values), step):
        block = series.values[start : start + step]
        parts.append(model.update(block[:, 0], block[:, 1:] if has_inputs else None))
        advance(len(block))
    future = model.future()
    if not np.isfinite(future.prediction).all():
        raise UserError(
            f"nothing can be predicted: there are fewer than {model.lags} samples from the first "
            "number on."
        )
    return Result(series, Forecast.joined([*parts, future]), model.season_, model.errors_by_step())


def _write(results: list[Any], output: Path, wanted: Any) -> None:
    import pyarrow as pa

    from ..tables import written

    with written(output) as writer:
        for result in results:
            found, columns = result.forecast, {}
            for name, value in zip(wanted.keys, result.series.name, strict=True):
                columns[name] = pa.array([value] * len(found), pa.string())
            columns["sample"] = pa.array(found.index + 1)
            columns["step"] = pa.array(found.step)
            if wanted.time is not None:
                columns[wanted.time] = pa.array(result.labels())
            for name in _FORECAST_COLUMNS:
                columns[name] = pa.array(getattr(found, name), from_pandas=True)  # nan is nothing
            writer.write(pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns)))
