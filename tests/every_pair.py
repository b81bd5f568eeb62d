"""Cases that cover every pair of values, where all products would be too many."""

from itertools import combinations, product

import pytest


def covering(sizes):
    """Return rows of indices in which any two values of different columns stand together once.

    Greedy: a row starts from a pair that no row has yet, and takes in each other column the
    value that adds most pairs.
    """
    columns = range(len(sizes))
    missing = {
        ((i, a), (j, b))
        for i, j in combinations(columns, 2)
        for a, b in product(range(sizes[i]), range(sizes[j]))
    }
    rows = []
    while missing:
        row = dict(min(missing))
        for column in columns:
            if column not in row:
                row[column] = max(
                    range(sizes[column]),
                    key=lambda value: (_new_pairs(row, column, value, missing), -value),
                )
        rows.append(tuple(row[column] for column in columns))
        missing -= set(combinations(sorted(row.items()), 2))
    return sorted(rows)


def _new_pairs(row, column, value, missing):
    """Count the pairs that a value would add to a row."""
    pairs = (tuple(sorted([item, (column, value)])) for item in row.items())
    return sum(pair in missing for pair in pairs)


def every_pair(**values):
    """Parametrise a test by a table of cases with every pair of values, not every product.

    A value may be a `pytest.param` with marks; a case has the marks of all of its values.
    """
    columns = [[_split(value) for value in column] for column in values.values()]
    rows = covering([len(column) for column in columns])
    return pytest.mark.parametrize(list(values), [_case(columns, row) for row in rows])


def in_turn(**values):
    """Parametrise a test by as many cases as the longest list has values; shorter ones repeat.

    For values that have little to do with each other: each is there, but not each pair.
    """
    columns = [[_split(value) for value in column] for column in values.values()]
    rows = [[i % len(column) for column in columns] for i in range(max(map(len, columns)))]
    return pytest.mark.parametrize(list(values), [_case(columns, row) for row in rows])


def quick_first(quick, others):
    """Values of a parameter: some for every change, the others for `make test-all`."""
    full = pytest.mark.full
    rest = [pytest.param(*(v if isinstance(v, tuple) else (v,)), marks=full) for v in others]
    return [*quick, *rest]


def _split(value):
    """Return a value and its marks."""
    if isinstance(value, type(pytest.param())):
        return value.values[0], value.marks
    return value, ()


def _case(columns, row):
    chosen = [column[i] for column, i in zip(columns, row, strict=True)]
    name = "-".join(str(value).replace(" ", "")[:40] for value, _ in chosen)
    marks = [mark for _, marks in chosen for mark in marks]
    return pytest.param(*(value for value, _ in chosen), id=name, marks=marks)
