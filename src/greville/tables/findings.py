"""Findings: what a reader or a column tells the user, such as an ambiguous number."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True)
class Finding:
    """Something about a table that its owner should know.

    Parameters
    ----------
    kind : str
        A short name of what was found, the same for all tables, such as ``"pandas index"``.
    message : str
        One sentence: what was found and what is done with it, or what to do.
    column : str, optional
        The column it is about.
    warning : bool
        Whether something may be wrong with the table, not only with how it is written.

    Examples
    --------
    >>> from greville.tables import Finding
    >>> Finding("constant", "x is always 1.", column="x").message
    'x is always 1.'
    """

    kind: str
    message: str
    column: str | None = None
    warning: bool = False

    def as_dict(self) -> dict[str, object]:
        """For JSON."""
        return {
            "kind": self.kind,
            "column": self.column,
            "message": self.message,
            "warning": self.warning,
        }

    @classmethod
    def from_dict(cls, entry: Any) -> Self:
        """What `as_dict` gave; a ValueError for anything else."""
        types: dict[str, Any] = {"kind": str, "message": str, "warning": bool}
        types["column"] = (str, type(None))
        fits = isinstance(entry, dict) and entry.keys() == types.keys()
        if not fits or not all(isinstance(entry[key], type_) for key, type_ in types.items()):
            raise ValueError("a finding: its parts are not those of one.")
        return cls(**entry)


def distinct(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Each finding once, in their order."""
    return tuple(dict.fromkeys(findings))
