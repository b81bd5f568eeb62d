"""From the parameters of an estimator to a model that has learned nothing."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from ..backend import Array, Backend
from ..devices import backend_for, fits_on_device, is_on_device, on_host, origin_of
from ..layers import UNITS_PER_INPUT, Layer, RandomLayer
from ..solvers import Opium, OpiumLight
from ..validation import check_number, naming
from .capabilities import make_solver, regularises
from .choosing import chosen_layer, is_for_choosing, places_for_choosing
from .chunk import Chunk
from .columns import Columns
from .fitted import WARMUP_ROWS, FittedELM
from .hidden import HiddenMap
from .sizing import check_size, hidden_size, most_units, stream_size
from .survey import Survey, places_for_layer
from .targets import Targets
from .transformers import seeded
from .units import Scaling
from .warmup import Warmup


class Starting:
    """The hidden layer, the solver and the units that the parameters ask for."""

    # The parameters
    hidden: Any
    solver: Any
    random_state: Any
    standardize: Any
    device: Any

    def _make_layer(self, solver: Any, n_inputs: int, n_rows: int | None, dtype: Any) -> Any:
        """A transformer as `hidden` describes it, not yet fitted; None for a linear model."""
        if self.hidden is None:
            return None
        if self._is_auto:
            if n_rows is None:
                size = self._size_in_stream(solver, n_inputs, 0, dtype)
                return RandomLayer(size, bias=True, random_state=self._one_seed())
            if getattr(solver, "epsilon", None) == "auto":
                size = hidden_size(n_inputs, n_rows, most=most_units(dtype), doubled=True)
            else:
                size = UNITS_PER_INPUT * n_inputs
            return RandomLayer(size, bias=True, random_state=self.random_state)
        if self._has_own_layer:
            return seeded(clone(self.hidden), self.random_state)
        if not isinstance(self.hidden, Integral) or isinstance(self.hidden, bool):
            raise ValueError(
                f"hidden={self.hidden!r}: pass 'auto', a number of units, a transformer object, or "
                "None for a linear model."
            )
        check_number("hidden", self.hidden, low=1, whole=True)
        return RandomLayer(int(self.hidden), bias=True, random_state=self.random_state)

    def _one_seed(self) -> int:
        """A number, so that a layer that grows has the same first units, and copies grow alike."""
        if isinstance(self.random_state, Integral):
            return int(self.random_state)
        with naming("random_state"):
            return int(check_random_state(self.random_state).randint(1 << 31))

    def _size_in_stream(self, solver: Any, n_inputs: int, n_rows: int, dtype: Any) -> int:
        """The units of ``hidden="auto"`` after some rows of a stream."""
        if not self._standardizes():  # no row is kept, and the layer cannot grow
            return hidden_size(n_inputs, most=most_units(dtype))
        most, regularised = most_units(dtype), regularises(solver)
        return stream_size(n_inputs, n_rows, most=most, regularised=regularised)

    def _measure_stream(self, chunk: Chunk, fitted: FittedELM) -> tuple[Scaling, Any, Any]:
        """The units of inputs and targets from the first rows, and the layer for so many."""
        scaling, targets = self._measure(chunk, fitted.targets)
        layer, hidden = fitted.hidden.layer, fitted.hidden
        if isinstance(self.hidden, str) and self.hidden == "auto":
            n_inputs = hidden.n_inputs - hidden.n_direct
            size = self._size_in_stream(fitted.template, n_inputs, chunk.n, hidden.dtype)
            if size > layer.n_hidden_:
                layer = RandomLayer(size, bias=True, random_state=layer.random_state)
                layer.fit(np.zeros((1, n_inputs), hidden.dtype))
        return scaling, targets, layer

    @property
    def _is_auto(self) -> bool:
        return isinstance(self.hidden, str) and self.hidden == "auto"

    @property
    def _has_own_layer(self) -> bool:
        """Whether `hidden` is a transformer, which then gets X as it is."""
        return hasattr(self.hidden, "transform") and not isinstance(self.hidden, type)

    @property
    def looks_at_rows(self) -> bool:
        """Whether the hidden layer depends on more of X than the number of its columns."""
        if self._is_auto:
            return _chooses_epsilon(make_solver(self.solver))
        return self._has_own_layer and not isinstance(self.hidden, RandomLayer)

    def places_for_layer(self, n_rows: int, n_inputs: int) -> Array:
        """Which of all rows the hidden layer is fitted to, or chosen from."""
        if self._is_auto:
            return places_for_choosing(n_rows, n_inputs)
        return places_for_layer(n_rows, n_inputs)

    def _standardizes(self) -> bool:
        if isinstance(self.standardize, str) and self.standardize == "auto":
            return not self._has_own_layer or getattr(self.hidden, "wants_order_one", False)
        if not isinstance(self.standardize, (bool, np.bool_)):
            raise ValueError(f"standardize={self.standardize!r}: pass 'auto', True or False.")
        return bool(self.standardize)

    def _check_size(self, solver: Any, n_inputs: int, n_rows: int, dtype: Any) -> None:
        """Raise a NotEnoughMemory if layer and solver do not fit, before they are made."""
        size, what = 0, f"X with {n_inputs:,} columns"
        if self.hidden is None:
            size = min(n_rows, n_inputs)
        elif isinstance(self.hidden, Integral):
            size, what = int(self.hidden), f"hidden={self.hidden!r} and {what}"
        elif self._is_auto:
            size = hidden_size(n_inputs, most=most_units(dtype))
        check_size(what, n_inputs, size, dtype, square=not isinstance(solver, OpiumLight))

    def _start(
        self,
        chunk: Chunk,
        targets: Targets,
        *,
        whole: bool,
        survey: Survey | None = None,
        n_rows: int | None = None,
    ) -> tuple[FittedELM, Chunk]:
        """A layer and a solver that has learned nothing, for the `whole` of the rows or a stream.

        A transformer that was passed is fitted once, to the first rows; so are the units then. With
        the rows, which may be on a device now. Or, with a `survey` of all rows, the chunk has those
        that a layer is fitted to. `n_rows` is how many there will be, if that is not the whole.
        """
        n_inputs, dtype, solver = chunk.X.shape[1], targets.dtype, make_solver(self.solver)
        self._check_size(solver, n_inputs, survey.n if survey else chunk.n, dtype)
        known = survey.n if survey is not None else chunk.n if whole else None
        layer = self._make_layer(solver, n_inputs, n_rows or known, dtype)
        b = self._backend_for(solver, layer, chunk)
        none, scaling = chunk.part(slice(0)).on_host(), Scaling()
        if whole and fits_on_device(b, chunk.X):
            chunk = chunk._replace(X=b.asarray(chunk.X))
        if survey is not None:
            scaling, targets = self._units(survey)
        elif whole or self._has_own_layer:
            scaling, targets = self._measure(chunk, targets)
        if whole and self._is_auto and _chooses_epsilon(solver) and is_for_choosing(n_inputs):
            columns, rows = survey.inputs if survey else Columns.of(chunk.X, chunk.weight), chunk
            if survey is None:
                rows = chunk.at(self.places_for_layer(chunk.n, n_inputs))
            expected = columns.count if n_rows is None else n_rows
            layer = chosen_layer(layer, solver, scaling, targets, columns, rows, expected)
            hidden = HiddenMap(scaling, layer, n_inputs, dtype)
            return FittedELM.start(hidden, targets, solver, None, b), chunk
        seen, y = chunk.X, chunk.y
        if self._is_auto or not self.looks_at_rows:
            seen, y = seen[:1], y[:1]
        elif isinstance(layer, Layer) and chunk.n > len(
            places := places_for_layer(chunk.n, n_inputs)
        ):
            seen, y = seen[places], y[places]
        if is_on_device(seen):
            seen = scaling.apply_on(b, seen, dtype)
            seen = seen if isinstance(layer, Layer) else on_host(seen)
        else:
            seen = scaling.apply(seen, dtype)
        if layer is not None:
            layer.fit(seen, on_host(y) if is_on_device(y) else y)
        warms_up = not whole and not self._has_own_layer and self._standardizes()
        hidden = HiddenMap(scaling, layer, n_inputs, dtype)
        warmup = Warmup(none, 0, WARMUP_ROWS) if warms_up else None
        return FittedELM.start(hidden, targets, solver, warmup, b), chunk

    def _backend_for(self, solver: Any, layer: Any, chunk: Chunk) -> Backend:
        """Where a new model learns."""
        device = self.device if self.device is not None else getattr(solver, "device", None)
        if self.device is not None and "device" in solver.get_params():
            solver.set_params(device=self.device)
        units = getattr(layer, "n_hidden", "auto")
        each = 1 if layer is None else UNITS_PER_INPUT
        n_units = each * chunk.X.shape[1] if isinstance(units, str) else int(units)
        precision = getattr(solver, "precision", None)
        return backend_for(device, origin_of(chunk.X), n_units, precision)

    def _measure(self, chunk: Chunk, targets: Any) -> tuple[Scaling, Any]:
        """The units of inputs and targets, from these rows."""
        if not self._standardizes():
            return Scaling(), targets.unmeasured()
        return self._units(Survey.of(chunk, targets))

    def _units(self, survey: Survey) -> tuple[Scaling, Any]:
        """The units of inputs and targets, from what was measured of rows."""
        if not self._standardizes():
            return Scaling(), survey.targets.unmeasured()
        scaling = Scaling.of_inputs(
            survey.inputs,
            always=not isinstance(self.standardize, str),
            centre_sparse=not self._has_own_layer,
        )
        return scaling, survey.targets.measured(survey.outputs)


def _chooses_epsilon(solver: Any) -> bool:
    return isinstance(solver, Opium) and solver.epsilon == "auto"
