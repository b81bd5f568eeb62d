"""What a model of tables answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

NOTHING_LEARNED = "the model has learned nothing yet; give it rows with a target first."


@dataclass
class Answers:
    """Predictions for the rows of a batch; those in `wrong` have none, for the reason given."""

    prediction: NDArray[Any]
    wrong: dict[int, str]
    std: NDArray[Any] | None = None
    proba: NDArray[Any] | None = None
    target: NDArray[Any] | None = None
    known: NDArray[np.bool_] | None = None  # rows that have a target
    classes: Sequence[Any] = ()  # those that `proba` has a column for
