"""Transformers of any kind as hidden layers: seeded, and compared."""

from __future__ import annotations

from pickle import PicklingError
from typing import Any

import joblib


def is_same_transformer(a: Any, b: Any) -> bool:
    """Whether two fitted transformers do the same; how they were seeded does not matter."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    fitted = ({k: v for k, v in vars(t).items() if k != "random_state"} for t in (a, b))
    try:
        first, second = map(joblib.hash, fitted)
    except (TypeError, AttributeError, PicklingError):  # they cannot be compared
        return False
    return bool(first == second)


def seeded(transformer: Any, random_state: Any) -> Any:
    """Seed whatever in the transformer has a random_state that is None."""
    for name, value in transformer.get_params().items():
        if value is None and (name == "random_state" or name.endswith("__random_state")):
            transformer.set_params(**{name: random_state})
    return transformer
