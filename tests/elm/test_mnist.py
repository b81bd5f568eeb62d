"""Real activations: MNIST through 1000 random units."""

import gzip

import numpy as np
import pytest

from greville import ELMClassifier, Opium, RandomLayer

from ..oracles import relative_error

pytestmark = pytest.mark.full

UNITS = 1000


@pytest.fixture(scope="module")
def digits(data_dir):
    def read(name, skip):
        with gzip.open(data_dir / "mnist" / name) as file:
            return np.frombuffer(file.read(), np.uint8, offset=skip)

    X = read("train-images-idx3-ubyte.gz", 16).reshape(-1, 784)[:10_000] / 255.0
    return X, read("train-labels-idx1-ubyte.gz", 8)[:10_000]


@pytest.fixture(scope="module")
def activations(digits):
    X, y = digits
    return RandomLayer(UNITS, random_state=0).fit_transform(X), np.eye(10)[y]


@pytest.fixture(scope="module")
def by_svd(activations):
    """The pseudoinverse solution of [epsilon·I; H], for 2,000 and for all rows."""
    H, Y = activations
    weights = {}
    for n in (2_000, 10_000):
        U, s, Vt = np.linalg.svd(np.vstack([1e-3 * np.eye(UNITS), H[:n]]), full_matrices=False)
        weights[n] = (Vt.T / s) @ (U[UNITS:].T @ Y[:n])
    return weights


@pytest.mark.parametrize(
    ("n", "length", "tol32"),
    [(2_000, 1, 1e-4), (10_000, 64, 1e-4), (10_000, 1000, 1e-3), (10_000, 10_000, 1e-3)],
)
def test_opium_is_the_svd_solution(activations, by_svd, n, length, tol32):
    H, Y = activations
    for dtype, tol in ((np.float64, 1e-11), (np.float32, tol32)):
        model, rows = Opium(1e-3), H.astype(dtype)
        for start in range(0, n, length):
            model.partial_fit(
                rows[start : min(n, start + length)], Y[start : min(n, start + length)]
            )
        assert relative_error(model.coef_.T, by_svd[n]) < tol


def test_a_digit_that_comes_late(digits):
    X, y = digits
    late = np.argsort(y == 7, kind="stable")  # all sevens at the end
    model, told = (ELMClassifier(UNITS, random_state=0) for _ in range(2))
    told.partial_fit(X[late[:1]], y[late[:1]], classes=range(10))
    model.partial_fit(X[late[:1]], y[late[:1]])
    for rows in np.array_split(late[1:], 4):
        model.partial_fit(X[rows], y[rows])
        told.partial_fit(X[rows], y[rows])
    assert relative_error(model.solver_.coef_, told.solver_.coef_) < 1e-10
