"""Promises that belong to no single package; docs/reliability.md lists all of them."""

import re
from pathlib import Path
from threading import Event, Thread

import numpy as np
import pytest

from greville import DynamicOpium, ELMRegressor, Opium, SlidingOpium

from .children import LIMIT

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize(
    ("solver", "length"),
    [
        (Opium(0.1), 200),
        (Opium(0.1, intercept=True), 20),
        (Opium("auto", intercept=True), 200),
        (DynamicOpium(1.01), 20),
        (DynamicOpium(1.01, "auto"), 200),
        (SlidingOpium(300), 20),
    ],
    ids=str,
)
def test_threads_see_the_model_before_or_after_a_chunk(solver, length):
    rng = np.random.default_rng(0)
    n = 80 * length if length == 20 else 4000
    X = rng.normal(size=(n, 3))
    y = np.sin(X[:, 0])
    chunks = [slice(start, start + length) for start in range(0, n, length)]
    alone = ELMRegressor(25, solver, random_state=0)
    states = []
    for chunk in chunks:
        alone.partial_fit(X[chunk], y[chunk])
        states.append(alone.predict(X[:5]))
    states = np.array(states)
    shared = ELMRegressor(25, solver, random_state=0).partial_fit(X[chunks[0]], y[chunks[0]])
    seen, done = [], Event()

    def look():
        while not done.is_set():
            seen.append(shared.predict(X[:5]))

    readers = [Thread(target=look) for _ in range(3)]
    for reader in readers:
        reader.start()
    for chunk in chunks[1:]:
        shared.partial_fit(X[chunk], y[chunk])
    done.set()
    for reader in readers:
        reader.join(LIMIT)
    assert len(seen) > 3
    distance = np.abs(states[None] - np.array(seen)[:, None]).max(axis=2).min(axis=1)
    assert distance.max() < 1e-7  # each is one of the states
    assert np.abs(shared.predict(X[:5]) - states[-1]).max() < 1e-7


def test_every_promise_names_tests_that_exist():
    page = (ROOT / "docs" / "reliability.md").read_text()
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", page)
    assert len(named) > 15
    for file, test in named:
        assert f"def {test}" in (ROOT / file).read_text() if test else (ROOT / file).exists()


@pytest.mark.full
def test_frames_of_polars(rng):
    import polars

    X, y = rng.normal(size=(100, 3)), rng.normal(size=100)
    frame = polars.DataFrame(X, schema=["a", "b", "c"])
    model = ELMRegressor(10, random_state=0).fit(frame, polars.Series(y))
    want = ELMRegressor(10, random_state=0).fit(X, y)
    assert np.allclose(model.predict(frame), want.predict(X))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.select("c", "b", "a"))
