"""A column of a table, and what every kind of column has to say."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Any, ClassVar

from ..fields import stored, text
from ._values import Floats, Mask, Values
from .decisions import Decision, Hints
from .findings import Finding
from .numerals import Numerals


@dataclass(frozen=True)
class Column(ABC):
    """The rule by which a column becomes inputs. Its fields are stored in a model's file."""

    kind: ClassVar[str]
    wants: ClassVar[str]
    name: Annotated[str, text]

    @classmethod
    @abstractmethod
    def fit(cls, name: str, values: Values, decision: Decision, hints: Hints) -> Column:
        """Make a column from its values in the first rows and how they are written."""

    def findings(self, values: Values) -> list[Finding]:
        """Return what the owner of the column should know, besides what was decided."""
        return []

    @property
    def expected(self) -> str:
        """Say what the values of the column should be, for a message."""
        return self.wants

    @property
    @abstractmethod
    def inputs(self) -> list[str]:
        """Names of the inputs that the column becomes."""

    @abstractmethod
    def fill(self, values: Values, out: Floats) -> Mask:
        """Write the inputs of some rows into zeros; return a mask of values that cannot be used."""

    def unlearned(self, values: Values, learned: Mask) -> Mask | None:
        """Return a mask of values that no learned row had; None if any may be learned.

        `learned` says which of the inputs were one in a row that was learned.
        """
        return None

    def inputs_of(self, value: Any) -> Sequence[float] | None:
        """The inputs of one value of the usual type, as `fill` writes them; None for others."""
        return None

    def ordered(self, values: Values) -> tuple[Floats, Mask] | None:
        """Return values as numbers or days, and a mask of wrong ones; None without an order."""
        return None

    @abstractmethod
    def description(self) -> str:
        """Describe the column in words."""

    def check(self) -> None:  # noqa: B027 - most have nothing to check
        """Raise a ValueError if the fields do not go together."""

    def is_like(self, other: Column) -> bool:
        """Whether another column makes the same inputs, apart from measured units."""
        return self._unmeasured() == other._unmeasured()

    def _unmeasured(self) -> dict[str, Any]:
        """Return the fields of `as_dict` without measured numbers."""
        fields = self.as_dict().items()
        return {key: _unmeasured(value) for key, value in fields}

    def as_dict(self) -> dict[str, Any]:
        """Return the kind of the column and its fields, for people and programs."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        parts = {k: v.as_dict() if isinstance(v, Numerals) else v for k, v in values.items()}
        return {"kind": self.kind, **parts}


# Every kind of column is declared to be stored by this.
stored_column = stored(check=lambda column: column.check())


def _unmeasured(value: Any) -> Any:
    if isinstance(value, list):
        return [_unmeasured(each) for each in value]
    return None if isinstance(value, float) else value
