"""``greville stream``: answers to lines as they come."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import typer

from ._command import command
from ._files import check_writable, load_table_model
from ._kafka import KafkaOptions
from ._options import (
    Count,
    ModelOptions,
    OnError,
    Task,
    check_std_and_proba,
    number_or_word,
)
from ._process import EXIT_INTERRUPTED, TERMINATION, Stop, stopping_on
from ._terminal import UserError, counted, printable_lines, say, say_findings

# Lines that are answered together, and bytes of one read.
_LINES_AT_ONCE, _BYTES_AT_ONCE = 4096, 1 << 20


@command
def stream(
    *,
    target: str | None = None,
    model: Path | None = None,
    id: str | None = None,
    checkpoint: Path | None = None,
    every: Count = 1000,
    replay: bool = False,
    messages: KafkaOptions,
    watch: bool = False,
    task: Task = Task.auto,
    options: ModelOptions,
    delimiter: str | None = None,
    std: bool = False,
    proba: bool = False,
    follow: bool = True,
    on_error: OnError = OnError.skip,
    quiet: bool = False,
) -> None:
    """Predict each line of standard input as it comes, then learn it.

    Lines are JSON objects, or CSV after a line of names; answers have the same format. A line
    without the target is only predicted. With --id its target may come later, in a line with the
    same id. A line that cannot be used is answered with an error. A blank line is counted, but not
    answered.

    With --checkpoint every row is learned exactly once, even if the process is killed. Start the
    same command again: it says at which line it continues. Send the lines from there, or all of
    them with --replay.

    With --kafka the lines are messages of a topic. A checkpoint then has their offsets; answers
    are sent at least once.

    Examples:

        cat events.jsonl | greville stream --target y > answers.jsonl

        tail -f sensor.jsonl | greville stream --target t --watch

        greville stream --target y --model trained.greville < orders.jsonl

        greville stream -t y --kafka host:9092 --topic in --answers out --checkpoint s.greville

        greville stream --target y --std --on-error stop < events.jsonl

    Parameters
    ----------
    model : PATH
        A model to start from, made by greville train.
    id : NAME
        The field that identifies a row whose target may come in a later line.
    checkpoint : PATH
        Keep the state in this file, and continue from it if it exists.
    every : N
        The number of lines between two checkpoints.
    replay
        The input starts at its first line again: skip the lines that are known.
    watch
        Show rate, error and drift alarms on the terminal.
    task
        auto: regression if the target is a number, otherwise classification.
    delimiter : MARK
        The separator of a CSV: one character, tab, or space. Detected by default.
    follow
        Mix predictions with the last targets.
    on_error
        At a line that cannot be used: answer with an error and go on (skip), or stop.
    """
    from ..persistence import locked
    from ..tables import RowErrors, Stream
    from ..tables.lines import StreamLines

    new_task = _task(task, std, proba)
    check_writable(checkpoint)
    with locked(checkpoint):
        if checkpoint is not None and checkpoint.exists():
            state = _continued(checkpoint, target, id, follow)
            options.place(state.model)
        elif model is not None:
            learned = options.going_on(load_table_model(model), model, target, task)
            state = Stream(learned, id, follow=follow)
        elif target is not None:
            state = Stream(target, id, follow=follow, **options.settings(new_task))
        else:
            raise UserError("--target is missing: name the field to predict.")
        topics = messages.topics(state, checkpoint, replay or delimiter is not None)
        added = [name for name, asked in (("std", std), ("proba", proba)) if asked]
        if added and (settled := state.settled()).task is not None:
            check_std_and_proba(settled, std, proba)
        if state.lines and not quiet:
            what = f"send line {state.lines + 1:,} next (and before it, of CSV, the line of names)"
            what = "those are passed over" if replay or topics else what
            say(f"Going on after line {state.lines:,}: {what}.")
        skip = state.lines if replay else 0
        lines = StreamLines(delimiter, skip, state.lines, added)
        row_errors = RowErrors(skip=on_error == OnError.skip)
        source = topics or _Pipe(lines)
        stopped_by = _answer(state, source, row_errors, checkpoint, every, watch, added)
    if not quiet:
        _say_end(state, row_errors, checkpoint)
    raise typer.Exit(EXIT_INTERRUPTED if stopped_by == signal.SIGINT else 0)


def _task(task: Task, std: bool, proba: bool) -> str:
    """The task of a new model: numbers are labels only if the user says so."""
    if not (std or proba):
        return "numbers" if task == Task.auto else task
    only = Task.regression if std else Task.classification
    if (std and proba) or task not in (Task.auto, only):
        what = "--std is for numbers, --proba for classes; pass one, and no other --task"
        raise UserError(f"--std and --proba: {what}.")
    return only


def _continued(checkpoint: Path, target: str | None, id: str | None, follow: bool) -> Any:
    """Return the stream of a checkpoint, with which the command continues."""
    from ..persistence import load
    from ..tables import Stream

    state = load(checkpoint)
    if not isinstance(state, Stream):
        raise UserError(f"{checkpoint}: it was not written by greville stream; name another file.")
    if target not in (None, state.model.target) or id != state.id:
        raise UserError(
            f"{checkpoint}: it learns {state.model.target!r} with --id {state.id}; pass "
            "the same, or name another file."
        )
    if not follow and state.follows:
        raise UserError(
            f"{checkpoint}: it mixes predictions with the last targets; leave --no-follow out, "
            "or name another file."
        )
    return state


def _answer(
    state: Any,
    source: Any,
    row_errors: Any,
    checkpoint: Path | None,
    every: int,
    watch: bool,
    added: list[str],
) -> int | None:
    """Answer lines until the input ends; return the signal that stopped the command, if any."""
    from ..monitor import DriftMonitor
    from ..persistence import save

    saved, asked = state.lines, dict.fromkeys(added, True)

    def keep() -> None:
        nonlocal saved
        source.deliver()
        if checkpoint is not None and state.lines > saved:
            save(state, checkpoint)
            saved = state.lines

    view: Any = nullcontext()
    if watch:
        from ._watch import View

        state.monitor = state.monitor or DriftMonitor()
        view = View(state)
    at_once = _LINES_AT_ONCE if checkpoint is None else min(every, _LINES_AT_ONCE)
    with stopping_on(*TERMINATION, signal.SIGINT) as stop, view:
        try:
            for rows, first_line in source.bursts(stop, at_once):
                for answers in state.answers(rows, first_line, row_errors, **asked):
                    source.write(answers)
                    if watch:
                        view.see(answers, [rows[answer["line"] - first_line] for answer in answers])
                sys.stdout.flush()
                if state.lines - saved >= every:
                    keep()
        finally:
            keep()
    return stop.signal


def _read(stop: Stop) -> bytes:
    """Wait for standard input and return what has come; nothing at its end or after a signal."""
    from ..tables import Stopped

    try:
        with stop.at_once():
            return os.read(0, _BYTES_AT_ONCE)
    except Stopped:
        return b""
    except OSError as error:
        raise UserError(f"standard input: {error.strerror}; pipe lines into it.") from error


class _Pipe:
    """Rows from lines of standard input, and answers as lines of standard output."""

    def __init__(self, lines: Any) -> None:
        self._lines = lines

    def bursts(self, stop: Stop, at_once: int) -> Iterator[tuple[list[Any], int]]:
        """Yield the rows that are available, and the number of the first of these rows."""
        from ..tables.lines import LineSplitter

        splitter, data = LineSplitter(), b"first"
        while data:
            data = _read(stop)
            ready = splitter.add(data) if data else splitter.end()
            for start in range(0, len(ready), at_once):
                if stop.asked:
                    return
                rows, first_line = self._lines.rows(ready[start : start + at_once])
                if rows:
                    yield rows, first_line

    def write(self, answers: list[dict[str, Any]]) -> None:
        """Write answers; on a terminal, labels in CSV are shown as printable text."""
        text, is_shown = self._lines.text_of(answers), sys.stdout.isatty()
        sys.stdout.write(printable_lines(text) if self._lines.is_csv and is_shown else text)

    def deliver(self) -> None:
        """Flush all answers to standard output."""
        sys.stdout.flush()


def _say_end(state: Any, row_errors: Any, checkpoint: Path | None) -> None:
    message = f"{counted(row_errors.count, 'line')} could not be used"
    say_findings(row_errors, state.unlearned.findings(), message)
    if state.lines and not (state.n_rows or state.waiting or row_errors.count):
        say(f"Warning: no line had a value of {state.model.target!r}; nothing was learned.")
    labels = state.live.classes if state.model.settings.task == "numbers" else []
    words = [label for label in labels if isinstance(number_or_word(label), str)]
    if 0 < len(words) < len(labels):
        say(
            f"Warning: {state.model.target!r} is learned as labels, since {words[0]!r} is no "
            "number; if it should be one, correct that line, or pass --task regression."
        )
    if state.forgotten:
        were = "was" if state.forgotten == 1 else "were"
        say(f"{counted(state.forgotten, 'row')} never got a target and {were} forgotten.")
    if checkpoint is not None:
        say(f"{counted(state.lines, 'line')}; the state is in {checkpoint}.")
