"""The settings of a model of tables, and the estimator they make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypedDict

from .. import fields
from ..devices import check_device
from ..elm import ELMClassifier, ELMRegressor, hidden_size, regularises, stream_size
from ..solvers import Opium, registry
from .batch import TableError
from .dates import check_format
from .decisions import Hints
from .target import CLASSIFICATION, REGRESSION

# Rows from which is learned what columns are. They are kept until so many have come.
FIRST_ROWS = 4096

# Rows from which units are taken and chosen where the layer does not grow. With 1024 of them the
# errors on benchmarks/field.py were the same to 1 %, and a row stood still for 0.3 s.
ROWS_OF_UNITS = 256

# Settings that name columns.
NAMING_COLUMNS = ("features", "ignore", "categorical", "number", "text", "fold")

_HIDDEN = fields.choice("auto", "inputs", "stream") | fields.within(1, 100_001, whole=True)
_SOLVER_SETTING = fields.nothing | fields.choice("auto") | fields.number

# The most units of hidden="inputs", and of "auto" with a solver that does not choose epsilon.
_MOST_UNITS = 1000


Hidden = int | Literal["auto", "inputs", "stream"]


class Parameters(TypedDict, total=False):
    """The parameters that models of tables and estimators share, by name."""

    alpha: float | Literal["auto"] | None
    epsilon: float | Literal["auto"] | None
    window: int | None
    features: Sequence[str] | None
    ignore: Sequence[str]
    categorical: Sequence[str]
    decimal: str | None
    thousands: str | None
    na: Sequence[str]
    date_format: str | None
    number: Sequence[str]
    text: Sequence[str]
    fold: Sequence[str]
    categories: int | None
    device: str | None


class ModelParameters(Parameters, total=False):
    """The parameters of a `TableModel`, besides its target."""

    task: Literal["auto", "numbers", "regression", "classification"]
    hidden: Hidden
    solver: str
    class_weight: Any
    seed: int


@fields.stored(derived=("device",))
@dataclass(frozen=True, kw_only=True)
class Settings(Hints):
    """The settings of a `TableModel`, which says what they are."""

    target: Annotated[str, fields.text]
    task: Annotated[str, fields.choice("auto", "numbers", REGRESSION, CLASSIFICATION)] = "auto"
    hidden: Annotated[Any, _HIDDEN] = "auto"
    solver: Annotated[str, fields.text] = "opium"
    alpha: Annotated[Any, _SOLVER_SETTING] = None
    epsilon: Annotated[Any, _SOLVER_SETTING] = None
    window: Annotated[int | None, fields.nothing | fields.count] = None
    class_weight: Annotated[Any, fields.json] = None
    seed: Annotated[int, fields.within(0, 2**32, whole=True)] = 0
    device: str | None = None

    def __post_init__(self) -> None:
        declared = fields.declaration_of(Settings)
        assert declared is not None
        for key, kind in declared.kinds.items():
            value = getattr(self, key)
            if key in (*NAMING_COLUMNS, "na") and not (value is None or isinstance(value, str)):
                object.__setattr__(self, key, list(value))
            elif isinstance(value, dict):  # labels of any kind, which are no keys of a file
                object.__setattr__(self, key, [[label, each] for label, each in value.items()])
            elif key in ("alpha", "epsilon", "window"):  # which the solver checks
                continue
            if not kind.holds(getattr(self, key)):
                raise _wrong(key, value, f"pass {kind.name}.")
        if self.decimal is not None and self.decimal == self.thousands:
            raise _wrong("thousands", self.thousands, "it is the decimal mark, too.")
        if self.date_format is not None:
            try:
                check_format(self.date_format)
            except ValueError as error:
                raise _wrong("date_format", self.date_format, str(error)) from error
        self.make_solver()
        try:
            check_device(self.device)
        except ValueError as error:
            raise TableError(str(error), argument="device") from error

    def uses(self, name: str) -> bool:
        """Whether a column is the target, or one to learn from."""
        chosen = self.features is None or name in self.features
        return name == self.target or (chosen and name not in self.ignore)

    def has_fixed_units(self, n_rows: int) -> bool:
        """Whether the first 256 rows alone decide units and the size of the layer."""
        fixed = not isinstance(self.hidden, str)
        if self.hidden == "stream":
            fixed = getattr(self.make_solver(), "epsilon", None) == "auto"
        return n_rows > ROWS_OF_UNITS and fixed

    def make_solver(self) -> Any:
        """Make the solver; a TableError for settings that it does not have."""
        if self.solver not in solver_names():
            raise _wrong("solver", self.solver, f"choose one of {', '.join(solver_names())}.")
        solver = registry.make(self.solver)
        for key in ("alpha", "epsilon", "window"):
            value = getattr(self, key)
            if value is not None and key not in solver.get_params():
                raise _wrong(key, value, f"the solver {self.solver} has no such setting.")
            if value is not None:
                solver.set_params(**{key: value})
        try:
            solver.settings()  # checks the parameters
        except ValueError as error:
            raise TableError(str(error), argument=str(error).split("=")[0]) from error
        return solver

    def make_estimator(self, task: str | None, n_inputs: int, n_rows: int) -> Any:
        """Make the estimator for some inputs, and for so many rows to learn."""
        hidden, solver = self.hidden, self.make_solver()
        chooses = isinstance(solver, Opium) and solver.epsilon == "auto"
        if hidden == "stream" and getattr(solver, "epsilon", None) != "auto":
            regularised = regularises(solver)
            hidden = stream_size(n_inputs, n_rows, most=_MOST_UNITS, regularised=regularised)
        elif hidden == "inputs" or (hidden == "auto" and not chooses):
            hidden = hidden_size(n_inputs, n_rows if hidden == "auto" else None, most=_MOST_UNITS)
        options: dict[str, Any] = {"random_state": self.seed, "device": self.device}
        if task != CLASSIFICATION:
            return ELMRegressor(hidden, solver, **options)
        weight = self.class_weight
        weight = dict(weight) if isinstance(weight, list) else weight
        return ELMClassifier(hidden, solver, class_weight=weight, **options)


def solver_names() -> list[str]:
    """The names of the solvers that learn rows as they come.

    Examples
    --------
    >>> from greville.tables import solver_names
    >>> "dynamic" in solver_names(), "batch" in solver_names()
    (True, False)
    """
    return [name for name in registry.names() if registry.make(name).capabilities.online]


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
    chosen = {name: value for name, value in settings.items() if value is not None}
    forgets = {} if "solver" in chosen else {"solver": "dynamic", "alpha": "auto"}
    return {"hidden": "stream", **forgets, **chosen}


def _wrong(key: str, value: Any, advice: str) -> TableError:
    return TableError(f"{key}={value!r}: {advice}", argument=key)
