"""Targets that come sorted are said, once for each run of them."""

import numpy as np
import pytest

from greville.serve.learning import TargetOrder


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("size", [1, 7, 300])
def test_sorted_targets_are_told_once(sign, size):
    order, told = TargetOrder(), []
    targets = (sign * np.arange(300.0)).tolist()
    for start in range(0, 300, size):
        told.append(order.add(targets[start : start + size]))
    assert sum(told) == 1
    assert order.n == 300


def test_a_step_back_begins_a_new_run():
    order = TargetOrder()
    assert not order.add([*range(90), 5, *range(6, 96)])
    assert order.add([*range(96, 120)])


def test_targets_in_any_order_labels_and_constants_are_not_told():
    rng = np.random.default_rng(0)
    assert not TargetOrder().add(rng.normal(size=5000).cumsum().tolist())
    assert not TargetOrder().add([1.0] * 500)
    assert not TargetOrder().add(["a", "b"] * 200)
    assert not TargetOrder().add([*range(80), "none", *range(80, 160)])
