"""Streams of rows: each is predicted at once, and learned exactly once."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any, Self

import numpy as np

from ..fields import array, compact, count, each, flag, instance_of, nothing, require, stored, text
from ..following import Follower, LabelFollower
from ..insight import Importance
from ..monitor import DriftMonitor
from ._rows import FEW_ROWS, batch_of_rows, batches_of_rows, runs_of_one_kind
from ._settings import stream_settings
from .answering import Answer, Answering, Following, Row, answer_of, fits, infinite_value
from .batch import Batch, RowErrors, TableError, listed, unusable_row
from .insights import table_importance
from .model import TableModel
from .predictions import Answers, UnlearnedValues
from .target import CLASSIFICATION, REGRESSION

# Rows that are learned together. How they arrived, alone or in bursts, then changes no bit of the
# model: whatever answered them meanwhile, it is made of whole blocks. The first blocks are shorter:
# they end where columns and units are looked at.
ROWS_PER_BLOCK = 256

# The last rows that are kept where rows are not learned in blocks.
_MOST_RECENT = 511

# Rows that may be without their target. The oldest are forgotten.
_MOST_WITHOUT_TARGET = 100_000

# Text in the place of a number.
_INFINITE = re.compile(r"\s*[+-]?inf(inity)?\s*", re.IGNORECASE)


@stored(
    parameters={
        "model": instance_of(TableModel),
        "id": nothing | text,
        "monitor": nothing | instance_of(DriftMonitor),
        "follower": nothing | instance_of(Follower, LabelFollower),
        "lines": count,
        "position": nothing | text,
        "rows": each(text),
        "with_previous": each(flag),
        "waiting": array(1, "u"),
        "forgotten": count,
        "blocks": flag,
    },
    whole=True,
    compact=lambda stream: stream._compact(),
    to_fields=lambda stream: stream._to_fields(),
    from_fields=lambda cls, fields: cls._from_fields(fields),
    try_out=lambda stream: stream.settled(),
)
class Stream:
    """A model that answers every row, and learns those that have a target.

    `greville stream`, the server and the models for river are streams: the same rows get the same
    predictions from all of them.

    Parameters
    ----------
    model : TableModel or str
        What has been learned before; it goes on learning, whole blocks of 256 rows. Or the target
        of a new model, with the defaults of streams (`stream_settings`).
    id : str, optional
        The column under which a target may come later than its row.
    monitor : DriftMonitor, optional
        Sees every error.
    follow : bool
        Whether predictions are mixed with what the last targets say (`Follower`, for labels
        `LabelFollower`), so that they are never much worse than the last target. The model that is
        learned is the same.
    blocks : bool
        Whether the model is made of whole blocks of rows, so that how rows arrive, alone or in
        bursts, changes no bit of it; rows that come alone are then learned twice. Without blocks
        each is learned once, in half the time.
    **settings
        Parameters of the `TableModel` that is made for a target.

    Examples
    --------
    >>> from greville.tables import Stream
    >>> stream = Stream("y")
    >>> rows = [{"x": i / 10, "y": i / 5} for i in range(60)]
    >>> answers = stream.answer(rows)
    >>> stream.n_rows, round(answers[-1]["prediction"], 1)
    (60, 11.8)
    """

    source = "standard input"  # what errors call the place that lines come from

    def __init__(
        self,
        model: TableModel | str,
        id: str | None = None,
        monitor: DriftMonitor | None = None,
        *,
        follow: bool = True,
        blocks: bool = True,
        **settings: Any,
    ) -> None:
        if isinstance(model, str):
            model = TableModel(model, **stream_settings(settings))
        self.model, self.id, self.monitor, self.blocks = model, id, monitor, blocks
        self.follower: Follower | LabelFollower | None = None
        if follow:
            self.follower = Follower(trained=model.n_rows > 0)
        self.lines = 0  # that were answered
        self.position: str | None = None  # of the next line, as what reads them has written it
        self.rows: list[Row] = []  # of the block that is not whole
        self.with_previous: list[bool] = []  # whether a target came with the one before
        self.waiting: dict[Any, tuple[Row, Any]] = {}  # rows without a target, and predictions
        self.forgotten = 0
        self.unlearned = UnlearnedValues()  # values that were new when a row with them was answered
        self._live: TableModel | None = None  # the model and the rows
        self._live_following = self._following
        # The rows of the last whole block; a model and rows of it, before that block and before
        # the last alarm. They are in no file.
        self._last_rows: list[Row] = []
        self._before_block: tuple[TableModel, list[Row]] | None = None
        self._before_alarm: tuple[TableModel, list[Row]] | None = None

    @property
    def follows(self) -> bool:
        """Whether predictions are mixed with those of a follower of the last targets."""
        return self.follower is not None

    @property
    def live(self) -> TableModel:
        """The model of all rows so far."""
        if not self.blocks:
            return self.model
        if self._live is None:
            self._live, self._live_following = self._with_rows()
        return self._live

    @property
    def _recent(self) -> list[Row]:
        """The last rows that were learned."""
        return [*self._last_rows, *self.rows][-_MOST_RECENT:]

    @property
    def _newest(self) -> TableModel:
        """The live model if there is one, else the model of whole blocks."""
        return self._live or self.model

    def settled(self) -> TableModel:
        """A separate model of all rows so far, which later rows of the stream do not change."""
        return self._with_rows()[0].settle(RowErrors(skip=True))

    @property
    def n_rows(self) -> int:
        """Rows that were learned."""
        return self._newest.n_rows + (0 if self._live else len(self.rows))

    @property
    def n_without_target(self) -> int:
        """Rows whose target was there, and stands for a missing one, such as "nan"."""
        return self._newest.n_without_target

    def no_number(self, row: Row) -> str | None:
        """Describe a target that is no number, where all earlier targets were numbers.

        While the first rows come, it would make classes of all of them.
        """
        model = self._newest
        if model.task != REGRESSION or isinstance(row.get(model.target), (int, float)):
            return None
        return model.target_error(row)

    def answering(self) -> Answering:
        """Return a model that answers rows as this stream does now, and never changes."""
        model = self.live.twin().settle(RowErrors(skip=True))
        return Answering(model, self._live_following and self._live_following.now)

    def importance(self, *, before_alarm: bool = False) -> Importance:
        """How much each column matters at the last rows that were learned, at most 511.

        Parameters
        ----------
        before_alarm : bool
            As it was before the last drift alarm, at the rows that were the last then.

        Raises
        ------
        TableError
            If there are no such rows: nothing was learned, or no alarm was raised, since the stream
            was made or loaded, or since it unlearned rows.
        """
        if not before_alarm:
            return _importance(self.live, self._recent)
        if self._before_alarm is None:
            raise TableError("before_alarm=True: there was no drift alarm.")
        return _importance(*self._before_alarm)

    def most_changed(self) -> tuple[str, float, float] | None:
        """The column that has changed most since the last drift alarm, if there was one.

        In its values, or in what the model makes of them.

        Returns
        -------
        changed : (str, float, float), or None
            Its name, and how far predictions moved with it before the alarm, and move now from
            what it was then.
        """
        if self._before_alarm is None:
            return None
        model, rows = self._before_alarm
        try:
            before = _importance(model, rows)
            now = _importance(self.live, self._recent, rows)
        except TableError:  # there were too few rows
            return None
        return now.most_changed(before)

    def copy(self) -> Stream:
        """Another stream that goes on from here, to the bit."""
        other = copy(self)
        other.model, other._live = self.model.twin(), None
        other.rows, other.with_previous = list(self.rows), list(self.with_previous)
        other._last_rows = list(self._last_rows)
        other.monitor = None if self.monitor is None else self.monitor.copy()
        other.waiting, other.unlearned = dict(self.waiting), UnlearnedValues()
        return other

    def name_ids(self, id: str) -> None:
        """Name rows by an id column from now on; the model does not learn from that column."""
        if self.id not in (None, id):
            raise ValueError(f"id={id!r}: rows are named by {self.id!r} already.")
        self.id = id

    def take_waiting(self) -> dict[Any, tuple[Row, Any]]:
        """Remove and return the rows that wait for their targets, with their predictions."""
        taken, self.waiting = self.waiting, {}
        return taken

    def unlearn(self, rows: Sequence[Row]) -> int:
        """Remove rows learned earlier, all of them or none; return the number of removed rows.

        What the columns are then stands as it is, and the last rows are learned as a shorter
        block. Predictions follow the last targets only after new ones have come.

        Parameters
        ----------
        rows : sequence of dict
            Each with its target.

        Raises
        ------
        TableError
            If the model cannot unlearn, or a row could not have been learned.
        """
        model = self._with_rows()[0]
        removed = model.unlearn(self._batches(rows), RowErrors())
        compact(model)
        self.model = model
        self.follower = self.follower and Follower(trained=True)  # it knows those of removed rows
        self.rows, self.with_previous, self._live = [], [], None
        self._live_following = self._following
        self._last_rows, self._before_block, self._before_alarm = [], None, None
        return removed

    def learn_one(self, row: Row) -> None:
        """Learn one row with a target; a TableError if it cannot be used."""
        self.answer([row])

    def predict_one(self, row: Row, *, std: bool = False, proba: bool = False) -> Answer:
        """The answer to one row, which is not counted; a TableError if it cannot be predicted."""
        now = self._live_following and self._live_following.now
        answering = Answering(self.live.settle(RowErrors(skip=True)), now)
        (answer,) = answering.answers([row], std=std, proba=proba)
        if "error" in answer:
            raise TableError(f"the row: {answer['error']}.")
        return answer

    # Answers

    def answer(
        self,
        rows: Sequence[Row | str | None],
        first_line: int | None = None,
        row_errors: RowErrors | None = None,
        *,
        std: bool = False,
        proba: bool = False,
        together: bool = False,
    ) -> list[Answer]:
        """Answer each row, then learn it if it has a target.

        Parameters
        ----------
        rows : sequence of dict, str or None
            Text in the place of a row says what was wrong with it; None is a line without one,
            which is counted and gets no answer.
        first_line : int, optional
            The number of the first line; by default the next one.
        row_errors : RowErrors, optional
            Whether a row that cannot be used is answered with an error, or is the end (the
            default).
        std, proba : bool
            Whether to answer also with a standard deviation, or with the probability of each class.
        together : bool
            Whether the targets of these rows came at the same time. None of them is then predicted
            from the target of another (in blocks of 256 rows), however they are sorted.

        Returns
        -------
        answers : list of dict
            With a "line", and a "prediction" (None before anything was learned) or an "error".
        """
        begin = self.lines + 1 if first_line is None else first_line
        options = {"std": std, "proba": proba, "together": together}
        parts = self.answers(rows, begin, row_errors or RowErrors(), **options)
        return [answer for part in parts for answer in part]

    def answers(
        self,
        rows: Sequence[Row | str | None],
        first_line: int,
        row_errors: RowErrors,
        *,
        together: bool = False,
        **options: bool,
    ) -> Iterator[list[Answer]]:
        """Yield answers as they are found. After an exception, `lines` says how many there were."""
        run: list[Any] = []  # rows to learn, or rows to predict
        run_kind = ""

        def finish(number: int) -> Iterator[list[Answer]]:
            nonlocal run
            some, run = run, []
            begin = number - len(some)
            if run_kind == "learn":
                with_previous = [together and k > first_line for k in range(begin, number)]
                yield from self._learn(some, begin, row_errors, with_previous, **options)
            else:
                yield from self._predict(some, begin, row_errors, **options)

        for number, row in enumerate(rows, first_line):
            if run_kind == "predict" and run and self._may_be_late(row):
                yield from finish(number)  # its row may be among them
            kind, reason = self._kind(row)
            if kind != run_kind or not self._newest.has_schema:
                yield from finish(number)
                run_kind = kind
            if kind in ("learn", "predict"):
                run.append(row)
            elif kind == "late":
                yield self._learn_late(row, number, row_errors)  # type: ignore[arg-type]
            else:
                if kind == "wrong":
                    row_errors.add(f"{self.source}, line {number:,}: {reason}")
                self.lines += 1
                if kind == "wrong":
                    yield [{"line": number, "error": reason}]
        yield from finish(first_line + len(rows))

    def relearn(self, rows: Sequence[Row], with_previous: Sequence[bool]) -> list[Answer]:
        """Learn rows with targets that this stream, or one like it, has accepted before.

        Parameters
        ----------
        rows : sequence of dict
        with_previous : sequence of bool
            Of each, whether its target came together with that of the row before it.
        """
        parts = self._learn(list(rows), self.lines + 1, RowErrors(skip=True), with_previous)
        return [answer for part in parts for answer in part]

    def _kind(self, row: Row | str | None) -> tuple[str, str]:
        """Return what to do with a row, and the error if the row is wrong."""
        if row is None or isinstance(row, str):
            return ("none", "") if row is None else ("wrong", row)
        key = None if self.id is None else row.get(self.id)
        if isinstance(key, (list, dict)):
            return "wrong", f"the id {self.id!r} should be text or a number, got {key!r}"
        has_target = self._has_target(row)
        if key is not None and has_target:
            if key in self.waiting:
                return "late", ""
            if set(row) <= {self.id, self.model.target}:
                return "wrong", f"no row with the {self.id} {key!r} waits for its target"
        model = self._newest
        if model.has_schema and row.keys().isdisjoint(model.schema.names):
            hint = "; a target that comes late needs an id (--id)" * (has_target and not self.id)
            return "wrong", f"it has none of the columns {listed(model.schema.names)}{hint}"
        reason = infinite_value(row)
        if reason is not None:
            return "wrong", reason
        if has_target and self._is_infinite(row[self.model.target]):
            return "wrong", f"the target {self.model.target!r} is infinite; it cannot be learned"
        return "learn" if has_target else "predict", ""

    def _has_target(self, row: Row) -> bool:
        target = row.get(self.model.target)
        return not (target is None or target == "" or target != target)  # noqa: PLR0124 - nan

    def _is_infinite(self, target: Any) -> bool:
        """Whether text is an infinite number, where it is not a label."""
        if not isinstance(target, str) or _INFINITE.fullmatch(target) is None:
            return False
        return CLASSIFICATION not in (self.model.settings.task, self.model.task)

    def _may_be_late(self, row: Row | str | None) -> bool:
        """Whether a line may bring the target of an earlier one."""
        return self.id is not None and isinstance(row, dict) and self._has_target(row)

    def _head(self, row: Row, number: int) -> Answer:
        """Return the beginning of an answer: its line number and its id."""
        return {"line": number} if self.id is None else {"line": number, "id": row.get(self.id)}

    # Rows with a target

    def _learn(
        self,
        rows: list[Row],
        first_line: int,
        row_errors: RowErrors,
        with_previous: Sequence[bool],
        **options: bool,
    ) -> Iterator[list[Answer]]:
        """Answer rows that have a target, and learn them."""
        while rows:
            n = self._block_length - len(self.rows)
            if len(rows) <= FEW_ROWS:
                n = 1  # alone they are learned without a table
            yield from self._learn_part(
                rows[:n], first_line, row_errors, with_previous[:n], **options
            )
            first_line, rows, with_previous = (
                first_line + len(rows[:n]),
                rows[n:],
                with_previous[n:],
            )

    def _learn_part(
        self,
        rows: list[Row],
        first_line: int,
        row_errors: RowErrors,
        with_previous: Sequence[bool],
        **options: bool,
    ) -> Iterator[list[Answer]]:
        """Learn and answer rows that fit into the block.

        Where one of them cannot be learned none is, and each half is tried alone: so the answers
        to all rows before it come out.
        """
        counted = row_errors.copy()
        try:
            parts = self._record(rows, first_line, counted, with_previous, **options)
        except TableError as error:
            if len(rows) > 1:
                half = len(rows) // 2
                for some, begin in (
                    (slice(half), first_line),
                    (slice(half, None), first_line + half),
                ):
                    yield from self._learn_part(
                        rows[some], begin, row_errors, with_previous[some], **options
                    )
                return
            if not row_errors.skip:
                raise
            reason = error.message.removeprefix(f"{self.source}, row {first_line:,}: ")
            row_errors.add(f"{self.source}, line {first_line:,}: {reason}")
            answers = [{**self._head(rows[0], first_line), "error": reason}]
        else:
            row_errors.count, row_errors.reasons = counted.count, counted.reasons
            proba = options.get("proba", False)
            n_alarms = 0 if self.monitor is None else len(self.monitor.alarms_)
            found = [answer for part in parts for answer in self._answers_to(part, proba)]
            if self.monitor is not None and len(self.monitor.alarms_) > n_alarms:
                ended = (
                    not self.rows
                )  # these rows have ended a block, and may have changed the model
                self._before_alarm = (
                    self._before_block if ended else (self.model.twin(), self._last_rows)
                )
            lines = enumerate(zip(rows, found, strict=True), first_line)
            answers = [{**self._head(row, number), **answer} for number, (row, answer) in lines]
        self.lines += len(rows)
        yield answers

    def _record(
        self,
        rows: list[Row],
        first_line: int,
        row_errors: RowErrors,
        with_previous: Sequence[bool],
        **options: bool,
    ) -> list[Answers]:
        """Learn rows that fit into the block, all or none; return the earlier predictions."""
        numbers, n = range(first_line, first_line + len(rows)), len(self.rows) + len(rows)
        if self.blocks and len(rows) == self._block_length:
            return self._record_block(rows, with_previous, numbers, row_errors, **options)
        live, parts = self.live, None
        if len(rows) == 1 and not options.get("std"):
            # What completes a block is learned with it.
            learns = not self.blocks or n < self._block_length
            part = live.record_one(rows[0], proba=self._needs_proba(live, options), learns=learns)
            parts = None if part is None else [part]
        if parts is None:
            options = {**options, "proba": self._needs_proba(live, options)}
            parts = live.record(self._batches(rows, numbers), row_errors, **options)
        self._live_following = self._followed(live, self._live_following, parts, with_previous)
        if not self.blocks:
            self.follower = self._live_following and self._live_following.now
            self._last_rows = [*self._last_rows, *rows][-_MOST_RECENT:]
            return parts
        self.rows, self.with_previous = [*self.rows, *rows], [*self.with_previous, *with_previous]
        if n == self._block_length:
            self._record_block(self.rows, self.with_previous, (), RowErrors(skip=True))
        return parts

    @property
    def _block_length(self) -> int:
        return (self.blocks and self.model.rows_until_look) or ROWS_PER_BLOCK

    def _needs_proba(self, model: TableModel, options: dict[str, bool]) -> bool:
        """Whether probabilities are needed: by the options, or by a follower of labels."""
        return options.get("proba", False) or (self.follows and model.task != REGRESSION)

    def _record_block(
        self,
        rows: list[Row],
        with_previous: Sequence[bool],
        numbers: Sequence[int],
        row_errors: RowErrors,
        **options: bool,
    ) -> list[Answers]:
        """Learn a whole block with model and follower; return the earlier predictions."""
        options = {**options, "proba": self._needs_proba(self.model, options)}
        before = None if self.monitor is None else (self.model.twin(), self._last_rows)
        parts = self.model.record(self._batches(rows, numbers), row_errors, **options)
        self._last_rows, self._before_block = rows, before
        following = self._followed(
            self.model, self._following, parts, with_previous, mixes=len(numbers) > 0
        )
        self.follower = following and following.now
        compact(self.model)
        self.rows, self.with_previous, self._live = [], [], None
        return parts

    def _with_rows(self) -> tuple[TableModel, Following | None]:
        """Return a new model and follower of all rows so far."""
        model, parts = self.model.twin(), list[Answers]()
        if self.rows:
            proba = self._needs_proba(model, {})
            parts = model.record(self._batches(self.rows), RowErrors(skip=True), proba=proba)
        return model, self._followed(model, self._following, parts, self.with_previous, mixes=False)

    @property
    def _following(self) -> Following | None:
        """The follower after all whole blocks."""
        return None if self.follower is None else Following(self.follower, self.follower)

    @staticmethod
    def _followed(
        model: TableModel,
        following: Following | None,
        parts: list[Answers],
        with_previous: Sequence[bool],
        *,
        mixes: bool = True,
    ) -> Following | None:
        """Return the follower after a model's answers, into which it mixes its own predictions."""
        if following is None or model.task is None:
            return following
        if not fits(following.now, model):  # the first rows say now what targets are
            new = Follower() if model.task == REGRESSION else LabelFollower()
            following = Following(new, new)
        return following.after(parts, with_previous, mixes=mixes)

    def _batches(self, rows: Sequence[Row], numbers: Sequence[int] = ()) -> list[Batch]:
        """Rows as batches, so that each row is read as it would be alone."""
        numbers, batches = numbers or range(1, len(rows) + 1), []
        for run in runs_of_one_kind(rows):
            names = self.model.needed
            if names is None:
                all_names = dict.fromkeys(name for row in rows[run] for name in row)
                names = [name for name in all_names if name != self.id]
            batches.append(batch_of_rows(rows[run], names, self.source, numbers[run]))
        return batches

    def _answers_to(self, part: Answers, proba: bool) -> Iterator[Answer]:
        """Answers to rows that were learned."""
        self.unlearned.add(part)
        for k, predicted in enumerate(part.prediction.tolist()):
            answer = answer_of(part, k, proba=proba)
            known = part.target is not None and part.has_target is not None and part.has_target[k]
            if known and "error" not in answer:
                self._update_monitor(predicted, part.target[k])  # type: ignore[index]
            yield answer

    def _update_monitor(self, predicted: Any, target: Any) -> None:
        if self.monitor is None or predicted is None or predicted != predicted:  # noqa: PLR0124
            return
        is_number = self._newest.task == REGRESSION
        self.monitor.update(float(predicted - target if is_number else predicted != target))

    # Rows without a target

    def _predict(
        self, rows: list[Row], first_line: int, row_errors: RowErrors, **options: bool
    ) -> Iterator[list[Answer]]:
        """Answer rows that have no target."""
        if not rows:
            return
        live = self.live.settle(RowErrors(skip=True))
        follower = self._live_following and self._live_following.now
        answers = Answering(live, follower, self.unlearned).answers(rows, **options)
        for i, row in enumerate(rows):
            answer = self._head(row, first_line + i) | answers[i]
            answers[i] = answer
            if "error" in answer:
                reason = f"{self.source}, line {first_line + i:,}: {answer['error']}"
                if not row_errors.skip:
                    yield answers[:i]
                    raise unusable_row(reason)
                row_errors.add(reason)
            elif answer.get("id") is not None:
                self.waiting[answer["id"]] = row, answer["prediction"]
                if len(self.waiting) > _MOST_WITHOUT_TARGET:
                    del self.waiting[next(iter(self.waiting))]  # the oldest
                    self.forgotten += 1
            self.lines += 1
        yield answers

    def _learn_late(self, row: Row, number: int, row_errors: RowErrors) -> list[Answer]:
        """Learn a row whose target has come."""
        key = row[self.id]  # type: ignore[index]
        asked, prediction = self.waiting[key]
        whole = asked | {str(self.id): key, self.model.target: row[self.model.target]}
        (answers,) = self._learn([whole], number, row_errors, [False])
        del self.waiting[key]
        if "error" not in answers[0]:
            answers[0]["prediction"] = prediction  # the one that was given
            answers[0]["learned"] = True
        return answers

    # Files

    def _compact(self) -> None:
        """Drop the model of all rows, which is made again from the blocks and the rows."""
        self._live = None
        compact(self.model)

    def _to_fields(self) -> dict[str, Any]:
        """Rows as JSON, of which those that wait are many."""
        waiting = [[key, row, predicted] for key, (row, predicted) in self.waiting.items()]
        names = (
            "model", "id", "monitor", "follower", "lines", "position", "with_previous", "forgotten",
            "blocks",
        )  # fmt: skip
        return {
            **{name: getattr(self, name) for name in names},
            "rows": list(map(_as_json, self.rows)),
            "waiting": np.frombuffer(_as_json(waiting).encode(), np.uint8),
        }

    @classmethod
    def _from_fields(cls, fields: dict[str, Any]) -> Self:
        """Make the stream from a file's fields; an exception if they do not go together."""
        rows, waiting = (
            list(map(_from_json, fields["rows"])),
            _from_json(fields["waiting"].tobytes()),
        )
        require(
            len(rows) == len(fields["with_previous"]) < ROWS_PER_BLOCK, "its block has other rows"
        )
        fits = isinstance(waiting, list) and len(waiting) <= _MOST_WITHOUT_TARGET
        fits = fits and all(isinstance(entry, list) and len(entry) == 3 for entry in waiting)
        fits = fits and all(isinstance(row, dict) for row in [*rows, *(r for _, r, _ in waiting)])
        fits = fits and all(isinstance(key, (str, int, float)) for key, _, _ in waiting)
        require(fits, "its rows are none")
        stream = cls(fields["model"])
        vars(stream).update(fields)
        stream.rows, stream._live_following = rows, stream._following
        stream.waiting = {key: (row, predicted) for key, row, predicted in waiting}
        return stream


def _importance(model: TableModel, rows: Sequence[Row], earlier: Sequence[Row] = ()) -> Importance:
    """Return the importance of columns at rows; with earlier rows, of the change since these."""
    before = batches_of_rows(earlier, "the rows") if earlier else None
    settled = model.twin().settle(RowErrors(skip=True))
    return table_importance(settled, batches_of_rows(rows, "the rows"), before)


def _as_json(value: Any) -> str:
    """Rows as text; arrays as lists, and times as text."""
    return json.dumps(value, default=lambda v: v.tolist() if hasattr(v, "tolist") else str(v))


def _from_json(text: str | bytes) -> Any:
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("its rows are too deep.") from error
