"""What a type checker accepts and refuses; ``make check`` reads it, and nothing calls it.

An error that mypy does not find makes its ``type: ignore`` an unused one, which is an error too.
"""

import numpy as np
from sklearn.preprocessing import StandardScaler

import greville
from greville import (
    DynamicOpium,
    ELMClassifier,
    ELMRegressor,
    Opium,
    RandomLayer,
    TableClassifier,
    TableRegressor,
)


def accepted() -> None:
    ELMRegressor(100, "opium", 0, standardize=False)
    ELMRegressor(RandomLayer(50), Opium("auto", intercept=True), np.random.RandomState(0))
    ELMClassifier(StandardScaler(), DynamicOpium(alpha="auto"), standardize="auto")
    TableRegressor(200, "dynamic", alpha=1.01, ignore=["id"])
    TableClassifier(hidden="inputs", epsilon="auto", random_state=None)
    greville.tables.TableModel("y", task="regression")
    greville.forecasting.Forecaster()


def refused() -> None:
    ELMRegressor(solver=3)  # type: ignore[arg-type]
    ELMRegressor(hidden="many")  # type: ignore[arg-type]
    ELMClassifier(standardize="no")  # type: ignore[arg-type]
    ELMClassifier(random_state="0")  # type: ignore[arg-type]
    Opium(epsilon="small")  # type: ignore[arg-type]
    RandomLayer(n_hidden="all")  # type: ignore[arg-type]
    TableRegressor(hidden="many")  # type: ignore[arg-type]
    TableClassifier(alpha="fast")  # type: ignore[arg-type]
    greville.tables.TableModel("y", task="clustering")  # type: ignore[arg-type]
    greville.nothing()  # type: ignore[attr-defined]
