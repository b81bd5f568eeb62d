"""``greville train``: a model from files of any size."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from ._cluster import ClusterOptions, cluster, cluster_bar
from ._errors import UserError, reported
from ._explain import write_page
from ._files import check_apart, check_writable, read_table_model
from ._options import (
    Data,
    JsonOption,
    ModelOptions,
    QuietOption,
    ReadingOptions,
    TargetOption,
    Task,
    TaskOption,
    check_left_out,
    expand_options,
    on_device,
)
from ._progress import rows_bar
from ._signals import EXIT_STOPPED, TERMINATION, stopping_on
from ._terminal import counted, say
from ._train_report import report

# Rows that are learned together. Always as many, counted from the first, so that a run that was
# stopped and goes on does what one that was not does, to the bit.
_ROWS_PER_UPDATE = 16_384


@reported
@expand_options
def train(
    data: Data,
    *,
    target: TargetOption = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="The model file. Default: model.greville, or that of --resume."
        ),
    ] = None,
    task: TaskOption = Task.auto,
    options: ModelOptions,
    resume: Annotated[
        Path | None, typer.Option(help="Continue with this model, as in one run over all data.")
    ] = None,
    like: Annotated[
        Path | None,
        typer.Option(
            help="Use the columns and hidden layer of this model, so that both can be merged."
        ),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="Save the state here. After a crash, run the same command to continue."),
    ] = None,
    every: Annotated[
        int, typer.Option(min=1, help="The least number of rows between two checkpoints.")
    ] = 1_000_000,
    test: Annotated[
        float,
        typer.Option(help="The share of rows to hold out and score at the end, such as 0.2."),
    ] = 0.0,
    page: Annotated[
        Path | None,
        typer.Option("--report", help="Write a page of HTML about the model here."),
    ] = None,
    reading: ReadingOptions,
    on: ClusterOptions,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Learn to predict a column of a table from the others.

    Reads CSV, TSV, JSON lines, Parquet, Arrow, .npy, .npz, Excel and SQLite; text may be compressed
    (.gz, .zst, .bz2, .xz, .zip). The format is detected. Files are read in batches, in memory that
    does not grow with them.

    Numbers, booleans, text, dates and missing values are all used. Column types are decided from
    4096 rows of all files (of a pipe, its first rows) and then fixed. Rows without a target are
    skipped.

    Examples:

        greville train houses.csv --target price

        greville train 'logs/*.parquet' --target label --hidden 500

        greville train more.csv --resume model.greville

        zcat big.csv.gz | greville train - --target y --on-error skip

        greville train 's3://bucket/*.parquet' --target y --workers 4
    """
    from ..persistence import locked

    settings = options.settings(task)
    output = output or resume or Path("model.greville")
    _check_paths(output, checkpoint)
    with locked(checkpoint), locked(resume if output == resume else None):
        base = _base(target, resume, like, settings, replaced=output == resume)
        columns = _columns_of(base.model)
        run = _start(data, reading, settings, base, output, checkpoint, test)
        if run is None:
            return
        _check_page(page, run)
        if on.wanted:
            train_on_cluster(run, on, as_json, quiet)
            _write_page(page, run)
            return
        before, seconds = run.rows, _learn(run, every, quiet)
        if resume is not None and not quiet:
            _say_changes(columns, _columns_of(run.model))
        report(run, run.rows - before, seconds, _scored(run, quiet), as_json, quiet)
        _write_page(page, run)


def _check_page(page: Path | None, run: _Run) -> None:
    """Find out at once that a page cannot be written."""
    if page is None:
        return
    check_writable(page)
    if any(source.path is None for source in run.sources):
        raise UserError("--report: a pipe cannot be read twice; write it to a file first.")


def _write_page(page: Path | None, run: _Run) -> None:
    """Write what the rows that were held out, or else those that were learned, say."""
    from ..tables import Troubles, read

    if page is None:
        return
    held_out = bool(run.holdout.share)
    with closing(read(run.sources, run.how, Troubles(skip=True), run.model.needed)) as batches:
        rows = run.holdout.held_out(batches) if held_out else batches
        write_page(run.model, rows, page, learned=not held_out, source=run.output.name)


def _columns_of(model: Any) -> dict[str, Any]:
    return {column.name: column for column in model.schema.columns} if model.has_schema else {}


def _say_changes(before: dict[str, Any], after: dict[str, Any]) -> None:
    """Say which columns are used in another way since more rows are known."""
    for name in {**before, **after}:
        was, now = (columns.get(name) for columns in (before, after))
        if type(was) is not type(now):
            texts = ["left out" if c is None else c.description() for c in (was, now)]
            say(f"Column {name!r} was: {texts[0]}. With the new rows it is: {texts[1]}.")


def train_on_cluster(run: _Run, on: ClusterOptions, as_json: bool, quiet: bool) -> None:
    """Learn all rows on a cluster; the model is that of one machine."""
    if run.checkpoint is not None:
        raise UserError(
            "--checkpoint: on a cluster, workers that die are replaced and their rows are learned "
            "again; leave it out."
        )
    with cluster(on) as client:
        from ..dask.tables import Job
        from ..tables import check_held_out

        start = time.perf_counter()
        job = Job(client, run.sources, run.how, run.troubles.skip)
        run.n_workers = len(client.nthreads())
        with cluster_bar(quiet, "looking", job, reported=False):
            sample, n = job.sample(run.model, run.holdout)
        if run.is_new:
            run.model.prepare_from(sample, n)
        before = run.model.n_rows
        with cluster_bar(quiet, "training", job):
            run.model, run.troubles = job.learn(run.model, run.holdout)
        if run.model.leaves_out:
            run.score.before_learning(run.model, sample)
            run.score.calibrate(run.model)
        seconds = time.perf_counter() - start
        run.finish()
        if run.holdout.share:
            with cluster_bar(quiet, "testing", job):
                found = job.score(run.model, run.holdout).found
            check_held_out(found, run.model)
            scores = {"how": "held out", **found.summary()}
        elif run.model.leaves_out:
            scores = run.score.summary(run.model)
        else:
            scores = None
    report(run, run.model.n_rows - before, seconds, scores, as_json, quiet)


@dataclass
class _Base:
    """The model to start from, what tells it from others, and its file with what is in it."""

    model: Any
    identity: str
    path: Path | None = None
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass
class _Run:
    """What is read and learned, and how far that is."""

    sources: Any
    how: Any
    model: Any
    troubles: Any
    output: Path
    checkpoint: Path | None
    fingerprint: str
    holdout: Any
    score: Any
    is_new: bool = True  # no row was learned, in this run or before it
    rows: int = 0
    saved: int = 0
    n_workers: int | None = None  # where there is a cluster

    def findings(self) -> tuple[Any, ...]:
        """What readers and columns have to say."""
        return tuple(dict.fromkeys([*self.troubles.findings, *self.model.schema.findings]))

    def save_checkpoint(self) -> None:
        """Save what was learned since the last time, if anything was."""
        from ..persistence import save

        if self.checkpoint is not None and self.rows > self.saved:
            state = {"run": self.fingerprint, "rows": self.rows}
            state |= {"skipped": self.troubles.count, "reasons": self.troubles.first}
            save(self.model, self.checkpoint, extra=state)
            self.saved = self.rows

    def finish(self) -> None:
        """Save the model, and remove the checkpoint."""
        from ..persistence import save

        _check_learned(self.model)
        save(self.model, self.output, extra={"finished": self.fingerprint})
        if self.checkpoint is not None:
            self.checkpoint.unlink(missing_ok=True)


def _start(
    data: list[str],
    reading: ReadingOptions,
    settings: dict[str, Any],
    base: _Base,
    output: Path,
    checkpoint: Path | None,
    test: float,
) -> _Run | None:
    """A run from its beginning, or from its checkpoint; None if it has ended before."""
    from ..tables import Holdout, TrainingScore, find_sources

    how, troubles = reading.reading(base.model.target), reading.troubles()
    sources = find_sources(data)
    check_apart(output, sources)
    holdout = Holdout(test)
    if test and not all(source.can_be_read_again for source in sources):
        raise UserError("--test: a pipe cannot be read twice; write it to a file first.")
    settings = {**settings, "test": test} if test else settings
    fingerprint = _fingerprint(sources, how, base.identity, settings, str(reading.on_error))
    run = _Run(
        sources,
        how,
        base.model,
        troubles,
        output,
        checkpoint,
        fingerprint,
        holdout,
        TrainingScore(),
        is_new=base.path is None,
    )
    if checkpoint is None or not checkpoint.exists():
        return run
    if not _restore(run, checkpoint, base, settings):
        return None
    say(f"Going on after {counted(run.rows, 'row')}, where {checkpoint} was written.")
    return run


def _learn(run: _Run, every: int, quiet: bool) -> float:
    """Learn all rows; how many seconds it took."""
    from ..fields import compact
    from ..tables import Stopped, in_chunks, read

    start = time.perf_counter()
    with stopping_on(*TERMINATION) as stop, rows_bar(quiet, "training", run.sources) as advance:
        try:
            _prepare(run, lambda: stop.asked)
            batches = read(run.sources, run.how, run.troubles, run.model.needed, lambda: stop.asked)
            with closing(batches):
                kept = run.holdout.learned(batches)
                for chunk in in_chunks(kept, _ROWS_PER_UPDATE, skip=run.rows):
                    with stop.at_once():
                        learned, met = run.model.twin(), run.troubles.copy()
                        run.score.before_learning(learned, chunk)
                        learned.learn(chunk, met)
                        compact(learned)  # as a checkpoint does: it changes no bit then
                    run.model, run.troubles = learned, met
                    run.rows += sum(map(len, chunk))
                    advance(chunk[-1], run.rows)
                    if run.rows - run.saved >= every:
                        run.save_checkpoint()
            with stop.at_once():
                settled, met = run.model.twin(), run.troubles.copy()
                settled.settle(met).choose()
            run.model, run.troubles = settled, met
        except Stopped:
            run.save_checkpoint()
            then = f" The same command goes on from {run.checkpoint}." if run.checkpoint else ""
            say(f"Stopped after {counted(run.rows, 'row')}.{then}")
            raise typer.Exit(EXIT_STOPPED) from None
    seconds = time.perf_counter() - start
    run.finish()
    return seconds


def _prepare(run: _Run, stopped: Callable[[], bool]) -> None:
    """Look at all rows before the first is learned, where they can be read twice."""
    from ..tables import Troubles, parts_of, read

    if run.is_new and all(source.can_be_read_again for source in run.sources):
        # What is held out is found by the numbers of rows, which those of parts do not have.
        parts = run.sources if run.holdout.share else parts_of(run.sources, run.how)
        troubles = run.troubles if parts == run.sources else Troubles(skip=True)
        batches = read(parts, run.how, troubles, run.model.needed, stopped)
        with closing(batches):
            run.model.prepare(run.holdout.learned(batches))


def _check_paths(output: Path, checkpoint: Path | None) -> None:
    check_writable(output)
    if checkpoint is not None:
        check_writable(checkpoint)
        if os.path.realpath(checkpoint) == os.path.realpath(output):
            raise UserError(
                "--checkpoint and --output: name two files; the checkpoint is deleted at the end."
            )


def _base(
    target: str | None,
    resume: Path | None,
    like: Path | None,
    settings: dict[str, Any],
    *,
    replaced: bool,
) -> _Base:
    """The model to go on with, or a new one."""
    from ..tables import TableModel

    if resume is not None and like is not None:
        raise UserError("--resume and --like: pass one of them.")
    path = resume or like
    if path is None:
        if target is None:
            raise UserError("--target is missing: name the column to predict.")
        return _Base(TableModel(target, **settings), target)
    model, extra, checksum = read_table_model(path, replaced=replaced)
    check_left_out(settings, path)
    if target not in (None, model.target):
        raise UserError(f"--target {target}: {path} learns {model.target!r}; leave --target out.")
    model = on_device(model if like is None else model.forgotten(), settings)
    return _Base(model, checksum, path, extra)


def _fingerprint(sources: Any, how: Any, base: str, settings: Any, on_error: str) -> str:
    """What a checkpoint must agree with to be one of this run."""
    files = [(s.name, s.size, s.version) for s in sources]
    tree = [files, repr(how), base, settings, on_error]
    return hashlib.sha256(json.dumps(tree, default=str).encode()).hexdigest()


def _restore(run: _Run, checkpoint: Path, base: _Base, settings: dict[str, Any]) -> bool:
    """Take the model and the rows it has seen from a checkpoint; False if its run has ended."""
    from ..persistence import open_file
    from ..tables import TableModel

    file = open_file(checkpoint)
    extra = file.extra or {}
    if extra.get("run") == run.fingerprint and isinstance(file.model, TableModel):
        run.model = on_device(file.model, settings)
        run.rows = run.saved = int(extra["rows"])
        run.is_new = False
        run.troubles.count, run.troubles.first = int(extra["skipped"]), list(extra["reasons"])
        return True
    if extra and run.output.exists():
        finished = base.extra if run.output == base.path else open_file(run.output).extra or {}
        if finished.get("finished") == extra.get("run"):
            checkpoint.unlink()
            say(f"That run has ended, and {run.output} is complete; {checkpoint} was removed.")
            return False
    raise UserError(
        f"{checkpoint}: it was not written by this command with these data and settings; "
        "remove it to start again, or name another."
    )


def _scored(run: _Run, quiet: bool) -> dict[str, Any] | None:
    """How good the model is: on the rows that were held out, or from the pass itself."""
    from ..tables import read, score_rows

    if not run.holdout.share:
        found: dict[str, Any] | None = run.score.summary(run.model)
        return found
    batches = read(run.sources, run.how, run.troubles, run.model.needed)
    with closing(batches), rows_bar(quiet, "testing", run.sources) as advance:

        def shown() -> Any:
            rows = 0
            for batch in run.holdout.held_out(batches):
                rows += len(batch)
                advance(batch, rows)
                yield batch

        scores: dict[str, Any] = score_rows(run.model, shown(), run.troubles.copy())
    return scores


def _check_learned(model: Any) -> None:
    if model.n_rows == 0:
        raise UserError(f"no row has a value of {model.target!r}; there is nothing to learn from.")
    if model.classes and len(model.classes) < 2:
        raise UserError(
            f"the target {model.target!r} is {model.classes[0]!r} in every row; there are no "
            "classes to tell apart. Is it the right column? For numbers pass --task regression."
        )
