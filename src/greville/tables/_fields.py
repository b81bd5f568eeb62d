"""The fields of a model of tables in a file."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from ..elm import ELMClassifier, ELMRegressor
from ..fields import count, flag, instance_of, nothing, require
from ._first_rows import FirstRows
from ._settings import FIRST_ROWS, Settings
from ._values import LARGEST
from .batch import Batch
from .schema import Schema
from .target import CLASSIFICATION, Target

T = TypeVar("T", bound=Any)

FIELDS = {
    "settings": instance_of(Settings),
    "fitted_target": nothing | instance_of(Target),
    "columns": nothing | instance_of(Schema),
    "estimator": nothing | instance_of(ELMRegressor, ELMClassifier),
    "first": nothing | instance_of(FirstRows),
    "stale": flag,
    "n_rows": count,
    "n_without_target": count,
}


def from_fields(cls: type[T], fields: dict[str, Any]) -> T:
    """Make the model from a file's fields; a ValueError if the settings are invalid."""
    model = cls(fields["settings"].target)
    for name, value in fields.items():
        setattr(model, name, value)
    model.n_expected = FIRST_ROWS if model.first is None else model.first.n
    return model


def check_fields(model: Any) -> None:
    """Raise a ValueError if the fields of a model do not go together."""
    first_rows, target, columns = model.first, model.fitted_target, model.columns
    require(
        first_rows is None or first_rows.n < FIRST_ROWS, "the first rows are more than are kept"
    )
    fits = (columns is None) == (target is None) and (target is not None or not model.estimator)
    require(fits, "an estimator, a target and columns go together")
    require(first_rows is not None or target is not None, "it does not know its columns")
    require(target is None or target.name == model.target, "it has another target")


def try_out(model: Any) -> None:
    """Raise a ValueError if the estimator does not go with the schema and the target."""
    if model.estimator is None:
        return
    schema, estimator = model.schema, model.estimator
    kind = ELMClassifier if model.task == CLASSIFICATION else ELMRegressor
    require(isinstance(estimator, kind), f"the task {model.task} is not that of the estimator")
    widths = estimator.n_features_in_, estimator.fitted_.hidden.n_direct
    fits = widths == (len(schema.inputs), schema.n_late)
    require(fits, "the estimator does not have as many inputs as the columns make")
    empty = pa.RecordBatch.from_arrays([pa.nulls(1)] * len(schema.used), schema.names)
    X, _ = schema.encode(Batch(empty, "a row of missing values", np.ones(1, np.int64), 1.0))
    # The estimator itself was tried already.
    require((np.abs(X) <= LARGEST).all(), "the columns make no numbers that can be used")
