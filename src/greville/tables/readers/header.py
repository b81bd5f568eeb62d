"""Whether the first and the last row of a table are rows like the others, or names and totals."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from ..batch import TableError
from ..findings import Finding

# Rows that are compared with the first.
COMPARED = 100

# What stands in a row of totals.
_TOTAL = re.compile(
    "(grand |over ?all |sub)?(totals?|sum|sums)|(gesamt)?(summen?|gesamt|insgesamt)|totale|totaux|"
    "sommes?|suma|totales|totaal|итого|合計|总计",
    re.IGNORECASE,
)


def total_in(row: Iterable[Any]) -> str | None:
    """Return a row's first text if it is a label of totals; else None."""
    texts = (value.strip() for value in row if isinstance(value, str) and value.strip())
    label = next(texts, "")
    return label if _TOTAL.fullmatch(label) else None


def is_number(text: str) -> bool:
    """Whether text is a number, with a point or a comma."""
    try:
        float(text.strip().strip('"').replace(",", ".", 1))
    except ValueError:
        return False
    return text.strip().lower() not in ("nan", "inf", "infinity")


def check_header(
    where: str, names: Sequence[str], columns: Sequence[Sequence[str | None]]
) -> list[Finding]:
    """Return findings about names that may be values.

    Where all columns are of numbers and so are all names, they are surely values, unless they
    count the columns; that is a TableError. Where only the names of columns of numbers are, or
    names are found among the values of their columns, it is a Finding.

    Parameters
    ----------
    where : str
        The name of the first row in a message.
    names : sequence of str
        Its fields.
    columns : sequence of sequences
        The values below each.
    """
    values = [[value for value in column if value and value.strip()] for column in columns]
    numeric = [bool(v) and all(map(is_number, v)) for v in values]
    named = [name for name, is_numeric in zip(names, numeric, strict=True) if is_numeric]
    shown = ", ".join(repr(name) for name in names[:4]) + (", ..." if len(names) > 4 else "")
    if named and all(map(is_number, named)) and not _counted(names):
        if all(numeric):
            raise TableError(
                f"{where}: the names of the columns would be {shown}, and these are numbers as in "
                "the rows below",
                "; if it is a row of values, pass {header}, and columns are called 0, 1, 2, ...; "
                "if it has names, pass {header_}.",
                header=False,
                header_=True,
            )
        return [_doubt(where, shown, "the columns of numbers have numbers for names")]
    texts = [
        (name, column)
        for name, column, is_numeric in zip(names, values, numeric, strict=True)
        if name and column and not is_numeric
    ]
    repeated = [name for name, column in texts if name in column]
    is_a_row = tuple(names) in zip(*columns, strict=True)
    if repeated and 2 * len(repeated) >= len(texts) and not is_a_row:
        what = f"{repeated[0]!r} is also a value of the column of that name"
        return [_doubt(where, shown, what)]
    return []


def _doubt(where: str, shown: str, what: str) -> Finding:
    text = f"{where}: its fields {shown} are taken for the names of the columns, but {what}"
    advice = "; if it is a row of values, pass {header}."
    return Finding("header", text, None, True, advice, {"header": False})


def _counted(names: Sequence[str]) -> bool:
    """Whether the numbers among names count columns, or are years.

    Data frames without names are written so. Two numbers alone may as well be values.
    """
    numbers = [name.strip() for name in names if is_number(name)]
    if len(numbers) < 3 and len(numbers) == len(names):
        return False
    start = int(numbers[0]) if numbers[0].isdecimal() else 0
    return numbers == [str(start + i) for i in range(len(numbers))]
