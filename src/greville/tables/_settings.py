"""The settings of a model of tables, and the estimator they make."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..devices import check_device
from ..elm import ELMClassifier, ELMRegressor, hidden_size, regularises, stream_size
from ..fields import choice, each, nothing, text, within
from ..solvers import Opium, registry
from .batch import TableError
from .dates import check_format
from .numerals import DECIMALS, THOUSANDS
from .target import CLASSIFICATION, REGRESSION

# Rows from which is learned what columns are. They are kept until so many have come.
FIRST_ROWS = 4096

# Rows from which units are taken and chosen where the layer does not grow. With 1024 of them the
# errors on benchmarks/field.py were the same to 1 %, and a row stood still for 0.3 s.
ROWS_OF_UNITS = 256

# Settings that name columns, and those that are lists.
NAMING_COLUMNS = ("features", "ignore", "categorical", "number", "text", "fold")
LISTS = (*NAMING_COLUMNS[1:], "na")

# What settings may be, but for those of the solver.
KINDS = {
    "target": text,
    "task": choice("auto", "numbers", REGRESSION, CLASSIFICATION),
    "hidden": choice("auto", "inputs", "stream") | within(1, 100_001, whole=True),
    "solver": text,
    "seed": within(0, 2**32, whole=True),
    "features": each(text) | nothing,
    **dict.fromkeys(LISTS, each(text)),
    "decimal": choice(*DECIMALS) | nothing,
    "thousands": choice(*THOUSANDS) | nothing,
    "categories": within(1, 10_001, whole=True) | nothing,
}

# The most units of hidden="inputs", and of "auto" with a solver that does not choose epsilon.
_MOST_UNITS = 1000


def checked(settings: dict[str, Any]) -> dict[str, Any]:
    """Check the settings of a model, and return them."""
    for key in ("features", *LISTS):
        given = settings[key]
        is_list = not isinstance(given, str) and (given is not None or key in LISTS)
        settings[key] = list(given or ()) if is_list else given
    for key, kind in KINDS.items():
        if not kind.holds(settings[key]):
            raise _wrong(key, settings[key], f"pass {kind.name}.")
    if settings["decimal"] is not None and settings["decimal"] == settings["thousands"]:
        raise _wrong("thousands", settings["thousands"], "it is the decimal mark, too.")
    if settings["date_format"] is not None:
        try:
            check_format(settings["date_format"])
        except (ValueError, TypeError) as error:
            raise _wrong("date_format", settings["date_format"], str(error)) from error
    make_solver(settings)
    try:
        check_device(settings["device"])
    except ValueError as error:
        raise TableError(str(error), argument="device") from error
    return settings


def solver_names() -> list[str]:
    """The names of the solvers that learn rows as they come.

    Examples
    --------
    >>> from greville.tables import solver_names
    >>> "dynamic" in solver_names(), "batch" in solver_names()
    (True, False)
    """
    return [name for name in registry.names() if registry.make(name).capabilities.online]


def make_solver(settings: dict[str, Any]) -> Any:
    name = settings["solver"]
    if name not in solver_names():
        raise _wrong("solver", name, f"choose one of {', '.join(solver_names())}.")
    solver = registry.make(name)
    given = {k: settings[k] for k in ("alpha", "epsilon", "window") if settings[k] is not None}
    for key, value in given.items():
        if key not in solver.get_params():
            raise _wrong(key, value, f"the solver {name} has no such setting.")
    solver.set_params(**given)
    try:
        solver.settings()  # checks the parameters
    except ValueError as error:
        raise TableError(str(error), argument=str(error).split("=")[0]) from error
    return solver


def make_estimator(settings: dict[str, Any], task: str | None, n_inputs: int, n_rows: int) -> Any:
    hidden, solver = settings["hidden"], make_solver(settings)
    chooses = isinstance(solver, Opium) and solver.epsilon == "auto"
    if hidden == "stream" and getattr(solver, "epsilon", None) != "auto":
        regularised = regularises(solver)
        hidden = stream_size(n_inputs, n_rows, most=_MOST_UNITS, regularised=regularised)
    elif hidden == "inputs" or (hidden == "auto" and not chooses):
        hidden = hidden_size(n_inputs, n_rows if hidden == "auto" else None, most=_MOST_UNITS)
    kind = ELMClassifier if task == CLASSIFICATION else ELMRegressor
    options = {"random_state": settings["seed"], "device": settings["device"]}
    return kind(hidden, solver, **options)


def stream_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings of the model of a stream: those that are given, and the defaults of streams.

    It chooses 200 units from its first rows, and remembers all rows and the last 330, whichever
    predicts better. A table has the defaults of `TableModel`.

    Examples
    --------
    >>> from greville.tables import stream_settings
    >>> stream_settings({})
    {'hidden': 'stream', 'solver': 'dynamic', 'alpha': 'auto'}
    >>> stream_settings({"solver": "opium"})
    {'hidden': 'stream', 'solver': 'opium'}
    """
    given = {name: value for name, value in settings.items() if value is not None}
    forgets = {} if "solver" in given else {"solver": "dynamic", "alpha": "auto"}
    return {"hidden": "stream", **forgets, **given}


def has_fixed_units(settings: dict[str, Any], n_rows: int) -> bool:
    """Whether the first 256 rows alone decide units and the size of the layer."""
    hidden = settings["hidden"]
    fixed = not isinstance(hidden, str)
    if hidden == "stream":
        fixed = getattr(make_solver(settings), "epsilon", None) == "auto"
    return n_rows > ROWS_OF_UNITS and fixed


def is_used(settings: dict[str, Any], name: str) -> bool:
    """Whether a column is the target, or one to learn from."""
    features: Sequence[str] | None = settings["features"]
    chosen = features is None or name in features
    return name == settings["target"] or (chosen and name not in settings["ignore"])


def _wrong(key: str, value: Any, advice: str) -> TableError:
    return TableError(f"{key}={value!r}: {advice}", argument=key)
