"""What the estimators of tables share: data frames on the way to a `TableModel`, and back."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted

from ..devices import received_on_host
from ..insight import Effect, Importance
from ..representation import Described, named_list
from ..validation import Seed, check_something_counts, check_weights, naming
from ._answers import Answers
from ._rows import checked_row
from ._values import Values
from .about import table_summary
from .answering import infinite_value
from .batch import TableError, batches_of, listed
from .doubts import spellings
from .evidence import Evidence
from .findings import Finding, grouped
from .frames import as_table, column_of, is_frame, table_of_array
from .model import TableModel
from .target import REGRESSION
from .totals import totals_row
from .unlearned import UnlearnedValues


class TableEstimator(Described, BaseEstimator):
    """What both estimators share: parameters, data frames, and a `TableModel` that learns."""

    # Parameters that files do not have
    device: Any = None
    verbose: Any = False

    _task: ClassVar[Literal["regression", "classification"]]
    model_: TableModel

    def __init__(
        self,
        hidden: int | Literal["auto", "inputs", "stream"] = "auto",
        solver: str = "opium",
        *,
        alpha: float | Literal["auto"] | None = None,
        epsilon: float | Literal["auto"] | None = None,
        window: int | None = None,
        random_state: Seed = 0,
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
        verbose: bool | int = False,
    ) -> None:
        self.hidden = hidden
        self.solver = solver
        self.alpha = alpha
        self.epsilon = epsilon
        self.window = window
        self.random_state = random_state
        self.features = features
        self.ignore = ignore
        self.categorical = categorical
        self.decimal = decimal
        self.thousands = thousands
        self.na = na
        self.date_format = date_format
        self.number = number
        self.text = text
        self.fold = fold
        self.categories = categories
        self.device = device
        self.verbose = verbose

    def to(self, device: Any) -> Self:
        """Move the model, and learn there from now on.

        Parameters
        ----------
        device : str
            "cpu", or a device of torch such as "cuda".

        Returns
        -------
        self
        """
        if self.__sklearn_is_fitted__():
            self.model_ = self.model_.twin().to(device)
        self.device = str(device)
        return self

    def importance(self, X: Any = None) -> Importance:
        """How much each column matters, exactly from what was learned, and at rows.

        Parameters
        ----------
        X : data frame, Arrow table, dict of columns, or array, optional
            Rows at which derivatives are taken; a sample of 2000, if there are more.
        """
        check_is_fitted(self)
        return self.model_.importance(None if X is None else self._table(X, reset=False)[0])

    def effect(self, column: Any, X: Any) -> Effect:
        """The mean prediction over some rows, with a column set to each of some values.

        Parameters
        ----------
        column : str, or two in a list
            Two for their interaction.
        X : data frame, Arrow table, dict of columns, or array
        """
        check_is_fitted(self)
        return self.model_.effect(column, self._table(X, reset=False)[0])

    # Learning

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Forget everything, then learn these rows.

        Parameters
        ----------
        X : data frame, Arrow table, dict of columns, or array of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            The precision of each row. What the columns are, their units and the hidden layer come
            from the rows as they are.

        Returns
        -------
        self
        """
        return self._learn(X, y, reset=True, sample_weight=sample_weight)

    def _learn(
        self, X: Any, y: Any, *, reset: bool, sample_weight: Any = None, **options: Any
    ) -> Self:
        table, columns = self._table(X, reset=reset)
        y = received_on_host(y, "y")
        weight = received_on_host(sample_weight, "sample_weight")
        weight = check_weights(weight, table.num_rows, np.float64)
        check_something_counts(weight)
        targets, labels = self._targets(y, table.num_rows, reset=reset, **options)
        model = self._new_model(table.column_names) if reset else self.model_.twin()
        table = table.append_column(model.target, column_of(targets))
        totals = _totals(table) if reset else None
        if totals is not None:
            table, weight = table.slice(0, len(table) - 1), None if weight is None else weight[:-1]
        if reset:
            model.prepare(table)
        self._tell_estimator(model)
        model.learn(table)
        if reset:
            model.settle()
        if totals is not None:
            model.say(totals)
        if weight is not None:
            model.weigh(table, weight)
        self._publish(model, columns, labels)
        if reset:
            _warn([*_doubts_of_labels(labels.get("labels_", ())), *self.findings_])
        return self

    def _tell_estimator(self, model: TableModel) -> None:
        """Have what learns say how far it is, if that is wanted."""
        if model.estimator is not None:
            model.estimator.verbose = self.verbose

    def _publish(self, model: TableModel, columns: dict[str, Any], labels: dict[str, Any]) -> None:
        """Show what was learned, when nothing can fail any more."""
        if "n_features_in_" in columns:
            self.__dict__.pop("feature_names_in_", None)
        self.__dict__.update({**columns, **labels, "model_": model})

    @property
    def findings_(self) -> tuple[Finding, ...]:
        """What the rows have shown that their owner should know, such as how columns were read."""
        check_is_fitted(self)
        return self.model_.findings if self.model_.has_schema else ()

    def learn_one(self, row: Mapping[str, Any], y: Any) -> Self:
        """Learn one row; see `TableModel.learn_one`.

        Parameters
        ----------
        row : dict or pandas.Series
            Values by the names of their columns. What is left out, or is None, is missing. If
            this is the first row of all, its names are those of the columns; names that come
            later are passed over. (With `greville.adapters.river` they are learned too.)
        y : number or label

        Returns
        -------
        self
        """
        columns: dict[str, Any] = {}
        started = self.__sklearn_is_fitted__()
        row = _checked_row(row)
        if not started:
            columns = _columns(list(row))
        if y is None:
            wanted = "number" if self._task == REGRESSION else "label"
            raise ValueError(f"y=None: pass a {wanted}.")
        (target,), labels = self._targets([y], 1, reset=not started)
        model = self.model_ if started else self._new_model(list(row))
        model.learn_one({**self._named(row), model.target: np.asarray(target).item()})
        self._publish(model, columns, labels)
        return self

    def _new_model(self, names: Sequence[str]) -> TableModel:
        settings = self.get_params(deep=False)
        del settings["random_state"], settings["verbose"]
        seed: Any = self.random_state
        if seed is None or isinstance(seed, np.random.RandomState):
            seed = int(check_random_state(seed).randint(2**31))
        target = "y"
        while target in names:
            target += "_"
        settings |= {name: settings[name] or () for name in _LISTS}
        return TableModel(target, task=self._task, seed=seed, **settings)

    def _targets(
        self, y: Any, n: int, *, reset: bool, **options: Any
    ) -> tuple[NDArray[Any], dict[str, Any]]:
        """Targets as the model learns them, and what is to be remembered about them."""
        raise NotImplementedError

    # Rows as they are passed

    def _table(self, X: Any, *, reset: bool) -> tuple[Any, dict[str, Any]]:
        """An Arrow table with the columns that are learned from, and what they are called."""
        X = received_on_host(X, "X")
        if not is_frame(X):
            return self._table_of_array(X, reset=reset)
        with naming("X"):
            table = as_table(X)
            if not table.num_rows or not table.num_columns:
                raise ValueError(
                    f"Found array with {table.num_rows} sample(s) and {table.num_columns} "
                    "feature(s) while a minimum of 1 is required."
                )
        if reset:
            return table, _columns(table.column_names)
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            with naming("X"):
                self._check_width(table.num_columns)
            return table.rename_columns(_unnamed(table.num_columns)), {}
        missing = [name for name in names if name not in set(table.column_names)]
        if missing:
            raise ValueError(
                f"X: it has no column {listed(missing)}, which this model was fitted with; it has "
                f"{listed(table.column_names)}."
            )
        return table.select(list(names)), {}

    def _table_of_array(self, X: Any, *, reset: bool) -> tuple[Any, dict[str, Any]]:
        with naming("X"):
            array = check_array(X, dtype=None, ensure_all_finite=False, estimator=self)
            if array.dtype.kind == "f" and np.isinf(array).any():
                raise ValueError("it contains infinity; pass finite numbers, and nan for gaps.")
            if not reset:
                self._check_width(array.shape[1])
        names = _unnamed(array.shape[1])
        if not reset:
            names = list(getattr(self, "feature_names_in_", names))
        columns = {"n_features_in_": array.shape[1]} if reset else {}
        return table_of_array(array, names), columns

    def _check_width(self, n: int) -> None:
        if n != self.n_features_in_:
            raise ValueError(
                f"X has {n} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )

    def _named(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """The part of a row that is learned from."""
        row = _checked_row(row)
        names = getattr(self, "feature_names_in_", row)
        named = {name: row[name] for name in names if name in row}
        reason = infinite_value(named)
        if reason is not None:
            raise TableError(f"row: {reason}, and None or nan for gaps.")
        return named

    def summary(self) -> dict[str, str]:
        """What was learned, in words: the table that notebooks show. Empty before `fit`.

        It takes next to no time and changes nothing; see `greville.ELMRegressor.summary`.
        """
        if not self.__sklearn_is_fitted__():
            return {}
        found = table_summary(self.model_)
        names = getattr(self, "feature_names_in_", ())
        found["columns"] = named_list(names, self.n_features_in_) + found["columns"]
        if "classes" in found:
            classes: Any = self.classes_
            found["classes"] = named_list(classes.tolist(), len(classes))
        return found

    # Predicting

    def _answers(self, X: Any, **wanted: bool) -> list[Answers]:
        check_is_fitted(self)
        table, _ = self._table(X, reset=False)
        answers, unlearned = [], UnlearnedValues()
        self._tell_estimator(self.model_)
        for batch in batches_of(table):
            found = self.model_.answers(batch, **wanted)
            for row, reason in found.wrong.items():
                raise TableError(f"X: {batch.where(row)}: {reason}.")
            answers.append(found)
            unlearned.add(found)
        _warn(unlearned.findings())
        return answers

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


# Settings that are lists.
_LISTS = ("ignore", "categorical", "na", "number", "text", "fold")


def _checked_row(row: Any) -> Mapping[str, Any]:
    return checked_row(row, learn="partial_fit")


def _totals(table: Any) -> Finding | None:
    """What is said of a last row of totals, if there is one."""
    batches = list(batches_of(table))
    return totals_row(batches[0]) if len(batches) == 1 else None


def _doubts_of_labels(labels: Sequence[Any]) -> list[Finding]:
    """Labels that differ in case and blanks only."""
    texts = [label for label in labels if isinstance(label, str)]
    found = spellings(Evidence("y", Values(column_of(texts)))) if texts else []
    return [replace(each, advice="; if they are the same, write them alike.") for each in found]


def _columns(names: list[str]) -> dict[str, Any]:
    """What scikit-learn's estimators say about their columns."""
    return {"n_features_in_": len(names), "feature_names_in_": np.array(names, object)}


def _unnamed(n: int) -> list[str]:
    """The names of the columns of an array."""
    return [f"x{i}" for i in range(n)]


def _warn(findings: Iterable[Finding]) -> None:
    """Say what may be wrong."""
    for finding in grouped(findings):
        if finding.warning:
            warnings.warn(finding.message, UserWarning, stacklevel=3)
