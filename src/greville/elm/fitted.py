"""What an estimator knows beside the weights: one immutable value."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass

from ..linalg import Array
from ..solvers._rows import FEW, Rows
from ..threads import one_thread
from .chunk import Chunk
from .hidden import HiddenMap
from .targets import Targets
from .warmup import Warmup

# Rows of a stream that its units are measured from.
WARMUP_ROWS = 1024


@dataclass(frozen=True, eq=False)
class FittedELM:
    """The way of rows into the solver, that of targets, and the rows kept for the warm-up.

    Attributes
    ----------
    hidden : HiddenMap
    targets : Targets
    warmup : Warmup of Chunk, or None
        None once the units are final.
    """

    hidden: HiddenMap
    targets: Targets
    warmup: Warmup[Chunk] | None = None

    def rows(self, chunk: Chunk) -> Rows:
        """What the solver learns, made a block at a time."""
        X, y, weight = chunk
        targets = self.targets.encode(y)

        def make(start: int, stop: int) -> tuple[Array, Array]:
            with one_thread if stop - start < FEW else nullcontext():
                H = self.hidden.activations(X[start:stop], weight)
            return H, targets(slice(start, stop))

        return Rows(chunk.n, make, weight)

    def has_units_of(self, other: FittedELM) -> bool:
        """Whether inputs and targets are in the same units."""
        return (
            self.hidden.scaling == other.hidden.scaling
            and self.targets.scaling == other.targets.scaling
        )
