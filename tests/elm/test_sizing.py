"""The size of a hidden layer that is chosen, wherever it is."""

from itertools import pairwise

import numpy as np
import pytest

from greville import ELMRegressor, OpiumLight, TableLayer
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
    assert ELMRegressor().fit(X, noisy).hidden_.n_hidden_ == 400  # a TableLayer: two for each row
    assert ELMRegressor().fit(np.hstack([X] * 30), X[:, 0]).hidden_.n_hidden_ == 1200
    assert ELMRegressor(solver="dynamic").fit(X, X[:, 0]).hidden_.n_hidden_ == 200
    assert ELMRegressor(solver=OpiumLight()).fit(X, X[:, 0]).hidden_.n_hidden_ == 40


@pytest.mark.parametrize(
    ("solver", "sizes"),
    [
        ("opium", (100, 200, 200, 200)),
        ("dynamic", (100, 200, 200, 200)),
        ("light", (100, 200, 400, 400)),
        ("greville", (10, 16, 64, 256)),
        ("sliding", (10, 16, 64, 256)),
    ],
)
def test_streams_grow_with_their_first_rows(rng, solver, sizes):
    X = rng.normal(size=(1500, 2))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=1500)
    model, found = ELMRegressor(solver=solver, random_state=0), []
    for start, stop in pairwise((0, 63, 64, 256, 1500)):
        model.partial_fit(X[start:stop], y[start:stop])
        found.append(model.hidden_.n_hidden_)
    assert tuple(found) == sizes


def test_three_matrices_of_the_largest_take_256_megabytes():
    assert hidden_size(100_000, most=most_units(np.float64)) == 3265
    assert hidden_size(100_000, most=most_units(np.float32)) == 4618


def test_what_does_not_fit_is_refused():
    check_size("X", 10, 100, np.float64, square=True)
    check_size("X", 10, 10**7, np.float64, square=False)
    with pytest.raises(NotEnoughMemory, match="X with many columns.*fewer units"):
        check_size("X with many columns", 10, 10**8, np.float64, square=True)


@pytest.mark.parametrize("solver", ["opium", "dynamic"])
def test_streams_choose_their_units(rng, solver):
    """Friedman's function of 5 of 10 inputs."""
    X = rng.uniform(size=(3024, 10))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + X[:, 3:5] @ [10, 5]
    noisy = y + rng.normal(size=3024)
    model = ELMRegressor(solver=solver, random_state=0).partial_fit(X[:1024], noisy[:1024])
    drawn = ELMRegressor(TableLayer(200), solver=solver, random_state=0)
    drawn.fit(X[:1024], noisy[:1024])
    assert model.hidden_.n_hidden_ == 200
    assert (model.hidden_.weights_[-10:, -10:] == np.eye(10) / 4).all()  # the inputs stay
    errors = [np.std(m.predict(X[1024:]) - y[1024:]) for m in (model, drawn)]
    assert errors[0] < 0.8 * errors[1]


@pytest.mark.full
@pytest.mark.parametrize("solver", ["opium", "dynamic", "light", "greville"])
def test_a_layer_that_has_grown_has_learned_all_rows(rng, solver):
    """How rows are cut does not matter: the model is that of the larger layer from the start."""
    X = rng.normal(size=(700, 2))
    y = np.sin(X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=700)
    whole = ELMRegressor(solver=solver, random_state=0).partial_fit(X, y)
    parts = ELMRegressor(solver=solver, random_state=0)
    for cut in np.array_split(np.arange(700), 41):
        parts.partial_fit(X[cut], y[cut])
    single = ELMRegressor(solver=solver, random_state=0)
    for x, target in zip(X, y, strict=True):
        single.learn_one(x, target)
    size = whole.hidden_.n_hidden_
    fixed = ELMRegressor(size, solver=solver, random_state=0).partial_fit(X, y)
    is_drawn = solver in ("light", "greville")  # as `fixed` is; the others choose their units
    for other in (parts, single, *([fixed] if is_drawn else [])):
        assert other.hidden_.n_hidden_ == size
        np.testing.assert_allclose(other.predict(X), whole.predict(X), atol=1e-6)
