"""A model of tables: learns a column from the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from ..fields import compact, stored
from ..insight import Effect, Importance, Why
from ._answers import NOTHING_LEARNED, Answers
from ._dicts import DictRows
from ._fields import FIELDS, OPTIONAL, check_state, from_fields, to_fields
from ._learner import Learner
from ._settings import checked, make_solver
from ._state import State
from .batch import Batch, TableError, Troubles, batches_of, listed
from .findings import Finding
from .insights import table_effect, table_importance, table_why
from .schema import Schema
from .target import CLASSIFICATION, REGRESSION


@stored(
    parameters=FIELDS,
    optional=OPTIONAL,
    whole=True,
    to_fields=lambda model: to_fields(model._state),
    from_fields=lambda cls, fields: cls._from_fields(fields),
    try_out=lambda model: check_state(model._state),
    compact=lambda model: compact(model.estimator),
)
class TableModel(DictRows):
    """Learns a column of a table from the others, batch by batch.

    Column types (numbers, true or false, text, times) and categories are decided from the first
    4096 rows, or from a sample of all (`prepare`), and then frozen; but values of text columns that
    come later are learned too. Until so many have come they are kept as they came, and all of them
    are looked at and learned when the model is used: how rows are cut into batches, files or runs
    changes nothing.

    Parameters
    ----------
    target : str
        The column to predict.
    task : {"auto", "regression", "classification"}
        "auto" is classification for text, true or false, and a few whole numbers.
    hidden : "auto", "inputs", "stream" or int
        "auto" chooses the layer and its size from the rows as `ELMRegressor` does (`prepare` tells
        it how many there are; without it they are taken to be the first 4096); with a solver that
        does not choose epsilon, ten units for each input or 15 times the root of the number of
        rows, from 100 to 1000. "inputs" is ten units for each input, from 100 to 1000. "stream"
        grows with the first rows, up to 400 units or ten for each input: what `greville stream`
        has. A number is that of the units of a `RandomLayer`.
    solver : {"opium", "dynamic", "sliding", "light", "greville"}
    alpha, epsilon, window : float, "auto" or None
        Parameters of the solver; None for its default.
    seed : int
        The same seed gives the same hidden layer.
    features : list of str, optional
        The columns to learn from; all others by default.
    ignore, categorical : list of str
        Columns not to use, and columns of numbers that are names.
    decimal, thousands : str, optional
        The marks in numbers such as 1.234,50; found by itself where a column shows which they are.
    na : list of str
        Values that stand for a missing one, besides the usual ones.
    date_format : str, optional
        A format of `strptime`, "seconds" or "milliseconds" (since 1970): for all columns of which
        it reads the values.
    number, text : list of str
        Columns that are numbers, or text, whatever their values look like.
    fold : list of str
        Columns of text, or the target, whose values are the same if they differ only in small
        letters and blanks.
    categories : int, optional
        How many values of a text column are told apart, at most; by default 50, and as many as come
        in three of the first rows.
    device : str, optional
        Where to learn: "cuda" or another device of torch, or "auto"; see docs/devices.md.

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
        task: Literal["auto", "numbers", "regression", "classification"] = "auto",
        hidden: int | Literal["auto", "inputs", "stream"] = "auto",
        solver: str = "opium",
        alpha: float | Literal["auto"] | None = None,
        epsilon: float | Literal["auto"] | None = None,
        window: int | None = None,
        seed: int = 0,
        features: Sequence[str] | None = None,
        ignore: Sequence[str] = (),
        categorical: Sequence[str] = (),
        decimal: str | None = None,
        thousands: str | None = None,
        na: Sequence[str] = (),
        date_format: str | None = None,
        number: Sequence[str] = (),
        text: Sequence[str] = (),
        fold: Sequence[str] = (),
        categories: int | None = None,
        device: str | None = None,
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
                "decimal": decimal,
                "thousands": thousands,
                "na": list(na),
                "date_format": date_format,
                "number": list(number),
                "text": list(text),
                "fold": list(fold),
                "categories": categories,
                "device": device,
            }
        )
        self._state = State.started(self.settings)

    # What is known

    def __repr__(self) -> str:
        """What is predicted from which columns; nothing is learned for it that waits to be."""
        parts = [repr(self.target)]
        if self.task is not None:
            parts.append(self.task)
        parts.append(f"{self.n_waiting or self.n_rows:,} rows")
        if self.has_schema and self.schema.names:
            parts.append(f"from {listed(self.schema.names)}")
        return f"<TableModel: {', '.join(parts)}>"

    @property
    def target(self) -> str:
        return str(self.settings["target"])

    @property
    def task(self) -> str | None:
        """Regression or classification, once it is known."""
        return None if self._state.learner is None else self._state.learner.target.task

    @property
    def target_kind(self) -> str | None:
        """What targets are: number, text, integer or flag."""
        return None if self._state.learner is None else self._state.learner.target.kind

    @property
    def has_schema(self) -> bool:
        return self._state.learner is not None

    @property
    def schema(self) -> Schema:
        """What the columns are."""
        if self._state.learner is None:
            raise TableError(NOTHING_LEARNED)
        return self._state.learner.schema

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What the first rows have shown that the owner of the table should know."""
        return () if self._state.learner is None else self._state.learner.schema.findings

    @property
    def schema_may_change(self) -> bool:
        """Whether more of the first rows are to come."""
        return self._state.warmup is not None

    @property
    def estimator(self) -> Any:
        """What learns; None before there was a row to learn."""
        return None if self._state.learner is None else self._state.learner.estimator

    @property
    def n_rows(self) -> int:
        """Rows that were learned."""
        return 0 if self._state.learner is None else self._state.learner.n_rows

    @property
    def n_waiting(self) -> int:
        """Rows that are kept, and learned when the model is used or more have come."""
        state = self._state
        return state.warmup.n if state.warmup is not None and state.stale else 0

    @property
    def n_without_target(self) -> int:
        return 0 if self._state.learner is None else self._state.learner.n_without_target

    @property
    def needed(self) -> list[str] | None:
        """The columns that must be read; None for all."""
        if self._state.warmup is None:
            return [*self.schema.names, self.target]
        features = self.settings["features"]
        return None if features is None else [*features, self.target]

    @property
    def classes(self) -> list[Any]:
        return [] if self._state.learner is None else self._state.learner.classes

    @property
    def says_how_sure(self) -> bool:
        """Whether predictions come with standard deviations."""
        return self.task == REGRESSION and make_solver(self.settings).capabilities.tells_spread

    @property
    def leaves_out(self) -> bool:
        """Whether rows that were learned can be predicted as if they had not been."""
        return make_solver(self.settings).capabilities.leaves_out

    # Learning

    def prepare(self, table: Any) -> Self:
        """Look at rows that will be learned, before the first is; learn none.

        What the columns are, and in which units they are learned, then comes from 4096 rows taken
        at random from all of these, always the same ones, and not from the first. If there are no
        more than that, nothing is done: they will all be looked at.

        Parameters
        ----------
        table : a table, a batch, or batches in a list or an iterator
        """
        warmup = self._state.warmup
        if warmup is None or warmup.n or self._state.learner is not None:
            raise TableError("prepare: the model has rows or columns already; make a new one.")
        batches = table if isinstance(table, Iterator) else batches_of(table)
        self._state = self._state.prepared(batches)
        return self

    def learn(self, table: Any, troubles: Troubles | None = None) -> Self:
        """Learn all rows of a table, or of a batch or a list of batches, that have a target.

        All of them or, if an exception comes out, none. What is wrong with one of the first rows
        is said when they are looked at: by `settle`, or when there are enough of them.
        """
        self._state = self._state.learned(batches_of(table), troubles or Troubles())
        return self

    def settle(self, troubles: Troubles | None = None) -> Self:
        """Look at all of the first rows, and learn them, if that is still to be done."""
        self._state = self._state.settled(troubles or Troubles())
        return self

    def say(self, finding: Finding) -> None:
        """Have one more finding about the table."""
        learner = self._state.learner
        assert learner is not None
        learner.say(finding)

    def weigh(self, table: Any, weight: NDArray[np.float64]) -> None:
        """Learn the rows of a table again, that are all rows learned so far, with weights."""
        learner = self._state.learner
        assert learner is not None
        weighed = learner.weighed(list(batches_of(table)), weight)
        self._state = replace(self._state, learner=weighed)

    def freeze(self) -> None:
        """Let what was learned about the columns stand as it is."""
        self._state = replace(self.settle()._state, warmup=None)

    def record(
        self,
        table: Any,
        troubles: Troubles | None = None,
        *,
        std: bool = False,
        proba: bool = False,
    ) -> list[Answers]:
        """Predict every row before it is learned, and learn them all.

        As long as the first rows come, what the columns are is learned afresh from 1, 2, 4, ... of
        them, and when one does not fit.
        """
        batches, troubles = batches_of(table), troubles or Troubles()
        self._state, answers = self._state.recorded(batches, troubles, std=std, proba=proba)
        return answers

    # Predicting

    def predict(self, table: Any) -> NDArray[Any]:
        """The predictions for all rows of a batch or a table."""
        parts = []
        for batch in batches_of(table):
            answers = self.answers(batch)
            for row, reason in answers.wrong.items():
                raise TableError(f"{batch.where(row)}: {reason}.")
            parts.append(answers.prediction)
        return np.concatenate(parts)

    def answers(self, batch: Batch, *, std: bool = False, proba: bool = False) -> Answers:
        """Predictions for a batch, and what goes with them."""
        return self._settled_learner().predict(batch, std=std, proba=proba)

    def leave_out(self, batch: Batch) -> Answers:
        """Predictions for rows that were learned, each as if it alone had not been.

        A ValueError if a row determines its own prediction, as with fewer rows than units it may.
        """
        return self._settled_learner().leave_out(batch)

    def calibrate(self, batch: Batch) -> Self:
        """Learn how sharp probabilities are from rows that were learned, each without itself.

        What learns in one process does so by itself, from rows before it has learned them.
        """
        learner = self._settled_learner().copy()
        if self.task == CLASSIFICATION:
            learner.calibrate(batch)
        self._state = replace(self._state, learner=learner)
        return self

    def importance(self, table: Any = None) -> Importance:
        """How much each column matters, exactly from what was learned, and at rows.

        Parameters
        ----------
        table : a table, a batch, or batches in a list or an iterator, optional
            Rows at which derivatives are taken; a sample of 2000, if there are more.
        """
        model = self.settle()
        return table_importance(model, None if table is None else batches_of(table))

    def effect(self, column: str | Sequence[str], table: Any) -> Effect:
        """The mean prediction over some rows, with a column set to each of some values.

        Parameters
        ----------
        column : str, or two in a list
            Two for their interaction.
        table : a table, a batch, or batches in a list or an iterator
        """
        columns = [column] if isinstance(column, str) else list(column)
        if not 1 <= len(columns) <= 2:
            raise TableError(f"column={column!r}: name one or two.")
        return table_effect(self.settle(), columns, batches_of(table))

    def why(self, batch: Batch) -> tuple[Why, dict[int, str]]:
        """Predictions as sums: that of a mean row, and the share of each column.

        Returns
        -------
        why : Why
        wrong : dict of int to str
            What is wrong with rows that cannot be predicted.
        """
        return table_why(self.settle(), batch)

    def targets(self, batch: Batch) -> tuple[NDArray[Any], NDArray[np.bool_], dict[int, str]]:
        """The targets of a batch, which are there, and what is wrong with the others."""
        return self._settled_learner().target.read(batch)

    def _settled_learner(self) -> Learner:
        learner = self.settle()._state.learner
        if learner is None:
            raise TableError(NOTHING_LEARNED)
        return learner

    # Models as sums over rows

    def unlearn(self, table: Any, troubles: Troubles | None = None) -> int:
        """Remove rows learned earlier, all of them or none; how many."""
        learner = self._additive_learner("unlearn rows")
        removed = sum(learner.unlearn(b, troubles or Troubles()) for b in batches_of(table))
        self._state = State(self.settings, None, False, learner)
        return removed

    def merge(self, *others: TableModel) -> Self:
        """Learn all that other models have learned."""
        learner = self._additive_learner("merge models")
        for other in others:
            learner.merge(other._settled_learner())
        self._state = State(self.settings, None, False, learner)
        return self

    def prepare_from(self, sample: list[Batch], n: int) -> Self:
        """Take columns and units from exactly these rows, out of n; learn none."""
        self._state = State.started(self.settings).prepared_from(sample, n)
        return self

    def accumulator(self) -> Self:
        """A model with the same columns, units and hidden layer that only adds rows up.

        It learns and merges as others do, and cannot predict. `merge` of this model then learns
        all of its rows, as if they had come in one call.
        """
        learner = self._additive_learner("be trained on a cluster")
        other = self.twin()
        other._state = State(self.settings, None, False, learner.accumulator())
        return other

    def frozen(self) -> Self:
        """A model that predicts the same and cannot learn: small enough to be sent anywhere."""
        learner = self._settled_learner().copy()
        learner.estimator = learner.estimator.frozen()
        other = self.twin()
        other._state = State(self.settings, None, False, learner)
        return other

    def choose(self) -> Self:
        """Choose epsilon again from all rows, with care, where it is chosen."""
        learner = self._settled_learner().copy()
        if learner.estimator is not None:
            learner.estimator.choose()
        self._state = replace(self._state, learner=learner)
        return self

    def forgotten(self) -> Self:
        """The same columns, units and hidden layer, and nothing learned."""
        learner = self.settle()._state.learner
        if learner is None or learner.estimator is None:
            raise TableError(
                "the model has learned nothing yet; train it before another is made like it."
            )
        other = self.twin()
        other._state = State(self.settings, None, False, learner.emptied())
        return other

    def _additive_learner(self, what: str) -> Learner:
        """A copy of the learner, if rows can be added to it and removed from it."""
        learner = self.settle()._state.learner
        if learner is None or not hasattr(learner.estimator, "unlearn"):
            raise TableError(
                f"this model cannot {what}; only those with the solver opium or greville can."
            )
        return learner.copy()

    def to(self, device: Any) -> Self:
        """Learn on another device from now on: "cpu", or a device of torch such as "cuda"."""
        if self.estimator is not None:
            self._state = replace(self._state, learner=self._settled_learner().copy())
            self.estimator.to(device)
        self.settings["device"] = str(device)
        return self

    def twin(self) -> Self:
        """A copy that learns on its own."""
        other = copy(self)
        if self._state.learner is not None:
            other._state = replace(self._state, learner=self._state.learner.copy())
        return other

    # Files

    @classmethod
    def _from_fields(cls, fields: dict[str, Any]) -> Self:
        settings = cls(**fields["settings"]).settings  # checks them, and that there are no others
        return cls.of(from_fields(settings, fields))

    @classmethod
    def of(cls, state: State) -> Self:
        """The model of a state."""
        model = cls(**state.settings)
        model._state = state
        return model
