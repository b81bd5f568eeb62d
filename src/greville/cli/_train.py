"""``greville train``: a model from files of any size."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from ._common import (
    check_apart,
    check_writable,
    counted,
    read_table_model,
    report_troubles,
    reported,
    say,
    show_json,
)
from ._options import (
    AlphaOption,
    CategoricalOption,
    Data,
    DelimiterOption,
    EncodingOption,
    EpsilonOption,
    FeaturesOption,
    FormatOption,
    HiddenOption,
    IgnoreOption,
    JsonOption,
    NoHeaderOption,
    OnError,
    OnErrorOption,
    QuietOption,
    SeedOption,
    SolverName,
    SolverOption,
    TargetOption,
    Task,
    WindowOption,
    check_left_out,
    reading,
    settings_of_a_model,
)
from ._progress import rows_bar

# Rows that are learned together. Always as many, counted from the first, so that a run that was
# stopped and goes on does what one that was not does, to the bit.
_CHUNK = 16_384

STOPPED = 143  # as a process that SIGTERM has ended


@reported
def train(
    data: Data,
    target: TargetOption = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The model file (model.greville, or the resumed one)."),
    ] = None,
    task: Annotated[
        Task, typer.Option(help="auto: labels are text, true or false, or a few whole numbers.")
    ] = Task.auto,
    hidden: HiddenOption = "auto",
    solver: SolverOption = SolverName.opium,
    alpha: AlphaOption = None,
    epsilon: EpsilonOption = None,
    window: WindowOption = None,
    seed: SeedOption = 0,
    features: FeaturesOption = None,
    ignore: IgnoreOption = None,
    categorical: CategoricalOption = None,
    resume: Annotated[
        Path | None, typer.Option(help="Go on with this model, as if all had been one run.")
    ] = None,
    like: Annotated[
        Path | None,
        typer.Option(help="Take columns, units and layer from this model: so both can be merged."),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="Save the state here while it runs; the same command then goes on."),
    ] = None,
    every: Annotated[
        int, typer.Option(min=1, help="Rows between two checkpoints, at least.")
    ] = 1_000_000,
    on_error: OnErrorOption = OnError.stop,
    format: FormatOption = None,
    delimiter: DelimiterOption = None,
    no_header: NoHeaderOption = False,
    encoding: EncodingOption = "utf8",
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Learn a column of a table from the others, in memory that does not grow with the table.

    Reads CSV, TSV, JSON lines, Parquet, Arrow, .npy and .npz, also compressed (.gz, .zst). Numbers,
    true or false, text, dates and missing values are all used; what each column is, is learned from
    the first 4096 rows and then kept. Rows without a target are left out.

    Examples:

        greville train houses.csv --target price

        greville train 'logs/*.parquet' --target label -o labels.greville --hidden 500

        greville train more.csv --resume model.greville

        zcat big.csv.gz | greville train - --target y --on-error skip
    """
    from ..persistence import locked

    how = reading(format, delimiter, no_header, encoding)
    settings = settings_of_a_model(
        task, hidden, solver, alpha, epsilon, window, seed, features, ignore, categorical
    )
    output = output or resume or Path("model.greville")
    _check_paths(output, checkpoint)
    with locked(checkpoint), locked(resume if output == resume else None):
        _learn_files(
            data, target, output, settings, resume, like, checkpoint, every, on_error, how,
            as_json, quiet,
        )  # fmt: skip


def _learn_files(
    data: list[str],
    target: str | None,
    output: Path,
    settings: dict[str, Any],
    resume: Path | None,
    like: Path | None,
    checkpoint: Path | None,
    every: int,
    on_error: OnError,
    how: Any,
    as_json: bool,
    quiet: bool,
) -> None:
    from ..fields import compact
    from ..persistence import save
    from ..tables import Stopped, Troubles, find_sources, in_chunks, read

    model, base = _model_to_train(target, resume, like, settings)
    sources = find_sources(data)
    check_apart(output, sources)
    troubles = Troubles(skip=on_error == OnError.skip)
    run = _fingerprint(sources, how, base, settings, str(on_error))
    done = 0
    if checkpoint is not None and checkpoint.exists():
        found = _restored(checkpoint, run, troubles, output)
        if found is None:
            return
        model, done = found
        say(f"Going on after row {done:,}, where {checkpoint} was written.")
    start, before = time.perf_counter(), done
    saved = done

    def keep() -> None:
        nonlocal saved
        if checkpoint is not None and done > saved:
            kept = {"run": run, "rows": done, "skipped": troubles.count, "reasons": troubles.first}
            save(model, checkpoint, extra=kept)
            saved = done

    with _stopping() as stop, rows_bar(quiet, "training", sources) as advance:
        try:
            batches = read(sources, how, troubles, model.needed, lambda: stop.asked)
            with closing(batches):
                for chunk in in_chunks(batches, _CHUNK, skip=done):
                    with stop.at_once():
                        learned, met = model.twin(), troubles.copy()
                        learned.learn(chunk, met)
                        compact(learned)  # as a checkpoint does: it changes no bit then
                    model, troubles, done = learned, met, done + sum(map(len, chunk))
                    advance(chunk[-1], done)
                    if done - saved >= every:
                        keep()
            with stop.at_once():
                settled, met = model.twin(), troubles.copy()
                settled.settle(met)
            model, troubles = settled, met
        except Stopped:
            keep()
            then = f" The same command goes on from {checkpoint}." if checkpoint else ""
            say(f"Stopped after row {done:,}.{then}")
            raise typer.Exit(STOPPED) from None
    seconds = time.perf_counter() - start
    _check_learned(model)
    save(model, output, extra={"finished": run})
    if checkpoint is not None:
        checkpoint.unlink(missing_ok=True)
    _report(model, output, done - before, seconds, troubles, as_json, quiet)


def _check_paths(output: Path, checkpoint: Path | None) -> None:
    from ..tables import TableError

    check_writable(output)
    if checkpoint is not None:
        check_writable(checkpoint)
        if os.path.realpath(checkpoint) == os.path.realpath(output):
            raise TableError(
                "--checkpoint and --output: name two files; the first goes when all is done."
            )


def _model_to_train(
    target: str | None, resume: Path | None, like: Path | None, settings: dict[str, Any]
) -> tuple[Any, str]:
    """The model to go on with, and what tells it from others."""
    from ..tables import TableError, TableModel

    if resume is not None and like is not None:
        raise TableError("--resume and --like: pass one of them.")
    base = resume or like
    if base is None:
        if target is None:
            raise TableError("--target is missing: name the column to predict.")
        return TableModel(target, **settings), target
    model, checksum = read_table_model(base)
    check_left_out(settings, base)
    if target not in (None, model.target):
        raise TableError(f"--target {target}: {base} learns {model.target!r}; leave --target out.")
    return model if like is None else model.forgotten(), checksum


def _fingerprint(sources: Any, how: Any, base: str, settings: Any, on_error: str) -> str:
    """What a checkpoint must agree with to be one of this run."""
    files = [(s.name, s.size, s.path and s.path.stat().st_mtime_ns) for s in sources]
    tree = [files, repr(how), base, settings, on_error]
    return hashlib.sha256(json.dumps(tree, default=str).encode()).hexdigest()


def _restored(checkpoint: Path, run: str, troubles: Any, output: Path) -> tuple[Any, int] | None:
    """The model of a checkpoint and the rows it has seen; None if its run has ended since."""
    from ..persistence import open_file
    from ..tables import TableError, TableModel

    file = open_file(checkpoint)
    model, extra = file.model, file.extra
    if isinstance(model, TableModel) and extra and extra.get("run") == run:
        troubles.count, troubles.first = int(extra["skipped"]), list(extra["reasons"])
        return model, int(extra["rows"])
    if (
        extra
        and output.exists()
        and (open_file(output).extra or {}).get("finished") == extra.get("run")
    ):
        checkpoint.unlink()
        say(f"That run has ended, and {output} is complete; {checkpoint} was removed.")
        return None
    raise TableError(
        f"{checkpoint}: it was not written by this command with these data and settings; "
        "remove it to start again, or name another."
    )


class _Stop:
    """SIGTERM ends the run: between two chunks, or at once where that leaves nothing half done."""

    def __init__(self) -> None:
        self.asked = False
        self._at_once = False

    def hear(self, number: int, frame: Any) -> None:
        self.asked = True
        if self._at_once:
            self._stop()

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """A block that SIGTERM may end anywhere: what it makes is not used then."""
        self._at_once = True
        try:
            if self.asked:
                self._stop()
            yield
        finally:
            self._at_once = False

    def _stop(self) -> None:
        from ..tables import Stopped

        raise Stopped


@contextmanager
def _stopping() -> Iterator[_Stop]:
    stop = _Stop()
    before = signal.signal(signal.SIGTERM, stop.hear)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGTERM, before)


def _check_learned(model: Any) -> None:
    from ..tables import TableError

    if model.n_rows == 0:
        raise TableError(f"no row has a value of {model.target!r}; there is nothing to learn from.")
    if model.classes and len(model.classes) < 2:
        raise TableError(
            f"the target {model.target!r} is {model.classes[0]!r} in every row; there is nothing "
            "to tell apart. Is it the right column? For numbers pass --task regression."
        )


def _report(
    model: Any, output: Path, rows: int, seconds: float, troubles: Any, as_json: bool, quiet: bool
) -> None:
    summary = {
        "model": str(output),
        "task": model.task,
        "target": model.target,
        "classes": len(model.classes) or None,
        "rows": model.n_rows,
        "rows_without_target": model.n_without_target,
        "rows_skipped": troubles.count,
        "inputs": len(model.encoding.inputs),
        "columns": [column.as_dict() for column in model.encoding.columns],
        "units": int(model.estimator.solver_.n_features_in_),
        "solver": model.settings["solver"],
        "seconds": round(seconds, 3),
        "rows_per_second": round(rows / seconds) if seconds > 0 else None,
    }
    if as_json:
        show_json(summary)
    if quiet:
        return
    report_troubles(troubles)
    if model.n_without_target:
        say(f"{model.n_without_target:,} rows without a target were left out.")
    for column in model.encoding.columns:
        if not column.inputs:
            say(f"Column {column.name!r} is {column.description()}.")
    what = (
        f"{len(model.classes)} classes of {model.target!r}"
        if model.classes
        else f"{model.target!r}, a number"
    )
    if model.kept == "integer" and model.settings["task"] == "auto":
        what += " (for a number pass --task regression)"
    say(
        f"Learned {what}, from {counted(len(model.encoding.used), 'column')} and "
        f"{counted(model.n_rows, 'row')} with "
        f"{summary['units']} hidden units in {seconds:.1f} s "
        f"({summary['rows_per_second']:,} rows/s)."
    )
    say(f"The model is in {output}. See how good it is: greville score {output} OTHER_DATA")
