"""A description of a table model, as text and as data."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ..representation import memory_of, shown_name
from .kinds import Ignored
from .model import TableModel

# Columns that are not used, and whose names are shown.
_MOST_IGNORED = 5


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
    estimator = model.estimator
    return 0 if estimator is None else memory_of(estimator.fitted_)


def table_summary(model: TableModel) -> dict[str, str]:
    """What a model has learned, in words; nothing is learned for it that waits to be.

    "columns" is what kinds of columns there are, to be appended to how many.
    """
    waiting = model.n_waiting
    rows = f"{model.n_rows:,}"
    if waiting:
        rows = f"{waiting:,}, which are learned when the model is used, or more have come"
    found = {"rows": rows, "columns": ""}
    if model.has_schema and not waiting:
        kinds = Counter(column.kind for column in model.schema.columns)
        ignored = [c.name for c in model.schema.columns if c.kind == Ignored.kind]
        kinds.pop(Ignored.kind, None)
        parts = [f"{n:,} {kind}" for kind, n in kinds.items()]
        if ignored:
            named = f": {', '.join(map(shown_name, ignored))}" * (len(ignored) <= _MOST_IGNORED)
            parts.append(f"{len(ignored):,} not used{named}")
        listed = ", ".join(parts)
        found["columns"] = f" ({listed})" if listed else ""
    if model.estimator is not None and not waiting:
        found |= {k: v for k, v in model.estimator.summary().items() if k != "rows"}
        found["inputs"] = f"{len(model.schema.inputs):,}"
    return found
