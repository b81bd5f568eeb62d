"""Functions of roots against plain NumPy."""

import numpy as np
import pytest

from greville import linalg

pytestmark = pytest.mark.everywhere

DTYPES = [np.float64, np.float32]


@pytest.mark.parametrize("dtype", DTYPES)
def test_gram_matrices_lose_digits(rng, backend, dtype):
    b = backend
    U, _ = np.linalg.qr(rng.normal(size=(50, 8)))
    V, _ = np.linalg.qr(rng.normal(size=(8, 8)))
    for kappa, safe in [(1.0, True), (30.0, True), (1e5, False), (1e9, False)]:
        H = (U * np.logspace(0, -np.log10(kappa), 8) @ V.T).astype(dtype)
        R = b.cholesky(b.add_gram(b.zeros((8, 8), dtype), b.asarray(H)))
        assert (R is not None and linalg.gram_is_safe(b, R, dtype)) == safe


def test_extend_basis_finds_what_is_new(rng, backend):
    b, M = backend, 12
    rows = rng.normal(size=(5, M))
    dependent = [rows.sum(0, keepdims=True), 1e-30 * rows]
    H = np.vstack([rows[:3], rows[0] - 2 * rows[2], np.zeros(M), rows[3:], *dependent])
    Q, T, new = linalg.extend_basis(b, b.zeros((0, M), np.float64), b.asarray(H[:4]), 1e-13)
    assert new.tolist() == [True, True, True, False]
    Q, T, new = linalg.extend_basis(b, Q, b.asarray(H[4:]), 1e-13)
    assert new.tolist() == [False, True, True] + 6 * [False]
    Q, T = b.to_numpy(Q), b.to_numpy(T)
    np.testing.assert_allclose(Q @ Q.T, np.eye(5), atol=1e-14)
    np.testing.assert_allclose(T @ Q, H[4:], atol=1e-14)


def test_extend_basis_stays_orthonormal_for_nearly_dependent_rows(rng, backend):
    b, M = backend, 30
    base = rng.normal(size=M)
    H = base + 1e-9 * rng.normal(size=(M + 10, M))
    Q, T, new = linalg.extend_basis(b, b.zeros((0, M), np.float64), b.asarray(H), 1e-14)
    Q, T = b.to_numpy(Q), b.to_numpy(T)
    assert new.sum() == M == len(Q)
    np.testing.assert_allclose(Q @ Q.T, np.eye(M), atol=1e-13)
    np.testing.assert_allclose(T @ Q, H, atol=1e-13)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_extend_basis_takes_rows_together_and_copies_one_by_one(rng, backend, dtype):
    b, M = backend, 400
    H = rng.normal(size=(90, M)) + 3 * rng.normal(size=M)  # much alike
    H[[20, 50, 89]] = H[[3, 21, 88]]
    H[60] = H[10] + 1e-2 * H[60]
    H = H.astype(dtype)
    Q, T = b.zeros((0, M), dtype), []
    for part in (slice(0, 30), slice(30, 90)):
        Q, t, new = linalg.extend_basis(b, Q, b.asarray(H[part]), 1e-4)
        assert new.tolist() == [i not in (20, 50, 89) for i in range(90)[part]]
        T.append(b.to_numpy(t))
    Q, digits = b.to_numpy(Q), 50 * np.finfo(dtype).eps
    T = np.vstack([np.pad(t, ((0, 0), (0, len(Q) - t.shape[1]))) for t in T])
    np.testing.assert_allclose(Q @ Q.T, np.eye(87), atol=digits)
    np.testing.assert_allclose(T @ Q, H, atol=10 * digits)


@pytest.mark.parametrize("condition", [1.0, 1e6, 1e11])
def test_innovations_keep_their_digits(rng, backend, condition):
    b, M, n = backend, 20, 60
    R = np.asfortranarray(np.diag(np.logspace(0, -np.log10(condition), M)))
    H, Y = rng.normal(size=(n, M)), rng.normal(size=(n, 1))
    arrays = [b.asarray(A) for A in (R, np.zeros((M, 1)), H, Y)]
    errors = b.to_numpy(linalg.innovations(b, *arrays))
    # A QR loses eps·κ of its rows, here those of R, from 1 to 1/condition, and H below them.
    digits_lost = 2 * np.finfo(float).eps * condition * np.linalg.norm(H, 2)
    for k in range(n):
        A = np.vstack([R, H[:k]])
        B = np.vstack([np.zeros((M, 1)), Y[:k]])
        W = np.linalg.lstsq(A, B, rcond=0)[0]
        scale = np.linalg.norm(H[k]) * np.linalg.norm(W) + abs(Y[k, 0])
        assert abs(errors[k] - (Y[k] - H[k] @ W)) < (digits_lost + 1e-11) * scale


def test_innovations_of_a_singular_root_say_so(backend):
    arrays = np.diag([1.0, 0.0]), np.zeros((2, 1)), np.ones((3, 2)), np.ones((3, 1))
    assert linalg.innovations(backend, *map(backend.asarray, arrays)) is None


def test_weights_of_a_singular_root_have_minimum_norm(rng, backend):
    b, R = backend, np.asfortranarray(np.triu(rng.normal(size=(6, 6))))
    R[2, 2] = 0.0
    Z = rng.normal(size=(6, 2))
    W = b.to_numpy(linalg.solve_weights(b, b.asarray(R), b.asarray(Z)))
    np.testing.assert_allclose(W, np.linalg.pinv(R) @ Z, rtol=1e-10)


@pytest.mark.parametrize("n", [1, 5])
def test_rows_that_are_removed(rng, backend, n):
    b = backend
    H, Y = rng.normal(size=(30, 6)), rng.normal(size=(30, 2))
    both = b.triangularise(b.asarray(np.hstack([H, Y])))
    rows = b.asarray(H[:n]), b.asarray(Y[:n])
    R, Z = map(b.to_numpy, linalg.remove_rows(b, both[:6, :6], both[:6, 6:], *rows))
    np.testing.assert_allclose(R.T @ R, H[n:].T @ H[n:], atol=1e-12)
    np.testing.assert_allclose(R.T @ Z, H[n:].T @ Y[n:], atol=1e-12)
    assert linalg.remove_rows(b, both[:6, :6], both[:6, 6:], 9 * rows[0], rows[1]) is None
    R, Z = map(b.to_numpy, linalg.remove_diagonal(b, both[:6, :6], both[:6, 6:], 0.5))
    np.testing.assert_allclose(R.T @ R, H.T @ H - 0.25 * np.eye(6), atol=1e-12)
    np.testing.assert_allclose(R.T @ Z, H.T @ Y, atol=1e-12)
    assert linalg.remove_diagonal(b, both[:6, :6], both[:6, 6:], 100.0) is None


def test_rows_that_come_and_go(rng, backend):
    b, signs = backend, np.array([1.0, -1.0, 1.0])
    H, Y, more = rng.normal(size=(30, 6)), rng.normal(size=(30, 2)), rng.normal(size=(2, 6))
    both = b.triangularise(b.asarray(np.hstack([H, Y])))
    R, Z = both[:6, :6], both[:6, 6:]
    rows, targets = np.array([more[0], H[3], more[1]]), np.array([[1.0, 2], Y[3], [3, 4]])
    W = linalg.solve_weights(b, R, Z)
    args = b, R, W, b.asarray(rows), b.asarray(targets), signs, b.condition(R)
    kept, left = np.delete(H, 3, 0), np.delete(Y, 3, 0)
    errors = b.to_numpy(linalg.signed_innovations(*args))
    before = np.linalg.lstsq(np.vstack([kept, more[:1]]), np.vstack([left, targets[:1]]))[0]
    np.testing.assert_allclose(errors[2], targets[2] - more[1] @ before, rtol=1e-9)
    assert linalg.signed_is_safe(b, R)


def test_ridges_by_singular_values(rng, backend):
    b = backend
    H, Y = rng.normal(size=(9, 4)), rng.normal(size=(9, 2))
    W = b.to_numpy(linalg.ridge_by_svd(b, b.asarray(H), b.asarray(Y), 0.5))
    np.testing.assert_allclose(W, np.linalg.solve(H.T @ H + 0.25 * np.eye(4), H.T @ Y), rtol=1e-9)
    np.testing.assert_allclose(
        linalg.leverages(b, b.triangularise(b.asarray(H.copy())), b.asarray(H)),
        np.diag(H @ np.linalg.pinv(H)),
        rtol=1e-9,
    )
