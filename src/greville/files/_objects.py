"""Known objects as their classes and fields, and back: what is not in the table does not pass."""

from __future__ import annotations

import reprlib
from importlib import import_module
from typing import Any

from ._errors import Wrong
from ._known import KNOWN, Entry

_HOW_TO_KEEP_IT = "delete it, or pass what it says as `extra`"


def class_of(name: str) -> type:
    """A class of the table; its module is imported."""
    cls = getattr(import_module(KNOWN[name].module), name)
    assert isinstance(cls, type)
    return cls


def entry_of(thing: Any) -> tuple[str, Entry]:
    """The entry for an object."""
    name = type(thing).__name__
    if name not in KNOWN or type(thing) is not class_of(name):
        raise Wrong(
            f"a {name} from {type(thing).__module__} cannot be written; only greville's own models "
            "and their parts can"
        )
    return name, KNOWN[name]


def taken(thing: Any) -> tuple[str, dict[str, Any]]:
    """The class and the fields of an object that can be written."""
    name, entry = entry_of(thing)
    fields = {k: v for k, v in entry.take(thing).items() if k not in entry.caches}
    _check_fields(name, entry, fields, _HOW_TO_KEEP_IT)
    entry.check(thing)
    return name, dict(sorted(fields.items()))


def given(name: str, fields: dict[str, Any]) -> Any:
    """An object of the class and the fields in a file."""
    if name not in KNOWN:
        raise Wrong(f"it has a {reprlib.repr(name)}, which this greville does not know")
    entry = KNOWN[name]
    _check_fields(name, entry, fields, "")
    thing = entry.give(class_of(name), fields)
    entry.check(thing)
    entry.attempt(thing)
    return thing


def _check_fields(name: str, entry: Entry, fields: dict[str, Any], instead: str) -> None:
    kinds = {**entry.always, **entry.together, **entry.maybe}
    needed = set(entry.always)
    if any(field in fields for field in entry.together):
        needed |= set(entry.together)
    missing = sorted(needed - set(fields))
    if missing:
        raise Wrong(f"{name} lacks {missing[0]}")
    for field, value in fields.items():
        if field not in kinds:
            advice = f"; {instead}" if instead else ""
            raise Wrong(f"{name} has {reprlib.repr(field)}, which no file has{advice}")
        kind = kinds[field]
        if not kind.holds(value):
            advice = f"; {kind.instead}" if instead and kind.instead else ""
            got = f"{type(value).__name__} {reprlib.repr(value)}"
            raise Wrong(f"{name}.{field} must be {kind.name}, and is {got}{advice}")
