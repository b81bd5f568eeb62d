"""The kernels against plain NumPy."""

import numpy as np
import pytest

from greville import linalg

DTYPES = [np.float64, np.float32]


def digits(dtype):
    return 1e-12 if dtype == np.float64 else 1e-4


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order_a", "CF")
@pytest.mark.parametrize("order_b", "CF")
def test_matmul_takes_any_order(rng, dtype, order_a, order_b):
    A = np.array(rng.normal(size=(7, 4)), dtype, order=order_a)
    B = np.array(rng.normal(size=(4, 5)), dtype, order=order_b)
    product = linalg.matmul(A, B)
    assert product.dtype == dtype
    assert product.flags.c_contiguous
    np.testing.assert_allclose(product, A @ B, rtol=digits(dtype), atol=digits(dtype))
    np.testing.assert_allclose(linalg.matmul(A[::2, ::2], B[::2]), A[::2, ::2] @ B[::2], rtol=1e-4)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("M", "n"), [(1, 1), (5, 1), (5, 3), (40, 100), (130, 64)])
def test_append_rows_works_in_place(rng, dtype, M, n):
    H0, H = rng.normal(size=(M + 3, M)).astype(dtype), rng.normal(size=(n, M)).astype(dtype)
    Y0, Y = rng.normal(size=(M + 3, 2)).astype(dtype), rng.normal(size=(n, 2)).astype(dtype)
    both = linalg.triangularise(np.hstack([H0, Y0]))
    R, Z = np.asfortranarray(both[:M, :M]), np.asfortranarray(both[:M, M:])
    Y_before = Y.copy()
    left = linalg.append_rows(R, Z, H, Y)
    A, B = np.vstack([H0, H]).astype(float), np.vstack([Y0, Y]).astype(float)
    tol = digits(dtype) * np.linalg.norm(A) * np.linalg.norm(B)
    np.testing.assert_allclose(R.T @ R, A.T @ A, atol=tol)
    np.testing.assert_allclose(R.T @ Z, A.T @ B, atol=tol)
    np.testing.assert_array_equal(Y, Y_before)
    before = np.linalg.lstsq(H0.astype(float), Y0.astype(float))[0]
    after = np.linalg.lstsq(A, B)[0]
    grown = ((A @ after - B) ** 2).sum(0) - ((H0 @ before - Y0) ** 2).sum(0)
    np.testing.assert_allclose((left.astype(float) ** 2).sum(0), grown, atol=tol)


@pytest.mark.parametrize("M", [1, 6, 127, 128, 300])
def test_append_diagonal_is_appending_the_rows(rng, M):
    R = np.asfortranarray(np.triu(rng.normal(size=(M, M))) + 3 * np.eye(M))
    Z = np.asfortranarray(rng.normal(size=(M, 2)))
    R2, Z2 = R.copy(order="F"), Z.copy(order="F")
    left = linalg.append_diagonal(R, Z, 0.7, np.zeros_like(Z))
    left2 = linalg.append_rows(R2, Z2, 0.7 * np.eye(M), np.zeros((M, 2)))
    assert not np.tril(R, -1).any()
    np.testing.assert_allclose(R.T @ R, R2.T @ R2, atol=1e-10)
    np.testing.assert_allclose(R.T @ Z, R2.T @ Z2, atol=1e-10)
    np.testing.assert_allclose((left**2).sum(0), (left2**2).sum(0), atol=1e-10)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("units", [1.0, np.logspace(-6, 6, 8)])
def test_condition_does_not_mind_units(rng, dtype, units):
    U, _ = np.linalg.qr(rng.normal(size=(50, 8)))
    V, _ = np.linalg.qr(rng.normal(size=(8, 8)))
    for kappa in (1.0, 30.0, 1e3):
        H = U * np.logspace(0, -np.log10(kappa), 8) @ V.T
        H = (H / np.linalg.norm(H, axis=0) * units).astype(dtype)
        want = np.linalg.cond(H / np.linalg.norm(H, axis=0))
        got = linalg.condition(np.asfortranarray(linalg.triangularise(H.copy())[:8]))
        assert want / 2 < got < 1.01 * want


@pytest.mark.parametrize("dtype", DTYPES)
def test_roots_of_gram_matrices(rng, dtype):
    U, _ = np.linalg.qr(rng.normal(size=(50, 8)))
    V, _ = np.linalg.qr(rng.normal(size=(8, 8)))
    for kappa, safe in [(1.0, True), (30.0, True), (1e5, False), (1e9, False)]:
        H = (U * np.logspace(0, -np.log10(kappa), 8) @ V.T).astype(dtype)
        G = np.zeros((8, 8), dtype, order="F")
        linalg.add_gram(G, H)
        R = linalg.root_of_gram(G)
        assert (R is not None and linalg.gram_is_safe(R, dtype)) == safe
        if safe:
            np.testing.assert_allclose(R.T @ R, H.T @ H, atol=digits(dtype))
    assert linalg.root_of_gram(np.zeros((3, 3), dtype, order="F")) is None


def test_extend_basis_finds_what_is_new(rng):
    M = 12
    rows = rng.normal(size=(5, M))
    dependent = [rows.sum(0, keepdims=True), 1e-30 * rows]
    H = np.vstack([rows[:3], rows[0] - 2 * rows[2], np.zeros(M), rows[3:], *dependent])
    Q, T, new = linalg.extend_basis(np.empty((0, M)), H[:4], 1e-13)
    assert new.tolist() == [True, True, True, False]
    Q, T, new = linalg.extend_basis(Q, H[4:], 1e-13)
    assert new.tolist() == [False, True, True] + 6 * [False]
    np.testing.assert_allclose(Q @ Q.T, np.eye(5), atol=1e-14)
    np.testing.assert_allclose(T @ Q, H[4:], atol=1e-14)


def test_extend_basis_stays_orthonormal_for_nearly_dependent_rows(rng):
    M = 30
    base = rng.normal(size=M)
    H = base + 1e-9 * rng.normal(size=(M + 10, M))
    Q, T, new = linalg.extend_basis(np.empty((0, M)), H, 1e-14)
    assert new.sum() == M == len(Q)
    np.testing.assert_allclose(Q @ Q.T, np.eye(M), atol=1e-13)
    np.testing.assert_allclose(T @ Q, H, atol=1e-13)


@pytest.mark.parametrize("condition", [1.0, 1e6, 1e11])
def test_innovations_keep_their_digits(rng, condition):
    M, n = 20, 60
    R = np.asfortranarray(np.diag(np.logspace(0, -np.log10(condition), M)))
    H, Y = rng.normal(size=(n, M)), rng.normal(size=(n, 1))
    errors = linalg.innovations(R, np.zeros((M, 1)), H, Y)
    # A QR loses eps·κ of its rows, here those of R, from 1 to 1/condition, and H below them.
    digits_lost = 2 * np.finfo(float).eps * condition * np.linalg.norm(H, 2)
    for k in range(n):
        A = np.vstack([R, H[:k]])
        B = np.vstack([np.zeros((M, 1)), Y[:k]])
        W = np.linalg.lstsq(A, B, rcond=0)[0]
        scale = np.linalg.norm(H[k]) * np.linalg.norm(W) + abs(Y[k, 0])
        assert abs(errors[k] - (Y[k] - H[k] @ W)) < (digits_lost + 1e-11) * scale


def test_innovations_of_a_singular_root_say_so():
    R = np.asfortranarray(np.diag([1.0, 0.0]))
    assert linalg.innovations(R, np.zeros((2, 1)), np.ones((3, 2)), np.ones((3, 1))) is None


def test_minimum_norm_and_inverse_of_a_singular_root(rng):
    R = np.asfortranarray(np.triu(rng.normal(size=(6, 6))))
    R[2, 2] = 0.0
    Z = rng.normal(size=(6, 2))
    np.testing.assert_allclose(linalg.solve_minimum_norm(R, Z), np.linalg.pinv(R) @ Z, rtol=1e-10)
    np.testing.assert_allclose(linalg.inverse_of_root(R), np.linalg.pinv(R.T @ R), rtol=1e-8)


def test_svd_falls_back_to_the_safe_driver(monkeypatch, rng):
    real, drivers = linalg._scipy.svd, []

    def fragile(A, *, lapack_driver="gesdd", **options):
        drivers.append(lapack_driver)
        if lapack_driver == "gesdd":
            raise np.linalg.LinAlgError("SVD did not converge")
        return real(A, lapack_driver=lapack_driver, **options)

    monkeypatch.setattr(linalg._scipy, "svd", fragile)
    A = rng.normal(size=(5, 3))
    U, s, Vt = linalg.svd(A)
    np.testing.assert_allclose(U * s @ Vt, A)
    assert drivers == ["gesdd", "gesvd"]
