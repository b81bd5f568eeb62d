"""Estimators of numbers: a layer and a solver behind scikit-learn's API."""

import numpy as np
from scipy import sparse
from sklearn.preprocessing import PolynomialFeatures

from greville import (
    DynamicOpium,
    ELMRegressor,
    FourierLayer,
    LinearRegressor,
    Opium,
    RandomLayer,
    SlidingOpium,
    TableLayer,
)

from .cases import case
from .outcome import about, attempt, few

NAMED = ("batch", "greville", "opium", "dynamic", "sliding", "light")


def rows(n=120, d=3, seed=0, outputs=None):
    """Inputs of order one, and a smooth target with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.normal(size=n)
    return X, y if outputs is None else np.column_stack(
        [y, *(X[:, :1] - y[:, None] * i for i in range(1, outputs))]
    )


def regressor(hidden=15, **settings):
    """A small one. Its ε is given and its units are few, so that six digits are the data's."""
    return ELMRegressor(
        hidden, **{"solver": Opium(0.1, intercept=True), "random_state": 0, **settings}
    )


def seen(model, X):
    """What an estimator has learned."""
    found = {
        "predictions": few(model.predict(X[:20])),
        "n_samples_seen": model.n_samples_seen_,
        "n_features_in": model.n_features_in_,
        "hidden": type(model.hidden_).__name__,
        "solver": repr(model.solver_),
    }
    epsilon = attempt(lambda: model.epsilon_)
    return found if isinstance(epsilon, Exception) else {**found, "epsilon": epsilon}


@case("estimators/solver/{solver}", solver={name: name for name in NAMED})
def solvers_by_name(solver):
    """``fit``, and ``partial_fit`` in pieces where the solver is online."""
    X, y = rows()
    model = ELMRegressor(8, solver, random_state=0).fit(X, y)
    found = {"fit": seen(model, X), "score": about(model.score(X, y))}
    if solver != "batch":
        online = ELMRegressor(8, solver, random_state=0)
        for start in range(0, 120, 17):
            online.partial_fit(X[start : start + 17], y[start : start + 17])
        found["partial_fit"] = seen(online, X)
    return found


HIDDEN = {
    "number": 15,
    "random-normal": RandomLayer(15, weights="normal", random_state=1),
    "random-bias-relu": RandomLayer(15, bias=True, activation="relu", random_state=1),
    "fourier": FourierLayer(10, random_state=1),
    "table": TableLayer(20, random_state=1),
    "transformer": PolynomialFeatures(2, include_bias=False),
}


@case("estimators/hidden/{hidden}", hidden=HIDDEN)
def hidden_layers(hidden):
    """Layers of greville, and a transformer of scikit-learn."""
    X, y = rows()
    return seen(regressor(hidden).fit(X, y), X)


@case("estimators/auto")
def chooses_everything():
    """Units, ridge and scaling follow the rows."""
    X, y = rows(80)
    model = ELMRegressor(random_state=0).fit(X * [1, 10, 100] + [0, 5, 1000], 1000 * y)
    score = model.score(X * [1, 10, 100] + [0, 5, 1000], 1000 * y)
    return {
        "hidden": type(model.hidden_).__name__,
        "units": model.hidden_.n_hidden_,
        "score": about(score),
    }


@case("estimators/auto-stream")
def chooses_units_of_a_stream():
    """``partial_fit`` and ``learn_one`` with nothing given."""
    X, y = rows(80)
    model = ELMRegressor(random_state=0)
    for x, target in zip(X[:40], y[:40], strict=True):
        model.learn_one(x, target)
    model.partial_fit(X[40:], y[40:])
    return {
        "units": model.hidden_.n_hidden_,
        "n": model.n_samples_seen_,
        "score": about(model.score(X, y)),
    }


@case("estimators/outputs")
def several_outputs():
    """Targets with three columns, and error bars of each."""
    X, Y = rows(outputs=3)
    model = regressor().fit(X, Y)
    predicted, std = model.predict(X[:10], return_std=True)
    return {
        **seen(model, X),
        "std": few(std),
        "one": model.predict_one(X[0]),
        "predicted": few(predicted),
    }


@case("estimators/sparse/{kind}", kind={"csr": sparse.csr_matrix, "csc": sparse.csc_array})
def sparse_inputs(kind):
    """Sparse rows make the model of the same dense rows."""
    X, y = rows()
    X = np.where(np.abs(X) > 0.5, X, 0)
    model, dense = regressor().fit(kind(X), y), regressor().fit(X, y)
    same = np.allclose(model.predict(kind(X)), dense.predict(X), rtol=1e-8)
    auto = attempt(lambda: ELMRegressor(random_state=0).fit(kind(X), y).n_samples_seen_)
    return {"predictions": few(model.predict(kind(X))), "as dense": same, "auto": auto}


@case("estimators/dtype/{dtype}", dtype={"float32": np.float32, "int64": np.int64, "list": list})
def dtypes(dtype):
    """float32 stays float32; all else becomes float64."""
    X, y = rows()
    X = X.tolist() if dtype is list else (3 * X).astype(dtype)
    return {"predictions": few(regressor(8).fit(X, y).predict(X[:20]))}


@case("estimators/frame")
def frames():
    """Names of columns are remembered, and another order is refused."""
    import pandas as pd

    X, y = rows()
    X = pd.DataFrame(X, columns=["a", "b", "c"])
    model = regressor().fit(X, pd.Series(y, name="y"))
    return {
        **seen(model, X),
        "names": model.feature_names_in_,
        "other order": attempt(model.predict, X[["b", "a", "c"]]),
        "one less": attempt(model.predict, X[["a", "b"]]),
        "no names": attempt(lambda: few(model.predict(X.to_numpy()[:20]))),
        "text": attempt(model.predict, X.astype(str).replace("1", "x").assign(a="x")),
        "with gaps": attempt(model.predict, X.assign(a=np.nan)),
    }


@case(
    "estimators/standardize/{standardize}", standardize={"yes": True, "no": False, "auto": "auto"}
)
def standardizes(standardize):
    """Inputs in other units, and targets far from zero."""
    X, y = rows()
    model = regressor(10, standardize=standardize, solver="opium").fit(
        X * [1, 10, 0.1] + 3, 50 * y + 7
    )
    return seen(model, X * [1, 10, 0.1] + 3)


@case("estimators/weighted")
def weights():
    """Sample weights in ``fit``, ``partial_fit``, ``score`` and ``prequential``."""
    X, y = rows()
    weight = np.tile([0.0, 1.0, 3.0], 40)
    model = regressor().fit(X, y, sample_weight=weight)
    pieces = regressor().partial_fit(X[:50], y[:50], weight[:50])
    pieces.partial_fit(X[50:], y[50:], sample_weight=weight[50:])
    before = regressor().prequential(X, y, sample_weight=weight)
    return {
        **seen(model, X),
        "pieces": few(pieces.predict(X[:20])),
        "score": about(model.score(X, y, sample_weight=weight)),
        "prequential": few(before[30:]),
    }


@case(
    "estimators/prequential/{solver}",
    solver={
        "opium": Opium(0.1),
        "dynamic": DynamicOpium(1.02, 0.1),
        "sliding": SlidingOpium(60, 0.1),
        "dynamic-auto": "dynamic",
    },
)
def prequential(solver):
    """A rule that changes half-way, predicted row by row, with error bars."""
    X, y = rows()
    y = np.where(np.arange(120) < 60, y, -y)
    predicted, std = regressor(10, solver=solver).prequential(X, y, return_std=True)
    error = np.abs(y - predicted)
    found = {"predicted": few(predicted[40:]), "std": few(std[40:])}
    return {
        **found,
        "errors": [about(error[a:b].mean()) for a, b in ((30, 60), (60, 90), (90, 120))],
    }


@case(
    "estimators/one-by-one/{solver}",
    solver={
        "opium": Opium(0.1, intercept=True),
        "dynamic": DynamicOpium(1.02, 0.1),
        "light": "light",
        "sliding": SlidingOpium(60, 0.1),
    },
)
def one_by_one(solver):
    """Single rows, mixed with chunks."""
    X, y = rows()
    model = regressor(10, solver=solver).partial_fit(X[:20], y[:20])
    said = []
    for x, target in zip(X[20:100], y[20:100], strict=True):
        said.append(model.predict_one(x))
        model.learn_one(x, target)
    return {"said": few(said), **seen(model.partial_fit(X[100:], y[100:]), X)}


@case("estimators/leave-one-out")
def leave_one_out():
    """Predictions of models without the row."""
    X, y = rows()
    model = regressor().fit(X, y)
    return {
        "left out": few(model.loo_predict(X, y)),
        "wrong": attempt(model.loo_predict, X[:, :2], y),
    }


@case("estimators/linear")
def linear():
    """No layer: weights in the units of the rows, in one piece and row by row."""
    X, y = rows()
    X = X * [1, 100, 0.1] + [0, 50, 3]
    model = LinearRegressor(Opium(0.1, intercept=True)).fit(X, y)
    online = LinearRegressor(Opium(0.1, intercept=True))
    for x, target in zip(X, y, strict=True):
        online.learn_one(x, target)
    return {
        **seen(model, X),
        "coef": few(model.coef_),
        "intercept": about(model.intercept_),
        "one by one": few(online.predict(X[:20])),
    }
