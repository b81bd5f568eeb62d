"""``greville stream``: answers to lines as they come."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from ._errors import UserError, ignoring_closed_output, reported
from ._files import check_writable, load_table_model
from ._input import standard_input
from ._options import (
    DelimiterOption,
    ModelOptions,
    OnError,
    ProbaOption,
    QuietOption,
    StdOption,
    TargetOption,
    Task,
    check_left_out,
    check_std_and_proba,
    expand_options,
    on_device,
    one_delimiter,
)
from ._signals import TERMINATION, Stop, stopping_on
from ._terminal import counted, printable_lines, say, say_examples, say_findings

_LINES_AT_ONCE = 4096


@reported
@expand_options
def stream(
    *,
    target: TargetOption = None,
    model: Annotated[
        Path | None, typer.Option(help="A model to start from, made by greville train.")
    ] = None,
    id: Annotated[
        str | None,
        typer.Option(help="The field that identifies a row whose target may come in a later line."),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="Keep the state in this file, and continue from it if it exists."),
    ] = None,
    every: Annotated[
        int, typer.Option(min=1, help="The number of lines between two checkpoints.")
    ] = 1000,
    replay: Annotated[
        bool,
        typer.Option(
            "--replay",
            help="The input starts at its first line again: skip the lines that are known.",
        ),
    ] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Show rate, error and drift alarms on the terminal.")
    ] = False,
    task: Annotated[
        Task,
        typer.Option(help="auto: regression if the target is a number, otherwise classification."),
    ] = Task.auto,
    options: ModelOptions,
    delimiter: DelimiterOption = None,
    std: StdOption = False,
    proba: ProbaOption = False,
    follow: Annotated[
        bool,
        typer.Option(help="Mix predictions of numbers with the last targets."),
    ] = True,
    on_error: Annotated[
        OnError,
        typer.Option(
            "--on-error",
            help="At a line that cannot be used: answer with an error and go on (skip), or stop.",
        ),
    ] = OnError.skip,
    quiet: QuietOption = False,
) -> None:
    """Predict each line of standard input as it comes, then learn it.

    Lines are JSON objects, or CSV after a line of names; answers have the same format. A line
    without the target is only predicted. With --id its target may come later, in a line with the
    same id. A line that cannot be used is answered with an error. A blank line is counted, but not
    answered.

    With --checkpoint every row is learned exactly once, even if the process is killed. Start the
    same command again: it says at which line it continues. Send the lines from there, or all of
    them with --replay.

    Examples:

        cat events.jsonl | greville stream --target y > answers.jsonl

        tail -f sensor.jsonl | greville stream --target t --watch

        greville stream --target y --model trained.greville < orders.jsonl

        greville stream --target y --std --on-error stop < events.jsonl
    """
    from ..persistence import locked

    settings = options.settings(_task(task, std, proba))
    if settings["hidden"] == "auto":
        settings["hidden"] = "stream"
    if checkpoint is not None:
        check_writable(checkpoint)
    with locked(checkpoint):
        state = _open_stream(
            checkpoint, model, target, id, settings, follow, task=task, std=std, proba=proba
        )
        if std or proba:
            known = state.settled()
            if known.task is not None:
                check_std_and_proba(known, std, proba)
        skip, wanted = on_error == OnError.skip, {"std": std, "proba": proba}
        delimiter = one_delimiter(delimiter)
        _answer(state, checkpoint, every, replay, watch, delimiter, skip, wanted, quiet)


def _task(task: Task, std: bool, proba: bool) -> str:
    """The task of a new model: numbers are labels only if the user says so."""
    if std and proba:
        raise UserError("--std and --proba: --std is for numbers, --proba for classes; pass one.")
    if std and task != Task.classification:
        return Task.regression
    if proba and task != Task.regression:
        return Task.classification
    if std or proba:
        what = "--std: there is none for classes" if std else "--proba: there is none for numbers"
        raise UserError(f"{what}; leave it out, or pass another --task.")
    return "numbers" if task == Task.auto else task


def _answer(
    state: Any,
    checkpoint: Path | None,
    every: int,
    replay: bool,
    watch: bool,
    delimiter: str | None,
    skip: bool,
    wanted: dict[str, bool],
    quiet: bool,
) -> None:
    """Answer lines until there are no more."""
    from ..monitor import DriftMonitor
    from ..persistence import save
    from ..tables import Troubles
    from ..tables.lines import StreamLines

    if watch and state.monitor is None:
        state.monitor = DriftMonitor()
    if state.lines and not quiet:
        what = "those are passed over"
        if not replay:
            what = f"send line {state.lines + 1:,} next (and before it, of CSV, the line of names)"
        say(f"Going on after line {state.lines:,}: {what}.")
    troubles = Troubles(skip=skip)
    saved = state.lines

    def keep() -> None:
        nonlocal saved
        if checkpoint is not None and state.lines > saved:
            save(state, checkpoint)
            saved = state.lines

    code = 0
    with (
        stopping_on(*TERMINATION, signal.SIGINT) as stop,
        ignoring_closed_output(),
        _watching(watch, state) as look,
    ):
        added = [name for name, asked in wanted.items() if asked]
        lines = StreamLines(delimiter, state.lines if replay else 0, state.lines, added)
        try:
            at_once = _LINES_AT_ONCE if checkpoint is None else min(every, _LINES_AT_ONCE)
            for rows, first in _bursts(lines, stop, at_once):
                for answers in state.answers(rows, first, troubles, **wanted):
                    _write(lines, answers)
                    look(answers, [rows[answer["line"] - first] for answer in answers])
                sys.stdout.flush()
                if state.lines - saved >= every:
                    keep()
        finally:
            sys.stdout.flush()
            keep()
        code = 128 + signal.SIGINT if stop.signal == signal.SIGINT else 0
    if not quiet:
        if troubles.count:
            say_examples(f"{counted(troubles.count, 'line')} could not be used", troubles)
        say_findings(state.unlearned.findings())
        if state.lines and not state.model.n_rows and not state.rows and not state.waiting:
            say(f"Warning: no line had a value of {state.model.target!r}; nothing was learned.")
        if state.forgotten:
            were = "was" if state.forgotten == 1 else "were"
            say(f"{counted(state.forgotten, 'row')} never got a target and {were} forgotten.")
        if checkpoint is not None:
            say(f"{counted(state.lines, 'line')}; the state is in {checkpoint}.")
    raise typer.Exit(code)


def _bursts(lines: Any, stop: Stop, at_once: int) -> Iterator[tuple[list[Any], int]]:
    """Rows of standard input, and the number of the first; as many together as are there."""
    from ..tables.lines import LineSplitter

    ready: list[bytes | None] = []
    splitter, source = LineSplitter(), standard_input()
    while True:
        data = source.read(stop)
        if stop.asked:
            return
        ready += splitter.add(data) if data else splitter.end()
        more = data and source.has_more()
        while len(ready) >= at_once or (ready and not more):
            some, ready = ready[:at_once], ready[at_once:]
            rows, first = lines.rows(some)
            if rows:
                yield rows, first
            if stop.asked:
                return
        if not data:
            return


def _write(lines: Any, answers: list[dict[str, Any]]) -> None:
    """Write answers; on a terminal, labels in CSV are shown as printable text."""
    text = lines.text_of(answers)
    sys.stdout.write(printable_lines(text) if lines.is_csv and sys.stdout.isatty() else text)


def _open_stream(
    checkpoint: Path | None,
    model: Path | None,
    target: str | None,
    id: str | None,
    settings: dict[str, Any],
    follow: bool,
    *,
    task: Task,
    std: bool,
    proba: bool,
) -> Any:
    """The stream to go on with, or a new one."""
    from ..persistence import load
    from ..tables import Stream, TableModel

    if checkpoint is not None and checkpoint.exists():
        state = load(checkpoint)
        if not isinstance(state, Stream):
            raise UserError(
                f"{checkpoint}: it was not written by greville stream; name another file."
            )
        if target not in (None, state.model.target) or id != state.id:
            raise UserError(
                f"{checkpoint}: it learns {state.model.target!r} with --id {state.id}; pass "
                "the same, or name another file."
            )
        on_device(state.model, settings)
        if not follow and state.follows:
            raise UserError(
                f"{checkpoint}: it mixes predictions with the last targets; leave --no-follow out, "
                "or name another file."
            )
        return state
    if model is not None:
        known = load_table_model(model)
        check_std_and_proba(known, std, proba)
        check_left_out({**settings, "task": str(task)}, model)
        on_device(known, settings)
        if target not in (None, known.target):
            raise UserError(f"--target {target}: {model} learns {known.target!r}.")
        return Stream(known, id, follow=follow)
    if target is None:
        raise UserError("--target is missing: name the field to predict.")
    return Stream(TableModel(target, **settings), id, follow=follow)


@contextmanager
def _watching(wanted: bool, state: Any) -> Iterator[Any]:
    """A view of the stream on the terminal, four times a second."""
    if not wanted:
        yield lambda answers, rows: None
        return
    from ._watch import View

    with View(state) as view:
        yield view.see
