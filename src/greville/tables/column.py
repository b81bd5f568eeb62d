"""A column of a table, and what every kind of column has to say."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self, get_origin, get_type_hints

from ._values import Floats, Mask, Values
from .decisions import Decision, Hints
from .findings import Finding
from .numerals import Numerals


@dataclass(frozen=True)
class Column(ABC):
    """How one column becomes some inputs. The fields are what goes into a model's file."""

    kind: ClassVar[str]
    wants: ClassVar[str]
    name: str

    @classmethod
    @abstractmethod
    def fit(cls, name: str, values: Values, decision: Decision, hints: Hints) -> Column:
        """What it is, from the first rows and how they are written."""

    def findings(self, values: Values) -> list[Finding]:
        """What its owner should know, besides what was decided."""
        return []

    @property
    def wanted(self) -> str:
        """What its values should be, for a message."""
        return self.wants

    @property
    @abstractmethod
    def inputs(self) -> list[str]:
        """The names of the inputs it becomes."""

    @abstractmethod
    def fill(self, values: Values, out: Floats) -> Mask:
        """Write the inputs of some rows, all zero before; say which values cannot be used."""

    def inputs_of(self, value: Any) -> Sequence[float] | None:
        """The inputs of one value of the usual type, as `fill` writes them; None for others."""
        return None

    def ordered(self, values: Values) -> tuple[Floats, Mask] | None:
        """The values as numbers or days since 1970, and which are wrong; None without an order."""
        return None

    @abstractmethod
    def description(self) -> str:
        """What it is, in words."""

    def check(self) -> None:  # noqa: B027 - most have nothing to check
        """Raise a ValueError if the fields do not go together."""

    def as_dict(self) -> dict[str, Any]:
        """Its kind and its fields, for JSON."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        parts = {k: v.as_dict() if isinstance(v, Numerals) else v for k, v in values.items()}
        return {"kind": self.kind, **parts}

    @classmethod
    def from_dict(cls, settings: dict[str, Any]) -> Self:
        """What `as_dict` gave, less its kind; a ValueError for anything else."""
        if "numerals" in settings:
            settings = {**settings, "numerals": Numerals.from_dict(settings["numerals"])}
        try:
            column = cls(**settings)
        except TypeError as error:
            raise ValueError(f"{cls.kind}: its settings are not those of such a column.") from error
        types = get_type_hints(cls)
        for key, value in settings.items():
            if type(value) is not (get_origin(types[key]) or types[key]):
                raise ValueError(f"{key}={value!r}: not of the right type.")
        column.check()
        return column
