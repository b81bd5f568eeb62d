"""Models of tables behind scikit-learn's API: data frames with text, dates and gaps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted

from ..elm.labels import checked_labels, merged_classes
from ..fields import (
    Kind,
    choice,
    compact,
    count,
    each,
    flag,
    known,
    nothing,
    number,
    random_state,
    require,
    stored,
    text,
    words,
)
from ..validation import check_length, check_targets, naming
from ._estimator import TableEstimator
from .model import TableModel

T = TypeVar("T")

_NAMES = nothing | each(text) | each(text, tuple)
_NUMBER_OR_AUTO = nothing | choice("auto") | number

_PARAMETERS = {
    "hidden": choice("auto", "inputs", "stream") | count,
    "solver": text,
    "alpha": _NUMBER_OR_AUTO,
    "epsilon": _NUMBER_OR_AUTO,
    "window": nothing | count,
    "random_state": random_state,
    "features": _NAMES,
    "ignore": _NAMES,
    "categorical": _NAMES,
    "decimal": nothing | text,
    "thousands": nothing | text,
    "na": _NAMES,
    "date_format": nothing | text,
    "number": _NAMES,
    "text": _NAMES,
    "fold": _NAMES,
    "categories": nothing | count,
}


def _check_fields(estimator: Any) -> None:
    if not hasattr(estimator, "model_"):
        return
    model, names = estimator.model_, getattr(estimator, "feature_names_in_", None)
    require(model.settings["task"] == estimator._task, "the model has another task")
    fits = names is None or len(names) == estimator.n_features_in_
    require(fits, "feature_names_in_ has another length")
    labels = getattr(estimator, "labels_", None)
    if labels is not None:
        kinds = {type(label) for label in labels}
        fits = len(labels) == len(set(labels)) > 0 and (str not in kinds or len(kinds) == 1)
        require(fits, "the labels are not different labels of one kind")
        fits = all(type(place) is int and 0 <= place < len(labels) for place in model.classes)
        require(fits, "the model has learned other labels")


def _stored_estimator(**fitted: Kind) -> Callable[[type[T]], type[T]]:
    return stored(
        parameters=_PARAMETERS,
        fitted={"model_": known(TableModel), "n_features_in_": count, **fitted},
        optional={"feature_names_in_": words},
        derived=("device", "verbose"),
        whole=True,
        check=_check_fields,
        compact=lambda estimator: compact(getattr(estimator, "model_", None)),
    )


@_stored_estimator()
class TableRegressor(RegressorMixin, TableEstimator):
    """Regression on a data frame: numbers, text, dates, true or false, and gaps in all of them.

    What the columns are is learned as on the command line; see `greville.tables.TableModel`,
    which does the work and is `model_`.

    Parameters
    ----------
    hidden : "auto", "inputs", "stream" or int, default="auto"
        The hidden layer. "auto" chooses it and its size from the rows, as `greville.ELMRegressor`
        does; "inputs" is ten units for each input, from 100 to 1000; "stream" grows with the first
        rows, up to 400 units or ten for each input; a number is that of the units of a
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
        """The prediction for one row, in microseconds.

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
        self, y: Any, n: int, *, reset: bool, **options: Any
    ) -> tuple[NDArray[Any], dict[str, Any]]:
        with naming("y"):
            if y is None:
                raise ValueError("requires y to be passed, but the target y is None.")
            y = column_or_1d(y, warn=True)
        return check_targets(y, "y", n, np.float64), {}


@_stored_estimator(labels_=each(text | number | flag))
class TableClassifier(ClassifierMixin, TableEstimator):
    """Classification on a data frame: numbers, text, dates, true or false, and gaps in all of them.

    What the columns are is learned as on the command line; see `greville.tables.TableModel`,
    which does the work and is `model_`.

    Parameters
    ----------
    hidden : "auto", "inputs", "stream" or int, default="auto"
        The hidden layer. "auto" chooses it and its size from the rows, as `greville.ELMRegressor`
        does; "inputs" is ten units for each input, from 100 to 1000; "stream" grows with the first
        rows, up to 400 units or ten for each input; a number is that of the units of a
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
        found = np.concatenate([part.proba for part in answers if part.proba is not None])
        labels = np.array(self.labels_)[list(answers[0].classes)]
        probabilities = np.zeros((len(found), len(self.labels_)))
        probabilities[:, np.searchsorted(self.classes_, labels)] = found
        return probabilities

    def predict_one(self, row: Mapping[str, Any]) -> Any:
        """The most likely label of one row, in microseconds.

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
        found = self.model_.predict_proba_one(self._named(row))
        return {self.labels_[place]: probability for place, probability in found.items()}

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels known so far, sorted."""
        return np.sort(np.array(self.labels_))

    def _targets(
        self, y: Any, n: int, *, reset: bool, classes: Any = None, **options: Any
    ) -> tuple[NDArray[Any], dict[str, Any]]:
        y = checked_labels(y, "y")
        check_length("y", len(y), n)
        known_labels = None if reset else self.classes_
        if classes is not None:
            known_labels = merged_classes(
                known_labels, checked_labels(classes, "classes"), "classes"
            )
        merged = merged_classes(known_labels, y, "y").tolist()
        labels = [] if reset else list(self.labels_)
        labels += [label for label in merged if label not in set(labels)]
        places = {label: place for place, label in enumerate(labels)}
        return np.array([places[label] for label in y.tolist()]), {"labels_": labels}
