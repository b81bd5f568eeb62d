"""Table estimators in Python: frames, dicts, rows with text, dates and gaps."""

import numpy as np

import greville
from greville import TableClassifier, TableRegressor

from .cases import case
from .outcome import about, attempt, few

CITIES = ("Bonn", "Kiel", "Ulm")


def houses(n=120, seed=0):
    """Numbers with gaps, text, dates and booleans as a dict of columns; and their prices."""
    rng = np.random.default_rng(seed)
    area, city, garden = (
        rng.uniform(30, 200, n).round(1),
        rng.integers(0, 3, n),
        rng.integers(0, 2, n),
    )
    price = 1000 * area * (1 + 0.3 * city) + 20_000 * garden + rng.normal(0, 5000, n)
    built = np.datetime64("1990-01-01") + rng.integers(0, 9000, n)
    columns = {
        "area": [None if i % 17 == 3 else float(a) for i, a in enumerate(area)],
        "city": [CITIES[c] for c in city],
        "built": [str(day) for day in built],
        "garden": garden.astype(bool).tolist(),
    }
    return columns, price.round(0)


def dicts(columns):
    """The columns as rows."""
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def frame(columns):
    """The columns as a data frame."""
    import pandas as pd

    return pd.DataFrame(columns).assign(built=lambda d: pd.to_datetime(d["built"]))


def arrow(columns):
    """The columns as an Arrow table."""
    import pyarrow as pa

    return pa.table(columns)


KINDS = {"dict": dict, "pandas": frame, "arrow": arrow}


@case("frames/kind/{kind}", kind=KINDS)
def kinds_of_tables(kind):
    """A dict of columns, a data frame, an Arrow table."""
    X, y = houses()
    model = TableRegressor(hidden=10).fit(kind(X), y)
    predicted, std = model.predict(kind(X), return_std=True)
    return {
        "predictions": few(predicted),
        "std": few(std),
        "score": about(model.score(kind(X), y)),
        "n_features_in": attempt(lambda: model.n_features_in_),
        "names": attempt(lambda: [str(each) for each in model.feature_names_in_]),
        "findings": [str(each.message) for each in model.findings_],
    }


SOLVERS = {
    "greville": {"solver": "greville"},
    "dynamic": {"solver": "dynamic", "alpha": 1.01},
    "dynamic-auto": {"solver": "dynamic", "alpha": "auto"},
    "sliding": {"solver": "sliding", "window": 60},
    "light": {"solver": "light"},
    "opium-epsilon": {"epsilon": 0.5},
    "unknown": {"solver": "adam"},
    "alpha-for-opium": {"alpha": 1.01},
    "window-for-opium": {"window": 10},
    "hidden-inputs": {"hidden": "inputs"},
}


@case("frames/solver/{settings}", settings=SOLVERS)
def solvers(settings):
    """Solvers by name, and their parameters."""
    X, y = houses()
    model = TableRegressor(**{"hidden": 8, **settings}).fit(X, y)
    return {"predictions": few(model.predict(X)), "score": about(model.score(X, y))}


@case("frames/auto")
def nothing_given():
    """Nothing is given: units and ridge follow the rows."""
    X, y = houses()
    model = TableRegressor().fit(X, y)
    return {"score": about(model.score(X, y)), "repr": repr(model), "units": model.summary()}


@case("frames/pieces")
def pieces():
    """``partial_fit`` in pieces makes the model of ``fit`` with the same units."""
    X, y = houses()
    model = TableRegressor(hidden=10)
    for i in range(0, 120, 50):
        model.partial_fit({k: v[i : i + 50] for k, v in X.items()}, y[i : i + 50])
    whole = TableRegressor(hidden=10).partial_fit(X, y)
    same = np.allclose(model.predict(X), whole.predict(X), rtol=1e-6)
    return {"predictions": few(model.predict(X)), "as at once": same}


@case("frames/one-by-one/{hidden}", hidden={"number": 10, "stream": "stream"})
def one_by_one(hidden):
    """Dicts, one at a time, with a value that comes late and a field that is missing."""
    X, y = houses(60)
    model, said = TableRegressor(hidden=hidden), []
    for row, target in zip(dicts(X), y, strict=True):
        if said or model.__dict__.get("model_") is not None:
            said.append(model.predict_one(row))
        model.learn_one(row, target)
        said = said or [0.0]
    late = {"area": 100.0, "city": "Jena", "built": "1999-05-05", "garden": True}
    before = model.predict_one(late)
    return {
        "said": [about(each) for each in said[20:60:10]],
        "late": [about(before), about(model.learn_one(late, 90_000.0).predict_one(late))],
        "missing field": about(model.predict_one({"area": 100.0})),
        "unknown field": about(model.predict_one({**late, "colour": "red"})),
    }


@case("frames/late-values")
def late_values():
    """Categories that come late, and values that were never learned."""
    X, y = houses()
    late = {k: list(v) for k, v in X.items()}
    late["city"] = ["Jena" if i % 5 == 0 else city for i, city in enumerate(late["city"])]
    model = TableRegressor(hidden=10).fit(X, y)
    never = few(model.predict(late))
    return {"never learned": never, "learned": few(model.partial_fit(late, y).predict(late))}


@case("frames/gaps")
def gaps():
    """Gaps in each column, also where none was learned."""
    X, y = houses()
    model = TableRegressor(hidden=10).fit(X, y)
    return {name: few(model.predict({**X, name: [None] * 120})) for name in X} | {
        "nan in target": attempt(lambda: model.partial_fit(X, np.where(y > 1e5, np.nan, y)))
    }


@case(
    "frames/classes/{labels}",
    labels={
        "text": ("cheap", "dear"),
        "booleans": (False, True),
        "numbers": (0, 1),
    },
)
def classes(labels):
    """Classes of tables, with probabilities."""
    X, y = houses()
    y = [labels[int(price > 150_000)] for price in y]
    model = TableClassifier(hidden=10).fit(X, y)
    row = dicts(X)[0]
    return {
        "classes": [str(each) for each in model.classes_],
        "predictions": [str(each) for each in model.predict(X)[:8]],
        "proba": few(model.predict_proba(X)),
        "score": about(model.score(X, y)),
        "one": str(model.predict_one(row)),
        "proba of one": {str(k): v for k, v in model.predict_proba_one(row).items()},
    }


@case("frames/late-classes")
def late_classes():
    """A class that comes late, one by one and in a piece."""
    X, y = houses()
    model = TableClassifier(hidden=10).fit(X, np.where(y > 150_000, "dear", "cheap"))
    model.learn_one(dicts(X)[0], "gift")
    model.partial_fit(X, np.where(y > 250_000, "castle", "cheap"))
    return {"classes": [str(each) for each in model.classes_], "proba": few(model.predict_proba(X))}


@case("frames/files")
def files():
    """A saved table model goes on with the same bits."""
    X, y = houses()
    model = TableRegressor(hidden=10).fit(X, y)
    greville.save(model, "model.greville")
    loaded = greville.load("model.greville")
    same = [np.array_equal(model.predict(X), loaded.predict(X))]
    for each in (model, loaded):
        each.partial_fit(X, y)
    return {
        "same bits": [*same, np.array_equal(model.predict(X), loaded.predict(X))],
        "params": str(loaded.get_params()),
    }


OPTIONS = {
    "features": {"features": ["area", "city"]},
    "ignore": {"ignore": ["built"]},
    "categorical": {"categorical": ["garden"]},
    "unknown-feature": {"features": ["colour"]},
    "unknown-ignore": {"ignore": ["colour"]},
    "decimal-wrong": {"decimal": ";"},
    "na": {"na": ["Ulm"]},
    "date-format-wrong": {"date_format": "%Q"},
}


@case("frames/options/{settings}", settings=OPTIONS)
def options(settings):
    """Which columns are used, and how they are read."""
    X, y = houses()
    model = TableRegressor(hidden=10, **settings).fit(X, y)
    return {"predictions": few(model.predict(X)), "findings": [f.message for f in model.findings_]}


@case("frames/refused")
def refused():
    """Tables that cannot be used."""
    X, y = houses()
    model = TableRegressor(hidden=10).fit(X, y)
    wrong = {**X, "area": ["large"] * 120}
    return {
        "no target": attempt(TableRegressor().fit, X, None),
        "fewer targets": attempt(TableRegressor().fit, X, y[:5]),
        "fewer rows in a column": attempt(TableRegressor().fit, {**X, "area": [1.0]}, y),
        "no columns": attempt(TableRegressor().fit, {}, y),
        "no rows": attempt(TableRegressor().fit, {"area": []}, []),
        "array": attempt(TableRegressor(hidden=5).fit, np.ones((5, 2)), np.arange(5.0)),
        "text for numbers": attempt(model.predict, wrong),
        "missing column": attempt(lambda: few(model.predict({"area": X["area"]}))),
        "infinite": attempt(model.learn_one, {"area": np.inf, "city": "Ulm"}, 1.0),
        "text for target": attempt(model.learn_one, {"area": 1.0}, "dear"),
        "nothing learned": attempt(TableRegressor().predict, X),
        "numbers as classes": attempt(lambda: len(TableClassifier().fit(X, y).classes_)),
        "list of dicts": attempt(TableRegressor(hidden=5).fit, dicts(X)[:3], y[:3]),
        "not a row": attempt(model.predict_one, [1, 2]),
    }
