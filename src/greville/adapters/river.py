"""greville's models as models of river: for its pipelines, its evaluation and its metrics.

>>> from greville.adapters.river import Regressor
>>> model = Regressor()
>>> for i in range(50):
...     model.learn_one({"x": i / 10, "kind": "ab"[i % 2]}, i / 5)
>>> round(model.predict_one({"x": 2.5, "kind": "a"}), 1)
5.0
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from decimal import Decimal
from math import inf, isfinite, isnan
from numbers import Real
from typing import Any, Literal

import numpy as np

try:
    from river import base, proba
except ImportError as error:
    raise ImportError(
        "greville.adapters.river needs river and pyarrow: pip install 'greville[river]'."
    ) from error

from ..fields import Kind, instance_of, json, require, stored
from ..tables import Stream, TableError, TableModel
from ..tables.answering import infinite_value

__all__ = ["Classifier", "Regressor"]

Features = dict[Hashable, Any]
Row = dict[str, Any]

_PARAMETERS = (
    *("hidden", "solver", "alpha", "epsilon", "window", "categorical", "seed", "device"),
    "follow",
)

# The column of the targets. A feature of the same name gets another one.
_TARGET = "y"


# Types of values that the model takes as they are.
_USUAL = frozenset({float, int, str, bool, type(None)})


def _check_fields(model: Any) -> None:
    columns, places = list(model._columns.values()), list(model._places.values())
    fits = all(type(column) is str for column in columns) and len(set(columns)) == len(columns)
    require(fits, "the columns of the features are not told apart")
    require(places == list(range(len(places))), "the labels have other places")
    learned = model._stream.live
    known_labels = set(learned.classes or ()) if learned.task == "classification" else set()
    require(known_labels <= set(places), "the model has other labels")


_DICT = Kind("a dict", lambda value: type(value) is dict)
_stored_as_it_is = stored(
    parameters={
        **dict.fromkeys(_PARAMETERS, json),
        "stream": instance_of(Stream).kept_in("_stream"),
        "columns": _DICT.kept_in("_columns"),
        "places": _DICT.kept_in("_places"),
    },
    whole=True,
    check=_check_fields,
)


class _Adapter:
    """The base of both models: parameters, and rows of river on the way to a `Stream`."""

    _task: Literal["regression", "classification"]

    def __init__(
        self,
        hidden: int | Literal["auto", "inputs", "stream"] | None = None,
        solver: str | None = None,
        alpha: float | Literal["auto"] | None = None,
        epsilon: float | Literal["auto"] | None = None,
        window: int | None = None,
        categorical: Sequence[str] | None = None,
        seed: int | None = 0,
        device: str | None = None,
        follow: bool = True,
    ) -> None:
        self.hidden = hidden
        self.solver = solver
        self.alpha = alpha
        self.epsilon = epsilon
        self.window = window
        self.categorical = list(categorical or ()) or None  # river's clone takes no empty tuple
        self.seed = seed
        self.device = device
        self.follow = follow
        settings = {name: getattr(self, name) for name in _PARAMETERS if name != "follow"}
        settings["seed"] = int(np.random.default_rng().integers(2**31)) if seed is None else seed
        self._stream = Stream(_TARGET, follow=follow, blocks=False, task=self._task, **settings)
        self._columns: dict[Hashable, str] = {}  # names of features that were learned
        self._places: dict[Any, int] = {}  # of labels: what a classifier learns

    @property
    def table_model(self) -> TableModel:
        """Return the model that has learned all rows; its ``schema`` describes the features."""
        return self._stream.live

    def _learn(self, features: Iterable[Features], targets: Sequence[Any], w: float = 1) -> None:
        """Learn some rows, all of them or none, each as often as `w` says."""
        if not isinstance(w, Real) or not 0 <= w < inf or w % 1:
            raise ValueError(f"w={w!r}: pass how often the row counts, a whole number.")
        columns, model = dict(self._columns), self._stream.live
        chosen: list[Row] = []
        for x, y in zip(features, targets, strict=True):
            row = self._row(x, self._with_columns(columns, x))
            if model.has_schema or chosen or not all(map(_is_missing, row.values())):
                chosen.append({**row, _TARGET: y})
        if len(chosen) == w == 1:
            self._stream.learn_one(chosen[0])
        elif chosen and w:
            stream, copies = self._stream.copy(), int(w)
            for rows in [chosen] if w == 1 else [[row] * copies for row in chosen]:
                stream.answer(rows, together=w > 1)
            self._stream = stream
        self._columns = columns

    def _unlearn(self, x: Features, y: Any) -> None:
        """Remove a row that was learned earlier."""
        self._stream.unlearn([{**self._row(x, self._columns), _TARGET: y}])

    def _with_columns(self, columns: dict[Hashable, str], x: Features) -> dict[Hashable, str]:
        """Add columns for new features of a row, as long as the model can learn new columns.

        New ones are sorted, so that the order of features in a row has no meaning.
        """
        if not x.keys() <= columns.keys() and self._stream.live.schema_may_change:
            for name in sorted(x.keys() - columns.keys(), key=lambda name: (str(name), repr(name))):
                column = str(name)
                while column == _TARGET or column in columns.values():
                    column += "_"
                columns[name] = column
        return columns

    def _row(self, x: Features, columns: dict[Hashable, str]) -> Row:
        """Return a row as the model takes it, without features that are unknown to the model."""
        model = self._stream.live
        row = {c: x[name] for name, c in columns.items() if name in x}
        if not _USUAL.issuperset(map(type, row.values())):
            row = {c: _plain(value) for c, value in row.items()}
        if infinite_value(row) is not None:
            infinite = next(n for n, c in columns.items() if row.get(c) in (inf, -inf))
            raise TableError(
                f"x[{infinite!r}] is infinite; pass finite numbers, and None or nan for gaps."
            )
        if model.has_schema and row.keys().isdisjoint(model.schema.names):
            row[model.schema.names[0]] = None  # all are missing
        return row

    def _answer(self, x: Features, **options: bool) -> Any:
        """Answer one row; while columns may still change, a value that does not fit is missing.

        `predict_one` comes before `learn_one`, which makes a column of text, say, of numbers.
        """
        row, model = self._row(x, self._columns), self._stream.live
        try:
            return self._stream.predict_one(row, **options)
        except TableError:
            if not model.schema_may_change:
                raise
            alone = {name: model.answers_to_rows([{name: row[name]}]).wrong for name in row}
            row = {name: None if alone[name] else row[name] for name in row}
            return self._stream.predict_one(row, **options)


@_stored_as_it_is
class Regressor(_Adapter, base.MiniBatchRegressor):
    """A regressor of river: numbers, text, dates, true or false, and gaps in all of them.

    It is a `greville.tables.Stream`, and gives the predictions of `greville stream`: the ridge
    regression of the outputs of a random layer, on all rows or the last 330, whichever predicts
    better, mixed with the last targets where these say more. Features need no scaling and no
    encoding. A feature that is not in a row, or is None or nan, is missing there.

    Parameters
    ----------
    hidden, solver, alpha, epsilon, window
        As for `greville.tables.TableModel`; None for the defaults of a stream, which are
        ``hidden="stream"``, ``solver="dynamic"`` and ``alpha="auto"``.
    categorical : sequence of str, optional
        Features whose numbers are names.
    seed : int or None, default=0
        Seeds the hidden layer; None for another one each time.
    device : str, optional
        Where to learn: "cuda" or another device of torch.
    follow : bool, default=True
        Whether predictions are mixed with what the last targets say.

    Examples
    --------
    >>> from river import metrics
    >>> from greville.adapters.river import Regressor
    >>> model, error = Regressor(), metrics.MAE()
    >>> for i in range(200):
    ...     x, y = {"hour": i % 24, "day": "working" if i % 168 < 120 else "free"}, float(i % 24)
    ...     error.update(y, model.predict_one(x))
    ...     model.learn_one(x, y)
    >>> error.get() < 1
    True
    """

    _task = "regression"

    def learn_one(self, x: Features, y: float, w: float = 1) -> None:
        """Learn one row.

        Parameters
        ----------
        x : dict
            Values by the names of features. New ones may come with the first 4096 rows.
        y : number
        w : int
            How often the row counts: as if it had come so many times at once.
        """
        self._learn([x], [_number(y)], w)

    def unlearn_one(self, x: Features, y: float) -> None:
        """Remove a row that was learned earlier; for solvers that can, as the default."""
        self._unlearn(x, _number(y))

    def predict_one(self, x: Features, with_dist: bool = False) -> Any:
        """Predict one row; 0.0 before the first row is learned.

        Parameters
        ----------
        x : dict
        with_dist : bool
            Whether to return a ``river.proba.Gaussian`` around it, for the next target.
        """
        answer = self._answer(x, std=with_dist) if self._stream.n_rows else {}
        mean = float(answer.get("prediction") or 0.0)
        if not with_dist:
            return mean
        std = answer.get("std")
        return proba.Gaussian._from_state(n=1, m=mean, var=inf if std is None else std**2, ddof=0)

    def learn_many(self, X: Any, y: Any) -> None:
        """Learn the rows of a data frame, all of them or none; the same as one by one.

        Parameters
        ----------
        X : pandas.DataFrame
        y : pandas.Series
        """
        rows = _records(X, y)
        self._learn(rows, [_number(each) for each in y])

    def predict_many(self, X: Any) -> Any:
        """The predictions for the rows of a data frame, as a pandas.Series."""
        import pandas as pd

        rows = X.to_dict("records")
        return pd.Series([self.predict_one(x) for x in rows], index=X.index, dtype=float)


@_stored_as_it_is
class Classifier(_Adapter, base.MiniBatchClassifier):
    """A classifier of river: numbers, text, dates, true or false, and gaps in all of them.

    Labels may be of any kind, and may come for the first time in any row. What else `Regressor`
    says is true of this, too.

    Parameters
    ----------
    hidden, solver, alpha, epsilon, window, categorical, seed, device, follow
        As for `Regressor`.

    Examples
    --------
    >>> from greville.adapters.river import Classifier
    >>> model = Classifier()
    >>> model.predict_proba_one({"load": 0.5})
    {}
    >>> for i in range(60):
    ...     model.learn_one({"load": i % 3, "site": "north"}, ["idle", "busy", "off"][i % 3])
    >>> model.predict_one({"load": 1, "site": "north"})
    'busy'
    >>> sorted(model.predict_proba_one({"load": 1, "site": "north"}))
    ['busy', 'idle', 'off']
    """

    _task = "classification"

    @property
    def _multiclass(self) -> bool:
        return True

    def learn_one(self, x: Features, y: Hashable, w: float = 1) -> None:
        """Learn one row.

        Parameters
        ----------
        x : dict
            Values by the names of features. New ones may come with the first 4096 rows.
        y : label
        w : int
            How often the row counts: as if it had come so many times at once.
        """
        self._learn_labels([x], [y], w)

    def unlearn_one(self, x: Features, y: Hashable) -> None:
        """Remove a row that was learned earlier; for solvers that can, as the default."""
        if y not in self._places:
            raise ValueError(f"y={y!r}: no row with this label was learned.")
        self._unlearn(x, self._places[y])

    def predict_one(self, x: Features, **kwargs: Any) -> Any:
        """Predict the most likely label of one row; None before the first row is learned."""
        if not self._stream.n_rows:
            return None
        return list(self._places)[self._answer(x)["prediction"]]

    def predict_proba_one(self, x: Features, **kwargs: Any) -> dict[Any, float]:
        """Return the probability of each learned label; an empty dict before the first label."""
        if not self._stream.n_rows:
            return {}
        proba = self._answer(x, proba=True)["proba"]
        labels = list(self._places)
        return {labels[place]: probability for place, probability in proba.items()}

    def learn_many(self, X: Any, y: Any) -> None:
        """Learn the rows of a data frame, all of them or none; the same as one by one.

        Parameters
        ----------
        X : pandas.DataFrame
        y : pandas.Series
        """
        self._learn_labels(_records(X, y), list(y))

    def predict_many(self, X: Any) -> Any:
        """The most likely labels for the rows of a data frame, as a pandas.Series."""
        import pandas as pd

        labels = [self.predict_one(x) for x in X.to_dict("records")]
        return pd.Series(labels, index=X.index, dtype=None if labels else object)

    def predict_proba_many(self, X: Any) -> Any:
        """Return the probability of each label for every row of a data frame, as a data frame."""
        import pandas as pd

        rows = [self.predict_proba_one(x) for x in X.to_dict("records")]
        return pd.DataFrame(rows, index=X.index)

    def _learn_labels(self, rows: Sequence[Features], y: Sequence[Any], w: float = 1) -> None:
        places = dict(self._places)
        for label in y:
            places.setdefault(_label(label), len(places))
        self._learn(rows, [places[_label(label)] for label in y], w)
        if w:
            self._places = places


def _records(X: Any, y: Any) -> list[Features]:
    """The rows of a data frame; a ValueError if there is not a target for each."""
    if len(X) != len(y):
        raise ValueError(f"y: got {len(y)} targets for {len(X)} rows of X; pass one for each row.")
    rows: list[Features] = X.to_dict("records")
    return rows


def _plain(value: Any) -> Any:
    """Convert a value of NumPy or pandas to Python's."""
    if type(value) in (float, int, str):
        return value
    is_scalar = isinstance(value, np.generic) or (isinstance(value, np.ndarray) and not value.ndim)
    return value.item() if is_scalar else value


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and isnan(value))


def _number(y: Any) -> float:
    """Return the target of a regression as a number; a ValueError if the target is no number."""
    y = _plain(y)
    if not isinstance(y, (Real, Decimal)) or not isfinite(y):
        raise ValueError(f"y={y!r}: pass a finite number.")
    return float(y)


def _label(y: Any) -> Any:
    """Return the target of a classification; a ValueError if the target is missing."""
    y = _plain(y)
    if _is_missing(y):
        raise ValueError(f"y={y!r}: pass a label.")
    return y
