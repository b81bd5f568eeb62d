"""The fields of a model of tables in a file."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from ..elm import ELMClassifier, ELMRegressor
from ..fields import choice, count, each, flag, json, known, nothing, require
from ._categories import Categories
from ._first import FirstRows
from ._settings import FIRST_ROWS
from ._values import LARGEST
from .batch import Batch
from .findings import Finding
from .numerals import Numerals
from .schema import Schema
from .target import CLASSIFICATION, REGRESSION, Target

T = TypeVar("T", bound=Any)

FIELDS = {
    "settings": json,
    "task": nothing | choice(REGRESSION, CLASSIFICATION),
    "kept": nothing | choice("number", "text", "integer", "flag"),
    "numerals": nothing | json,
    "columns": nothing | json,
    "learned": nothing | json,
    "findings": each(known(Finding)),
    "estimator": nothing | known(ELMRegressor, ELMClassifier),
    "first": nothing | known(FirstRows),
    "stale": flag,
    "n_rows": count,
    "n_without_target": count,
}

# Those that are attributes of the model as they are.
_PLAIN = ("estimator", "first", "stale", "n_rows", "n_without_target")


def to_fields(model: Any) -> dict[str, Any]:
    """What a file holds of a model."""
    found: dict[str, Any] = dict.fromkeys(FIELDS)
    found |= {name: getattr(model, name) for name in _PLAIN}
    found["settings"] = {k: v for k, v in model.settings.items() if k != "device"}
    found["findings"] = []
    if model.has_schema:
        target, schema = model.fitted_target, model.schema
        found |= {"task": target.task, "kept": target.kind, "numerals": target.numerals.as_dict()}
        found |= {"columns": schema.as_list(), "learned": model.categories.as_dict()}
        found["findings"] = list(schema.findings)
    return found


def set_fields(model: T, fields: dict[str, Any]) -> T:
    """Give a new model what `to_fields` gave; a ValueError if it does not go together."""
    vars(model).update({name: fields[name] for name in _PLAIN})
    columns, task, first = fields["columns"], fields["task"], fields["first"]
    require(first is None or first.n < FIRST_ROWS, "the first rows are more than are kept")
    fits = (columns is None) == (task is None) and (columns is not None or not model.estimator)
    require(fits, "an estimator, a task and columns go together")
    if columns is None:
        require(first is not None, "it does not know its columns")
        return model
    fits = (fields["kept"] == "number") == (task == REGRESSION)
    require(fits, "the task and the kind of the targets do not go together")
    numerals, name = Numerals.from_dict(fields["numerals"]), model.target
    folds = name in model.settings["fold"]
    model.fitted_target = Target(name, task, fields["kept"], numerals, folds)
    schema = Schema.from_list(columns, fields["findings"])
    model.categories = Categories.from_dict(schema, fields["learned"])
    model.n_expected = FIRST_ROWS if first is None else first.n
    return model


def check_fields(model: Any) -> None:
    """Raise a ValueError if the estimator does not go with the schema and the target."""
    if model.estimator is None:
        return
    schema, estimator = model.schema, model.estimator
    kind = ELMClassifier if model.task == CLASSIFICATION else ELMRegressor
    require(isinstance(estimator, kind), f"the task {model.task} is not that of the estimator")
    fits = estimator.n_features_in_ == len(schema.inputs)
    require(fits, "the estimator does not have as many inputs as the columns make")
    fits = estimator.fitted_.hidden.n_direct == schema.n_late
    require(fits, "the estimator does not have as many late inputs as the columns make")
    empty = pa.RecordBatch.from_arrays([pa.nulls(1)] * len(schema.used), schema.names)
    X, _ = schema.encode(Batch(empty, "a row of missing values", np.ones(1, np.int64), 1.0))
    # The estimator itself was tried already.
    require((np.abs(X) <= LARGEST).all(), "the columns make no numbers that can be used")
