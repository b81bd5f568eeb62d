"""The drift monitor raises an alarm when something has changed, and seldom else."""

import numpy as np
import pytest
from scipy.integrate import quad

from greville import DynamicOpium, ELMRegressor, RandomLayer
from greville.datasets import sine_switch
from greville.monitor import _BOLDNESS, DriftMonitor

from .every_pair import quick_first
from .lengths import at_length


def test_bets_win_nothing_on_average():
    for e in _BOLDNESS:
        assert quad(lambda u, e=e: e * np.exp(-e * u), 0, np.inf)[0] == pytest.approx(1)  # p = e^-u


@pytest.mark.full
def test_false_alarms_of_a_classifier():
    """Errors that are 0 or 1: two alarms in each stream, and at most three deviations."""
    rng, streams = np.random.default_rng(3), at_length(30, 300)
    for share in (0.001, 0.01, 0.3):
        alarms = sum(
            len(DriftMonitor(rate=1e-3).update_many((rng.random(2000) < share) * 1.0))
            for _ in range(streams)
        )
        assert alarms < 2 * streams + 3 * np.sqrt(2 * streams)


@pytest.mark.parametrize("draw", quick_first(["normal", "standard_t"], ["laplace", "uniform"]))
def test_false_alarms_are_as_rare_as_stated(draw):
    """Streams of 2,000 errors at a rate of 1e-3: two alarms each, and at most three deviations."""
    rng, streams = np.random.default_rng(5), at_length(20, 300)
    options = {"df": 3} if draw == "standard_t" else {}
    alarms = 0
    for _ in range(streams):
        errors = getattr(rng, draw)(size=2000, **options)
        alarms += len(DriftMonitor(rate=1e-3).update_many(errors, 0.5))
    assert alarms < 2 * streams + 3 * np.sqrt(2 * streams)


@pytest.mark.parametrize(("factor", "within"), [(10, 10), (3, 40), (1.5, 400)])
def test_changes_are_found(factor, within):
    rng = np.random.default_rng(1)
    delays = []
    for _ in range(9):
        errors = rng.normal(size=1000 + 2 * within)
        errors[1000:] *= factor
        alarms = DriftMonitor().update_many(errors)
        delays.append(min([a - 1000 for a in alarms if a >= 1000], default=2 * within))
    assert np.median(delays) <= within


def test_the_papers_sine():
    """The first sample that differs raises the alarm."""
    X, y = sine_switch(10_000)
    X, y = X[:5100], y[:5100]
    H = RandomLayer(100, random_state=0).fit_transform(X)
    predicted, std = DynamicOpium(1.003, 10.0).prequential(H, y, return_std=True)
    alarms = DriftMonitor().update_many(y - predicted, std)
    late = [a for a in alarms if a >= 5000]
    assert late[0] in (5000, 5001)  # both frequencies give zero at sample 5000


def test_one_by_one_is_many_at_once():
    rng = np.random.default_rng(2)
    errors = rng.normal(size=1500)
    errors[700:] *= 4
    std = rng.uniform(0.5, 2, size=1500)
    many, one = DriftMonitor(), DriftMonitor()
    alarms = many.update_many(errors, std)
    assert [k for k in range(1500) if one.update(errors[k], std[k])] == list(alarms)
    assert one.alarms_ == many.alarms_ == list(alarms)
    assert one.statistic_ == many.statistic_
    assert one.n_seen_ == 1500
    assert list(many.update_many(errors)) == [a - 1500 for a in many.alarms_ if a >= 1500]


def test_with_a_regressor(rng):
    X = rng.normal(size=(3000, 4))
    y = np.where(np.arange(3000) < 1500, X[:, 0], X[:, 1]) + 0.1 * rng.normal(size=3000)
    model = ELMRegressor(30, DynamicOpium(1.01), random_state=0)
    predicted, std = model.prequential(X, y, return_std=True)
    alarms = DriftMonitor().update_many(y - predicted, std)
    assert any(1500 <= a < 1510 for a in alarms)
    assert not any(200 <= a < 1500 for a in alarms)


def test_odd_errors():
    monitor = DriftMonitor()
    assert not monitor.update_many(np.zeros(200)).size  # all alike
    assert not monitor.update(1.0)  # rare, but no more is known
    monitor = DriftMonitor()
    monitor.update_many(np.full(200, 1e-9))
    assert monitor.update(1.0)  # a thousand million times what was ever seen
    assert not monitor.update(5.0, np.inf)  # nothing was to be expected
    monitor.update_many(np.ones(100), 0.0)
    assert np.isfinite(monitor.statistic_)


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda m: m.update(np.nan), "error"),
        (lambda m: m.update("much"), "error"),
        (lambda m: m.update(None), "error"),
        (lambda m: m.update(1.0, -1.0), "std"),
        (lambda m: m.update_many([1.0, np.inf]), "errors"),
        (lambda m: m.update_many([[1.0]]), "errors"),
        (lambda m: m.update_many([1.0, 2.0], [1.0, 2.0, 3.0]), "std"),
        (lambda m: m.update_many([1.0, 2.0], [1.0, np.nan]), "std"),
        (lambda m: DriftMonitor(rate=0), "rate"),
        (lambda m: DriftMonitor(warmup=0), "warmup"),
    ],
)
def test_bad_arguments(call, why):
    monitor = DriftMonitor()
    monitor.update_many(np.arange(50.0))
    before = dict(vars(monitor))
    with pytest.raises(ValueError, match=why):
        call(monitor)
    assert vars(monitor) == before
