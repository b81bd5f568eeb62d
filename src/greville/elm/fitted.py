"""What an estimator has learned: one immutable value. Learning makes another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from ..backend import Array, Backend, threads_for_rows
from ..devices import on_host, place_of
from ..fields import Fields, known, nothing, require, require_finite, stored
from ..progress import Tell, later
from ..solvers import LateCheck, Rows, Solver, State, block_length, takes_memory_to_read
from .calibration import Calibration, rows_of_fit, windows_within
from .chunk import Chunk
from .hidden import HiddenMap
from .targets import Targets
from .units import Scaling
from .warmup import Warmup

# Rows of a stream that its units are measured from.
WARMUP_ROWS = 1024

# From the first rows, and what was made of them so far: the units of their inputs, their targets
# with units, and a layer that may have more units.
Measure = Callable[[Chunk, "FittedELM"], tuple[Scaling, Targets, Any]]


def _to_fields(fitted: FittedELM) -> Fields:
    fields = fitted._asdict()
    del fields["template"]
    return {**fields, "solver": fitted.solver_object()}


def _from_fields(cls: type[FittedELM], fields: Fields) -> FittedELM:
    solver = fields["solver"]
    require(hasattr(solver, "fitted_"), "the solver of a fitted estimator is not fitted")
    return cls(**{**fields, "solver": solver.fitted_, "template": clone(solver)})


def _check_fields(fitted: FittedELM) -> None:
    hidden, targets, shape = fitted.hidden, fitted.targets, fitted.solver.shape
    fits = hidden.n_units() == shape.n_hidden
    require(fits, "the layer has another number of units than the solver")
    require(targets.n_outputs == shape.n_outputs, "the solver has another number of outputs")
    fits = hidden.dtype == targets.dtype == shape.dtype
    require(fits, "the layer, the targets and the solver have different dtypes")
    if fitted.warmup is not None:
        require(fitted.warmup.length == WARMUP_ROWS, "the warm-up has another length")
        rows = fitted.warmup.rows
        require(isinstance(rows, Chunk), "the warm-up has other rows")
        require(rows.X.shape[1] == hidden.n_inputs, "the first rows have another width")
        targets.check_chunk(rows.y)


def _try_out(fitted: FittedELM) -> None:
    if not takes_memory_to_read(fitted.solver):  # which has been tried itself
        zeros = np.zeros((1, fitted.hidden.n_inputs), fitted.hidden.dtype)
        tried = fitted.compact()  # what is derived here must not stay
        outputs = fitted.targets.scaling.undo(on_host(tried.predict(zeros)[0]))
        require_finite(outputs, "a prediction")


@stored(
    parameters={
        "hidden": known(HiddenMap),
        "targets": known(Targets),
        "solver": known(Solver),
        "warmup": nothing | known(Warmup),
    },
    optional={"calibration": nothing | known(Calibration)},
    check=_check_fields,
    try_out=_try_out,
    to_fields=_to_fields,
    from_fields=_from_fields,
)
class FittedELM(NamedTuple):
    """How inputs become activations and targets outputs, and what the solver has learned.

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
    warmup : Warmup of Chunk, or None
        None once the units are final.
    calibration : Calibration or None
        How sharp probabilities are; None where targets are numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from greville import ELMRegressor
    >>> X = np.linspace(0, 1, 20)[:, None]
    >>> model = ELMRegressor(10, random_state=0).fit(X, X[:, 0])
    >>> type(model.fitted_).__name__, model.fitted_.solver.n_seen
    ('FittedELM', 20)
    """

    hidden: HiddenMap
    targets: Any
    solver: State
    template: Any
    warmup: Warmup[Chunk] | None = None
    calibration: Calibration | None = None

    @classmethod
    def start(
        cls,
        hidden: HiddenMap,
        targets: Targets,
        template: Any,
        warmup: Warmup[Chunk] | None = None,
        b: Backend | None = None,
    ) -> FittedELM:
        """Before any row."""
        size = hidden.n_units(), targets.n_outputs, hidden.dtype
        solver = clone(template).start(*size, b=b)
        calibration = Calibration() if targets.calibrates else None
        return cls(hidden, targets, solver.fitted_, template, warmup, calibration)

    @property
    def n_seen(self) -> int:
        """How many rows were seen."""
        return self.solver.n_seen

    def check_learns(self) -> None:
        """Raise a ValueError for a model that has only its weights."""
        self.solver.check_learns()

    def emptied(self) -> FittedELM:
        """The same layer, units and classes, and nothing learned."""
        b = self.solver.shape.backend
        return self.start(self.hidden, self.targets, self.template, b=b)

    def on(self, b: Backend) -> FittedELM:
        """The same on another backend."""
        return self._replace(solver=self.solver.on(b))

    def rows(self, chunk: Chunk, tell: Tell | None = None) -> Rows:
        """What the solver learns, made a block at a time; `tell` is told of each."""
        X, y, weight = chunk
        encoded, b = self.targets.encode(y), self.solver.shape.backend

        def make(start: int, stop: int) -> tuple[Array, Array]:
            if tell is not None:
                tell(start)
            return self.activations(X[start:stop], weight), encoded(slice(start, stop))

        late = place_of(b) is not None
        check = LateCheck(b, self.solver.dtype, ("X", "y"), weight) if late else None
        return Rows(chunk.n, make, weight, check)

    def activations(self, X: Any, weight: Array | None = None) -> Array:
        """A block of H for checked rows, where the solver is."""
        b = self.solver.shape.backend
        if place_of(b) is None:
            return self.hidden.activations(X, weight)
        return self.hidden.activations_on(b, X)

    # Learning

    def learn_all(self, chunk: Chunk, tell: Tell | None = None) -> FittedELM:
        """After the rows of a `fit`."""
        rows = self.rows(chunk, tell)
        if not self.can_leave_out:
            return self._replace(solver=self.solver.learn_all(rows))
        places = rows_of_fit(chunk.n)
        rows, kept = rows.keeping(places)
        learned = self._replace(solver=self.solver.learn_all(rows))
        whole = sum(map(len, kept)) == len(places)
        H = self.solver.shape.backend.xp.concat(kept) if whole else None
        return learned.calibrated_by(chunk.at(places), H)

    @property
    def can_leave_out(self) -> bool:
        """Whether leave-one-out scores are wanted, and can be had."""
        return self.calibration is not None and self.template.capabilities.leaves_out

    def calibrated_by(self, chunk: Chunk, H: Array | None = None) -> FittedELM:
        """With probabilities as sharp as rows that were learned say, each without itself.

        Of a row that counts for several, one is left out: the others are still there. `H` are
        their activations, where these are at hand.
        """
        weight = chunk.weight
        if weight is not None:
            counts = np.flatnonzero(weight > 0)
            H, weight = None if H is None else H[counts], weight[counts]
            chunk = chunk.at(counts)._replace(weight=np.minimum(weight, 1))
        rows = self.rows(chunk)
        if H is not None:
            Y = self.targets.encode(chunk.y)(slice(0, chunk.n))
            rows = Rows.of(H, Y, chunk.weight, rows.check)
        try:
            scores = self.solver.leave_out(rows)
        except ValueError:  # too few rows to do without one
            return self
        losses = self.targets.log_losses(scores, chunk.y, weight)
        return self._replace(calibration=Calibration(losses))

    def learn(
        self,
        chunk: Chunk,
        measure: Measure,
        *,
        predict: bool = False,
        spread: bool = False,
        unknown: Array | None = None,
        tell: Tell | None = None,
    ) -> tuple[FittedELM, list[Array]]:
        """After more rows of a stream; with `predict` also what was predicted before each.

        Parameters
        ----------
        unknown : ndarray of bool, shape (n, n_outputs), optional
            The classes that are not known yet at each row, where there are any.

        Returns
        -------
        fitted : FittedELM
        outputs : list of ndarray
            The predictions, their spread if wanted, and for classes how sharp their probabilities
            are; empty without `predict`.
        """
        fitted, outputs = self, list[list[Array]]()
        for piece, scored in self._pieces(chunk.n, predict):
            part = chunk.part(piece)
            solver, hidden = None, None if unknown is None else unknown[piece]
            if scored:
                rows, before = fitted.rows(part, later(tell, piece.start)), fitted.solver
                if spread:
                    solver, (predicted, *spreads) = before.record_with_spread(rows)
                else:
                    (solver, predicted), spreads = before.record(rows), []
                units = fitted.targets.scaling
                predicted = units.undo(before.shape.backend.to_numpy(predicted))
                outputs.append([predicted, *map(units.undo_spread, spreads)])
                if fitted.calibration is not None:
                    outputs[-1].append(fitted._sharpness_at(part.n, hidden))
                    fitted = fitted._calibrated_before(part, predicted, hidden)
            fitted, again = fitted._extend_warmup(part, measure)
            if solver is None or again is not part:
                rows = fitted.rows(again, later(tell, piece.stop - again.n))
                solver = fitted.solver.learn(rows)
            fitted = fitted._replace(solver=solver)
        parts = zip(*outputs, strict=True) if predict else ()
        return fitted, [np.concatenate(part) for part in parts]

    def _pieces(self, n: int, predict: bool) -> Iterator[tuple[slice, bool]]:
        """The next n rows, cut where windows begin and end, and whether each piece is predicted.

        If all are predicted, they are also cut where the first rows are measured.
        """
        windows, cuts = self._windows(n), {0, n}
        for window in windows:
            cuts |= {window.start, window.stop}
        if predict and self.warmup is not None:
            cuts |= {piece.stop for piece in self.warmup.pieces(n)}
        for start, stop in pairwise(sorted(cuts)):
            yield slice(start, stop), predict or any(w.start <= start < w.stop for w in windows)

    def _windows(self, n: int) -> list[slice]:
        """Which of the next n rows say how sharp probabilities are."""
        if self.calibration is None or place_of(self.solver.shape.backend) is not None:
            return []
        return windows_within(self.solver.n_seen, n)

    def _calibrated_before(self, part: Chunk, scores: Array, unknown: Array | None) -> FittedELM:
        """With the losses of rows that got these scores before they were learned."""
        if self.calibration is None or not self._windows(1):
            return self
        if unknown is not None:
            scores = np.where(unknown, -np.inf, scores)
        losses = self.targets.log_losses(scores, part.y, part.weight)
        return self._replace(calibration=self.calibration.after(self.n_seen, losses, part.n))

    @property
    def sharpness(self) -> float:
        """What scores are multiplied by, before the softmax."""
        return self._sharpness(self.targets.n_choices)

    def _sharpness(self, n_classes: int) -> float:
        return (self.calibration or Calibration()).sharpness(n_classes)

    def _sharpness_at(self, n: int, unknown: Array | None) -> Array:
        """The same for n rows, some of which know fewer classes."""
        if unknown is None:
            return np.full(n, self.sharpness)
        known, places = np.unique((~unknown).sum(axis=1), return_inverse=True)
        return np.array([self._sharpness(int(n_classes)) for n_classes in known])[places]

    def _extend_warmup(self, chunk: Chunk, measure: Measure) -> tuple[FittedELM, Chunk]:
        """With more rows kept, and the rows to learn now: these or, in new units, all again."""
        if self.warmup is None:
            return self, chunk
        rows = self.warmup.rows.joined(chunk.on_host_if_finite())
        warmup = self.warmup.with_rows(rows, rows.n)
        fitted = self._replace(warmup=None if warmup.is_over else warmup)
        if warmup.is_due_after(self.warmup):
            measured = self.hidden.of_layer(rows.part(slice(warmup.n_measured)))
            scaling, targets, layer = measure(measured, self)
            same = scaling == self.hidden.scaling and targets.scaling == self.targets.scaling
            if not same or layer is not self.hidden.layer:
                hidden, b = self.hidden.in_units(scaling, layer), self.solver.shape.backend
                again = self.start(hidden, targets, self.template, fitted.warmup, b)
                return again._replace(calibration=self.calibration), rows
        return fitted, chunk

    def with_targets(self, targets: Targets) -> FittedELM:
        """With more outputs, where there are more classes."""
        if targets is self.targets:
            return self
        solver = self.solver.with_outputs(targets.n_outputs, targets.outputs_of(self.targets))
        return self._replace(targets=targets, solver=solver)

    def with_direct(self, n: int, old: Array) -> FittedELM:
        """With more inputs that are units themselves: n, the present ones at the indices `old`.

        The others were zero in all rows so far: nothing has to be learned again.
        """
        hidden, warmup = self.hidden.with_direct(n), self.warmup
        layer = np.arange(hidden.n_inputs - n)
        units = np.arange(self.solver.shape.n_hidden - self.hidden.n_direct)
        if warmup is not None:
            columns = np.concatenate([layer, len(layer) + old])
            rows = warmup.rows.with_columns(hidden.n_inputs, columns)
            warmup = warmup.with_rows(rows, rows.n)
        places = np.concatenate([units, len(units) + old])
        solver = self.solver.with_units(len(units) + n, places)
        return self._replace(hidden=hidden, solver=solver, warmup=warmup)

    def unlearn(self, chunk: Chunk) -> FittedELM:
        """Without rows that were learned."""
        solver = self.solver.unlearn(self.rows(chunk))
        return self._without_window()._replace(solver=solver, warmup=None)

    def _without_window(self) -> FittedELM:
        """Without what is known of this very model, before rows are removed or joined."""
        if self.calibration is None:
            return self
        return self._replace(calibration=self.calibration.without_window())

    def merge(self, other: FittedELM) -> FittedELM:
        """With the rows of another, which has the same layer and units."""
        other.check_learns()
        targets = self.targets.merged(other.targets)
        mine, theirs = (fitted.with_targets(targets) for fitted in (self, other))
        solver = mine.solver_object().merge(theirs.solver_object())
        merged = mine._without_window()._replace(solver=solver.fitted_, warmup=None)
        if mine.calibration is None or theirs.calibration is None:
            return merged
        losses = mine.calibration.losses + theirs.calibration.losses
        return merged._replace(calibration=Calibration(losses))

    def accumulator(self) -> FittedELM:
        """One with the same layer, units and classes that only adds rows up.

        `merge` learns all of them as if they had come in one `fit`, and `without` unlearns them.
        """
        return self._replace(solver=self.solver.accumulator(), warmup=None, calibration=None)

    def without(self, sums: FittedELM) -> FittedELM:
        """Without the rows of an accumulator; a ValueError if they cannot be removed."""
        if self.targets.merged(sums.targets) is not self.targets:
            raise ValueError(
                "y: it has labels that were never learned; leave such rows out, or learn them "
                "first."
            )
        solver = self.solver.without(sums.with_targets(self.targets).solver)
        return self._without_window()._replace(solver=solver, warmup=None)

    def chosen(self) -> FittedELM:
        """With an ε that is chosen from all rows, where it is chosen at all."""
        return self._replace(solver=self.solver.chosen())

    def frozen(self) -> FittedELM:
        """One that predicts the same and cannot learn."""
        return self._replace(solver=self.solver.frozen(), warmup=None)

    def compact(self) -> FittedELM:
        """With no row pending, and nothing that can be computed from the rest."""
        return self._replace(solver=self.solver.compact())

    # Reading

    def solver_object(self) -> Any:
        """A solver that has learned what this has."""
        return clone(self.template).restore(self.solver)

    def predict(self, X: Any, *, spread: bool = False, tell: Tell | None = None) -> list[Array]:
        """The outputs for checked rows, of shape (n, n_outputs), and their standard deviations.

        The outputs are where the model is, the others NumPy's.
        """
        solver, b = self.solver, self.solver.shape.backend
        on_device = place_of(b) is not None
        outputs, spreads = [], []
        W = solver.weights()
        length = block_length(b, W.shape[0], solver.dtype)
        for start in range(0, X.shape[0], length):
            block = X[start : start + length]
            if tell is not None:
                tell(start)
            H = self.activations(block)
            with threads_for_rows(b, H.shape[0]):
                outputs.append(solver.predict(H, W))
            if spread:
                spreads.append(solver.spread(H))
        predicted = b.xp.concat(outputs)
        if on_device and not bool(b.xp.all(b.xp.isfinite(predicted))):
            raise ValueError(
                "X: contains NaN, infinity, or numbers so large that predictions overflow; pass "
                "finite numbers in the units of those that were learned."
            )
        return [predicted, np.concatenate(spreads)] if spread else [predicted]

    @property
    def settled(self) -> FittedELM:
        """The value to go on from: without pending rows if a reader has had them learned."""
        return self if not self.solver.pending else self._replace(solver=self.solver.settled)

    def flushed(self) -> FittedELM:
        """The same with the pending rows learned."""
        return self._replace(solver=self.solver.flushed()) if self.solver.pending else self
