"""Estimators of numbers: models that are merged, unlearned, saved, and used by scikit-learn."""

import pickle
from copy import deepcopy

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import greville
from greville import ELMRegressor

from .cases import case
from .estimators import regressor, rows, seen
from .outcome import about, attempt, few


@case("estimators/merge")
def merge():
    """Parts make the model of all rows; other layers and units are refused."""
    X, y = rows()
    start = regressor().prepare(X[:50] * 10, y[:50])
    parts = [deepcopy(start).partial_fit(10 * X[i::3], y[i::3]) for i in range(3)]
    return {
        **seen(sum(parts), 10 * X),
        "in place": few(deepcopy(parts[0]).merge(*parts[1:]).predict(10 * X)),
        "other seed": attempt(lambda: regressor().fit(X, y) + regressor(random_state=1).fit(X, y)),
        "other size": attempt(lambda: regressor().fit(X, y) + regressor(20).fit(X, y)),
        "other scaling": attempt(lambda: parts[0] + regressor().fit(1000 * X, y)),
        "dynamic": attempt(lambda: regressor(solver="dynamic").fit(X, y).merge(parts[0])),
        "nothing": attempt(parts[0].merge),
    }


@case("estimators/unlearn")
def unlearn():
    """Rows are removed as if they had never come."""
    X, y = rows()
    model = regressor().fit(X, y).unlearn(X[:30], y[:30])
    other = regressor().fit(X[30:], y[30:])
    return {
        **seen(model, X),
        "as never learned": np.allclose(model.predict(X), other.predict(X), rtol=1e-7),
        "not learned": attempt(model.unlearn, X[30:40], y[30:40] + 50),
        "dynamic": attempt(lambda: regressor(solver="dynamic").fit(X, y).unlearn(X, y)),
    }


@case("estimators/prepare")
def prepare():
    """Units and layer come from some rows, of which none is learned."""
    X, y = rows()
    model = ELMRegressor(random_state=0).prepare(X[:60], y[:60], n_rows=120)
    found = {"units": model.hidden_.n_hidden_, "n": model.n_samples_seen_}
    found["nothing learned"] = attempt(lambda: few(model.predict(X[:5])))
    return {**found, "score": about(model.partial_fit(X, y).score(X, y))}


@case("estimators/files")
def files():
    """A saved model, its loaded copy and a pickled one go on with the same bits."""
    X, y = rows()
    model = regressor().fit(X[:80], y[:80])
    greville.save(model, "model.greville")
    copies = greville.load("model.greville"), pickle.loads(pickle.dumps(model)), deepcopy(model)
    for each in (model, *copies):
        each.partial_fit(X[80:], y[80:])
    with open("text.greville", "w", encoding="utf-8") as file:
        file.write("no model")
    return {
        **seen(copies[0], X),
        "same bits": [bool(np.array_equal(model.predict(X), c.predict(X))) for c in copies],
        "params": str(copies[0].get_params()),
        "no file": attempt(greville.load, "other.greville"),
        "no model": attempt(greville.load, "text.greville"),
        "not savable": attempt(greville.save, object(), "object.greville"),
        "transformer": attempt(greville.save, regressor(StandardScaler()).fit(X, y), "t.greville"),
    }


@case("estimators/scikit-learn")
def scikit_learn():
    """Parameters, clones, pipelines, searches and what a model says of itself."""
    X, y = rows()
    model = regressor()
    pipeline = make_pipeline(StandardScaler(), regressor()).fit(X, y)
    search = GridSearchCV(regressor(), {"hidden": [2, 15]}, cv=3).fit(X, y)
    return {
        "repr": [repr(ELMRegressor()), repr(model), repr(clone(model).set_params(hidden=7))],
        "params": str(model.get_params()),
        "unknown": attempt(model.set_params, depth=3),
        "pipeline": few(pipeline.predict(X[:20])),
        "search": str(search.best_params_["hidden"]),
        "scores": [about(score) for score in cross_val_score(regressor(), X, y, cv=3)],
        "summary": regressor().fit(X, y).summary(),
    }
