"""``greville forecast``: a series predicted from its own past while it is learned."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from math import isfinite
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
from ._progress import rows_bar
from ._terminal import add_row, console, in_picture, say, say_skipped, show_json, table

_FORECAST_COLUMNS = ("target", "prediction", "lower", "upper", "persistence", "linear")


@reported
@expand_options
def forecast(
    data: Annotated[
        list[str],
        typer.Argument(help="A file (or several, one after the other), or -.", show_default=False),
    ],
    *,
    column: Annotated[str, typer.Option("--column", "-c", help="The series to forecast.")],
    lags: Annotated[int, typer.Option(min=1, max=10_000, help="Past values to predict from.")] = 10,
    horizon: Annotated[int, typer.Option(min=1, max=100_000, help="Samples ahead.")] = 1,
    alpha: Annotated[
        str, typer.Option(help="How fast old samples are forgotten: auto, 1 (never), 1.003, ...")
    ] = "auto",
    hidden: Annotated[str, typer.Option(help="Hidden units: a number, or auto.")] = "auto",
    inputs: Annotated[
        list[str] | None, typer.Option(help="Other columns of numbers to predict from.")
    ] = None,
    time: Annotated[
        str | None, typer.Option(help="A column to carry over into the output, such as a date.")
    ] = None,
    interval: Annotated[
        float, typer.Option(min=0.01, max=0.999, help="The share of targets that intervals hold.")
    ] = 0.9,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Where predictions go (FILE-forecast.csv)."),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Where the picture goes (FILE-forecast.png).")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**31, help="Of the hidden layer.")] = 0,
    reading: ReadingOptions,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Predict the next samples of a series while learning from it, in one pass.

    Every prediction is made before its target is known: what is learned with a horizon of h samples
    is learned h samples late. The errors are compared with those of repeating the last value and of
    a linear predictor, so that you see whether it is worth it. The last rows of the output are the
    future.

    Examples:

        greville forecast load.csv --column load

        greville forecast load.csv --column load --lags 48 --horizon 24 --inputs temperature

        greville forecast ecg.npz --column signal --plot ecg.png --json
    """
    import numpy as np

    from ..forecasting import Forecaster
    from ..tables import TableError, find_sources

    how, troubles = reading.reading(), reading.troubles()
    sources = find_sources(data)
    name = sources[0].path.name.split(".")[0] + "-" if sources[0].path is not None else ""
    output, plot = output or Path(f"{name}forecast.csv"), plot or Path(f"{name}forecast.png")
    check_writable(output)
    check_picture(plot)
    check_apart(output, sources)
    if time is not None and time in ("sample", *_FORECAST_COLUMNS):
        raise UserError(f"--time {time}: the output has a column of that name; rename yours.")
    others = names(inputs)
    series, labels = _read(sources, how, troubles, column, others, time, quiet)
    if not np.isfinite(series[:, 0]).any():
        raise UserError(f"{sources[0].name}: there is no number in column {column!r}.")
    if len(series) < lags + horizon + 1:
        raise UserError(
            f"{sources[0].name}: {len(series):,} samples are too few for {lags} lags and a horizon "
            f"of {horizon}; at least {lags + horizon + 1} are needed."
        )
    try:
        maker = Forecaster(
            lags,
            horizon,
            alpha=number_or_auto("alpha", alpha),
            hidden=units(hidden),
            interval=interval,
            random_state=seed,
        )
        found = _forecast(maker, series, bool(others), quiet)
    except TableError:
        raise
    except ValueError as error:
        raise UserError(f"{sources[0].name}: {error}") from error
    _write(found, output, time, labels)
    summary = {
        "column": column,
        **found.summary(),
        "predictions": str(output),
        "picture": str(plot),
    }
    counted_from_1 = replace(found, index=found.index + 1)
    save_picture(counted_from_1.plot(name=in_picture(column)), plot)
    if as_json:
        show_json(summary)
    elif not quiet:
        _show(column, summary, found)
    if not quiet:
        say_skipped(troubles)
        say(f"Predictions are in {output}, the picture is in {plot}.")


def _read(
    sources: Any,
    how: Any,
    troubles: Any,
    column: str,
    others: list[str],
    time: str | None,
    quiet: bool,
) -> tuple[Any, list[Any]]:
    """The series and the other columns as one array, and what the time column says."""
    import numpy as np

    from ..tables import numbers, read

    wanted = list(dict.fromkeys([column, *others]))
    parts, labels, rows = [], [], 0
    batches = read(sources, how, troubles, wanted if time is None else [*wanted, time])
    with closing(batches), rows_bar(quiet, "reading", sources) as advance:
        for batch in batches:
            for name in [*wanted, *([] if time is None else [time])]:
                if name not in batch.table.schema.names:
                    known = ", ".join(map(repr, batch.table.schema.names[:8]))
                    raise UserError(f"{batch.source}: there is no column {name!r}; it has {known}.")
            troubles.count_skipped(batch)
            block = np.empty((len(batch), len(wanted)))
            for i, name in enumerate(wanted):
                block[:, i], wrong = numbers(batch, name)
                troubles.meet_rows(batch, wrong)
            parts.append(block)
            if time is not None:
                labels += batch.table.column(time).to_pylist()
            rows += len(batch)
            advance(batch, rows)
    return np.concatenate(parts), labels


def _forecast(maker: Any, series: Any, has_inputs: bool, quiet: bool) -> Any:
    from ..forecasting import Forecast
    from ._progress import progress_bars

    parts, step = [], 4096
    with progress_bars(quiet) as (progress, _), progress("forecasting", len(series)) as advance:
        for start in range(0, len(series), step):
            block = series[start : start + step]
            parts.append(maker.update(block[:, 0], block[:, 1:] if has_inputs else None))
            advance(len(block))
        parts.append(maker.future())
    return Forecast.joined(parts)


def _write(found: Any, output: Path, time: str | None, labels: list[Any]) -> None:
    import pyarrow as pa

    from ..tables import written

    columns: dict[str, Any] = {"sample": pa.array(found.index + 1)}
    if time is not None:
        known = [labels[i] if i < len(labels) else None for i in found.index]
        columns[time] = pa.array(known)
    for name in _FORECAST_COLUMNS:
        columns[name] = pa.array(getattr(found, name), from_pandas=True)  # nan is nothing
    with written(output) as writer:
        writer.write(pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns)))


def _show(column: str, summary: dict[str, Any], found: Any) -> None:
    out = console()
    errors = table("", "RMS error", "mean absolute error", title=f"{column}: errors of predictions")
    for name in ("greville", "persistence", "linear"):
        add_row(
            errors, name, f"{summary['rms'][name]:.5g}", f"{summary['mean_absolute'][name]:.5g}"
        )
    out.print(errors)
    out.print(summary["verdict"])
    if summary["n"] and isfinite(summary["coverage"]):
        out.print(f"{100 * summary['coverage']:.1f} % of the targets lie in the intervals.")
    ahead = ", ".join(f"{value:.6g}" for value in found.prediction[-found.horizon :][:8])
    out.print(f"What comes next: {ahead}{', ...' if found.horizon > 8 else ''}")
