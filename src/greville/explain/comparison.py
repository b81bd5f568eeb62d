"""greville and scikit-learn's usual models on the same folds of a table."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from ..tables import Batch, TableError, TableModel, sampled
from .measures import BASELINES, measures_of

# Other settings of ours that are tried.
_OURS: dict[str, dict[str, Any]] = {
    "greville": {},
    "greville, 200 units": {"hidden": 200},
    "greville, 1000 units": {"hidden": 1000},
}

Told = Callable[[str], None]


@dataclass
class Contestant:
    """The score of a model on each fold, its loss, and the seconds that learning took."""

    scores: list[float] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    @property
    def score(self) -> float:
        return float(np.mean(self.scores))

    @property
    def loss(self) -> float:
        return float(np.mean(self.losses))

    @property
    def time(self) -> float:
        return float(np.mean(self.seconds))


@dataclass(frozen=True)
class Comparison:
    """The outcome of `compare_models`: the score of every model.

    Attributes
    ----------
    task : str
    n_rows, n_total : int
        Rows that were used, and rows that there are.
    folds : int
    score, loss : str
        What `scores` and `losses` are.
    models : dict of str to Contestant
        The best first.
    """

    task: str
    n_rows: int
    n_total: int
    folds: int
    score: str
    loss: str
    models: dict[str, Contestant]

    def as_dict(self) -> dict[str, Any]:
        """The scores as a dict that JSON can hold."""
        return {
            "task": self.task,
            "rows": self.n_rows,
            "rows_of_the_table": self.n_total,
            "folds": self.folds,
            "models": {
                name: {self.score: each.score, self.loss: each.loss, "seconds": each.time}
                for name, each in self.models.items()
            },
        }


def compare_models(
    batches: Iterable[Batch],
    target: str,
    *,
    folds: int = 5,
    most_rows: int = 10_000,
    tell: Told = lambda name: None,
    **settings: Any,
) -> Comparison:
    """Compare greville with scikit-learn's usual models on the same folds of a table.

    scikit-learn's models get the numbers that greville makes of the columns, from the same rows.
    All learn with one thread.

    Parameters
    ----------
    batches : iterable of Batch
    target : str
    folds : int
    most_rows : int
        A sample of so many rows is used, if there are more.
    tell : callable
        Is told the name of each model when it starts.
    **settings
        Other parameters of `TableModel`.

    Examples
    --------
    >>> import numpy as np
    >>> import pyarrow as pa
    >>> from greville.explain import compare_models
    >>> from greville.tables import Batch
    >>> x = np.random.default_rng(0).normal(size=200)
    >>> rows = Batch(pa.record_batch({"x": x, "y": np.sin(3 * x)}), "rows", np.arange(200), 1.0)
    >>> found = compare_models([rows], "y", folds=2)
    >>> found.models["greville"].score > found.models["ridge"].score
    True
    """
    kept, total = sampled(batches, most_rows)
    rows = [row for batch in kept for row in _with_target(batch, target, settings)]
    if not rows:
        raise TableError(f"no row has a value of {target!r}; there is nothing to compare with.")
    whole = TableModel(target, **settings).learn(rows).settle()
    y = np.concatenate([whole.targets(batch)[0] for batch in rows])
    task = str(whole.task)
    if len(y) < 2 * folds:
        raise TableError(f"folds={folds}: there are {len(y)} rows, which is too few.")
    makers = _others(task)
    models = {name: Contestant() for name in (*_OURS, *makers)}
    score, loss = ("R²", "RMSE") if task == "regression" else ("accuracy", "log loss")
    parts = _folds(y, folds, classes=task == "classification")
    with threadpool_limits(1):  # for all alike, and threads that wait for others tell nothing
        for part in range(folds):
            train, test = (_filtered(rows, (parts == part) == inside) for inside in (False, True))
            for name, seconds, measures in _fold(
                train, test, target, settings | {"task": task}, tell
            ):
                models[name].seconds.append(seconds)
                models[name].scores.append(measures[score])
                models[name].losses.append(measures[loss])
    order = dict(sorted(models.items(), key=lambda item: -item[1].score))
    return Comparison(task, len(y), total, folds, score, loss, order)


def _fold(
    train: list[Batch], test: list[Batch], target: str, settings: dict[str, Any], tell: Told
) -> Iterator[tuple[str, float, dict[str, float]]]:
    """Train each model; yield its name, its seconds of learning and its scores on other rows."""
    models = {}
    for name, more in _OURS.items():
        tell(name)
        start = time.perf_counter()
        model = models[name] = TableModel(target, **{**settings, **more}).learn(train).settle()
        model.choose()
        seconds, answers = time.perf_counter() - start, [_predicted(model, batch) for batch in test]
        y, predicted, *probabilities = map(np.concatenate, zip(*answers, strict=True))
        proba = probabilities[0] if probabilities else None
        yield name, seconds, measures_of(y, predicted, proba, list(model.classes) or None)
    encoder = models["greville"]
    (X, y_train), (X_test, y) = (_encoded(encoder, batches) for batches in (train, test))
    for name, make in _others(settings["task"]).items():
        tell(name)
        start, other = time.perf_counter(), make()
        other.fit(X, y_train)
        seconds, classes = time.perf_counter() - start, getattr(other, "classes_", None)
        proba = None if classes is None else other.predict_proba(X_test)
        yield name, seconds, measures_of(y, other.predict(X_test), proba, classes)


def _with_target(batch: Batch, target: str, settings: dict[str, Any]) -> list[Batch]:
    """The rows that have a target."""
    if target not in batch.table.schema.names:
        raise TableError(f"{batch.source}: there is no column {target!r}, the target.")
    column = batch.with_gaps(settings.get("na", ())).table.column(target)
    there = np.array([value not in (None, "") for value in column.to_pylist()])
    return [batch.filter(there)] if there.any() else []


def _folds(y: NDArray[Any], folds: int, *, classes: bool) -> NDArray[np.int64]:
    """The fold of each row; with classes each has about the same share of every class."""
    order = np.random.RandomState(0).permutation(len(y))
    if classes:
        order = order[np.argsort(y[order], kind="stable")]
    places = np.empty(len(y), np.int64)
    places[order] = np.arange(len(y)) % folds
    return places


def _filtered(batches: list[Batch], chosen: NDArray[np.bool_]) -> list[Batch]:
    cuts = np.cumsum([len(batch) for batch in batches])[:-1]
    each = zip(batches, np.split(chosen, cuts), strict=True)
    return [batch.filter(rows) for batch, rows in each if rows.any()]


def _encoded(model: TableModel, batches: list[Batch]) -> tuple[NDArray[np.float64], NDArray[Any]]:
    gaps = model.settings.na
    X = [model.schema.encode(batch.with_gaps(gaps))[0] for batch in batches]
    return np.concatenate(X), np.concatenate([model.targets(batch)[0] for batch in batches])


def _predicted(model: TableModel, batch: Batch) -> tuple[Any, ...]:
    """Targets, predictions and, for classes, probabilities."""
    answers = model.answers(batch, proba=bool(model.classes))
    proba = () if answers.proba is None else (answers.proba,)
    return model.targets(batch)[0], answers.prediction, *proba


def _others(task: str) -> dict[str, Callable[[], Any]]:
    """Return scikit-learn's models, with their defaults, and the baseline that all must beat."""
    from sklearn import dummy, ensemble, linear_model
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if task == "regression":
        grid = np.geomspace(1e-3, 1e4, 15)
        return {
            "ridge": lambda: make_pipeline(StandardScaler(), linear_model.RidgeCV(grid)),
            "random forest": lambda: ensemble.RandomForestRegressor(random_state=0),
            "boosting": lambda: ensemble.HistGradientBoostingRegressor(random_state=0),
            BASELINES[task]: dummy.DummyRegressor,
        }
    logistic = linear_model.LogisticRegression
    return {
        "logistic regression": lambda: make_pipeline(StandardScaler(), logistic(max_iter=1000)),
        "random forest": lambda: ensemble.RandomForestClassifier(random_state=0),
        "boosting": lambda: ensemble.HistGradientBoostingClassifier(random_state=0),
        BASELINES[task]: dummy.DummyClassifier,
    }


def draw_comparison(comparison: Comparison) -> Any:
    """Score against the seconds of learning; a matplotlib figure."""
    from matplotlib.figure import Figure

    from ..insight.pictures import BLUE, GREY, ORANGE

    figure = Figure(figsize=(7, 4.4), layout="constrained")
    ax = figure.subplots()
    baseline = BASELINES[comparison.task]
    shown = {name: each for name, each in comparison.models.items() if name != baseline}
    for (name, each), mark in zip(shown.items(), "os^DvP", strict=False):
        colour = BLUE if name.startswith("greville") else ORANGE
        spread = np.std(each.scores)
        ax.errorbar(each.time, each.score, spread, color=colour, capsize=2, lw=1, alpha=0.6)
        ax.plot(each.time, each.score, mark, color=colour, ms=8, label=name)
    worst, best = (f(each.score for each in shown.values()) for f in (min, max))
    if comparison.models[baseline].score > worst - 2 * (best - worst):
        ax.axhline(comparison.models[baseline].score, color=GREY, lw=1, label=baseline)
    ax.legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1.0, 0.5))
    ax.set_xscale("log")
    ax.set(
        xlabel="seconds of learning, on one thread", ylabel=f"{comparison.score}, mean of the folds"
    )
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return figure
