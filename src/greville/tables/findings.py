"""Findings: what a reader or a column tells the user, such as an ambiguous number."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from ..fields import flag, json, nothing, stored
from ..fields import text as any_text

# Findings of one kind that are said one by one; of more, the first, and the names of the others.
_MOST_ALIKE = 3

# Columns, and values, that are named in a message; and how much of a value is shown.
_MOST_NAMED, _MOST_SHOWN, _LONGEST_SHOWN = 5, 5, 30


def as_argument(name: str, value: Any) -> str:
    """An argument of Python, with its value unless that is None."""
    return name if value is None else f"{name}={value!r}"


def _check_advice(finding: Finding) -> None:
    try:
        finding.sentence()
    except (KeyError, IndexError, ValueError) as error:
        raise ValueError("a finding: its advice names what it does not have.") from error


@stored(check=_check_advice)
@dataclass(frozen=True)
class Finding:
    """A fact about a table that its owner should know.

    Parameters
    ----------
    kind : str
        A short name of what was found, the same for all tables, such as ``"pandas index"``.
    text : str
        What was found and what is done with it.
    column : str, optional
        The column it is about.
    warning : bool
        Whether something may be wrong with the table, not only with how it is written.
    advice : str
        What to do, which follows the text: a template in which ``{na}`` is the argument `na`.
    arguments : dict of str to value
        The values of the arguments in `advice`; None where only the name is meant.

    Examples
    --------
    >>> from greville.tables import Finding
    >>> found = Finding("far", "'x' is 9 at times", "x", True, "; pass {na}.", {"na": ["9"]})
    >>> found.message
    "'x' is 9 at times; pass na=['9']."
    """

    kind: Annotated[str, any_text]
    text: Annotated[str, any_text]
    column: Annotated[str | None, nothing | any_text] = None
    warning: Annotated[bool, flag] = False
    advice: Annotated[str, any_text] = ""
    arguments: Annotated[dict[str, Any], json] = field(default_factory=dict, hash=False)

    @property
    def message(self) -> str:
        """Return the finding and what to do, with the arguments of Python."""
        return self.sentence()

    def sentence(self, name: Callable[[str, Any], str] = as_argument) -> str:
        """Return the finding and what to do; `name` writes an argument and its value."""
        named = {key: name(key.rstrip("_"), value) for key, value in self.arguments.items()}
        return self.text + self.advice.format(**named)

    def as_dict(self, name: Callable[[str, Any], str] = as_argument) -> dict[str, object]:
        """Return the finding as a dictionary for JSON."""
        return {
            "kind": self.kind,
            "column": self.column,
            "message": self.sentence(name),
            "warning": self.warning,
        }


def distinct(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Each finding once, in their order."""
    return tuple(dict.fromkeys(findings))


def grouped(findings: Iterable[Finding]) -> list[Finding]:
    """The findings, those of one kind about many columns as one."""
    groups: dict[tuple[str, bool], list[Finding]] = {}
    for finding in distinct(findings):
        groups.setdefault((finding.kind, finding.warning), []).append(finding)
    said: list[Finding] = []
    for first, *more in groups.values():
        names = [finding.column for finding in more if finding.column is not None]
        if len(more) < _MOST_ALIKE or len(names) < len(more):
            said += [first, *more]
            continue
        others = f" The same goes for {listed_names(names)}."
        text = first.text + others * (not first.advice)
        more_advice = others.replace("{", "{{").replace("}", "}}")
        advice = first.advice and first.advice + more_advice
        said.append(replace(first, text=text, advice=advice))
    return said


def listed_names(names: list[str]) -> str:
    """The first of some columns, for a message."""
    shown = ", ".join(map(repr, names[:_MOST_NAMED]))
    return shown + (f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else "")


def listed_values(texts: list[str]) -> str:
    """The first of some values, for a message."""
    shown = ", ".join(map(shown_value, texts[:_MOST_SHOWN]))
    return shown + (f" and {len(texts) - _MOST_SHOWN:,} more" if len(texts) > _MOST_SHOWN else "")


def shown_value(text: str) -> str:
    """Shorten a value for a message."""
    return repr(text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 3] + "...")
