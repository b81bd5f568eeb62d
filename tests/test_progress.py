"""`verbose`: what long calls say on stderr, and that it changes nothing else."""

import inspect
import io
import re
import sys

import numpy as np
import pytest
from sklearn.base import clone

import greville
from greville import (
    Batch,
    ELMClassifier,
    ELMRegressor,
    Opium,
    TableClassifier,
    TableRegressor,
    progress,
)

MODELS = [ELMRegressor, ELMClassifier, TableRegressor, TableClassifier]
LINE = re.compile(
    r"greville: (learned|predicted|predicted and learned) [\d,]+ of ([\d,]+) rows"
    r"(, [\d,]+ rows/s, [\d.]+ s left)?"
)


@pytest.fixture
def at_once(monkeypatch, small_blocks):
    """Have a line for every block, and small blocks."""
    monkeypatch.setattr(progress, "_INTERVAL", 0.0)
    small_blocks()


@pytest.fixture
def clock(monkeypatch):
    """Time that goes on only when it is told to."""
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])

    def wait(seconds):
        now[0] += seconds

    return wait


def rows(model, n=1500):
    X = np.random.default_rng(3).normal(1.0, 2.0, size=(n, 3))
    y = np.sin(X[:, 0]) + X[:, 1]
    return X, (y > 1).astype(int) if "Classifier" in model.__name__ else y


def test_lines_of_a_long_work(clock, capsys):
    with progress.reporting(True, "learned", 10_000) as tell:
        tell(0)
        clock(1.9)
        tell(1000)
        assert capsys.readouterr().err == ""
        clock(0.1)
        tell(2000)
        clock(1.0)
        tell(5000)
    assert capsys.readouterr().err.splitlines() == [
        "greville: learned 2,000 of 10,000 rows, 1,000 rows/s, 8.0 s left",
        "greville: learned 10,000 rows in 3.0 s, 3,333 rows/s",
    ]


def test_short_work_says_nothing(clock, capsys):
    with progress.reporting(True, "learned", 10) as tell:
        tell(0)
        clock(1.9)
    assert capsys.readouterr() == ("", "")


def test_a_closed_stderr_stops_nothing(clock, monkeypatch):
    closed = io.StringIO()
    closed.close()
    for stream in (closed, None):
        monkeypatch.setattr(sys, "stderr", stream)
        with progress.reporting(True, "learned", 10) as tell:
            clock(3)
            tell(4)


@pytest.mark.parametrize("model", MODELS)
def test_every_long_method_says_how_far_it_is(model, at_once, capsys):
    # The first 4096 rows of a table wait for others, and are learned together.
    X, y = rows(model, 4500 if model.__name__.startswith("Table") else 1500)
    quiet, loud = model(20, random_state=0), model(20, random_state=0, verbose=True)
    for method in ("fit", "predict", "partial_fit", "prequential"):
        if not hasattr(loud, method):
            continue
        arguments = (X,) if method == "predict" else (X, y)
        expected = getattr(quiet, method)(*arguments)
        assert capsys.readouterr() == ("", "")
        found = getattr(loud, method)(*arguments)
        out, err = capsys.readouterr()
        assert out == ""
        *lines, last = err.splitlines()
        assert lines, method
        for line in lines:
            assert LINE.fullmatch(line), line
        assert re.fullmatch(r"greville: .* [\d,]+ rows in [\d.]+ s, [\d,]+ rows/s", last)
        if method in ("predict", "prequential"):
            np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(loud.predict(X), quiet.predict(X))


def test_a_stream_that_starts_with_many_rows(at_once, capsys):
    X, y = rows(ELMRegressor, 5000)
    model = ELMRegressor(20, random_state=0, verbose=True)
    model.partial_fit(X[:10], y[:10])
    capsys.readouterr()
    model.partial_fit(X[10:], y[10:])  # in new units, with those before again
    done = [int(n.replace(",", "")) for n in re.findall(r"learned ([\d,]+) of 4,990", _err(capsys))]
    assert done == sorted(done)
    assert done[0] == 0
    assert done[-1] < 4990


def _err(capsys):
    return capsys.readouterr().err


def test_solvers_that_take_all_rows_at_once(at_once, capsys):
    X, y = rows(ELMRegressor)
    ELMRegressor(20, Batch(), random_state=0, verbose=True).fit(X, y)
    assert "learned 1,500 rows in" in _err(capsys)


def test_an_error_leaves_the_model(at_once, capsys):
    X, y = rows(ELMRegressor)

    class Interrupted:
        """A transformer that is interrupted."""

        def fit(self, X, y=None):
            return self

        def get_params(self, deep=True):
            return {}

        def set_params(self):
            return self

        def transform(self, X):
            if len(X) > 1 and stop[0]:
                raise KeyboardInterrupt
            return X

    stop = [False]
    model = ELMRegressor(Interrupted(), Opium(), verbose=True).fit(X, y)
    before, seen = model.predict(X[:5]), model.n_samples_seen_
    capsys.readouterr()
    stop[0] = True
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X, y)
    stop[0] = False
    assert model.n_samples_seen_ == seen
    np.testing.assert_array_equal(model.predict(X[:5]), before)


@pytest.mark.parametrize("model", MODELS)
def test_it_is_a_parameter_that_files_do_not_have(model, tmp_path):
    assert list(inspect.signature(model).parameters)[-1] == "verbose"
    X, y = rows(model, 100)
    loud = model(20, verbose=2, random_state=0)
    assert clone(loud).verbose == loud.get_params()["verbose"] == 2
    assert model().verbose is False
    loud.fit(X, y)
    greville.save(loud, tmp_path / "loud.greville")
    greville.save(model(20, random_state=0).fit(X, y), tmp_path / "quiet.greville")
    assert (tmp_path / "loud.greville").read_bytes() == (tmp_path / "quiet.greville").read_bytes()
    loaded = greville.load(tmp_path / "loud.greville")
    assert loaded.verbose is False
    np.testing.assert_array_equal(loaded.predict(X), loud.predict(X))
