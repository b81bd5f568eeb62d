"""A model of tables: how columns become inputs, and what learns from them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..elm import ELMClassifier, ELMRegressor, Warmup
from ..fields import choice, compact, count, flag, json, known, nothing, require, stored
from ..persistence import check_fits
from ._batch import Batch, TableError, Troubles
from ._columns import LARGEST, UnknownType, plain
from ._encoding import Encoding, listed, shown
from ._first import FirstRows
from ._settings import checked, is_feature, make_estimator
from ._target import CLASSIFICATION, REGRESSION, kind_of_target, targets, wanted

# Rows from which is learned what columns are. They are kept until so many have come.
FIRST = 4096

# Classes of a target. Time and memory grow with their number.
MOST_CLASSES = 10_000

# Columns, or hundreds of characters of names, from which it is tried whether a file holds them.
_MANY_NAMES = 1000


@dataclass
class Answers:
    """Predictions for the rows of a batch; those in `wrong` have none, for the reason given."""

    prediction: NDArray[Any]
    wrong: dict[int, str]
    std: NDArray[Any] | None = None
    proba: NDArray[Any] | None = None
    target: NDArray[Any] | None = None
    known: NDArray[np.bool_] | None = None  # rows that have a target


@stored(
    parameters={
        "settings": json,
        "task": nothing | choice("regression", "classification"),
        "kept": nothing | choice("number", "text", "integer", "flag"),
        "columns": nothing | json,
        "estimator": nothing | known(ELMRegressor, ELMClassifier),
        "first": nothing | known(Warmup),
        "stale": flag,
        "n_rows": count,
        "n_without_target": count,
    },
    derived=("_encoding",),
    whole=True,
    from_fields=lambda cls, fields: cls._from_fields(fields),
    try_out=lambda model: model._check_whole(),
    compact=lambda model: compact(model.estimator),
)
class TableModel:
    """Learns a column of a table from the others, batch by batch.

    What the columns are (numbers, true or false, text, times) is learned from the first 4096 rows
    and then frozen. Until so many have come they are kept as they came, and all of them are looked
    at and learned when the model is used: how rows are cut into batches, files or runs changes
    nothing.

    Parameters
    ----------
    target : str
        The column to predict.
    task : {"auto", "regression", "classification"}
        "auto" is classification for text, true or false, and a few whole numbers.
    hidden : "auto", "inputs" or int
        "auto" is ten units for each input, or 15 times the root of the number of the first rows, if
        that is more; from 100 to 1000. "inputs" depends on those only.
    solver : {"opium", "dynamic", "sliding", "light", "greville"}
    alpha, epsilon, window : float, "auto" or None
        Parameters of the solver; None for its default.
    seed : int
        The same seed gives the same hidden layer.
    features : list of str, optional
        The columns to learn from; all others by default.
    ignore, categorical : list of str
        Columns not to use, and columns of numbers that are names.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from greville.tables import TableModel
    >>> table = pa.table({"x": range(100), "kind": ["a", "b"] * 50, "y": range(0, 200, 2)})
    >>> model = TableModel("y", task="regression").learn(table)
    >>> model.predict(pa.table({"x": [10], "kind": ["a"]})).round(1)
    array([20.])
    """

    def __init__(
        self,
        target: str,
        *,
        task: str = "auto",
        hidden: Any = "auto",
        solver: str = "opium",
        alpha: Any = None,
        epsilon: Any = None,
        window: int | None = None,
        seed: int = 0,
        features: Sequence[str] | None = None,
        ignore: Sequence[str] = (),
        categorical: Sequence[str] = (),
    ) -> None:
        self.settings: dict[str, Any] = checked(
            {
                "target": target,
                "task": task,
                "hidden": hidden,
                "solver": solver,
                "alpha": alpha,
                "epsilon": epsilon,
                "window": window,
                "seed": seed,
                "features": None if features is None else list(features),
                "ignore": list(ignore),
                "categorical": list(categorical),
            }
        )
        self.task: str | None = None  # regression or classification, once it is known
        self.kept: str | None = None  # how targets are kept: number, text, integer or flag
        self.columns: list[dict[str, Any]] | None = None  # of the encoding
        self.estimator: Any = None
        # The first rows, as long as they may change the columns.
        self.first: Warmup[FirstRows] | None = Warmup(FirstRows(), 0, FIRST)
        self.stale = False  # whether some of them were not looked at yet
        self.n_rows = 0  # learned
        self.n_without_target = 0
        self._encoding: Encoding | None = None

    # What is what

    @property
    def target(self) -> str:
        return str(self.settings["target"])

    @property
    def encoding(self) -> Encoding:
        if self._encoding is None:
            if self.columns is None:
                raise TableError(
                    "the model has learned nothing yet; give it rows with a target first."
                )
            self._encoding = Encoding.from_list(self.columns)
        return self._encoding

    @property
    def needed(self) -> list[str] | None:
        """The columns that must be read; None for all."""
        if self.first is None:
            return [column.name for column in self.encoding.used] + [self.target]
        features = self.settings["features"]
        return None if features is None else [*features, self.target]

    @property
    def classes(self) -> list[Any]:
        known = self.task == CLASSIFICATION and self.estimator is not None
        return self.estimator.classes_.tolist() if known else []

    @property
    def says_how_sure(self) -> bool:
        """Whether predictions come with standard deviations."""
        return self.task == REGRESSION and self.settings["solver"] != "light"

    # Learning

    def learn(self, table: Any, troubles: Troubles | None = None) -> Self:
        """Learn all rows of a table, or of a batch or a list of batches, that have a target.

        All of them or, if an exception comes out, none. What is wrong with one of the first rows
        is said when they are looked at: by `settle`, or when there are enough of them.
        """
        troubles = troubles or Troubles()
        new, batches = self.twin(), list(_batches(table))
        for batch in batches:
            troubles.count_skipped(batch)
        while batches and new.first is not None:
            batch = batches.pop(0)
            new._check_names(batch)
            new._check_known(batch)
            room = min(FIRST - new.first.n, len(batch))
            new.first = new._extended_warmup(batch.part(0, room))
            new.stale = True
            if new.first.is_over:
                new._look(troubles)
                new.freeze()
            if room < len(batch):
                batches.insert(0, batch.part(room, len(batch)))
        if batches:
            new._learn(batches, troubles)
        return self._become(new)

    def settle(self, troubles: Troubles | None = None) -> Self:
        """Look at all of the first rows, and learn them, if that is still to be done."""
        if self.stale:
            new = self.twin()
            new._look(troubles or Troubles())
            self._become(new)
        return self

    def _look(self, troubles: Troubles) -> None:
        """Learn from all of the first rows what the columns are, and then the rows."""
        assert self.first is not None
        self._measure()
        for row, reason in sorted(self._learn_first().items()):
            troubles.meet(f"{self.first.rows.where(row)}: {reason}")

    def _measure(self) -> None:
        assert self.first is not None
        columns = dict(self.first.rows.columns)
        column = columns.pop(self.target, None)
        if column is None:
            column = pa.nulls(self.first.n, pa.string())
        encoding = Encoding.learned(columns, self.settings["categorical"])
        if not encoding.inputs:
            what = "; ".join(f"{c.name!r} is {c.description()}" for c in encoding.columns)
            raise TableError(f"there is no column to learn from: {what or 'there is no other'}.")
        self._encoding, self.columns = encoding, encoding.as_list()
        self._check_fits()
        self.task, self.kept = kind_of_target(column, self.settings["task"])

    def _check_fits(self) -> None:
        """Raise a TableError, before rows are learned, if no file can hold the columns."""
        texts = sum(len(name) for name in self.encoding.inputs)
        if len(self.encoding.columns) + texts // 100 < _MANY_NAMES:
            return
        try:
            empty = copy(self)
            empty.estimator = None
            check_fits(empty)
        except ValueError as error:
            raise TableError(
                f"{len(self.encoding.columns):,} columns cannot be kept in a model file: {error} "
                "Name fewer with --features, or leave some out with --ignore."
            ) from error

    def _learn_first(self) -> dict[int, str]:
        """Start again with all of the first rows; what is wrong with some."""
        assert self.first is not None
        self.estimator, self.n_rows, self.n_without_target = None, 0, 0
        self.stale = False
        batch = self.first.rows.batch()
        wrong = self._read(batch)[3]
        self._learn([batch], Troubles(skip=True))
        return wrong

    def _learn(self, batches: Sequence[Batch], troubles: Troubles) -> None:
        """Learn the rows of batches together."""
        parts = []
        for batch in batches:
            X, y, use, _ = self._usable(batch, troubles)
            parts.append((X, y) if use.all() else (X[use], y[use]))
        X, y = (
            np.concatenate(part) if len(parts) > 1 else part[0] for part in zip(*parts, strict=True)
        )
        if len(X):
            self._check_classes(y)
            with _naming(batches):
                self._begun(X.shape[1]).partial_fit(X, y)
            self.n_rows += len(X)

    def _usable(
        self, batch: Batch, troubles: Troubles
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.bool_], Answers]:
        """Inputs, targets, which rows can be learned, and answers without predictions."""
        X, y, known, wrong = self._read(batch)
        troubles.meet_rows(batch, wrong)
        self.n_without_target += int((~known).sum())
        use = known.copy()
        use[list(wrong)] = False
        return X, y, use, Answers(self._nothing(len(batch)), wrong, target=y, known=use)

    def _begun(self, n_inputs: int) -> Any:
        """What learns; it is made when there is something to learn."""
        if self.estimator is None:
            n_rows = FIRST if self.first is None else self.first.n
            self.estimator = make_estimator(self.settings, self.task, n_inputs, n_rows)
        return self.estimator

    def _check_classes(self, y: NDArray[Any]) -> None:
        """Raise a TableError for more classes than can be learned in reasonable time."""
        if self.task == CLASSIFICATION:
            n = len(set(self.classes).union(y.tolist()))
            if n > MOST_CLASSES:
                raise TableError(
                    f"the target {self.target!r} has {n:,} different values, and at most "
                    f"{MOST_CLASSES:,} classes can be learned; is it the right column? For numbers "
                    "pass --task regression."
                )

    def freeze(self) -> None:
        """Let what was learned about the columns stand as it is."""
        self.settle()
        self.first = None

    # Predicting every row before it is learned

    def record(self, table: Any, troubles: Troubles | None = None) -> list[Answers]:
        """Predict every row before it is learned, and learn them all.

        As long as the first rows come, what the columns are is learned afresh from 1, 2, 4, ... of
        them, and when one does not fit.
        """
        troubles = troubles or Troubles()
        new, answers = self.twin().settle(Troubles(skip=True)), []
        for batch in _batches(table):
            troubles.count_skipped(batch)
            start = 0
            while start < len(batch) and new.first is not None:
                stop = min(start + new.first.n_until_due, len(batch))
                piece = batch.part(start, stop)
                found = new._record_first(piece, troubles)
                answers.append(found)
                start += len(found.prediction)
            if start < len(batch):
                answers.append(new._record(batch.part(start, len(batch)), troubles))
        self._become(new)
        return answers

    def _record_first(self, piece: Batch, troubles: Troubles) -> Answers:
        """The same for some of the first rows: those up to one that does not fit, or that one."""
        assert self.first is not None
        if self.columns is None:
            return self._take_in(piece.part(0, 1), "", troubles)
        wrong = self._read(piece)[3]
        stop = min(wrong, default=len(piece))
        if stop == 0:
            return self._take_in(piece.part(0, 1), wrong[0], troubles)
        piece = piece.part(0, stop)
        answers = self._record(piece, troubles)
        before, self.first = self.first, self._extended_warmup(piece)
        if self.first.is_due_after(before):
            self._look_again(troubles)
        return answers

    def _take_in(self, row: Batch, reason: str, troubles: Troubles) -> Answers:
        """A row that does not fit says what its column is; if it does not fit then, it is wrong."""
        assert self.first is not None
        new = self.twin()
        new.first = self._extended_warmup(row)
        new._measure()
        _, y, known, wrong = new._read(row)
        if wrong:
            troubles.meet_rows(row, {0: reason or wrong[0]})
            return Answers(self._nothing(1), {0: reason or wrong[0]})
        new._look_again(troubles)
        self._become(new)
        return Answers(self._nothing(1), {}, target=y, known=known)

    def _look_again(self, troubles: Troubles) -> None:
        """Look at the first rows, and let go of those that now turn out to be wrong."""
        assert self.first is not None
        self._measure()
        wrong = self._learn_first()
        for row, reason in sorted(wrong.items()):
            troubles.meet(f"{self.first.rows.where(row)}: {reason}")
        if wrong:
            rows = self.first.rows.without(list(wrong))
            self.first = self.first.with_rows(rows, rows.n)
        if self.first.is_over:
            self.first = None

    def _extended_warmup(self, batch: Batch) -> Warmup[FirstRows]:
        assert self.first is not None
        rows = self.first.rows.with_batch(batch, self._is_wanted)
        return self.first.with_rows(rows, rows.n)

    def _record(self, batch: Batch, troubles: Troubles) -> Answers:
        X, y, use, answers = self._usable(batch, troubles)
        self._check_classes(y[use])
        with _naming([batch]):
            runs = np.flatnonzero(np.diff(use)) + 1  # those without a target are only predicted
            for rows in np.split(np.arange(len(use)), runs):
                if use[rows[0]]:
                    estimator = self._begun(X.shape[1])
                    answers.prediction[rows] = estimator.prequential(X[rows], y[rows])
                    self.n_rows += len(rows)
                elif self.estimator is not None:
                    answers.prediction[rows] = self.estimator.predict(X[rows])
        return answers

    # Reading rows

    def _read(
        self, batch: Batch
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.bool_], dict[int, str]]:
        """Inputs, targets, which targets are there, and what is wrong with rows."""
        X, wrong = self.encoding.encode(batch)
        y, known, bad = self.targets(batch)
        return X, y, known, bad | wrong

    def targets(self, batch: Batch) -> tuple[NDArray[Any], NDArray[np.bool_], dict[int, str]]:
        """The targets of a batch, which are there, and what is wrong with the others."""
        assert self.kept is not None
        if self.target in batch.table.schema.names:
            raw = batch.table.column(self.target)
        elif batch.sparse:
            raw = pa.nulls(len(batch), pa.string())
        else:
            raise self._no_target(batch)
        try:
            column = plain(raw)
        except UnknownType as error:
            raise TableError(f"{batch.source}: the target {self.target!r}: {error}.") from error
        y, missing, bad = targets(column, self.kept)
        reason = f"the target {self.target!r} should be {wanted(self.kept)}, got "
        return y, ~missing, {int(i): reason + shown(raw[int(i)]) for i in np.flatnonzero(bad)}

    def _no_target(self, batch: Batch) -> TableError:
        return TableError(
            f"{batch.source}: there is no column {self.target!r}, the target; it has "
            f"{listed(batch.table.schema.names)}."
        )

    def _is_wanted(self, name: str) -> bool:
        return name == self.target or is_feature(self.settings, name)

    def _check_names(self, batch: Batch) -> None:
        names = set(batch.table.schema.names)
        if batch.sparse:
            return
        if self.target not in names:
            raise self._no_target(batch)
        features = self.settings["features"]
        for key in ("features", "ignore", "categorical"):
            for name in self.settings[key] or ():
                if name not in names and (features is None or name in features):
                    raise TableError(
                        f"{batch.source}: there is no column {name!r}, which --{key} names; it has "
                        f"{listed(batch.table.schema.names)}."
                    )

    def _check_known(self, batch: Batch) -> None:
        """Columns that the first rows have must be there; new ones are no part of the table."""
        assert self.first is not None
        names = set(batch.table.schema.names)
        missing = [name for name in self.first.rows.columns if name not in names]
        if missing and not batch.sparse:
            raise TableError(
                f"{batch.source}: it has no column {listed(missing)}, which the rows before had; "
                f"it has {listed(batch.table.schema.names)}."
            )

    # Predicting

    def predict(self, table: Any) -> NDArray[Any]:
        """The predictions for all rows of a batch or a table."""
        parts = []
        for batch in _batches(table):
            answers = self.answers(batch)
            for row, reason in answers.wrong.items():
                raise TableError(f"{batch.where(row)}: {reason}.")
            parts.append(answers.prediction)
        return np.concatenate(parts)

    def answers(self, batch: Batch, *, std: bool = False, proba: bool = False) -> Answers:
        """Predictions for a batch, and what goes with them."""
        self.settle()
        X, wrong = self.encoding.encode(batch)
        if self.estimator is None:
            raise TableError("the model has learned nothing yet; give it rows with a target first.")
        X[list(wrong)] = 0
        if proba:
            probabilities = self.estimator.predict_proba(X)
            labels = self.estimator.classes_[probabilities.argmax(axis=1)]
            return Answers(labels, wrong, proba=probabilities)
        if std:
            predicted, spread = self.estimator.predict(X, return_std=True)
            return Answers(predicted, wrong, std=spread)
        return Answers(self.estimator.predict(X), wrong)

    def _nothing(self, n: int) -> NDArray[Any]:
        """So many predictions that are none."""
        return np.full(n, None if self.task != REGRESSION else np.nan)

    # Models as sums over rows

    def unlearn(self, table: Any, troubles: Troubles | None = None) -> int:
        """Remove rows learned earlier, all of them or none; how many."""
        new = self.twin()
        new._check_additive("unlearn rows")
        new.freeze()
        removed = 0
        for batch in _batches(table):
            X, y, use, _ = new._usable(batch, troubles or Troubles())
            if use.any():
                with _naming([batch]):
                    new.estimator.unlearn(X[use], y[use])
                removed += int(use.sum())
        new.n_rows, new.n_without_target = self.n_rows - removed, self.n_without_target
        self._become(new)
        return removed

    def merge(self, *others: TableModel) -> Self:
        """Learn all that other models have learned."""
        new = self.twin()
        new._check_additive("merge models")
        new.freeze()
        for each in others:
            other = each.twin().settle()
            same = all(
                getattr(new, what) == getattr(other, what)
                for what in ("task", "kept", "columns", "target")
            )
            if not same or other.estimator is None:
                raise TableError(
                    "the models have learned different things about their columns; train the "
                    "second with --like the first, then they go together."
                )
            new.estimator.merge(other.estimator)
            new.n_rows += other.n_rows
        return self._become(new)

    def forgotten(self) -> Self:
        """The same columns, units and hidden layer, and nothing learned."""
        other = self.twin().settle()
        if other.estimator is None:
            raise TableError("the model has learned nothing yet that another could be like.")
        other.freeze()
        other.estimator.fitted_ = other.estimator.fitted_.emptied()
        other.n_rows = other.n_without_target = 0
        return other

    def _check_additive(self, what: str) -> None:
        self.settle()
        if self.estimator is None or not hasattr(self.estimator, "unlearn"):
            raise TableError(
                f"this model cannot {what}; only those with the solver opium or greville can."
            )

    def twin(self) -> Self:
        """A copy that goes its own way: what it shares is never changed."""
        other = copy(self)
        if self.estimator is not None:
            other.estimator = copy(self.estimator)
        return other

    def _become(self, other: Self) -> Self:
        vars(self).update(vars(other))
        return self

    # Files

    @classmethod
    def _from_fields(cls, fields: dict[str, Any]) -> Self:
        model = cls(**fields["settings"])  # checks them, and that there are no others
        vars(model).update(fields)
        first = model.first
        fits = first is None or (first.length == FIRST and isinstance(first.rows, FirstRows))
        require(fits, "the first rows are not those of a table")
        return model

    def _check_whole(self) -> None:
        """Raise an exception if it does not work."""
        columns, estimator = self.columns, self.estimator
        if (columns is None) != (self.task is None) or (columns is None and estimator is not None):
            raise ValueError("an estimator, a task and columns go together.")
        if columns is None:
            if self.first is None:
                raise ValueError("it does not know its columns.")
            return
        if (self.kept == "number") != (self.task == REGRESSION):
            raise ValueError("the task and the kind of the targets do not go together.")
        used = self.encoding.used
        if estimator is None:
            return
        kind = ELMClassifier if self.task == CLASSIFICATION else ELMRegressor
        if not isinstance(estimator, kind):
            raise ValueError(f"the task {self.task} is not that of the estimator.")
        if estimator.n_features_in_ != len(self.encoding.inputs):
            raise ValueError("the estimator does not have as many inputs as the columns make.")
        empty = pa.RecordBatch.from_arrays([pa.nulls(1)] * len(used), [c.name for c in used])
        X, _ = self.encoding.encode(Batch(empty, "a row of nothing", np.ones(1, np.int64), 1.0))
        if not (np.abs(X) <= LARGEST).all():  # the estimator itself was tried already
            raise ValueError("the columns make no numbers that can be used.")


@contextmanager
def _naming(batches: Sequence[Batch]) -> Iterator[None]:
    """Say which rows an estimator has refused."""
    try:
        yield
    except ValueError as error:
        first, last = batches[0], batches[-1]
        where = f"{first.where(0)} to {last.where(len(last) - 1)}"
        raise TableError(f"{where}: {error}") from error


def _batches(table: Any) -> Iterator[Batch]:
    if isinstance(table, Batch):
        yield table
        return
    if isinstance(table, list) and all(isinstance(batch, Batch) for batch in table):
        yield from table
        return
    table = pa.Table.from_batches([table]) if isinstance(table, pa.RecordBatch) else pa.table(table)
    number = 0
    for piece in table.combine_chunks().to_batches():
        numbers = np.arange(number + 1, number + 1 + piece.num_rows)
        number += piece.num_rows
        yield Batch(piece, "the table", numbers, 1.0)
