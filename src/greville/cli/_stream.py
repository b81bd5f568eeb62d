"""``greville stream``: answers to lines as they come."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from ._common import (
    check_writable,
    load_table_model,
    quiet_when_nobody_reads,
    report_troubles,
    reported,
    say,
)
from ._lines import BYTES, Talk
from ._options import (
    AlphaOption,
    CategoricalOption,
    DelimiterOption,
    EpsilonOption,
    FeaturesOption,
    HiddenOption,
    IgnoreOption,
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
    one_delimiter,
    settings_of_a_model,
)


@reported
def stream(
    target: TargetOption = None,
    model: Annotated[
        Path | None, typer.Option(help="A model to start from, made by greville train.")
    ] = None,
    id: Annotated[
        str | None,
        typer.Option(help="A field that names a row: its target may come in a later line."),
    ] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="Keep the state in this file; go on from it if it is there.")
    ] = None,
    every: Annotated[int, typer.Option(min=1, help="Lines between two checkpoints.")] = 1000,
    replay: Annotated[
        bool,
        typer.Option(
            "--replay", help="The input starts again at its first line: pass over known ones."
        ),
    ] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Show rate, error and drift alarms on the terminal.")
    ] = False,
    task: Annotated[
        Task, typer.Option(help="auto: numbers are regression, all else is classification.")
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
    delimiter: DelimiterOption = None,
    on_error: OnErrorOption = OnError.stop,
    quiet: QuietOption = False,
) -> None:
    """Answer every line of standard input at once, and learn from it when its target is there.

    Lines are JSON objects, or CSV after a line of names; answers are the same. A line without the
    target is only predicted; with --id its target may come later, in a line with the same id. A row
    is learned exactly once, also if the process is killed: start it again with the same
    --checkpoint, and send the lines after the one it names (or all, with --replay).

    Examples:

        cat events.jsonl | greville stream --target y > answers.jsonl

        tail -f sensor.jsonl | greville stream --target t --checkpoint t.greville --watch

        greville stream --target y --id order --model trained.greville < orders.jsonl
    """
    from ..persistence import locked

    settings = settings_of_a_model(
        "numbers" if task == Task.auto else task,
        *(hidden, solver, alpha, epsilon, window, seed, features, ignore, categorical),
    )
    if settings["hidden"] == "auto":
        settings["hidden"] = "inputs"  # how many rows will come, nobody knows
    if checkpoint is not None:
        check_writable(checkpoint)
    with locked(checkpoint):
        state = _opened(checkpoint, model, target, id, settings)
        skip = on_error == OnError.skip
        _answer(state, checkpoint, every, replay, watch, one_delimiter(delimiter), skip, quiet)


def _answer(
    state: Any,
    checkpoint: Path | None,
    every: int,
    replay: bool,
    watch: bool,
    delimiter: str | None,
    skip: bool,
    quiet: bool,
) -> None:
    """Answer lines until there are no more."""
    from ..monitor import DriftMonitor
    from ..persistence import save
    from ..tables import Troubles

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
    with _stopping() as stop, quiet_when_nobody_reads(), _watching(watch, state) as look:
        talk = Talk(delimiter, state.lines if replay else 0, state.lines)
        try:
            for lines, first in talk.bursts(stop):
                for answers in state.answers(lines, first, troubles):
                    talk.say(answers)
                    look(answers, [lines[answer["line"] - first] for answer in answers])
                talk.flush()
                if state.lines - saved >= every:
                    keep()
        finally:
            talk.flush()
            keep()
        code = stop.code
    if not quiet:
        report_troubles(troubles)
        if state.forgotten:
            say(f"{state.forgotten:,} rows never got a target and were forgotten.")
        if checkpoint is not None:
            say(f"{state.lines:,} lines; the state is in {checkpoint}.")
    raise typer.Exit(code)


def _opened(
    checkpoint: Path | None,
    model: Path | None,
    target: str | None,
    id: str | None,
    settings: dict[str, Any],
) -> Any:
    """The stream to go on with, or a new one."""
    from ..persistence import load
    from ..tables import Stream, TableError, TableModel

    if checkpoint is not None and checkpoint.exists():
        state = load(checkpoint)
        if not isinstance(state, Stream):
            raise TableError(
                f"{checkpoint}: it was not written by greville stream; name another file."
            )
        if target not in (None, state.model.target) or id != state.id:
            raise TableError(
                f"{checkpoint}: it learns {state.model.target!r} with --id {state.id}; pass "
                "the same, or name another file."
            )
        return state
    if model is not None:
        known = load_table_model(model)
        check_left_out(settings, model)
        if target not in (None, known.target):
            raise TableError(f"--target {target}: {model} learns {known.target!r}.")
        return Stream(known, id)
    if target is None:
        raise TableError("--target is missing: name the field to predict.")
    return Stream(TableModel(target, **settings), id)


class _Stop:
    """SIGTERM and SIGINT end the stream between two lines, and waiting for a line at once."""

    def __init__(self) -> None:
        self.code = 0
        self.asked = False
        self._waiting = False

    def hear(self, number: int, frame: Any) -> None:
        self.asked = True
        self.code = 128 + number if number == signal.SIGINT else 0
        if self._waiting:
            raise InterruptedError

    def read(self, source: int) -> bytes:
        """What has come, when something has; nothing at the end, or when asked to stop."""
        try:
            self._waiting = True
            return b"" if self.asked else os.read(source, BYTES)
        except InterruptedError:
            return b""
        finally:
            self._waiting = False


@contextmanager
def _stopping() -> Iterator[_Stop]:
    stop = _Stop()
    heard = [n for n in (signal.SIGTERM, signal.SIGINT) if signal.getsignal(n) != signal.SIG_IGN]
    before = {n: signal.signal(n, stop.hear) for n in heard}  # what a shell has ignored stays so
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _watching(wanted: bool, state: Any) -> Iterator[Any]:
    """A view of the stream on the terminal, four times a second."""
    if not wanted:
        yield lambda answers, rows: None
        return
    from ._watch import View

    with View(state) as view:
        yield view.see
