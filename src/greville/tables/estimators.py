"""Models of tables behind scikit-learn's API: data frames with text, dates and gaps."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from inspect import Parameter, Signature, signature
from typing import Any, ClassVar, Literal, Self, TypeVar, Unpack

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_array, check_random_state, column_or_1d
from sklearn.utils.validation import check_is_fitted

from .. import fields
from ..devices import received_on_host
from ..elm import CLASS_WEIGHT
from ..elm.labels import checked_labels, merged_classes
from ..insight import Effect, Importance
from ..representation import Described, named_list
from ..validation import (
    Seed,
    check_length,
    check_something_counts,
    check_targets,
    check_weights,
    naming,
)
from ._rows import checked_row
from ._settings import Hidden, Parameters, Settings
from ._values import Values
from .answering import infinite_value
from .batch import TableError, batches_of, listed
from .decisions import Evidence, Hints
from .doubts import spellings, totals_row
from .findings import Finding, grouped
from .frames import as_table, column_of, is_frame, table_of_array, unnamed
from .model import TableModel
from .overview import table_summary
from .predictions import Answers, UnlearnedValues
from .target import REGRESSION

T = TypeVar("T")

_DECLARED = fields.declaration_of(Settings)
assert _DECLARED is not None
_PARAMETERS = {
    **{
        k: v
        for k, v in _DECLARED.kinds.items()
        if k not in ("target", "task", "seed", "class_weight")
    },
    "random_state": fields.random_state,
}


def _check_fields(estimator: Any) -> None:
    if not hasattr(estimator, "model_"):
        return
    model, names = estimator.model_, getattr(estimator, "feature_names_in_", None)
    fields.require(model.settings.task == estimator._task, "the model has another task")
    fits = names is None or len(names) == estimator.n_features_in_
    fields.require(fits, "feature_names_in_ has another length")
    labels = getattr(estimator, "labels_", None)
    if labels is not None:
        kinds = {type(label) for label in labels}
        fits = len(labels) == len(set(labels)) > 0 and (str not in kinds or len(kinds) == 1)
        fields.require(fits, "the labels are not different labels of one kind")
        fits = all(type(place) is int and 0 <= place < len(labels) for place in model.classes)
        fields.require(fits, "the model has learned other labels")


def _stored_estimator(
    parameters: Mapping[str, fields.Kind] = _PARAMETERS, **fitted: fields.Kind
) -> Callable[[type[T]], type[T]]:
    return fields.stored(
        parameters=parameters,
        fitted={"model_": fields.instance_of(TableModel), "n_features_in_": fields.count, **fitted},
        optional={"feature_names_in_": fields.text_array},
        derived=("device", "verbose"),
        whole=True,
        check=_check_fields,
        compact=lambda estimator: fields.compact(getattr(estimator, "model_", None)),
    )


class _Parameters(Parameters, total=False):
    random_state: Seed
    verbose: bool | int


class _ClassifierParameters(_Parameters, total=False):
    class_weight: dict[Any, float] | Literal["balanced"] | None


def _signature(**defaults: Any) -> Signature:
    """Return the signature of an estimator; the settings of a model have their defaults."""
    shared = (*Hints.__dataclass_fields__, "alpha", "epsilon", "window", "device")
    defaults |= {name: getattr(Settings, name) for name in shared} | {"verbose": False}
    kind = Parameter.POSITIONAL_OR_KEYWORD
    chosen = [Parameter(k, kind, default=getattr(Settings, k)) for k in ("hidden", "solver")]
    named = [Parameter(k, Parameter.KEYWORD_ONLY, default=v) for k, v in defaults.items()]
    return Signature([Parameter("self", kind), *chosen, *named])


class TableEstimator(Described, BaseEstimator):
    """A `TableModel` behind scikit-learn's API, whatever its targets are."""

    # Parameters that files do not have
    device: Any = None
    verbose: Any = False

    random_state: Seed
    model_: TableModel
    _task: ClassVar[Literal["regression", "classification"]]

    def __init__(
        self, hidden: Hidden = "auto", solver: str = "opium", **parameters: Unpack[_Parameters]
    ) -> None:
        bound = signature(type(self)).bind(hidden, solver, **parameters)
        bound.apply_defaults()
        self.__dict__.update(bound.arguments)

    __init__.__signature__ = _signature(random_state=0)  # type: ignore[attr-defined]

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
        effect = self.model_.effect(column, self._table(X, reset=False)[0])
        if effect.classes is None:
            return effect
        return replace(effect, classes=np.array(getattr(self, "labels_", ()))[effect.classes])

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
        self, X: Any, y: Any, *, reset: bool, sample_weight: Any = None, classes: Any = None
    ) -> Self:
        table, columns = self._table(X, reset=reset)
        y = received_on_host(y, "y")
        weight = received_on_host(sample_weight, "sample_weight")
        weight = check_weights(weight, table.num_rows, np.float64)
        check_something_counts(weight)
        targets, labels = self._targets(y, table.num_rows, reset=reset, classes=classes)
        model = self._new_model(table.column_names, labels) if reset else self.model_.twin()
        table = table.append_column(model.target, column_of(targets))
        batches = list(batches_of(table))
        total = totals_row(batches[0]) if reset and len(batches) == 1 else None
        if total is not None:
            table, weight = table.slice(0, len(table) - 1), None if weight is None else weight[:-1]
        if reset:
            model.prepare(table)
        self._pass_verbose(model)
        model.learn(table)
        if reset:
            model.settle()
        if total is not None:
            model.say(total)
        if weight is not None:
            model.weigh(table, weight)
        self._publish(model, columns, labels)
        if reset:
            _warn([*_doubts_of_labels(labels.get("labels_", ())), *self.findings_])
        return self

    def _pass_verbose(self, model: TableModel) -> None:
        """Pass `verbose` to the estimator, which then reports its progress."""
        if model.estimator is not None:
            model.estimator.verbose = self.verbose

    def _publish(self, model: TableModel, columns: dict[str, Any], labels: dict[str, Any]) -> None:
        """Show what was learned, when nothing can fail any more."""
        if "n_features_in_" in columns:
            self.__dict__.pop("feature_names_in_", None)
        self.__dict__.update({**columns, **labels, "model_": model})

    @property
    def findings_(self) -> tuple[Finding, ...]:
        """Findings about the rows, such as how columns were read."""
        check_is_fitted(self)
        return self.model_.findings

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
        row, reset = checked_row(row, "partial_fit"), not self.__sklearn_is_fitted__()
        if y is None:
            kind = "number" if self._task == REGRESSION else "label"
            raise ValueError(f"y=None: pass a {kind}.")
        (target,), labels = self._targets([y], 1, reset=reset)
        model = self._new_model(list(row), labels) if reset else self.model_
        model.learn_one({**self._named(row), model.target: np.asarray(target).item()})
        self._publish(model, _named_columns(list(row)) if reset else {}, labels)
        return self

    def _new_model(self, names: Sequence[str], labels: dict[str, Any]) -> TableModel:
        settings = self.get_params(deep=False)
        weight = settings.get("class_weight")
        if isinstance(weight, dict):  # of the places of labels, which the model learns
            places = {label: place for place, label in enumerate(labels["labels_"])}
            settings["class_weight"] = {places[label]: each for label, each in weight.items()}
        del settings["random_state"], settings["verbose"]
        seed: Any = self.random_state
        if seed is None or isinstance(seed, np.random.RandomState):
            seed = int(check_random_state(seed).randint(2**31))
        target = "y"
        while target in names:
            target += "_"
        return TableModel(target, task=self._task, seed=seed, **settings)

    def _targets(
        self, y: Any, n: int, *, reset: bool, classes: Any = None
    ) -> tuple[NDArray[Any], dict[str, Any]]:
        """Return targets as the model learns them, and attributes of the targets to keep."""
        raise NotImplementedError

    # Rows as they are passed

    def _table(self, X: Any, *, reset: bool) -> tuple[Any, dict[str, Any]]:
        """Return an Arrow table of the columns to learn from, and attributes with their names."""
        X = received_on_host(X, "X")
        names = [] if reset else list(getattr(self, "feature_names_in_", ()))
        with naming("X"):
            if is_frame(X):
                table = as_table(X)
                if not table.num_rows or not table.num_columns:
                    raise ValueError(
                        f"Found array with {table.num_rows} sample(s) and {table.num_columns} "
                        "feature(s) while a minimum of 1 is required."
                    )
                if reset:
                    return table, _named_columns(table.column_names)
                missing = [name for name in names if name not in set(table.column_names)]
                if missing:
                    raise ValueError(
                        f"it has no column {listed(missing)}, which this model was fitted with; it "
                        f"has {listed(table.column_names)}."
                    )
                if names:
                    return table.select(names), {}
            else:
                array = check_array(X, dtype=None, ensure_all_finite=False, estimator=self)
                if array.dtype.kind == "f" and np.isinf(array).any():
                    raise ValueError("it contains infinity; pass finite numbers, and nan for gaps.")
                table = table_of_array(array)
            if reset:
                return table, {"n_features_in_": table.num_columns}
            if table.num_columns != self.n_features_in_:
                raise ValueError(
                    f"X has {table.num_columns} features, but {type(self).__name__} is expecting "
                    f"{self.n_features_in_} features as input."
                )
        return table.rename_columns(names or unnamed(table.num_columns)), {}

    def _named(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """The part of a row that is learned from."""
        row = checked_row(row, "partial_fit")
        names = getattr(self, "feature_names_in_", row)
        named = {name: row[name] for name in names if name in row}
        reason = infinite_value(named)
        if reason is not None:
            raise TableError(f"row: {reason}, and None or nan for gaps.")
        return named

    def summary(self) -> dict[str, str]:
        """A table of what was learned, in words, as notebooks show it; empty before `fit`.

        It takes next to no time and changes nothing; see `greville.ELMRegressor.summary`.
        """
        if not self.__sklearn_is_fitted__():
            return {}
        summary = table_summary(self.model_)
        names = getattr(self, "feature_names_in_", ())
        summary["columns"] = named_list(names, self.n_features_in_) + summary["columns"]
        if "classes" in summary:
            classes: Any = self.classes_
            summary["classes"] = named_list(classes.tolist(), len(classes))
        return summary

    # Predicting

    def _answers(self, X: Any, **options: bool) -> list[Answers]:
        check_is_fitted(self)
        table, _ = self._table(X, reset=False)
        answers, unlearned = [], UnlearnedValues()
        self._pass_verbose(self.model_)
        for batch in batches_of(table):
            part = self.model_.answers(batch, **options)
            for row, reason in part.wrong.items():
                raise TableError(f"X: {batch.where(row)}: {reason}.")
            answers.append(part)
            unlearned.add(part)
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


def _named_columns(names: Sequence[str]) -> dict[str, Any]:
    """Return scikit-learn's attributes of columns: their number and their names."""
    return {"n_features_in_": len(names), "feature_names_in_": np.array(names, object)}


def _doubts_of_labels(labels: Sequence[Any]) -> list[Finding]:
    """Labels that differ in case and blanks only."""
    texts = [label for label in labels if isinstance(label, str)]
    findings = spellings(Evidence("y", Values(column_of(texts)))) if texts else []
    return [replace(each, advice="; if they are the same, write them alike.") for each in findings]


def _warn(findings: Iterable[Finding]) -> None:
    for finding in grouped(findings):
        if finding.warning:
            warnings.warn(finding.message, UserWarning, stacklevel=3)


@_stored_estimator()
class TableRegressor(RegressorMixin, TableEstimator):
    """Regression on a data frame: numbers, text, dates, true or false, and gaps in all of them.

    What the columns are is learned as on the command line; see `greville.tables.TableModel`,
    which does the work and is `model_`.

    Parameters
    ----------
    hidden : "auto", "inputs", "stream" or int, default="auto"
        The hidden layer. "auto" chooses it and its size from the rows, as `greville.ELMRegressor`
        does; "inputs" is ten units for each input, from 100 to 1000; "stream" is 200
        units, or four for each input, chosen by the first rows; a number is that of the units of a
        `greville.RandomLayer`.
    solver : {"opium", "dynamic", "sliding", "light", "greville"}, default="opium"
    alpha, epsilon, window : float, "auto" or None
        Parameters of the solver; None for its default.
    random_state : int, RandomState or None, default=0
        Seeds the hidden layer.
    features : list of str, optional
        The columns to learn from; all by default.
    ignore, categorical : list of str
        Columns not to use, and columns of numbers that are names.
    device : str, optional
        Where to learn: "cuda" or another device of torch, or "auto"; see docs/devices.md.
    decimal, thousands, na, date_format, number, text, fold, categories
        How numbers, gaps and dates are written, and what columns are, where that is not found by
        itself; see `greville.tables.TableModel`.
    verbose : bool or int, default=False
        Whether learning and predicting many rows say on stderr how far they are, every two seconds;
        see `greville.ELMRegressor`. Counts for the next call, and is not stored in files.

    Attributes
    ----------
    model_ : TableModel
        What has learned; ``model_.schema`` says what the columns are.
    findings_ : tuple of Finding
        What the rows have shown that their owner should know, such as columns that are not used.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, where X had column names

    Notes
    -----
    Parameters count when `fit`, or the first `partial_fit` or `learn_one`, starts a model;
    `set_params` changes nothing that has been learned.

    Columns are found by their names: their order does not matter, nor do additional ones.

    Examples
    --------
    >>> import pandas as pd
    >>> from greville import TableRegressor
    >>> houses = pd.DataFrame({"area": [50.0, None, 80.0] * 20, "city": ["Bonn", "Ulm", None] * 20})
    >>> price = [100.0, 200.0, 150.0] * 20
    >>> model = TableRegressor().fit(houses, price)
    >>> model.predict(houses[:2]).round()
    array([100., 200.])
    >>> round(model.predict_one({"area": 80.0, "city": None}))
    150
    """

    _task = "regression"

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Learn more rows. The chunk size does not change the result, apart from rounding.

        Parameters
        ----------
        X : data frame, Arrow table, dict of columns, or array of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        self
        """
        return self._learn(X, y, reset=not self.__sklearn_is_fitted__())

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The predicted targets and, if wanted, how far off they may be.

        Parameters
        ----------
        X : data frame, Arrow table, dict of columns, or array of shape (n_samples, n_features)
        return_std : bool, default=False
            Whether to return standard deviations too; for the exact online solvers.

        Returns
        -------
        y : ndarray of shape (n_samples,)
        std : ndarray of shape (n_samples,)
            Nine in ten targets lie within 1.64 of them. Only if `return_std`.
        """
        answers = self._answers(X, std=return_std)
        predicted = np.concatenate([part.prediction for part in answers])
        return (
            (predicted, np.concatenate([part.std for part in answers])) if return_std else predicted
        )

    def predict_one(self, row: Mapping[str, Any]) -> float:
        """The prediction for one row.

        Parameters
        ----------
        row : dict or pandas.Series
            Values by the names of their columns. What is left out, or is None, is missing.

        Returns
        -------
        y : float
        """
        check_is_fitted(self)
        return float(self.model_.predict_one(self._named(row)))

    def _targets(
        self, y: Any, n: int, *, reset: bool, classes: Any = None
    ) -> tuple[NDArray[Any], dict[str, Any]]:
        with naming("y"):
            if y is None:
                raise ValueError("requires y to be passed, but the target y is None.")
            y = column_or_1d(y, warn=True)
        return check_targets(y, "y", n, np.float64, "TableClassifier"), {}


@_stored_estimator(
    {**_PARAMETERS, "class_weight": CLASS_WEIGHT},
    labels_=fields.each(fields.text | fields.number | fields.flag),
)
class TableClassifier(ClassifierMixin, TableEstimator):
    """Classification on a data frame: numbers, text, dates, true or false, and gaps in all of them.

    What the columns are is learned as on the command line; see `greville.tables.TableModel`,
    which does the work and is `model_`.

    Parameters
    ----------
    hidden : "auto", "inputs", "stream" or int, default="auto"
        The hidden layer. "auto" chooses it and its size from the rows, as `greville.ELMRegressor`
        does; "inputs" is ten units for each input, from 100 to 1000; "stream" is 200
        units, or four for each input, chosen by the first rows; a number is that of the units of a
        `greville.RandomLayer`.
    solver : {"opium", "dynamic", "sliding", "light", "greville"}, default="opium"
    alpha, epsilon, window : float, "auto" or None
        Parameters of the solver; None for its default.
    class_weight : dict, "balanced" or None, default=None
        How much rows of each label count; see `greville.ELMClassifier`. The labels of a dict are
        known from the start. "balanced" counts them in the first rows, of `fit` in a sample.
    random_state : int, RandomState or None, default=0
        Seeds the hidden layer.
    features : list of str, optional
        The columns to learn from; all by default.
    ignore, categorical : list of str
        Columns not to use, and columns of numbers that are names.
    device : str, optional
        Where to learn: "cuda" or another device of torch, or "auto"; see docs/devices.md.
    decimal, thousands, na, date_format, number, text, fold, categories
        How numbers, gaps and dates are written, and what columns are, where that is not found by
        itself; see `greville.tables.TableModel`.
    verbose : bool or int, default=False
        Whether learning and predicting many rows say on stderr how far they are, every two seconds;
        see `greville.ELMRegressor`. Counts for the next call, and is not stored in files.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels known so far, sorted.
    labels_ : list
        The same in the order in which they came: `model_` learns their places in it.
    model_ : TableModel
        What has learned; ``model_.schema`` says what the columns are.
    findings_ : tuple of Finding
        What the rows have shown that their owner should know, such as columns that are not used.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, where X had column names

    Notes
    -----
    Parameters count when `fit`, or the first `partial_fit` or `learn_one`, starts a model;
    `set_params` changes nothing that has been learned.

    Columns are found by their names: their order does not matter, nor do additional ones. Labels
    may appear for the first time in any `partial_fit`.

    Examples
    --------
    >>> import pandas as pd
    >>> from greville import TableClassifier
    >>> machines = pd.DataFrame({"load": [0.1, 0.9, None] * 20, "site": ["north", "south"] * 30})
    >>> state = ["idle", "busy", "off"] * 20
    >>> model = TableClassifier().fit(machines, state)
    >>> model.predict(machines[:3]).tolist()
    ['idle', 'busy', 'off']
    >>> model.predict_one({"load": None, "site": "south"})
    'off'
    """

    _task = "classification"
    labels_: list[Any]

    def __init__(
        self,
        hidden: Hidden = "auto",
        solver: str = "opium",
        **parameters: Unpack[_ClassifierParameters],
    ) -> None:
        super().__init__(hidden, solver, **parameters)  # type: ignore[misc]

    __init__.__signature__ = _signature(class_weight=None, random_state=0)  # type: ignore[attr-defined]

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Learn more rows. The chunk size does not change the result, apart from rounding.

        Parameters
        ----------
        X : data frame, Arrow table, dict of columns, or array of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        classes : array-like of labels, optional
            Labels to know from now on. Never needed: labels are learned as they appear.

        Returns
        -------
        self
        """
        return self._learn(X, y, reset=not self.__sklearn_is_fitted__(), classes=classes)

    def predict(self, X: Any) -> NDArray[Any]:
        """The most likely labels.

        Parameters
        ----------
        X : data frame, Arrow table, dict of columns, or array of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        places = np.concatenate([part.prediction for part in self._answers(X)])
        return np.array(self.labels_)[places]

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """The probabilities of the classes, in the order of `classes_`.

        Parameters
        ----------
        X : data frame, Arrow table, dict of columns, or array of shape (n_samples, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
        """
        answers = self._answers(X, proba=True)
        proba = np.concatenate([part.proba for part in answers if part.proba is not None])
        labels = np.array(self.labels_)[list(answers[0].classes)]
        probabilities = np.zeros((len(proba), len(self.labels_)))
        probabilities[:, np.searchsorted(self.classes_, labels)] = proba
        return probabilities

    def predict_one(self, row: Mapping[str, Any]) -> Any:
        """The most likely label of one row.

        Parameters
        ----------
        row : dict or pandas.Series
            Values by the names of their columns. What is left out, or is None, is missing.

        Returns
        -------
        y : label
        """
        check_is_fitted(self)
        return self.labels_[self.model_.predict_one(self._named(row))]

    def predict_proba_one(self, row: Mapping[str, Any]) -> dict[Any, float]:
        """The probability of each class for one row; see `predict_one`."""
        check_is_fitted(self)
        proba = self.model_.predict_proba_one(self._named(row))
        return {self.labels_[place]: probability for place, probability in proba.items()}

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels known so far, sorted."""
        return np.sort(np.array(self.labels_))

    def _targets(
        self, y: Any, n: int, *, reset: bool, classes: Any = None
    ) -> tuple[NDArray[Any], dict[str, Any]]:
        y = checked_labels(y, "y")
        check_length("y", len(y), n)
        known_labels = None if reset else self.classes_
        if reset and isinstance(self.class_weight, dict):
            known_labels = np.unique(checked_labels(list(self.class_weight), "class_weight"))
        if classes is not None:
            known_labels = merged_classes(
                known_labels, checked_labels(classes, "classes"), "classes"
            )
        merged = merged_classes(known_labels, y, "y").tolist()
        labels = [] if reset else list(self.labels_)
        labels += [label for label in merged if label not in set(labels)]
        places = {label: place for place, label in enumerate(labels)}
        return np.array([places[label] for label in y.tolist()]), {"labels_": labels}
