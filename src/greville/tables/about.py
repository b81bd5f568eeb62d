"""What a model of tables is, for people and for programs."""

from __future__ import annotations

from typing import Any

import numpy as np

from .model import TableModel


def model_summary(model: TableModel) -> dict[str, Any]:
    """What a model predicts, from how many inputs, and how much it has learned.

    Examples
    --------
    >>> from greville.tables import TableModel, model_summary
    >>> model_summary(TableModel("price"))["target"]
    'price'
    """
    estimator = model.estimator
    found = {
        "target": model.target,
        "task": model.task,
        "classes": model.classes or None,
        "rows": model.n_rows,
        "rows_without_target": model.n_without_target,
        "columns_may_still_change": model.schema_may_change,
        "solver": model.settings["solver"],
        "alpha": model.settings["alpha"],
        "seed": model.settings["seed"],
    }
    if estimator is not None:
        found["inputs"] = len(model.schema.inputs)
        found["units"] = int(estimator.solver_.n_features_in_)
        epsilon = getattr(estimator, "epsilon_", None)
        found["epsilon"] = None if epsilon is None else float(f"{epsilon:.4g}")
    return found


def model_bytes(model: TableModel) -> int:
    """How much memory the numbers of a model take.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from greville.tables import TableModel, model_bytes
    >>> model = TableModel("y", hidden=10)
    >>> _ = model.learn(pa.table({"x": [1.0, 2.0, 3.0], "y": [1.0, 2.0, 3.0]})).settle()
    >>> model_bytes(model) > 0
    True
    """
    seen: dict[int, int] = {}
    estimator = model.estimator
    if estimator is not None:
        _measure(estimator.fitted_, seen)
    return sum(seen.values())


def _measure(value: Any, seen: dict[int, int]) -> None:
    """Find the arrays in a value, each once."""
    if isinstance(value, np.ndarray):
        base = value if value.base is None or not isinstance(value.base, np.ndarray) else value.base
        seen[id(base)] = base.nbytes
    elif isinstance(value, dict):
        for each in value.values():
            _measure(each, seen)
    elif isinstance(value, (list, tuple)):
        for each in value:
            _measure(each, seen)
    elif type(value).__module__.startswith("greville.") and id(value) not in seen:
        seen[id(value)] = 0
        _measure(getattr(value, "__dict__", {}), seen)
        for kind in type(value).__mro__:
            for name in getattr(kind, "__slots__", ()):
                _measure(getattr(value, name, None), seen)
