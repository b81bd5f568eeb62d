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

    A name such as ``n_M_rank`` does not split tuples: a parameter is one value.
    """
    names, columns = list(values), [list(column) for column in values.values()]
    rows = covering([len(column) for column in columns])
    cases = [tuple(column[i] for column, i in zip(columns, row, strict=True)) for row in rows]
    return pytest.mark.parametrize(names, cases, ids=[_id(case) for case in cases])


def _id(case):
    return "-".join(str(value).replace(" ", "")[:40] for value in case)
