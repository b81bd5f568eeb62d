"""New models: the parameters of an estimator become a model that has learned nothing."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import check_random_state

from ..backend import Array, Backend
from ..devices import backend_for, fits_on_device, is_on_device, on_host, origin_of
from ..layers import UNITS_PER_INPUT, WIDE_COLUMNS, Layer, RandomLayer, SpanLayer, rows_apart
from ..solvers import Opium, OpiumLight
from ..validation import check_number, naming
from .capabilities import make_solver, regularises
from .choosing import chosen_layer, is_for_choosing, places_for_choosing, stream_layer
from .examples import Examples
from .fitted import Fitted
from .hidden import HiddenMap
from .sizing import check_size, hidden_size, most_units, stream_size
from .targets import Targets
from .units import Columns, Scaling

# Rows, and numbers in them, from which units and layers are made.
_MOST_ROWS, _MOST_NUMBERS, _LEAST_ROWS = 1 << 16, 1 << 26, 1024


def start(
    model: Any, rows: Examples, targets: Targets, *, whole: bool, n_rows: int | None = None
) -> tuple[Fitted, Examples]:
    """Return a new model with a fitted layer and an empty solver, for `whole` rows or a stream.

    Units and layer come from these rows, or from those at `places_for_layer`. With the rows, which
    may be on a device now. `n_rows` is how many there will be, if that is not the whole.
    """
    n_inputs, dtype, solver = rows.X.shape[1], targets.dtype, make_solver(model.solver)
    n_known, wide = rows.n if whole else None, _is_wide(model, rows.X)
    if wide:
        layer: Any = SpanLayer()
    else:
        _check_fits(model, solver, n_inputs, rows.n, dtype)
        layer = _make_layer(model, solver, n_inputs, n_rows or n_known, dtype)
    b, scaling, warmup = _backend_for(model, solver, layer, rows), Scaling(), None
    if not whole and not has_own_layer(model) and standardizes(model):
        warmup = rows.at(slice(0)).on_host()
    if whole and fits_on_device(b, rows.X):
        rows = rows._replace(X=b.asarray(rows.X))
    places = places_for_layer(rows.n, n_inputs)
    some = rows if len(places) == rows.n else rows.at(places)
    if whole or has_own_layer(model):
        scaling, targets = _units(model, layer, targets, some)
    if whole and _chooses_layer(model, solver, n_inputs):
        columns, few = Columns.of(some.X, some.weight), some.at(places_for_choosing(some.n))
        if model.hidden == "stream":
            layer = stream_layer(layer.n_hidden, layer.random_state, scaling, targets, columns, few)
        else:
            expected = columns.weight / columns.n * (n_rows or rows.n)
            layer = chosen_layer(layer, solver, scaling, targets, columns, few, expected)
    elif layer is not None:
        if depends_on_rows(model) and not _is_auto(model):
            rows_of_layer = some
        else:
            rows_of_layer = rows if wide else rows.at(slice(1))
        _fit_layer(layer, b, scaling, rows_of_layer, dtype)
    model._agreed = model.solver
    hidden = HiddenMap(scaling, layer, n_inputs, dtype)
    return Fitted.start(hidden, targets, solver, b, warmup), rows


def measured_again(model: Any, fitted: Fitted, rows: Examples) -> Fitted | None:
    """Return an empty model whose units and layer are measured from the first rows.

    None where both are as they were.
    """
    hidden = fitted.hidden
    rows, layer = hidden.of_layer(rows), hidden.layer
    scaling, targets = _units(model, layer, fitted.targets, rows)
    if _is_auto(model):
        n_inputs = hidden.n_inputs - hidden.n_direct
        size = _size_in_stream(model, fitted.template, n_inputs, rows.n, hidden.dtype)
        if _chooses_units(fitted.template, n_inputs):
            columns = Columns.of(rows.X, rows.weight)
            some = rows.at(places_for_choosing(rows.n))
            layer = stream_layer(size, layer.random_state, scaling, targets, columns, some)
        elif size > layer.n_hidden_:
            layer = RandomLayer(size, bias=True, random_state=layer.random_state)
            layer.fit(np.zeros((1, n_inputs), hidden.dtype))
    same = scaling == hidden.scaling and targets.scaling == fitted.targets.scaling
    if same and layer is hidden.layer:
        return None
    hidden, b = replace(hidden, scaling=scaling, layer=layer), fitted.solver.shape.backend
    again = Fitted.start(hidden, targets, fitted.template, b, fitted.warmup)
    return again._replace(calibration=fitted.calibration)


def depends_on_rows(model: Any) -> bool:
    """Whether the hidden layer depends on the values in X, not only on the number of columns.

    Examples
    --------
    >>> from greville import ELMRegressor
    >>> from greville.elm import depends_on_rows
    >>> depends_on_rows(ELMRegressor(10)), depends_on_rows(ELMRegressor("auto"))
    (False, True)
    """
    if _is_auto(model):
        return _chooses_epsilon(make_solver(model.solver))
    return has_own_layer(model) and not isinstance(model.hidden, RandomLayer)


def places_for_layer(n_rows: int, n_inputs: int) -> Array:
    """Return the indices of the rows that units and a layer are made from: at equal distances.

    Examples
    --------
    >>> from greville.elm.starting import places_for_layer
    >>> places_for_layer(200_000, 1000)[:3]
    array([0, 3, 6])
    """
    return rows_apart(n_rows, min(_MOST_ROWS, max(_LEAST_ROWS, _MOST_NUMBERS // n_inputs)))


# The parameters


def _is_auto(model: Any) -> bool:
    return isinstance(model.hidden, str) and model.hidden in ("auto", "stream")


def has_own_layer(model: Any) -> bool:
    """Whether `hidden` is a transformer, which then gets X as it is."""
    return hasattr(model.hidden, "transform") and not isinstance(model.hidden, type)


def standardizes(model: Any) -> bool:
    """Whether units of inputs and targets are learned."""
    if isinstance(model.standardize, str) and model.standardize == "auto":
        return not has_own_layer(model) or getattr(model.hidden, "wants_order_one", False)
    if not isinstance(model.standardize, (bool, np.bool_)):
        raise ValueError(f"standardize={model.standardize!r}: pass 'auto', True or False.")
    return bool(model.standardize)


def _chooses_epsilon(solver: Any) -> bool:
    return isinstance(solver, Opium) and solver.epsilon == "auto"


def _chooses_units(solver: Any, n_inputs: int) -> bool:
    """Whether a stream chooses its units: of inputs that are no pixels or words."""
    return getattr(solver, "epsilon", None) == "auto" and is_for_choosing(n_inputs)


def _chooses_layer(model: Any, solver: Any, n_inputs: int) -> bool:
    if isinstance(model.hidden, str) and model.hidden == "stream":
        return _chooses_units(solver, n_inputs)
    return _is_auto(model) and _chooses_epsilon(solver) and is_for_choosing(n_inputs)


def _is_wide(model: Any, X: Any) -> bool:
    """Whether a linear model sees sparse rows by their coordinates in the span of some."""
    linear = model.hidden is None and model.standardize is not True
    return linear and sparse.issparse(X) and X.shape[1] > WIDE_COLUMNS


# The layer


def _make_layer(model: Any, solver: Any, n_inputs: int, n_rows: int | None, dtype: Any) -> Any:
    """A transformer as `hidden` describes it, not yet fitted; None for a linear model."""
    hidden, seed = model.hidden, model.random_state
    if hidden is None:
        return None
    if getattr(hidden, "follows_rows", False):
        raise ValueError(
            f"hidden={hidden!r}: its units depend on earlier rows; pass layer.advance(X) as the X "
            "of a linear model, such as Opium('auto')."
        )
    if seed is None:  # files of layers with a seed do without their weights
        seed = _one_seed(None)
    if has_own_layer(model):
        return _seeded(clone(hidden), seed)
    if not _is_auto(model):
        if not isinstance(hidden, Integral) or isinstance(hidden, bool):
            raise ValueError(
                f"hidden={hidden!r}: pass 'auto', a number of units, a transformer object, or "
                "None for a linear model."
            )
        check_number("hidden", hidden, low=1, whole=True)
        return RandomLayer(int(hidden), bias=True, random_state=seed)
    if n_rows is None or hidden == "stream":
        size = _size_in_stream(model, solver, n_inputs, n_rows or 0, dtype)
        return RandomLayer(size, bias=True, random_state=_one_seed(seed))
    size = UNITS_PER_INPUT * n_inputs
    if getattr(solver, "epsilon", None) == "auto":
        size = hidden_size(n_inputs, n_rows, most=most_units(dtype), doubled=True)
    return RandomLayer(size, bias=True, random_state=seed)


def _seeded(transformer: Any, random_state: Any) -> Any:
    """Seed whatever in the transformer has a random_state that is None."""
    for name, value in transformer.get_params().items():
        if value is None and (name == "random_state" or name.endswith("__random_state")):
            transformer.set_params(**{name: random_state})
    return transformer


def _one_seed(random_state: Any) -> int:
    """Return an integer seed: a growing layer keeps its first units, and copies grow alike."""
    if isinstance(random_state, Integral):
        return int(random_state)
    with naming("random_state"):
        return int(check_random_state(random_state).randint(1 << 31))


def _size_in_stream(model: Any, solver: Any, n_inputs: int, n_rows: int, dtype: Any) -> int:
    """The units of ``hidden="auto"`` after some rows of a stream."""
    most = most_units(dtype)
    if not standardizes(model):  # no row is kept, and the layer cannot grow
        return hidden_size(n_inputs, most=most)
    chosen = _chooses_units(solver, n_inputs)
    return stream_size(n_inputs, n_rows, most=most, regularised=regularises(solver), chosen=chosen)


def _fit_layer(layer: Any, b: Backend, scaling: Scaling, rows: Examples, dtype: Any) -> None:
    """Fit a layer to rows."""
    if is_on_device(rows.X):
        X = scaling.apply_on(b, rows.X, dtype)
        X = X if isinstance(layer, Layer) else on_host(X)
    else:
        X = scaling.apply(rows.X, dtype)
    layer.fit(X, on_host(rows.y))


def _check_fits(model: Any, solver: Any, n_inputs: int, n_rows: int, dtype: Any) -> None:
    """Raise a NotEnoughMemory if layer and solver do not fit, before they are made."""
    size, what = 0, f"X with {n_inputs:,} columns"
    if model.hidden is None:
        size = min(n_rows, n_inputs)
    elif isinstance(model.hidden, Integral):
        size, what = int(model.hidden), f"hidden={model.hidden!r} and {what}"
    elif _is_auto(model):
        size = hidden_size(n_inputs, most=most_units(dtype))
    check_size(what, n_inputs, size, dtype, square=not isinstance(solver, OpiumLight))


def _backend_for(model: Any, solver: Any, layer: Any, rows: Examples) -> Backend:
    """Return the backend on which a new model learns."""
    device = model.device if model.device is not None else getattr(solver, "device", None)
    if model.device is not None and "device" in solver.get_params():
        solver.set_params(device=model.device)
    units = getattr(layer, "n_hidden", "auto")
    each = 1 if layer is None else UNITS_PER_INPUT
    n_units = each * rows.X.shape[1] if isinstance(units, str) else int(units)
    return backend_for(device, origin_of(rows.X), n_units)


def _units(model: Any, layer: Any, targets: Any, rows: Examples) -> tuple[Scaling, Any]:
    """Return the units of inputs and targets, measured from these rows."""
    if not standardizes(model):
        return Scaling(), targets.measured(None)
    outputs = None if targets.calibrates else Columns.of(on_host(rows.y), rows.weight)
    if isinstance(layer, SpanLayer):  # sparse rows stay as they are
        return Scaling(), targets.measured(outputs)
    always, centre_sparse = not isinstance(model.standardize, str), not has_own_layer(model)
    columns = Columns.of(rows.X, rows.weight)
    scaling = Scaling.of_inputs(columns, always=always, centre_sparse=centre_sparse)
    return scaling, targets.measured(outputs)
