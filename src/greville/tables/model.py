"""A model of tables: learns a column from the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from ..fields import compact, stored
from ..insight import Effect, Importance, Why
from ._dicts import DictRows
from ._encoded import naming_rows
from ._fields import FIELDS, check_fields, set_fields, to_fields
from ._settings import checked, make_solver
from .batch import Batch, TableError, Troubles, batches_of, listed
from .findings import Finding
from .insights import table_effect, table_importance, table_why
from .target import CLASSIFICATION, REGRESSION


@stored(
    parameters=FIELDS,
    whole=True,
    to_fields=to_fields,
    from_fields=lambda cls, fields: cls._from_fields(fields),
    try_out=check_fields,
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
        super().__init__(
            checked(
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
        )

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
    def target_kind(self) -> str | None:
        """What targets are: number, text, integer or flag."""
        return None if self.fitted_target is None else self.fitted_target.kind

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What the first rows have shown that the owner of the table should know."""
        return self.schema.findings if self.has_schema else ()

    @property
    def schema_may_change(self) -> bool:
        """Whether more of the first rows are to come."""
        return self.first is not None

    @property
    def n_waiting(self) -> int:
        """Rows that are kept, and learned when the model is used or more have come."""
        return self.first.n if self.first is not None and self.stale else 0

    @property
    def needed(self) -> list[str] | None:
        """The columns that must be read; None for all."""
        if self.first is None:
            return [*self.schema.names, self.target]
        features = self.settings["features"]
        return None if features is None else [*features, self.target]

    @property
    def says_how_sure(self) -> bool:
        """Whether predictions come with standard deviations."""
        return self.task == REGRESSION and make_solver(self.settings).capabilities.tells_spread

    @property
    def leaves_out(self) -> bool:
        """Whether rows that were learned can be predicted as if they had not been."""
        return make_solver(self.settings).capabilities.leaves_out

    # What is learned of columns and units stays

    def weigh(self, table: Any, weight: NDArray[np.float64]) -> None:
        """Learn the rows of a table again, that are all rows learned so far, with weights."""
        start, (n_rows, n_without) = 0, (self.n_rows, self.n_without_target)
        with self._replacement() as new:
            new._empty()
            for batch in batches_of(table):
                rows, weights = new._encoded(batch), weight[start : start + len(batch)]
                start, use = start + len(batch), rows.usable
                if use.any():
                    X, y = rows.learned_from()
                    new.estimator.partial_fit(X, y, sample_weight=weights[use])
                    new.categories = new._known_categories.with_rows(X)
            new.estimator.choose()
            new.n_rows, new.n_without_target = n_rows, n_without

    def _empty(self) -> None:
        """Forget all rows, but neither columns, nor units, nor the hidden layer."""
        self.first, self.stale = None, False
        self.estimator.publish(self.estimator.fitted_.emptied())
        self.n_rows = self.n_without_target = 0
        self.categories = type(self._known_categories)(self.schema)

    def forgotten(self) -> Self:
        """The same columns, units and hidden layer, and nothing learned."""
        if self.settle().estimator is None:
            raise TableError(
                "the model has learned nothing yet; train it before another is made like it."
            )
        other = self.twin()
        other._empty()
        return other

    def freeze(self) -> None:
        """Let what was learned about the columns stand as it is."""
        self.settle().first = None

    def calibrate(self, batch: Batch) -> Self:
        """Learn how sharp probabilities are from rows that were learned, each without itself.

        What learns in one process does so by itself, from rows before it has learned them.
        """
        with self.settle()._replacement() as new:
            rows = new._encoded(batch)
            if new.task == CLASSIFICATION and new.estimator is not None and rows.usable.any():
                new.estimator.calibrate(*rows.learned_from())
        return self

    def choose(self) -> Self:
        """Choose epsilon again from all rows, with care, where it is chosen."""
        with self.settle()._replacement() as new:
            if new.estimator is not None:
                new.estimator.choose()
        return self

    # Models as sums over rows

    def unlearn(self, table: Any, troubles: Troubles | None = None) -> int:
        """Remove rows learned earlier, all of them or none; how many."""
        before = self.settle().n_rows
        with self._additive("unlearn rows")._replacement() as new:
            for batch in batches_of(table):
                rows = new._checked(batch, troubles or Troubles())
                X, y = rows.learned_from()
                if len(X):
                    with naming_rows([batch]):
                        new.estimator.unlearn(X, y)
                new.n_rows -= len(X)
            new.first = None
        return before - self.n_rows

    def merge(self, *others: TableModel) -> Self:
        """Learn all that other models have learned."""
        with self._additive("merge models")._replacement() as new:
            for other in others:
                new._merge(other.settle())
            new.first = None
        return self

    def _merge(self, other: TableModel) -> None:
        """Learn all that another has learned, once both have the inputs of both."""
        joined = self._known_categories.joined(other._known_categories)
        if joined is None or self.fitted_target != other.fitted_target or other.estimator is None:
            raise _different_columns()
        theirs, grew = other.twin(), self.schema.as_list() != other.schema.as_list()
        self._extend(joined)
        theirs._extend(joined)
        try:
            self.estimator.merge(theirs.estimator)
        except ValueError as error:
            if not grew:
                raise
            raise _different_columns() from error
        self.n_rows += other.n_rows
        self.n_without_target += other.n_without_target
        self.categories = self._known_categories | theirs._known_categories

    def accumulator(self) -> Self:
        """A model with the same columns, units and hidden layer that only adds rows up.

        It learns and merges as others do, and cannot predict. `merge` of this model then learns
        all of its rows, as if they had come in one call.
        """
        other = self._additive("be trained on a cluster").twin()
        fitted = other.estimator.fitted_
        other._empty()
        other.estimator.publish(fitted.accumulator())
        return other

    def frozen(self) -> Self:
        """A model that predicts the same and cannot learn: small enough to be sent anywhere."""
        other = self.settle().twin()
        other.estimator, other.first = other.estimator.frozen(), None
        return other

    def _additive(self, what: str) -> Self:
        """This model, if rows can be added to it and removed from it."""
        if not hasattr(self.settle().estimator, "unlearn"):
            raise TableError(
                f"this model cannot {what}; only those with the solver opium or greville can."
            )
        return self

    def to(self, device: Any) -> Self:
        """Learn on another device from now on: "cpu", or a device of torch such as "cuda"."""
        if self.settle().estimator is not None:
            with self._replacement() as new:
                new.estimator.to(device)
        self.settings["device"] = str(device)
        return self

    # What matters to it

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

    # Files

    @classmethod
    def _from_fields(cls, fields: dict[str, Any]) -> Self:
        model = cls(**fields["settings"])  # checks them, and that there are no others
        set_fields(model, fields)
        return model


def _different_columns() -> TableError:
    return TableError(
        "the models have different columns, types or categories",
        "; start the second from first.forgotten(), then they can be merged.",
    )
