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

from ..elm import ELMClassifier, ELMRegressor
from ..solvers import DynamicOpium, Greville, Opium, OpiumLight, SlidingOpium
from ..validation import check_number, unchanged_on_error
from ._batch import Batch, TableError, Troubles
from ._columns import TEXT, joined, plain, restored, stored
from ._encoding import Encoding
from ._target import CLASSIFICATION, REGRESSION, kind_of_target, targets, wanted

# Rows from which is learned what columns are. They are kept until so many have come.
FIRST = 4096

# hidden="auto": ten units for each input, the paper's rule, within these.
_LEAST_UNITS, _MOST_UNITS = 100, 1000

SOLVERS = ("opium", "dynamic", "sliding", "light", "greville")


@dataclass
class Answers:
    """Predictions for the rows of a batch; those in `wrong` have none, for the reason given."""

    prediction: NDArray[Any]
    wrong: dict[int, str]
    std: NDArray[Any] | None = None
    proba: NDArray[Any] | None = None
    target: NDArray[Any] | None = None
    known: NDArray[np.bool_] | None = None  # rows that have a target


class TableModel:
    """Learns a column of a table from the others, batch by batch.

    What the columns are (numbers, true or false, text, times) is learned from the first 4096 rows
    and then frozen. Until so many have come, they are kept, and learned afresh when 1, 2, 4, ... of
    them say something else: how rows are cut into batches, files or runs changes nothing.

    Parameters
    ----------
    target : str
        The column to predict.
    task : {"auto", "regression", "classification"}
        "auto" is classification for text, true or false, and a few whole numbers.
    hidden : "auto" or int
        "auto" is ten units for each input, from 100 to 1000.
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
        self.settings: dict[str, Any] = {
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
        self.task: str | None = None  # regression or classification, once it is known
        self.kept: str | None = None  # how targets are kept: number, text, integer or flag
        self.columns: list[dict[str, Any]] | None = None  # of the encoding
        self.estimator: Any = None
        self.first: dict[str, Any] | None = {}  # the first rows, as long as they may change things
        self.n_first = 0
        self.n_rows = 0  # learned
        self.n_without_target = 0
        self._encoding: Encoding | None = None
        self._check_settings()

    def _check_settings(self) -> None:
        """Say at once what is wrong with them."""
        s = self.settings
        check_text("target", s["target"])
        if s["task"] not in ("auto", "numbers", REGRESSION, CLASSIFICATION):
            raise TableError(f"--task {s['task']}: choose auto, regression or classification.")
        if s["hidden"] != "auto":
            check_number("--hidden", s["hidden"], low=1, high=100_001, whole=True)
        check_number("--seed", s["seed"], low=0, high=2**32, whole=True)
        for key in ("features", "ignore", "categorical"):
            for name in s[key] or ():
                check_text(key, name)
        self._solver()

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
        if self.columns is not None and self.first is None:
            return [column.name for column in self.encoding.used] + [self.target]
        features = self.settings["features"]
        return None if features is None else [*features, self.target]

    @property
    def classes(self) -> list[Any]:
        return self.estimator.classes_.tolist() if self.task == CLASSIFICATION else []

    def _is_feature(self, name: str) -> bool:
        features = self.settings["features"]
        chosen = features is None or name in features
        return chosen and name != self.target and name not in self.settings["ignore"]

    # Learning

    def learn(self, table: Any, troubles: Troubles | None = None) -> Self:
        """Learn all rows of a table, or of a batch or a list of batches, that have a target."""
        troubles = troubles or Troubles()
        batches = list(_batches(table))
        with unchanged_on_error(self):
            while batches and self.first is not None:
                self._see(batches.pop(0), troubles)
            if batches:
                self._learn(batches, troubles)
        return self

    def record(self, table: Any, troubles: Troubles | None = None) -> list[Answers]:
        """Predict every row before it is learned, and learn them all."""
        troubles = troubles or Troubles()
        with unchanged_on_error(self, *([] if self.estimator is None else [self.estimator])):
            return [
                self._see(piece, troubles, record=True)
                for batch in _batches(table)
                for piece in self._pieces(batch)
            ]

    def _pieces(self, batch: Batch) -> Iterator[Batch]:
        """Parts of a batch in which the encoding stays as it is."""
        start = 0
        while start < len(batch):
            ahead = len(batch)
            if self.first is not None:
                ahead = max(1, 2 * _measured(self.n_first)) - self.n_first
            yield batch.part(start, min(len(batch), start + ahead))
            start += ahead

    def _see(self, batch: Batch, troubles: Troubles, *, record: bool = False) -> Answers:
        """Learn a batch; its predictions before that are only made if wanted."""
        if self.first is None:
            if record:
                return self._record(batch, troubles)
            self._learn([batch], troubles)
            return Answers(np.empty(0), {})
        answers: Answers | None = None
        trial: TableModel | None = None
        if record and self.columns is not None:  # what is known so far answers
            trial = self.twin()
            answers = trial._record(batch, troubles)
            batch = _without(batch, answers.wrong)
        before = _measured(self.n_first)
        room = min(FIRST - self.n_first, len(batch))
        head, rest = batch.part(0, room), batch.part(room, len(batch))
        self._keep(head)
        if _measured(self.n_first) > before:
            self._measure()
            self._drop_wrong(head, troubles)
            self._learn_first()
        elif trial is not None:
            self.estimator, self.n_rows = trial.estimator, trial.n_rows
            self.n_without_target = trial.n_without_target
        else:
            self._learn([head], troubles)
        if self.n_first >= FIRST:
            self.freeze()
            if len(rest):
                self._learn([rest], troubles)
        if answers is None:
            answers = Answers(self._nothing(len(batch)), {})
        return answers

    def _drop_wrong(self, batch: Batch, troubles: Troubles) -> None:
        """Take the last of the first rows out again that cannot be used."""
        assert self.first is not None
        wrong = self._read(batch)[3]
        if wrong:
            troubles.meet_rows(batch, wrong)
            keep = np.ones(self.n_first, bool)
            keep[[self.n_first - len(batch) + row for row in wrong]] = False
            self.first = {k: v.filter(pa.array(keep)) for k, v in self.first.items()}
            self.n_first = int(keep.sum())

    def _keep(self, batch: Batch) -> None:
        """Add rows to the first ones."""
        assert self.first is not None
        self._check_names(batch)
        n, kept = len(batch), dict(self.first)
        for name in batch.table.schema.names:
            if not (self._is_feature(name) or name == self.target):
                continue
            try:
                column = plain(batch.table.column(name))
            except ValueError:  # a type that no model can use: nothing of it is
                column = pa.nulls(n, TEXT)
            before = kept.get(name)
            kept[name] = joined(
                pa.nulls(self.n_first, column.type) if before is None else before, column
            )
        for name, column in kept.items():
            if len(column) == self.n_first:  # the batch does not have it
                kept[name] = pa.concat_arrays([column, pa.nulls(n, column.type)])
        self.first, self.n_first = kept, self.n_first + n

    def _check_names(self, batch: Batch) -> None:
        names = batch.table.schema.names
        if self.target not in names:
            raise TableError(
                f"{batch.source}: there is no column {self.target!r} to learn; it has "
                f"{_some(names)}. Pass one of them as --target."
            )
        for key in ("features", "ignore", "categorical"):
            for name in self.settings[key] or ():
                if name not in names:
                    raise TableError(
                        f"{batch.source}: there is no column {name!r}, which --{key} names; it has "
                        f"{_some(names)}."
                    )

    def _measure(self) -> None:
        """Learn what the columns are from the first 1, 2, 4, ... rows."""
        assert self.first is not None
        n = _measured(self.n_first)
        features = {k: v.slice(0, n) for k, v in self.first.items() if k != self.target}
        encoding = Encoding.learned(features, self.settings["categorical"])
        if not encoding.inputs and n >= min(self.n_first, 16):
            raise TableError(
                "there is no column to learn from: "
                + (
                    "; ".join(f"{c.name!r} is {c.description()}" for c in encoding.columns)
                    or "only the target is there"
                )
                + "."
            )
        self._encoding, self.columns = encoding, encoding.as_list()
        self.task, self.kept = kind_of_target(
            self.first[self.target].slice(0, n), self.settings["task"]
        )

    def _learn_first(self) -> None:
        """Start again, with all of the first rows."""
        assert self.first is not None
        self.estimator, self.n_rows, self.n_without_target = None, 0, 0
        table = pa.RecordBatch.from_pydict(self.first)
        numbers = np.arange(1, self.n_first + 1)
        self._learn([Batch(table, "the first rows", numbers, 0.0)], Troubles(skip=True))

    def freeze(self) -> None:
        """Let what was learned about the columns stand as it is."""
        self.first = None

    def _learn(self, batches: Sequence[Batch], troubles: Troubles) -> None:
        """Learn the rows of batches together."""
        parts = []
        for batch in batches:
            X, y, known, wrong = self._read(batch)
            troubles.meet_rows(batch, wrong)
            use = known.copy()
            use[list(wrong)] = False
            self.n_without_target += int((~known).sum())
            parts.append((X, y) if use.all() else (X[use], y[use]))
        X, y = (
            np.concatenate(part) if len(parts) > 1 else part[0] for part in zip(*parts, strict=True)
        )
        if len(X):
            with _naming(batches):
                self._estimator(X.shape[1]).partial_fit(X, y)
            self.n_rows += len(X)

    def _record(self, batch: Batch, troubles: Troubles) -> Answers:
        """Predict rows, each before it is learned."""
        X, y, known, wrong = self._read(batch)
        troubles.meet_rows(batch, wrong)
        use = known.copy()
        use[list(wrong)] = False
        self.n_without_target += int((~known).sum())
        answers = Answers(self._nothing(len(batch)), wrong, target=y, known=known)
        with _naming([batch]):
            runs = np.flatnonzero(np.diff(use)) + 1  # those without a target are only predicted
            for rows in np.split(np.arange(len(use)), runs):
                if use[rows[0]]:
                    answers.prediction[rows] = self._estimator(X.shape[1]).prequential(
                        X[rows], y[rows]
                    )
                    self.n_rows += len(rows)
                elif self.estimator is not None:
                    answers.prediction[rows] = self.estimator.predict(X[rows])
        return answers

    def _read(
        self, batch: Batch
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.bool_], dict[int, str]]:
        """Inputs, targets, which targets are there, and what is wrong with rows."""
        X, wrong = self.encoding.encode(batch)
        y, known, bad = self.targets(batch)
        return X, y, known, bad | wrong

    def _check_target(self, batch: Batch) -> None:
        if self.target not in batch.table.schema.names:
            raise TableError(
                f"{batch.source}: there is no column {self.target!r}, the target; it has "
                f"{_some(batch.table.schema.names)}."
            )

    # Predicting

    def predict(self, table: Any) -> NDArray[Any]:
        """The predictions for all rows of a batch or an Arrow table."""
        parts = []
        for batch in _batches(table):
            answers = self.answers(batch)
            for row, reason in answers.wrong.items():
                raise TableError(f"{batch.where(row)}: {reason}.")
            parts.append(answers.prediction)
        return np.concatenate(parts)

    def answers(self, batch: Batch, *, std: bool = False, proba: bool = False) -> Answers:
        """Predictions for a batch, and what goes with them."""
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

    @property
    def says_how_sure(self) -> bool:
        """Whether predictions come with standard deviations."""
        return self.task == REGRESSION and self.settings["solver"] != "light"

    def targets(self, batch: Batch) -> tuple[NDArray[Any], NDArray[np.bool_], dict[int, str]]:
        """The targets of a batch, which are there, and what is wrong with the others."""
        self._check_target(batch)
        assert self.kept is not None
        raw = batch.table.column(self.target)
        y, missing, bad = targets(plain(raw), self.kept)
        reason = f"the target {self.target!r} should be {wanted(self.kept)}"
        return (
            y,
            ~missing,
            {int(row): f"{reason}, got {raw[int(row)].as_py()!r}" for row in np.flatnonzero(bad)},
        )

    # Models as sums over rows

    def unlearn(self, table: Any, troubles: Troubles | None = None) -> int:
        """Remove rows learned earlier; how many."""
        self._check_additive("unlearn rows")
        self.freeze()
        removed, twin = 0, _twin(self.estimator)
        for batch in _batches(table):
            X, y, known, wrong = self._read(batch)
            (troubles or Troubles()).meet_rows(batch, wrong)
            known[list(wrong)] = False
            if known.any():
                twin.unlearn(X[known], y[known])
                removed += int(known.sum())
        self.estimator = twin
        self.n_rows -= removed
        return removed

    def merge(self, *others: TableModel) -> Self:
        """Learn all that other models have learned."""
        self._check_additive("merge models")
        twin = _twin(self.estimator)
        for other in others:
            for what in ("task", "kept", "columns"):
                if getattr(self, what) != getattr(other, what) or self.target != other.target:
                    raise TableError(
                        "the models have learned different things about their columns; train the "
                        "second with --like the first, then they go together."
                    )
            twin.merge(other.estimator)
        self.estimator = twin
        self.n_rows += sum(other.n_rows for other in others)
        self.freeze()
        return self

    def twin(self) -> Self:
        """A copy that goes its own way."""
        other = copy(self)
        other.estimator = _twin(self.estimator)
        other.first = None if self.first is None else dict(self.first)
        return other

    def forgotten(self) -> Self:
        """The same columns, units and hidden layer, and nothing learned."""
        other = copy(self)
        other.freeze()
        other.estimator = copy(self.estimator)
        other.estimator.solver_ = copy(self.estimator.solver_)
        other.estimator._early = None
        other.estimator._start_again()
        other.n_rows = other.n_without_target = 0
        return other

    def _check_additive(self, what: str) -> None:
        if self.estimator is None or not hasattr(self.estimator, "unlearn"):
            raise TableError(
                f"this model cannot {what}; only those with the solver opium or greville can."
            )

    # Files

    def _file_fields(self) -> dict[str, Any]:
        fields = {k: v for k, v in vars(self).items() if not k.startswith("_")}
        if self.first is not None:
            fields["first"] = [(name, *stored(column)) for name, column in self.first.items()]
        return fields

    @classmethod
    def _from_file_fields(cls, fields: dict[str, Any]) -> Self:
        """The model again; a ValueError if something in it does not go together."""
        model = cls(**fields["settings"])  # checks them, and that there are no others
        first, columns, estimator = (fields[k] for k in ("first", "columns", "estimator"))
        vars(model).update(fields)
        if columns is not None:
            n_inputs = len(model.encoding.inputs)
            if estimator is not None and estimator.n_features_in_ != n_inputs:
                raise ValueError("the estimator does not have as many inputs as the columns make.")
        if (columns is None) != (model.task is None) or (estimator is not None and columns is None):
            raise ValueError("an estimator, a task and columns go together.")
        kind = ELMClassifier if model.task == CLASSIFICATION else ELMRegressor
        if estimator is not None and not isinstance(estimator, kind):
            raise ValueError(f"the task {model.task} is not that of the estimator.")
        if (model.kept == "number") != (model.task == REGRESSION) and columns is not None:
            raise ValueError("the task and the kind of the targets do not go together.")
        if estimator is not None:
            nothing = {column.name: pa.nulls(1) for column in model.encoding.used}
            batch = Batch(
                pa.RecordBatch.from_pydict(nothing), "a row of nothing", np.ones(1, int), 1.0
            )
            answer = model.answers(batch).prediction[0]
            if model.task == REGRESSION and not np.isfinite(answer):
                raise ValueError("it does not predict numbers.")
        if first is not None:
            model.first = {name: restored(kind, values) for name, kind, values in first}
            lengths = {len(column) for column in model.first.values()} or {0}
            if lengths != {model.n_first} or model.n_first >= FIRST:
                raise ValueError("the first rows are not as many as they should be.")
        return model

    # The estimator

    def _estimator(self, n_inputs: int) -> Any:
        """What learns; it is made when there is something to learn."""
        if self.estimator is None:
            self.estimator = self._started(n_inputs)
        return self.estimator

    def _started(self, n_inputs: int) -> Any:
        hidden = self.settings["hidden"]
        if hidden == "auto":
            hidden = min(max(10 * n_inputs, _LEAST_UNITS), _MOST_UNITS)
        kind = ELMClassifier if self.task == CLASSIFICATION else ELMRegressor
        return kind(hidden, self._solver(), random_state=self.settings["seed"])

    def _solver(self) -> Any:
        s = self.settings
        if s["solver"] not in SOLVERS:
            raise TableError(f"--solver {s['solver']}: choose one of {', '.join(SOLVERS)}.")
        given = {k: s[k] for k in ("alpha", "epsilon", "window") if s[k] is not None}
        takes = {
            "opium": ("epsilon",),
            "dynamic": ("alpha", "epsilon"),
            "sliding": ("window", "epsilon"),
        }
        for name in given:
            if name not in takes.get(s["solver"], ()):
                raise TableError(f"--{name}: the solver {s['solver']} has no such setting.")
        if s["solver"] == "opium":
            solver: Any = Opium(given.get("epsilon", "auto"), intercept=True)
        else:
            kinds = {"dynamic": DynamicOpium, "sliding": SlidingOpium, "light": OpiumLight}
            solver = kinds.get(s["solver"], Greville)(**given)
        try:
            solver._check_parameters()
        except ValueError as error:
            raise TableError(f"--{error}") from error
        return solver

    def _nothing(self, n: int) -> NDArray[Any]:
        """So many predictions that are none."""
        return np.full(n, None if self.task != REGRESSION else np.nan)


def check_text(name: str, value: Any) -> None:
    if not isinstance(value, str):
        raise TableError(f"--{name} {value!r}: pass the name of a column.")


@contextmanager
def _naming(batches: Sequence[Batch]) -> Iterator[None]:
    """Say which rows an estimator has refused."""
    try:
        yield
    except ValueError as error:
        first, last = batches[0], batches[-1]
        where = f"{first.where(0)} to {last.where(len(last) - 1)}"
        raise TableError(f"{where}: {error}") from error


def _measured(n: int) -> int:
    """How many of the first rows say what the columns are."""
    return FIRST if n >= FIRST else (1 << (n.bit_length() - 1) if n else 0)


def _twin(estimator: Any) -> Any:
    return None if estimator is None else estimator._twin()


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


def _without(batch: Batch, rows: dict[int, str]) -> Batch:
    if not rows:
        return batch
    keep = np.ones(len(batch), bool)
    keep[list(rows)] = False
    table = batch.table.filter(pa.array(keep))
    return Batch(table, batch.source, batch.numbers[keep], batch.done)


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:8]))
    return shown + (f" and {len(names) - 8} more" if len(names) > 8 else "")
