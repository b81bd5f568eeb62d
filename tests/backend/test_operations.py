"""The operations of both backends against plain NumPy."""

import pickle

import numpy as np
import pytest

from greville import backend as backends
from greville import threads
from greville.backend import scipy

from ..backends import EVERYWHERE

DTYPES = [np.float64, np.float32]


@pytest.fixture(params=EVERYWHERE)
def b(request):
    return backends.get(request.param)


def digits(dtype):
    return 1e-12 if dtype == np.float64 else 1e-4


def root_of(rng, M, dtype=np.float64):
    return np.asfortranarray(np.triu(rng.normal(size=(M, M))) + 3 * np.eye(M), dtype=dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order_a", "CF")
@pytest.mark.parametrize("order_b", "CF")
def test_matmul_takes_any_order(rng, b, dtype, order_a, order_b):
    A = np.array(rng.normal(size=(7, 4)), dtype, order=order_a)
    B = np.array(rng.normal(size=(4, 5)), dtype, order=order_b)
    for left, right in ((A, B), (A[::2, ::2], B[::2]), (A, B[:, :1]), (A[:1], B), (A[:0], B)):
        product = b.to_numpy(b.matmul(b.asarray(left), b.asarray(right)))
        assert product.dtype == dtype
        np.testing.assert_allclose(product, left @ right, rtol=1e-4, atol=digits(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("M", "n"), [(1, 1), (5, 1), (5, 3), (40, 100), (130, 64)])
def test_append_rows(rng, b, dtype, M, n):
    H0, H = rng.normal(size=(M + 3, M)).astype(dtype), rng.normal(size=(n, M)).astype(dtype)
    Y0, Y = rng.normal(size=(M + 3, 2)).astype(dtype), rng.normal(size=(n, 2)).astype(dtype)
    both = b.triangularise(b.asarray(np.hstack([H0, Y0])))
    given = [both[:M, :M], both[:M, M:], b.asarray(H), b.asarray(Y)]
    before = [b.to_numpy(A).copy() for A in given]
    R, Z, loss = b.append_rows(*given)
    for A, copied in zip(given, before, strict=True):
        np.testing.assert_array_equal(b.to_numpy(A), copied)
    R, Z = b.to_numpy(R), b.to_numpy(Z)
    A, B = np.vstack([H0, H]).astype(float), np.vstack([Y0, Y]).astype(float)
    tol = digits(dtype) * np.linalg.norm(A) * np.linalg.norm(B)
    assert not np.tril(R, -1).any()
    np.testing.assert_allclose(R.T @ R, A.T @ A, atol=tol)
    np.testing.assert_allclose(R.T @ Z, A.T @ B, atol=tol)
    first = np.linalg.lstsq(H0.astype(float), Y0.astype(float))[0]
    after = np.linalg.lstsq(A, B)[0]
    grown = ((A @ after - B) ** 2).sum(0) - ((H0 @ first - Y0) ** 2).sum(0)
    np.testing.assert_allclose(loss, grown, atol=tol)


@pytest.mark.parametrize("M", [1, 6, 127, 128, 300])
@pytest.mark.parametrize("with_targets", [False, True])
def test_append_diagonal_is_appending_the_rows(rng, b, M, with_targets):
    R, Z = b.asarray(root_of(rng, M)), b.asarray(rng.normal(size=(M, 2)))
    targets = b.asarray(rng.normal(size=(M, 2)) * with_targets)
    R1, Z1, left1 = b.append_diagonal(R, Z, 0.7, targets)
    R2, Z2, left2 = b.append_rows(R, Z, b.asarray(0.7 * np.eye(M)), targets)
    R1, Z1, R2, Z2 = map(b.to_numpy, (R1, Z1, R2, Z2))
    assert not np.tril(R1, -1).any()
    np.testing.assert_allclose(R1.T @ R1, R2.T @ R2, atol=1e-9)
    np.testing.assert_allclose(R1.T @ Z1, R2.T @ Z2, atol=1e-9)
    np.testing.assert_allclose(left1, left2, atol=1e-9)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("units", [1.0, np.logspace(-6, 6, 8)])
def test_condition_does_not_mind_units(rng, b, dtype, units):
    U, _ = np.linalg.qr(rng.normal(size=(50, 8)))
    V, _ = np.linalg.qr(rng.normal(size=(8, 8)))
    for kappa in (1.0, 30.0, 1e3):
        H = U * np.logspace(0, -np.log10(kappa), 8) @ V.T
        H = (H / np.linalg.norm(H, axis=0) * units).astype(dtype)
        want = np.linalg.cond(H / np.linalg.norm(H, axis=0))
        got = b.condition(b.triangularise(b.asarray(H.copy())))
        assert want / 2 < got < 1.01 * want


@pytest.mark.parametrize("dtype", DTYPES)
def test_gram_matrices_and_their_roots(rng, b, dtype):
    H = rng.normal(size=(50, 8)).astype(dtype)
    G = b.add_gram(b.zeros((8, 8), dtype), b.asarray(H))
    np.testing.assert_allclose(np.triu(b.to_numpy(G)), np.triu(H.T @ H), atol=1e2 * digits(dtype))
    less = b.add_gram(b.add_ridge(G, 2.0), b.asarray(H[:20]), -1.0)
    want = H[20:].T @ H[20:] + 2 * np.eye(8)
    np.testing.assert_allclose(np.triu(b.to_numpy(less)), np.triu(want), atol=1e2 * digits(dtype))
    R = b.to_numpy(b.cholesky(b.add_ridge(less, 0.0)))
    np.testing.assert_allclose(R.T @ R, want, atol=1e2 * digits(dtype))
    again = np.triu(b.to_numpy(b.gram_of_root(b.asarray(R))))
    np.testing.assert_allclose(again, np.triu(want), atol=1e2 * digits(dtype))
    assert b.cholesky(b.zeros((3, 3), dtype)) is None
    assert b.cholesky(b.asarray(np.full((3, 3), np.nan, dtype))) is None
    G = b.add_gram(b.zeros((5, 5), dtype), b.asarray(H.T[:5].copy().T))
    np.testing.assert_allclose(
        np.triu(b.to_numpy(G)), np.triu(H[:, :5].T @ H[:, :5]), atol=1e2 * digits(dtype)
    )


def test_roots_of_usual_size_are_made_on_one_thread(rng, monkeypatch):
    inside, routine = [], scipy._lapack.dpotrf

    def spy(*args, **options):
        inside.append([pool.num_threads for pool in threads._pools()])
        return routine(*args, **options)

    monkeypatch.setattr(scipy._lapack, "dpotrf", spy)
    scipy.ScipyBackend().cholesky(np.asfortranarray(np.eye(300)))
    assert inside == [[1] * len(threads._pools())]


def test_a_root_with_a_ridge_and_memory_to_spare(rng, b):
    H = rng.normal(size=(20, 6))
    G = b.add_gram(b.zeros((6, 6), np.float64), b.asarray(H))
    before = b.to_numpy(G).copy()
    want = H.T @ H + 0.5 * np.eye(6)
    for spare in (None, b.zeros((6, 6), np.float64)):
        R = b.to_numpy(b.root_with_ridge(G, 0.5, spare))
        np.testing.assert_allclose(R.T @ R, want, atol=1e-12)
        assert not np.tril(R, -1).any()
    assert np.array_equal(b.to_numpy(G), before)
    assert b.root_with_ridge(G, -1e3) is None
    R = b.to_numpy(b.root_with_ridge(G, 0.5, G))
    np.testing.assert_allclose(R.T @ R, want, atol=1e-12)


def test_triangular_systems(rng, b):
    R, B = root_of(rng, 6), rng.normal(size=(6, 2))
    solved = b.to_numpy(b.solve(b.asarray(R), b.asarray(B)))
    np.testing.assert_allclose(R @ solved, B, atol=1e-12)
    solved = b.to_numpy(b.solve(b.asarray(R), b.asarray(B), transposed=True))
    np.testing.assert_allclose(R.T @ solved, B, atol=1e-12)
    unit = R - np.diag(np.diag(R)) + np.eye(6)
    solved = b.to_numpy(b.solve(b.asarray(R), b.asarray(B), transposed=True, unit=True))
    np.testing.assert_allclose(unit.T @ solved, B, atol=1e-12)
    R[2, 2] = 0.0
    assert not np.isfinite(b.to_numpy(b.solve(b.asarray(R), b.asarray(B)))).all()


def test_singular_values(rng, b):
    R = root_of(rng, 6)
    smallest = np.linalg.svd(R, compute_uv=False)[-1]
    assert smallest / 1.01 < b.smallest_singular_value(b.asarray(R)) < 2 * smallest
    assert b.smallest_singular_value(b.zeros((0, 0), np.float64)) == np.inf
    A = rng.normal(size=(5, 3))
    U, s, Vt = map(b.to_numpy, b.svd(b.asarray(A)))
    np.testing.assert_allclose(U * s @ Vt, A)
    Q = scipy.orthogonal(rng.normal(size=(5, 5)))
    np.testing.assert_allclose(Q @ Q.T, np.eye(5), atol=1e-13)


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e9])
def test_the_root_of_a_sum(rng, b, size):
    F = size * rng.normal(size=(4, 7))
    Lt = b.to_numpy(b.root_of_identity_plus(b.asarray(F.T.copy(order="F"))))
    np.testing.assert_allclose(Lt.T @ Lt, np.eye(4) + F @ F.T, rtol=1e-9)


def test_sums(rng, b):
    A = rng.normal(size=(6, 3))
    np.testing.assert_allclose(b.column_squares(b.asarray(A)), (A**2).sum(0))
    np.testing.assert_allclose(b.row_squares(b.asarray(A)), (A**2).sum(1))
    sums = b.to_numpy(b.running_sums(b.asarray(A)))
    np.testing.assert_allclose(sums, np.vstack([np.zeros(3), A.cumsum(0)]))


def test_backends_are_values(b):
    assert pickle.loads(pickle.dumps(b)) is b
    assert b.name in backends.names() or b.name.startswith("torch:")
    with pytest.raises(ValueError, match="backend='abacus'"):
        backends.get("abacus")


def test_svd_falls_back_to_the_safe_driver(monkeypatch, rng):
    from greville.backend import scipy as tuned

    real, drivers = tuned._scipy.svd, []

    def fragile(A, *, lapack_driver="gesdd", **options):
        drivers.append(lapack_driver)
        if lapack_driver == "gesdd":
            raise np.linalg.LinAlgError("SVD did not converge")
        return real(A, lapack_driver=lapack_driver, **options)

    monkeypatch.setattr(tuned._scipy, "svd", fragile)
    A = rng.normal(size=(5, 3))
    U, s, Vt = tuned.ScipyBackend().svd(A)
    np.testing.assert_allclose(U * s @ Vt, A)
    assert drivers == ["gesdd", "gesvd"]
