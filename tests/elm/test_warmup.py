"""When the first rows of a stream are measured, and when they are let go."""

from dataclasses import FrozenInstanceError

import pytest

from greville.elm import Warmup


@pytest.mark.parametrize(
    ("n", "measured", "until_due"),
    [(0, 0, 1), (1, 1, 1), (2, 2, 2), (3, 2, 1), (7, 4, 1), (8, 8, 8), (9, 8, 7)],
)
def test_rows_are_measured_at_powers_of_two(n, measured, until_due):
    warmup = Warmup("rows", n, 16)
    assert (warmup.n_measured, warmup.n_until_due, warmup.is_over) == (measured, until_due, False)


def test_no_more_than_its_length_is_measured():
    warmup = Warmup("rows", 15, 16)
    over = warmup.with_rows("more", 100)
    assert (over.n_measured, over.is_over, over.is_due_after(warmup)) == (16, True, True)
    assert not over.with_rows("more", 200).is_due_after(over)


def test_it_is_a_value():
    warmup = Warmup([], 0, 16)
    assert warmup.with_rows([1], 1) is not warmup
    assert warmup == Warmup([], 0, 16)
    with pytest.raises(FrozenInstanceError):
        warmup.n = 3


@pytest.mark.parametrize("before", [0, 1, 5, 15, 16, 40])
@pytest.mark.parametrize("n", [0, 1, 3, 30])
def test_pieces_end_where_rows_are_measured(before, n):
    warmup = Warmup(None, before, 16)
    pieces = list(warmup.pieces(n))
    assert [i for piece in pieces for i in range(piece.start, piece.stop)] == list(range(n))
    ends = {before + piece.stop for piece in pieces}
    due = {1, 2, 4, 8, 16} & set(range(before + 1, before + n + 1))
    assert due <= ends <= due | {before + n}
