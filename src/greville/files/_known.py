"""The table of all that can be in a file: the format, and the list of what is allowed.

Each class has fields with their kinds. Nothing else is written, and a file that has another class,
another field, or another kind of value in one is refused. A room above this one adds a class with a
line here; its module is imported when such an object is met, and not before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from . import _checks as checks
from . import _live as live
from ._kinds import (
    Kind,
    array,
    choice,
    count,
    each,
    finite,
    flag,
    floating,
    integer,
    json,
    known,
    matrix,
    nothing,
    number,
    row,
    text,
    words,
)

Fields = Mapping[str, Kind]


def _nothing_more(_: Any) -> None:
    """No check beside those of the kinds."""


@dataclass(frozen=True)
class Entry:
    """One class.

    Attributes
    ----------
    module : where it is found
    whole : whether it may be in a file on its own; the others are parts
    always : fields that every object has
    together : fields that an object has all of, or none: those of a fitted one
    maybe : fields that may be absent
    caches : attributes that are not written, since they are found again when they are wanted
    check : raises `Wrong` or a ValueError if the fields do not go together
    attempt : raises one if a loaded object does not work
    take, give : the fields of an object, and an object of its class and fields
    """

    module: str
    whole: bool = False
    always: Fields = field(default_factory=dict)
    together: Fields = field(default_factory=dict)
    maybe: Fields = field(default_factory=dict)
    caches: tuple[str, ...] = ()
    check: Callable[[Any], None] = _nothing_more
    attempt: Callable[[Any], None] = _nothing_more
    take: Callable[[Any], dict[str, Any]] = live.attributes
    give: Callable[[type, dict[str, Any]], Any] = live.remade


LAYERS = ("RandomLayer", "FourierLayer", "ReceptiveFieldLayer", "ContrastLayer", "ClassLayer")
SOLVERS = ("Batch", "Greville", "Opium", "OpiumLight", "DynamicOpium", "SlidingOpium")
ESTIMATORS = ("ELMRegressor", "ELMClassifier")

_size = choice("auto") | count
_sides = each(count, tuple, 2) | each(count, list, 2)
_random = (nothing | count | known("RandomState")).or_else("pass a number as random_state")
_activation = choice("tanh", "sigmoid", "relu", "sin", "cos", "hard-limit", "identity").or_else(
    "a function cannot be written; pass the name of one of these"
)
_own_layers = (
    "use one of greville's layers, or transform X yourself and save a model of what comes out"
)
_labels = array(1, "biuf") | words


# Layers: X → H

_SHARED_BY_LAYERS: dict[str, Any] = {
    "whole": True,
    "maybe": {"feature_names_in_": words},
    "check": checks.layer,
    "attempt": checks.try_layer,
}
_FITTED_LAYER = {
    "n_features_in_": count,
    "n_hidden_": count,
    "weights_": array(2) | matrix("csc"),
    "bias_": nothing | array(1),
}
_SAMPLE_LAYER = {
    "n_hidden": _size,
    "receptive_fields": nothing | _sides,
    "border": integer,
    "min_area": integer,
    "scale": number,
    "activation": _activation,
    "random_state": _random,
}

_LAYER_ENTRIES = {
    "RandomLayer": Entry(
        "greville.layers.random",
        always={
            "n_hidden": _size,
            "weights": choice("uniform", "normal"),
            "scale": number,
            "activation": _activation,
            "bias": flag,
            "random_state": _random,
        },
        together=_FITTED_LAYER,
        **_SHARED_BY_LAYERS,
    ),
    "FourierLayer": Entry(
        "greville.layers.fourier",
        always={
            "n_hidden": _size,
            "gamma": choice("scale") | number,
            "orthogonal": flag,
            "random_state": _random,
        },
        together={**_FITTED_LAYER, "gamma_": finite},
        **_SHARED_BY_LAYERS,
    ),
    "ReceptiveFieldLayer": Entry(
        "greville.layers.fields",
        always={
            "shape": _sides,
            "n_hidden": _size,
            "border": integer,
            "min_area": integer,
            "scale": number,
            "activation": _activation,
            "random_state": _random,
        },
        together=_FITTED_LAYER,
        **_SHARED_BY_LAYERS,
    ),
    "ContrastLayer": Entry(
        "greville.layers.contrast",
        always={**_SAMPLE_LAYER, "candidates": integer},
        together=_FITTED_LAYER,
        **_SHARED_BY_LAYERS,
    ),
    "ClassLayer": Entry(
        "greville.layers.contrast",
        always=_SAMPLE_LAYER,
        together=_FITTED_LAYER,
        **_SHARED_BY_LAYERS,
    ),
}


# States of solvers

_ROOT = {
    "n_hidden": count,
    "prior": finite,
    "tol": nothing | finite,
    "basis": nothing | array(2),
    "R": array(2),
    "Z": array(2),
    "loss": array(1),
    "count": finite,
    "count_of_squares": finite,
    "mean": nothing | known("Mean"),
    "largest_row": number,
    "lost": finite,
    "_weights": nothing | array(2),
    "_trace": nothing | number,
    "_shared": flag,
}
_CHOSEN = {
    **_ROOT,
    "sums": known("Root"),
    "epsilon": finite,
    "path": nothing | known("Path"),
    "least": finite,
}
_FADING = {"energy": finite, "excited": finite, "warned": flag}
_rows = row(array(2), array(2), array(1))

_STATE_ENTRIES = {
    "Root": Entry("greville.solvers._root", always=_ROOT, check=checks.root),
    "ChosenRoot": Entry("greville.solvers._chosen", always=_CHOSEN, check=checks.chosen_root),
    "FadingRoot": Entry("greville.solvers.dynamic", always=_ROOT, maybe=_FADING, check=checks.root),
    "FadingChosenRoot": Entry(
        "greville.solvers.dynamic", always=_CHOSEN, maybe=_FADING, check=checks.chosen_root
    ),
    "WindowRoot": Entry(
        "greville.solvers.sliding",
        always=_ROOT,
        maybe={
            "kept": row() | row(array(2), array(2), array(1), array(1, "i")),
            "removed": count,
        },
        caches=("after", "known_condition"),
        check=checks.window_root,
        take=live.window_fields,
        give=live.window_again,
    ),
    "Bank": Entry(
        "greville.solvers._bank",
        always={"roots": each(known("FadingRoot"), tuple), "squares": array(2), "count": finite},
        check=checks.bank,
    ),
    "Mean": Entry(
        "greville.solvers._mean",
        always={"count": finite, "row": array(1), "target": array(1)},
        check=checks.mean,
    ),
    "Path": Entry(
        "greville.solvers._evidence",
        always={"epsilon": array(1), "evidence": array(1), "chosen": finite},
        check=checks.path,
    ),
    "Waiting": Entry(
        "greville.solvers._rows",
        always={"rows": nothing | _rows, "weighted": flag, "claimed": flag},
        take=live.waiting_fields,
        give=live.waiting_again,
    ),
    "Followed": Entry(
        "greville.files._live",
        always={
            "errors": array((1, 2), any_number=True),
            "longest": number,
            "reflects": flag,
            "current": flag,
            "overtaken": flag,
            "asked": nothing | array(1),
            "weights": flag,
        },
    ),
}


# Solvers: H, Y → W

_root_state = known("Root", "ChosenRoot", "FadingRoot", "FadingChosenRoot", "WindowRoot", "Bank")
_STARTED = {
    "n_features_in_": count,
    "n_samples_seen_": count,
    "_held": row(_root_state | array(2), known("Waiting")),
    "_dtype": floating,
    "_n_outputs": count,
    "_flat": flag,
}
_SHARED_BY_SOLVERS: dict[str, Any] = {
    "whole": True,
    "caches": ("_shape", "_limit"),
    "check": checks.solver,
    "attempt": checks.try_solver,
    "take": live.solver_fields,
    "give": live.solver_again,
}
_NAMES = {"feature_names_in_": words}
_EXACT = {**_NAMES, "_ahead": known("Followed"), "_long_rows": flag}

_SOLVER_ENTRIES = {
    "Batch": Entry(
        "greville.solvers.batch",
        always={"epsilon": number},
        together=_STARTED,
        maybe=_NAMES,
        **_SHARED_BY_SOLVERS,
    ),
    "OpiumLight": Entry(
        "greville.solvers.light",
        always={"gain": number},
        together=_STARTED,
        maybe=_NAMES,
        **_SHARED_BY_SOLVERS,
    ),
    "Greville": Entry(
        "greville.solvers.greville",
        always={"tol": nothing | number},
        together=_STARTED,
        maybe=_EXACT,
        **_SHARED_BY_SOLVERS,
    ),
    "Opium": Entry(
        "greville.solvers.opium",
        always={"epsilon": choice("auto") | number, "intercept": flag},
        together={**_STARTED, "_started_with": row(flag, flag)},
        maybe=_EXACT,
        **_SHARED_BY_SOLVERS,
    ),
    "DynamicOpium": Entry(
        "greville.solvers.dynamic",
        always={
            "alpha": choice("auto") | number,
            "epsilon": choice("auto") | number,
            "floor": nothing | choice("auto") | number,
        },
        together=_STARTED,
        maybe=_EXACT,
        **_SHARED_BY_SOLVERS,
    ),
    "SlidingOpium": Entry(
        "greville.solvers.sliding",
        always={"window": integer, "epsilon": number},
        together=_STARTED,
        maybe=_EXACT,
        **_SHARED_BY_SOLVERS,
    ),
}


# Estimators: a layer and a solver

_ESTIMATOR = {
    "hidden": (_size | known(*LAYERS)).or_else(_own_layers),
    "solver": (text | known(*SOLVERS)).or_else("use one of greville's solvers"),
    "random_state": _random,
    "standardize": choice("auto") | flag,
}
_early_inputs = array(2, "biuf") | matrix("csr")
_FITTED_ESTIMATOR = {
    "n_features_in_": count,
    "hidden_": known(*LAYERS).or_else(_own_layers),
    "solver_": known(*SOLVERS),
    "_dtype": floating,
    "_scaling": known("Scaling"),
    "_target_scaling": known("Scaling"),
}
_SHARED_BY_ESTIMATORS: dict[str, Any] = {
    "whole": True,
    "maybe": _NAMES,
    "check": checks.estimator,
    "attempt": checks.try_estimator,
    "take": live.to_fields,
    "give": live.from_fields,
}

_ESTIMATOR_ENTRIES = {
    "ELMRegressor": Entry(
        "greville.elm.regressor",
        always=_ESTIMATOR,
        together={
            **_FITTED_ESTIMATOR,
            "_early": nothing | row(_early_inputs, array(2), nothing | array(1)),
            "_flat": flag,
            "_n_targets": count,
        },
        **_SHARED_BY_ESTIMATORS,
    ),
    "ELMClassifier": Entry(
        "greville.elm.classifier",
        always=_ESTIMATOR,
        together={
            **_FITTED_ESTIMATOR,
            "_early": nothing | row(_early_inputs, _labels, nothing | array(1)),
            "classes_": _labels,
        },
        **_SHARED_BY_ESTIMATORS,
    ),
    "Scaling": Entry(
        "greville.elm.units",
        always={"centre": nothing | array(1), "unit": nothing | array(1)},
        check=checks.scaling,
    ),
}


# The rest

_OTHER_ENTRIES = {
    "DriftMonitor": Entry(
        "greville.monitor",
        whole=True,
        always={
            "rate": finite,
            "warmup": count,
            "n_seen_": count,
            "alarms_": each(count),
            "statistic_": finite,
            "_bets": each(finite),
            "_known": each(finite),
        },
        check=checks.monitor,
    ),
    "RandomState": Entry(
        "numpy.random",
        always={"key": array(1, "u"), "pos": count, "has_gauss": count, "gauss": finite},
        take=live.random_fields,
        give=live.random_again,
    ),
}

# Models of tables, and streams of rows

_column = row(
    text, text, array(1, "fi", any_number=True), nothing | array(1, "fu", any_number=True)
)
_some_rows = row(count, each(_column))

_TABLE_ENTRIES = {
    "TableModel": Entry(
        "greville.tables._model",
        whole=True,
        always={
            "settings": json,
            "task": nothing | choice("regression", "classification"),
            "kept": nothing | choice("number", "text", "integer", "flag"),
            "columns": nothing | json,
            "estimator": nothing | known(*ESTIMATORS),
            "first": nothing | each(_column),
            "stale": flag,
            "n_first": count,
            "n_rows": count,
            "n_without_target": count,
        },
        take=live.own_fields,
        give=live.given_fields,
    ),
    "Stream": Entry(
        "greville.tables._stream",
        whole=True,
        always={
            "model": known("TableModel"),
            "id": nothing | text,
            "monitor": nothing | known("DriftMonitor"),
            "lines": count,
            "rows": _some_rows,
            "waiting": _some_rows,
            "ids": each(text),
            "predictions": each(nothing | text | number | flag),
            "forgotten": count,
        },
        take=live.own_fields,
        give=live.given_fields,
    ),
}

KNOWN: dict[str, Entry] = {
    **_LAYER_ENTRIES,
    **_STATE_ENTRIES,
    **_SOLVER_ENTRIES,
    **_ESTIMATOR_ENTRIES,
    **_OTHER_ENTRIES,
    **_TABLE_ENTRIES,
}
