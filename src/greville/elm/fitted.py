"""What an estimator has learned, as one immutable value, and the rows for its solver."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import clone

from ..backend import Array, Backend, threads_for_rows
from ..devices import on_host, place_of
from ..fields import Fields, instance_of, nothing, require, require_finite, stored
from ..layers import SpanLayer
from ..progress import Tell
from ..solvers import Rows, Solver, State, block_length, device_check, takes_memory_to_read
from .calibration import Calibration, rows_until_bound, window_at
from .examples import Examples
from .hidden import HiddenMap
from .targets import Targets

# Rows up to which activations are made at once.
_ONE_BLOCK = 256

# Rows of a stream that its units are measured from.
WARMUP_ROWS = 1024


def n_measured(n: int) -> int:
    """Return how many of a stream's first n rows measure the units: a power of two.

    Examples
    --------
    >>> from greville.elm.fitted import n_measured
    >>> [n_measured(n) for n in (0, 1, 7, 8, 5000)]
    [0, 1, 4, 8, 1024]
    """
    return min(WARMUP_ROWS, 1 << (n.bit_length() - 1)) if n else 0


def _to_fields(fitted: Fitted) -> Fields:
    fields = fitted._asdict()
    del fields["template"]
    return {**fields, "solver": fitted.solver_object()}


def _from_fields(cls: type[Fitted], fields: Fields) -> Fitted:
    solver = fields["solver"]
    require(hasattr(solver, "fitted_"), "the solver of a fitted estimator is not fitted")
    return cls(**{**fields, "solver": solver.fitted_, "template": clone(solver)})


def _check_fields(fitted: Fitted) -> None:
    hidden, targets, shape = fitted.hidden, fitted.targets, fitted.solver.shape
    fits = hidden.n_units() == shape.n_hidden
    require(fits, "the layer has another number of units than the solver")
    require(targets.n_outputs == shape.n_outputs, "the solver has another number of outputs")
    fits = hidden.dtype == targets.dtype == shape.dtype
    require(fits, "the layer, the targets and the solver have different dtypes")
    waiting = fitted.warmup
    if waiting is not None:
        require(waiting.n < WARMUP_ROWS, "the warm-up has more rows than it lasts")
        require(waiting.X.shape[1] == hidden.n_inputs, "the first rows have another width")
        targets.check_rows(waiting.y)


def _try_out(fitted: Fitted) -> None:
    if not takes_memory_to_read(fitted.solver):  # which has been tried itself
        zeros = np.zeros((1, fitted.hidden.n_inputs), fitted.hidden.dtype)
        tried = fitted._replace(solver=fitted.solver.compact())  # what is derived must not stay
        outputs = fitted.targets.scaling.undo(on_host(tried.predict(zeros)[0]))
        require_finite(outputs, "a prediction")


@stored(
    parameters={
        "hidden": instance_of(HiddenMap),
        "targets": instance_of(Targets),
        "solver": instance_of(Solver),
        "warmup": nothing | instance_of(Examples),
    },
    optional={"calibration": nothing | instance_of(Calibration)},
    check=_check_fields,
    try_out=_try_out,
    to_fields=_to_fields,
    from_fields=_from_fields,
)
class Fitted(NamedTuple):
    """A fitted model: its hidden map, its targets, and the learned value of its solver.

    Attributes
    ----------
    hidden : HiddenMap
        Units of the inputs, and the hidden layer.
    targets : Targets
        Units of the targets, or the classes.
    solver : State
        What the solver has learned.
    template : solver
        With the parameters it was started with; itself not fitted.
    warmup : Examples or None
        The first rows of a stream, which are learned again in other units; None once the units are
        final.
    calibration : Calibration or None
        How sharp probabilities are; None where targets are numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from greville import ELMRegressor
    >>> X = np.linspace(0, 1, 20)[:, None]
    >>> ELMRegressor(10, random_state=0).fit(X, X[:, 0]).fitted_.solver.n_seen
    20
    """

    hidden: HiddenMap
    targets: Any
    solver: State
    template: Any
    warmup: Examples | None = None
    calibration: Calibration | None = None

    @classmethod
    def start(
        cls,
        hidden: HiddenMap,
        targets: Targets,
        template: Any,
        b: Backend,
        warmup: Examples | None = None,
    ) -> Fitted:
        """Return a model before any row."""
        size = hidden.n_units(), targets.n_outputs, hidden.dtype
        solver = clone(template).start(*size, b=b)
        calibration = Calibration() if targets.calibrates else None
        return cls(hidden, targets, solver.fitted_, template, warmup, calibration)

    @property
    def n_seen(self) -> int:
        """Number of rows seen."""
        return self.solver.n_seen

    def check_learns(self) -> None:
        """Raise a ValueError for a model that has only its weights."""
        self.solver.check_learns()

    def solver_object(self) -> Any:
        """Return a solver object with the learned sums of this model."""
        return clone(self.template).restore(self.solver)

    @property
    def can_leave_out(self) -> bool:
        """Whether the model calibrates by leave-one-out scores, and its solver can compute them."""
        return self.calibration is not None and self.template.capabilities.leaves_out

    @property
    def pending(self) -> tuple[Any, ...]:
        """Pending rows, which wait to be learned together."""
        return self.solver.pending

    @property
    def settled(self) -> Fitted:
        """The model to continue from: without pending rows if a reader has had them learned."""
        return self._replace(solver=self.solver.settled) if self.solver.pending else self

    # What solvers learn

    def rows(self, examples: Examples, tell: Tell | None = None) -> Rows:
        """Return activations and outputs, made block by block; `tell` gets each first row."""
        X, y, weight = examples
        encoded, b, hidden = self.targets.encode(y), self.solver.shape.backend, self.hidden
        n, check = X.shape[0], None if b.has_kernels else device_check(b, hidden.dtype, weight)
        if n <= _ONE_BLOCK and tell is None:
            return Rows.of(hidden.activations(X, weight, b), encoded(slice(n)), weight, check)

        def make(start: int, stop: int) -> tuple[Array, Array]:
            if tell is not None:
                tell(start)
            return hidden.activations(X[start:stop], weight, b), encoded(slice(start, stop))

        return Rows(n, make, weight, check)

    def pieces(self, n: int, predict: bool) -> Iterator[tuple[slice, bool]]:
        """Cut the next n rows at the bounds of calibration windows; flag the pieces to predict.

        If all are predicted, they are also cut where the first rows are measured.
        """
        start = 0
        while start < n:
            n_seen, stop = self.solver.n_seen + start, n
            calibrates = self.calibrates_within(n_seen, 1)
            if self.calibrates_within(n_seen, n - start):
                stop = min(stop, start + rows_until_bound(n_seen))
            if predict and self.warmup is not None and self.warmup.n + start < WARMUP_ROWS:
                n_kept = self.warmup.n + start
                stop = min(stop, start + (1 << n_kept.bit_length()) - n_kept)
            yield slice(start, stop), predict or calibrates
            start = stop

    def calibrates_within(self, n_seen: int, n: int) -> bool:
        """Whether some of the n rows after `n_seen` calibrate probabilities."""
        if self.calibration is None or place_of(self.solver.shape.backend) is not None:
            return False
        return window_at(n_seen) is not None or rows_until_bound(n_seen) < n

    # Steps that several methods of an estimator take

    def with_targets(self, targets: Targets) -> Self:
        """Return the model with more outputs, where there are more classes."""
        if targets is self.targets:
            return self
        solver = self.solver.with_outputs(targets.n_outputs, targets.outputs_of(self.targets))
        return self._replace(targets=targets, solver=solver)

    def spanning(self, X: Any) -> Self:
        """Return the model with units for the directions of rows that its `SpanLayer` lacks."""
        layer = self.hidden.layer
        if not isinstance(layer, SpanLayer):
            return self
        wider, n_direct = layer.extended(X[:, : layer.n_features_in_]), self.hidden.n_direct
        if wider is layer:
            return self
        n = wider.n_hidden_
        old = np.r_[: layer.n_hidden_, n : n + n_direct]
        solver = self.solver.with_units(n + n_direct, old)
        return self._replace(hidden=replace(self.hidden, layer=wider), solver=solver)

    def with_sums(self, solver: State) -> Self:
        """Return the model with the sums of a solver, after rows were removed or merged.

        What is known of this very model, its first rows and its present window, does not stay.
        """
        calibration = None if self.calibration is None else self.calibration.without_window()
        return self._replace(solver=solver, warmup=None, calibration=calibration)

    def calibrated_by(self, scores: Array, part: Examples, unknown: Array | None) -> Fitted:
        """Return the model calibrated by the scores of rows it is about to learn, in a window."""
        if self.calibration is None or not self.calibrates_within(self.n_seen, 1):
            return self
        scores = scores if unknown is None else np.where(unknown, -np.inf, scores)
        losses = self.targets.log_losses(scores, part.y, part.weight)
        return self._replace(calibration=self.calibration.after(self.n_seen, losses, part.n))

    def calibrated(self, examples: Examples, H: Array | None = None) -> Fitted:
        """Return the model calibrated by the leave-one-out scores of rows that it has learned.

        Of a row that counts for several, one is left out: the others are still there. `H` are
        their activations, where these are at hand.
        """
        weight = examples.weight
        if weight is not None:
            counts = np.flatnonzero(weight > 0)
            H, weight = None if H is None else H[counts], weight[counts]
            examples = examples.at(counts)._replace(weight=np.minimum(weight, 1))
        rows = self.rows(examples)
        if H is not None:
            Y = self.targets.encode(examples.y)(slice(0, examples.n))
            rows = Rows.of(H, Y, examples.weight, rows.check)
        try:
            scores = self.solver.leave_out(rows)
        except ValueError:  # too few rows to do without one
            return self
        return self._replace(
            calibration=Calibration(self.targets.log_losses(scores, examples.y, weight))
        )

    def merge(self, other: Fitted) -> Fitted:
        """Return the model with the rows of another, which has the same layer and units."""
        other.check_learns()
        targets = self.targets.merged(other.targets)
        mine, theirs = (each.with_targets(targets) for each in (self, other))
        merged = mine.with_sums(mine.solver_object().merge(theirs.solver_object()).fitted_)
        if mine.calibration is None or theirs.calibration is None:
            return merged
        losses = mine.calibration.losses + theirs.calibration.losses
        return merged._replace(calibration=Calibration(losses))

    def frozen(self) -> Fitted:
        """Return the model with its weights alone, which cannot learn."""
        return self._replace(solver=self.solver.frozen(), warmup=None)

    def on(self, b: Backend) -> Fitted:
        """Return the model with its solver on another backend."""
        return self._replace(solver=self.solver.on(b))

    # Reading

    def predict(self, X: Any, *, spread: bool = False, tell: Tell | None = None) -> list[Array]:
        """The outputs for checked rows, of shape (n, n_outputs), and their standard deviations.

        The outputs are where the model is, the others NumPy's.
        """
        wider = self.spanning(X) if spread else self  # larger outside the span of the rows
        solver, hidden, b = wider.solver, wider.hidden, self.solver.shape.backend
        outputs, spreads = [], []
        W = solver.weights()
        length = block_length(b, W.shape[0], solver.dtype)
        for start in range(0, X.shape[0], length):
            if tell is not None:
                tell(start)
            H = hidden.activations(X[start : start + length], None, b)
            with threads_for_rows(b, H.shape[0]):
                outputs.append(solver.predict(H, W))
            if spread:
                spreads.append(solver.spread(H))
        predicted = outputs[0] if len(outputs) == 1 else b.xp.concat(outputs)
        if place_of(b) is not None and not bool(b.xp.all(b.xp.isfinite(predicted))):
            raise ValueError(
                "X: contains NaN, infinity, or numbers so large that predictions overflow; pass "
                "finite numbers in the units of those that were learned."
            )
        return [predicted, np.concatenate(spreads)] if spread else [predicted]

    def sharpness(self, n_classes: int | None = None) -> float:
        """Return the factor of scores before the softmax, for a number of known classes."""
        n_classes = self.targets.n_choices if n_classes is None else n_classes
        return (self.calibration or Calibration()).sharpness(n_classes)

    def sharpness_at(self, n: int, unknown: Array | None) -> Array:
        """Return the sharpness at each of n rows, some of which know fewer classes."""
        if unknown is None:
            return np.full(n, self.sharpness())
        counts, places = np.unique((~unknown).sum(axis=1), return_inverse=True)
        return np.array([self.sharpness(int(n_classes)) for n_classes in counts])[places]
