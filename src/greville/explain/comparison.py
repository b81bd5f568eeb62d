"""greville and scikit-learn's usual models on the same folds of a table."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from ..tables import Batch, TableError, TableModel, sampled

# Other settings of ours that are tried.
_OURS: dict[str, dict[str, Any]] = {
    "greville": {},
    "greville, 200 units": {"hidden": 200},
    "greville, 1000 units": {"hidden": 1000},
}

# What every model must beat.
BASELINES = {"regression": "always the mean", "classification": "the most frequent class"}

Told = Callable[[str], None]


@dataclass
class Contestant:
    """Scores of a model on each fold, and the seconds that learning took."""

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
    """What came out.

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
        """For JSON."""
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
    """Train models on all folds but one, and predict that, in turn.

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
    first = TableModel(target, **settings).learn(rows).settle()
    y = np.concatenate([first.targets(batch)[0] for batch in rows])
    task = str(first.task)
    if len(y) < 2 * folds:
        raise TableError(f"folds={folds}: there are {len(y)} rows, which is too few.")
    parts = _folds(y, folds, classes=task == "classification")
    makers = _others(task)
    models = {name: Contestant() for name in (*_OURS, *makers, BASELINES[task])}
    with threadpool_limits(1):  # for all alike, and threads that wait for others tell nothing
        for part in range(folds):
            _run_fold(models, makers, rows, parts, part, target, settings | {"task": task}, tell)
    score, loss = ("R²", "RMSE") if task == "regression" else ("accuracy", "log loss")
    order = dict(sorted(models.items(), key=lambda item: -item[1].score))
    return Comparison(task, len(y), total, folds, score, loss, order)


def _run_fold(
    models: dict[str, Contestant],
    makers: dict[str, Callable[[], Any]],
    rows: list[Batch],
    parts: NDArray[np.int64],
    part: int,
    target: str,
    settings: dict[str, Any],
    tell: Told,
) -> None:
    """Train all models on the other folds, and score them on this one."""
    task = settings["task"]
    train, test = (_filtered(rows, parts, part, inside=inside) for inside in (False, True))
    encoder: TableModel | None = None
    for name, more in _OURS.items():
        tell(name)
        start = time.perf_counter()
        model = TableModel(target, **{**settings, **more}).learn(train).settle()
        model.choose()
        models[name].seconds.append(time.perf_counter() - start)
        encoder = encoder or model
        _score(models[name], task, *_predicted(model, test))
    assert encoder is not None
    X, X_test = (_encoded(encoder, batches) for batches in (train, test))
    y_train, y_test = (
        np.concatenate([encoder.targets(b)[0] for b in each]) for each in (train, test)
    )
    for name, make in makers.items():
        tell(name)
        start, other = time.perf_counter(), make()
        other.fit(X, y_train)
        models[name].seconds.append(time.perf_counter() - start)
        proba = other.predict_proba(X_test) if task == "classification" else None
        classes = getattr(other, "classes_", ())
        _score(models[name], task, y_test, other.predict(X_test), proba, list(classes))
    _score_baseline(models[BASELINES[task]], task, y_train, y_test)


def _with_target(batch: Batch, target: str, settings: dict[str, Any]) -> list[Batch]:
    """The rows that have a target."""
    column = batch.with_gaps(settings.get("na", ())).table.column(target) if (
        target in batch.table.schema.names
    ) else None  # fmt: skip
    if column is None:
        raise TableError(f"{batch.source}: there is no column {target!r}, the target.")
    there = np.asarray(column.is_valid())
    there &= np.array([value != "" for value in column.to_pylist()])
    return [batch.filter(there)] if there.any() else []


def _folds(y: NDArray[Any], folds: int, *, classes: bool) -> NDArray[np.int64]:
    """The fold of each row; with classes each has about the same share of every class."""
    order = np.random.RandomState(0).permutation(len(y))
    if classes:
        order = order[np.argsort(y[order], kind="stable")]
    places = np.empty(len(y), np.int64)
    places[order] = np.arange(len(y)) % folds
    return places


def _filtered(
    batches: list[Batch], parts: NDArray[np.int64], part: int, *, inside: bool
) -> list[Batch]:
    """The rows of a fold, or all others."""
    found, start = [], 0
    for batch in batches:
        chosen = (parts[start : start + len(batch)] == part) == inside
        start += len(batch)
        if chosen.any():
            found.append(batch.filter(chosen))
    return found


def _encoded(model: TableModel, batches: list[Batch]) -> NDArray[np.float64]:
    gaps = model.settings["na"]
    return np.concatenate([model.schema.encode(batch.with_gaps(gaps))[0] for batch in batches])


def _predicted(model: TableModel, batches: list[Batch]) -> tuple[Any, Any, Any, list[Any]]:
    found = [model.answers(batch, proba=bool(model.classes)) for batch in batches]
    y = np.concatenate([model.targets(batch)[0] for batch in batches])
    predicted = np.concatenate([answers.prediction for answers in found])
    proba = np.concatenate([a.proba for a in found if a.proba is not None] or [np.empty(0)])
    return y, predicted, proba if len(proba) else None, list(model.classes)


def _score(
    contestant: Contestant, task: str, y: Any, predicted: Any, proba: Any, classes: list[Any]
) -> None:
    if task == "regression":
        square = float(((y - predicted) ** 2).mean())
        contestant.scores.append(1 - square / (float(y.var()) or 1.0))
        contestant.losses.append(float(np.sqrt(square)))
        return
    contestant.scores.append(float((y == predicted).mean()))
    places = {label: i for i, label in enumerate(classes)}
    at = np.array([places.get(label, -1) for label in y.tolist()])
    chances = np.where(at >= 0, proba[np.arange(len(at)), at], 0.0)
    contestant.losses.append(float(-np.log(np.maximum(chances, 1e-15)).mean()))


def _score_baseline(contestant: Contestant, task: str, y: Any, y_test: Any) -> None:
    contestant.seconds.append(0.0)
    if task == "regression":
        _score(contestant, task, y_test, np.full(len(y_test), y.mean()), None, [])
        return
    labels, counts = np.unique(y, return_counts=True)
    predicted = np.full(len(y_test), labels[counts.argmax()])
    proba = np.tile(counts / counts.sum(), (len(y_test), 1))
    _score(contestant, task, y_test, predicted, proba, labels.tolist())


def _others(task: str) -> dict[str, Callable[[], Any]]:
    """scikit-learn's models, with their defaults."""
    from sklearn import ensemble, linear_model
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if task == "regression":
        grid = np.geomspace(1e-3, 1e4, 15)
        return {
            "ridge": lambda: make_pipeline(StandardScaler(), linear_model.RidgeCV(grid)),
            "random forest": lambda: ensemble.RandomForestRegressor(random_state=0),
            "boosting": lambda: ensemble.HistGradientBoostingRegressor(random_state=0),
        }
    logistic = linear_model.LogisticRegression
    return {
        "logistic regression": lambda: make_pipeline(StandardScaler(), logistic(max_iter=1000)),
        "random forest": lambda: ensemble.RandomForestClassifier(random_state=0),
        "boosting": lambda: ensemble.HistGradientBoostingClassifier(random_state=0),
    }


def draw_comparison(found: Comparison) -> Any:
    """Score against the seconds of learning; a matplotlib figure."""
    from matplotlib.figure import Figure

    from ..insight.pictures import BLUE, GREY, ORANGE

    figure = Figure(figsize=(7, 4.4), layout="constrained")
    ax = figure.subplots()
    baseline = BASELINES[found.task]
    shown = {name: each for name, each in found.models.items() if name != baseline}
    for (name, each), mark in zip(shown.items(), "os^DvP", strict=False):
        colour = BLUE if name.startswith("greville") else ORANGE
        spread = np.std(each.scores)
        ax.errorbar(each.time, each.score, spread, color=colour, capsize=2, lw=1, alpha=0.6)
        ax.plot(each.time, each.score, mark, color=colour, ms=8, label=name)
    worst, best = (f(each.score for each in shown.values()) for f in (min, max))
    if found.models[baseline].score > worst - 2 * (best - worst):
        ax.axhline(found.models[baseline].score, color=GREY, lw=1, label=baseline)
    ax.legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1.0, 0.5))
    ax.set_xscale("log")
    ax.set(xlabel="seconds of learning, on one thread", ylabel=f"{found.score}, mean of the folds")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return figure
