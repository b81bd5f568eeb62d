"""The tables of cases have every pair of values, and few rows."""

from itertools import combinations, product

import pytest

from .every_pair import covering, in_turn


@pytest.mark.parametrize("sizes", [(2, 2), (3, 5, 4), (13, 3, 2, 2), (2,) * 7, (5, 3, 3)])
def test_every_pair_is_there_and_most_products_are_not(sizes):
    rows = covering(sizes)
    for i, j in combinations(range(len(sizes)), 2):
        found = {(row[i], row[j]) for row in rows}
        assert found == set(product(range(sizes[i]), range(sizes[j])))
    largest = sorted(sizes)[-2:]
    assert len(rows) <= 1.5 * largest[0] * largest[1] + 3


def test_values_in_turn():
    cases = in_turn(a=[1, 2, 3, 4], b=["x", pytest.param("y", marks=pytest.mark.full)]).args[1]
    assert [case.values for case in cases] == [(1, "x"), (2, "y"), (3, "x"), (4, "y")]
    assert [bool(case.marks) for case in cases] == [False, True, False, True]
