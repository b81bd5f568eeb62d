"""The number of the format, and the way from older ones.

A change of the table that older files do not have gets a new number, and a function here that
makes a document of the old number one of the next. Files with the old number stay in tests/data.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._errors import Wrong

FORMAT = 2

# From the document of a format to that of the next.
UPGRADES: dict[int, Callable[[Any], Any]] = {}


def check_format(found: int) -> None:
    """Raise unless this version of greville can read the format."""
    if found > FORMAT:
        raise Wrong(
            f"it was written by a newer greville, in format {found}, and this one reads up to "
            f"{FORMAT}; upgrade with: pip install -U greville"
        )
    if found < 1:
        raise Wrong("it is not a model of greville's")
    if any(n not in UPGRADES for n in range(found, FORMAT)):
        raise Wrong(
            f"it is in format {found}, of a greville before its first release, and this one reads "
            f"format {FORMAT}; train the model again"
        )


def upgraded(document: Any, written: int) -> Any:
    """The document in the present format."""
    for n in range(written, FORMAT):
        document = UPGRADES[n](document)
    return document
