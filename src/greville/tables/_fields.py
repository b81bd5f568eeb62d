"""The state of a model of tables in a file."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from ..elm import ELMClassifier, ELMRegressor, Warmup
from ..fields import choice, count, flag, json, known, nothing, require
from ._categories import Categories
from ._first import FirstRows
from ._learner import Learner
from ._plain import LARGEST
from ._state import State
from .batch import Batch
from .findings import Finding
from .numerals import Numerals
from .schema import Schema
from .target import CLASSIFICATION, REGRESSION, Target

FIELDS = {
    "settings": json,
    "task": nothing | choice(REGRESSION, CLASSIFICATION),
    "kept": nothing | choice("number", "text", "integer", "flag"),
    "numerals": nothing | json,
    "columns": nothing | json,
    "findings": json,
    "estimator": nothing | known(ELMRegressor, ELMClassifier),
    "first": nothing | known(Warmup),
    "stale": flag,
    "n_rows": count,
    "n_without_target": count,
}

# Which values of text columns were learned; files from before this was counted say nothing of it.
OPTIONAL = {"learned": nothing | json}


def to_fields(state: State) -> dict[str, Any]:
    """What a file holds of a state."""
    learner = state.learner
    return {
        "settings": {k: v for k, v in state.settings.items() if k != "device"},
        "task": None if learner is None else learner.target.task,
        "kept": None if learner is None else learner.target.kind,
        "numerals": None if learner is None else learner.target.numerals.as_dict(),
        "columns": None if learner is None else learner.schema.as_list(),
        "learned": None if learner is None else learner.categories.as_dict(),
        "findings": [] if learner is None else [f.to_fields() for f in learner.schema.findings],
        "estimator": None if learner is None else learner.estimator,
        "first": state.warmup,
        "stale": state.stale,
        "n_rows": 0 if learner is None else learner.n_rows,
        "n_without_target": 0 if learner is None else learner.n_without_target,
    }


def from_fields(settings: dict[str, Any], fields: dict[str, Any]) -> State:
    """What `to_fields` gave; a ValueError if something in it does not go together."""
    started = State.started(settings).warmup
    assert started is not None
    length, warmup = started.length, fields["first"]
    if warmup is not None:
        fits = warmup.length == length and isinstance(warmup.rows, FirstRows)
        require(fits and warmup.rows.n == warmup.n, "the first rows are not those of a table")
    columns, estimator, task = fields["columns"], fields["estimator"], fields["task"]
    fits = (columns is None) == (task is None) and (columns is not None or estimator is None)
    require(fits, "an estimator, a task and columns go together")
    if columns is None:
        require(warmup is not None, "it does not know its columns")
        return State(settings, warmup, fields["stale"])
    fits = (fields["kept"] == "number") == (task == REGRESSION)
    require(fits, "the task and the kind of the targets do not go together")
    numerals = Numerals.from_dict(fields["numerals"])
    folds = settings["target"] in settings["fold"]
    target = Target(settings["target"], task, fields["kept"], numerals, folds)
    n_first = length if warmup is None else warmup.n
    require(isinstance(fields["findings"], list), "the findings are not a list")
    schema = Schema.from_list(columns, [Finding.from_fields(entry) for entry in fields["findings"]])
    learner = Learner(settings, schema, target, n_first)
    if "learned" in fields:
        learner.categories = Categories.from_dict(learner.schema, fields["learned"])
    else:
        learner.categories = Categories.all_learned(learner.schema)
    learner.estimator = estimator
    learner.n_rows, learner.n_without_target = fields["n_rows"], fields["n_without_target"]
    return State(settings, warmup, fields["stale"], learner)


def check_state(state: State) -> None:
    """Raise a ValueError if the estimator does not go with the schema and the target."""
    learner = state.learner
    if learner is None or learner.estimator is None:
        return
    schema, task, estimator = learner.schema, learner.target.task, learner.estimator
    kind = ELMClassifier if task == CLASSIFICATION else ELMRegressor
    require(isinstance(estimator, kind), f"the task {task} is not that of the estimator")
    fits = estimator.n_features_in_ == len(schema.inputs)
    require(fits, "the estimator does not have as many inputs as the columns make")
    fits = estimator.fitted_.hidden.n_direct == schema.n_late
    require(fits, "the estimator does not have as many late inputs as the columns make")
    empty = pa.RecordBatch.from_arrays([pa.nulls(1)] * len(schema.used), schema.names)
    X, _ = schema.encode(Batch(empty, "a row of missing values", np.ones(1, np.int64), 1.0))
    # The estimator itself was tried already.
    require((np.abs(X) <= LARGEST).all(), "the columns make no numbers that can be used")
