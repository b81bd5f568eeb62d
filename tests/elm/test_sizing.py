"""The size of a hidden layer that is chosen, wherever it is."""

import numpy as np
import pytest

from greville import ELMRegressor, OpiumLight
from greville.elm import hidden_size
from greville.elm.sizing import check_size, most_units
from greville.validation import NotEnoughMemory


def test_ten_units_for_each_input_within_limits():
    assert [hidden_size(n, most=300) for n in (1, 10, 15, 30, 200)] == [100, 100, 150, 300, 300]


def test_more_rows_more_units():
    assert [hidden_size(3, n, most=1000) for n in (0, 40, 50, 400, 4096, 10**6)] == [
        *(100, 100, 105, 300, 960, 1000)
    ]
    doubled = [hidden_size(3, n, most=10**4, doubled=True) for n in (1, 44, 45, 1000, 10**4, 10**9)]
    assert doubled == [100, 100, 200, 800, 1600, 3200]


def test_estimators_choose_by_the_rule(rng):
    X = rng.normal(size=(120, 4))
    assert ELMRegressor().fit(X, X[:, 0]).hidden_.n_hidden_ == 200
    noisy = X[:, 0] + rng.normal(size=120)
    assert ELMRegressor().fit(X, noisy).hidden_.n_hidden_ == 800  # a TableLayer: four for each row
    assert ELMRegressor().fit(np.hstack([X] * 30), X[:, 0]).hidden_.n_hidden_ == 1200
    assert ELMRegressor().partial_fit(X, X[:, 0]).hidden_.n_hidden_ == 100
    assert ELMRegressor(solver=OpiumLight()).fit(X, X[:, 0]).hidden_.n_hidden_ == 40


def test_three_matrices_of_the_largest_take_256_megabytes():
    assert hidden_size(100_000, most=most_units(np.float64)) == 3265
    assert hidden_size(100_000, most=most_units(np.float32)) == 4618


def test_what_does_not_fit_is_refused():
    check_size("X", 10, 100, np.float64, square=True)
    check_size("X", 10, 10**7, np.float64, square=False)
    with pytest.raises(NotEnoughMemory, match="X with many columns.*fewer units"):
        check_size("X with many columns", 10, 10**8, np.float64, square=True)
