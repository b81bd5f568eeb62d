"""Estimators of classes: labels of all kinds, probabilities, labels that come late."""

from copy import deepcopy

import numpy as np

import greville
from greville import ELMClassifier, LinearClassifier, Opium

from .cases import case
from .outcome import about, attempt, few

LABELS = {
    "text": ["left", "right", "up"],
    "numbers": [0, 1, 2],
    "floats": [0.5, 1.5, 2.5],
    "booleans": [False, True, True],
    "bytes": [b"a", b"b", b"c"],
}


def points(n=150, labels=("left", "right", "up"), seed=0):
    """Three clouds that overlap, and their labels."""
    rng = np.random.default_rng(seed)
    which = rng.integers(0, 3, n)
    X = rng.normal(size=(n, 2)) + np.array([[-1.5, 0], [1.5, 0], [0, 2.0]])[which]
    return X, np.asarray(labels)[which]


def classifier(hidden=12, **settings):
    """A small one, with a given ε."""
    return ELMClassifier(
        hidden, **{"solver": Opium(0.1, intercept=True), "random_state": 0, **settings}
    )


def seen(model, X):
    """What a classifier says of some rows."""
    return {
        "classes": [str(each) for each in model.classes_],
        "kind": model.classes_.dtype.kind,
        "predictions": [str(each) for each in model.predict(X[:8])],
        "scores": few(model.decision_function(X[:20])),
        "proba": few(model.predict_proba(X[:20])),
        "n_samples_seen": model.n_samples_seen_,
    }


@case("classifiers/labels/{labels}", labels=LABELS)
def labels_of_all_kinds(labels):
    """Labels come back as they were."""
    X, y = points(labels=labels)
    model = classifier().fit(X, y)
    return {
        **seen(model, X),
        "score": about(model.score(X, y)),
        "one": str(model.predict_one(X[0])),
    }


@case(
    "classifiers/solver/{solver}",
    solver={name: name for name in ("batch", "greville", "opium", "dynamic", "sliding", "light")},
)
def solvers_by_name(solver):
    """Each solver by its name."""
    X, y = points()
    model = classifier(6, solver=solver).fit(X, y)
    return {**seen(model, X), "score": about(model.score(X, y))}


@case("classifiers/two-classes")
def two_classes():
    """Two classes have one score."""
    X, y = points(labels=("no", "yes", "yes"))
    model = classifier().fit(X, y)
    left_out = model.loo_predict(X, y, method="decision_function")
    return {**seen(model, X), "left out": few(left_out)}


@case("classifiers/late-labels")
def late_labels():
    """A label that comes late makes the model that knew it from the start."""
    X, y = points()
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    model, told = classifier(), classifier()
    told.partial_fit(X[:50], y[:50], classes=["left", "right", "up", "down"])
    model.partial_fit(X[:50], y[:50])
    before = [str(each) for each in model.classes_]
    for each in (model, told):
        each.partial_fit(X[50:], y[50:])
    return {
        "before": before,
        **seen(model, X[::10]),
        "told": [str(each) for each in told.classes_],
        "told scores": few(told.decision_function(X)[:, :2]),
        "new type": attempt(model.partial_fit, X[:3], [1, 2, 3]),
        "other classes": attempt(told.partial_fit, X, y, classes=["left"]),
    }


@case("classifiers/one-by-one")
def one_by_one():
    """Single rows from the first on; labels come as they come."""
    X, y = points()
    model, said = classifier(), []
    for x, label in zip(X, y, strict=True):
        said.append(
            str(model.predict_one(x)) if model.__dict__.get("classes_") or said else "nothing"
        )
        model.learn_one(x, label)
    return {"said": said[:12], **seen(model, X)}


@case(
    "classifiers/prequential/{method}",
    method={name: name for name in ("predict", "decision_function", "predict_proba", "argmax")},
)
def prequential(method):
    """Predictions, scores or probabilities before each row is learned."""
    X, y = points()
    found = classifier().prequential(X, y, classes=["left", "right", "up"], method=method)
    return {"first": found[:2].tolist(), "later": few(found[30:])}


@case("classifiers/leave-one-out")
def leave_one_out():
    """Labels and scores of models without the row."""
    X, y = points()
    model = classifier().fit(X, y)
    labels = model.loo_predict(X, y)
    scores = model.loo_predict(X, y, method="decision_function")
    return {"accuracy": about(np.mean(labels == y)), "scores": few(scores)}


@case("classifiers/merge")
def merge():
    """Parts with different classes make the model of all."""
    X, y = points()
    here, there = y != "up", y != "left"
    start = classifier(standardize=False)
    parts = [deepcopy(start).fit(X[rows], y[rows]) for rows in (here, there)]
    return {**seen(parts[0] + parts[1], X), "parts": [len(p.classes_) for p in parts]}


@case("classifiers/unlearn")
def unlearn():
    """Rows of a class are removed; the class stays."""
    X, y = points()
    model = classifier().fit(X, y)
    up = np.flatnonzero(y == "up")[:20]
    return {
        **seen(model.unlearn(X[up], y[up]), X),
        "unknown label": attempt(model.unlearn, X[:2], ["down", "down"]),
    }


@case("classifiers/files")
def files():
    """A loaded classifier has the labels, and goes on learning."""
    X, y = points()
    model = classifier().fit(X[:100], y[:100])
    greville.save(model, "model.greville")
    loaded = greville.load("model.greville").partial_fit(X[100:], y[100:])
    model.partial_fit(X[100:], y[100:])
    same = np.array_equal(model.predict_proba(X), loaded.predict_proba(X))
    return {**seen(loaded, X), "same bits": same}


@case("classifiers/refused")
def refused():
    """Labels that are none."""
    X, y = points(30)
    return {
        "numbers with a fraction": attempt(
            lambda: str(classifier().fit(X, X[:, 0]).classes_.shape)
        ),
        "one class": attempt(lambda: str(classifier().fit(X, ["a"] * 30).classes_)),
        "gaps": attempt(classifier().fit, X, [None] * 30),
        "nan": attempt(classifier().fit, X, np.full(30, np.nan)),
        "two columns": attempt(classifier().fit, X, np.column_stack([y, y])),
        "fewer labels": attempt(classifier().fit, X, y[:10]),
        "mixed": attempt(lambda: str(classifier().fit(X, ["a", 1] * 15).classes_)),
        "std": attempt(lambda: classifier().fit(X, y).predict(X, return_std=True)),
        "weights": few(classifier().fit(X, y, np.arange(30.0)).decision_function(X)),
    }


@case("classifiers/auto")
def chooses_everything():
    """Nothing is given but the seed."""
    X, y = points()
    model = ELMClassifier(random_state=0).fit(X, y)
    proba = model.predict_proba(X)
    return {
        "hidden": type(model.hidden_).__name__,
        "units": model.hidden_.n_hidden_,
        "score": about(model.score(X, y)),
        "confidence": about(proba.max(axis=1).mean()),
        "summary": {k: v for k, v in model.summary().items() if "ε" not in k},
    }


@case("classifiers/linear")
def linear():
    """No layer: a plane for each class."""
    X, y = points()
    model = LinearClassifier(Opium(0.1, intercept=True)).fit(X, y)
    return {**seen(model, X), "coef": few(model.coef_), "intercept": few(model.intercept_)}
