"""The settings of a model of tables, and the estimator they make."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..devices import check_device
from ..elm import ELMClassifier, ELMRegressor, hidden_size, regularises, stream_size
from ..solvers import Opium, registry
from ..validation import check_number
from .batch import TableError
from .dates import check_format
from .numerals import DECIMALS, THOUSANDS
from .target import CLASSIFICATION, REGRESSION

# Rows from which is learned what columns are. They are kept until so many have come.
FIRST_ROWS = 4096

# Settings that name columns.
NAMING_COLUMNS = ("features", "ignore", "categorical", "number", "text", "fold")

# Settings that are lists.
LISTS = ("ignore", "categorical", "na", "number", "text", "fold")

# The most units of hidden="inputs", and of "auto" with a solver that does not choose epsilon.
_MOST_UNITS = 1000


def checked(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings of a model, if there is nothing wrong with them."""
    settings = settings | {name: list(settings[name] or ()) for name in LISTS}
    settings["features"] = settings["features"] and list(settings["features"])
    if settings["task"] not in ("auto", "numbers", REGRESSION, CLASSIFICATION):
        raise _wrong("task", settings["task"], "choose auto, regression or classification.")
    for key, low, high, words in (
        ("hidden", 1, 100_001, ("auto", "inputs", "stream")),
        ("seed", 0, 2**32, ()),
        ("categories", 1, 10_001, (None,)),
    ):
        if settings[key] not in words:
            with _naming(key):
                check_number(key, settings[key], low=low, high=high, whole=True)
    for key in ("target", *NAMING_COLUMNS):
        for name in [settings[key]] if key == "target" else settings[key] or ():
            if not isinstance(name, str):
                raise _wrong(key, name, "pass the name of a column.")
    _check_writing(settings)
    make_solver(settings)
    with _naming("device"):
        check_device(settings["device"])
    return settings


def _check_writing(settings: dict[str, Any]) -> None:
    """Raise a TableError for marks or formats that cannot be."""
    for key, choices in (("decimal", DECIMALS), ("thousands", THOUSANDS)):
        if settings[key] is not None and settings[key] not in choices:
            raise _wrong(key, settings[key], f"choose one of {' '.join(map(repr, choices))}.")
    if settings["decimal"] is not None and settings["decimal"] == settings["thousands"]:
        raise _wrong("thousands", settings["thousands"], "it is the decimal mark, too.")
    for value in settings["na"]:
        if not isinstance(value, str):
            raise _wrong("na", value, "pass a list of texts, such as '-999'.")
    if settings["date_format"] is not None:
        try:
            check_format(settings["date_format"])
        except (ValueError, TypeError) as error:
            raise _wrong("date_format", settings["date_format"], str(error)) from error


@contextmanager
def _naming(argument: str) -> Iterator[None]:
    """Make a TableError of an error whose message begins with an argument."""
    try:
        yield
    except ValueError as error:
        raise TableError(str(error), argument=argument) from error


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


def is_used(settings: dict[str, Any], name: str) -> bool:
    """Whether a column is the target, or one to learn from."""
    features: Sequence[str] | None = settings["features"]
    chosen = features is None or name in features
    return name == settings["target"] or (chosen and name not in settings["ignore"])


def _wrong(key: str, value: Any, advice: str) -> TableError:
    return TableError(f"{key}={value!r}: {advice}", argument=key)
