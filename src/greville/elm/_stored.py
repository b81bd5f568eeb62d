"""What is stored of an estimator in a file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ..fields import (
    Kind,
    choice,
    count,
    finite,
    flag,
    instance_of,
    nothing,
    random_state,
    require,
    stored,
    text,
    text_array,
)
from ..layers import SpanLayer
from ..solvers import CACHES, Solver
from .estimator import ELM
from .fitted import Fitted
from .hidden import LAYER
from .starting import standardizes

T = TypeVar("T")


def _weighs_labels(value: Any) -> bool:
    labels = (str, int, float, np.generic)
    return isinstance(value, dict) and all(
        isinstance(label, labels) and finite.holds(factor) for label, factor in value.items()
    )


CLASS_WEIGHT = nothing | choice("balanced") | Kind("a dict of labels and numbers", _weighs_labels)


def stored_estimator(
    targets: Any, *, linear: bool = False, series: bool = False, **parameters: Kind
) -> Callable[[type[T]], type[T]]:
    """Declare what is stored of an estimator with targets of this kind.

    A `linear` one has no parameters for a hidden layer, and one of `series` has a layer and
    channels; `parameters` are those of its own.
    """
    hidden = {"hidden": (nothing | choice("auto", "stream") | count | LAYER).or_else(LAYER.advice)}
    if series:
        hidden = {"layer": (text | LAYER).or_else(LAYER.advice)}
    layer = {} if linear else {**hidden, "random_state": random_state}

    def check(estimator: ELM) -> None:
        if estimator._fitted is not None:
            fitted = estimator.fitted_
            standardizes(estimator)
            require(isinstance(fitted.targets, targets), "the targets are those of another model")
            fits = not linear or isinstance(fitted.hidden.layer, SpanLayer | None)
            require(fits, "a linear model has no hidden layer")
            n = estimator.n_features_in_
            fits = not series or n % max(1, estimator.n_channels_) == 0
            require(fits, "the channels do not fit the inputs")
            require(fitted.hidden.n_inputs == n, "the layer has another number of inputs")
            names = getattr(estimator, "feature_names_in_", None)
            require(names is None or len(names) == n, "feature_names_in_ has another length")

    return stored(
        parameters={
            **layer,
            "solver": (text | instance_of(Solver)).or_else("use one of greville's solvers"),
            **({} if series else {"standardize": choice("auto") | flag}),
            **parameters,
        },
        fitted={
            "n_features_in_": count,
            "fitted_": instance_of(Fitted).kept_in("_fitted"),
            **({"n_channels_": count} if series else {}),
        },
        optional={"feature_names_in_": text_array},
        derived=(*CACHES, "_agreed", "device", "verbose"),
        whole=True,
        check=check,
        compact=lambda estimator: estimator._compact(),
    )
