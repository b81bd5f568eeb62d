"""Slow and obvious answers to compare with, written from the paper. Nothing here imports greville.

Samples are rows: the paper's a_k is `a` (M,), y_k is `y` (N,), its W is W.T here.
"""

import numpy as np


def pseudoinverse_weights(H, Y, epsilon=0.0, weight=None):
    """Eq. (4) of [epsilon·I; H] by NumPy's SVD, with rows repeated by their weights."""
    H, Y = np.asarray(H, np.float64), np.asarray(Y, np.float64)
    if weight is not None:
        root = np.sqrt(np.asarray(weight, np.float64))[:, None]
        H, Y = root * H, root * Y
    if epsilon == 0:
        return np.linalg.pinv(H) @ Y
    M = H.shape[1]
    A = np.vstack([epsilon * np.eye(M), H])  # eqs. (23)-(24)
    B = np.vstack([np.zeros((M, Y.shape[1])), Y])
    return np.linalg.pinv(A, rcond=1e-17) @ B


def ridge_with_intercept(H, Y, epsilon, weight=None):
    """Eq. (4) of [epsilon·I; H] for rows and targets around their weighted means: W, intercept."""
    H, Y = np.asarray(H, np.float64), np.asarray(Y, np.float64)
    weight = np.ones(len(H)) if weight is None else np.asarray(weight, np.float64)
    if not weight.sum() > 0:
        return np.zeros((H.shape[1], Y.shape[1])), np.zeros(Y.shape[1])
    share = weight / weight.sum()
    row = H[0] + share @ (H - H[0])
    target = Y[0] + share @ (Y - Y[0])
    W = pseudoinverse_weights(H - row, Y - target, epsilon, weight)
    return W, target - row @ W


def fading_ridge(H, Y, epsilon, alpha, weight=None):
    """Rows that count (2 - alpha)^k after k more, and a ridge that is what it is now."""
    weight = np.ones(len(H)) if weight is None else np.asarray(weight, np.float64)
    counts = (2.0 - alpha) ** np.arange(len(H) - 1, -1, -1.0)
    return pseudoinverse_weights(H, Y, epsilon, weight * counts)


def greville_method(H, Y, tol=1e-10):
    """Eqs. (10)-(22) as printed: W after every row, and the error before it."""
    M, N = H.shape[1], Y.shape[1]
    W, theta, Phi = np.zeros((M, N)), np.zeros((M, M)), np.eye(M)
    after, errors = [], []
    for a, y in zip(H, Y, strict=True):
        c = Phi @ a  # (10), (19)
        if np.linalg.norm(c) <= tol * np.linalg.norm(a):
            b = theta @ a / (1 + a @ theta @ a)  # (12)
            theta = theta - np.outer(theta @ a, b)  # (15)
        else:
            b = c / (c @ c)  # (20)
            ta = theta @ a
            theta = theta - np.outer(ta, b) - np.outer(b, ta) + (1 + a @ ta) * np.outer(b, b)  # 22
            Phi = Phi - np.outer(c, b)  # (21)
        error = y - a @ W
        W = W + np.outer(b, error)  # (16)
        after.append(W)
        errors.append(error)
    return after, np.array(errors)


def opium(H, Y, epsilon, alpha=1.0):
    """Eqs. (12), (15), (16), or (31)-(33) for alpha > 1, as printed: W, theta, psi, errors.

    All in the precision of H.
    """
    (M, N), dtype = (H.shape[1], Y.shape[1]), np.result_type(H.dtype, np.float32)
    W, psi = np.zeros((M, N), dtype), np.zeros((N, M), dtype)  # (24)
    theta = np.eye(M, dtype=dtype) / epsilon**2  # (23)
    errors = []
    for a, y in zip(H, Y, strict=True):
        b = theta @ a / ((2 - alpha) / alpha + a @ theta @ a)  # (33)
        error = y - a @ W
        W = W + np.outer(b, error)  # (32)
        theta = (theta - np.outer(theta @ a, b)) / (2 - alpha)  # (31)
        psi = (2 - alpha) * psi + alpha * np.outer(y, a)  # (29)
        errors.append(error)
    return W, theta, psi, np.array(errors)


def opium_light(H, Y, gain, weight=None):
    """Eqs. (27)-(28) as printed; a weight multiplies the gain of its row."""
    W = np.zeros((H.shape[1], Y.shape[1]))
    errors = []
    weight = np.ones(len(H)) if weight is None else weight
    for a, y, w in zip(H, Y, weight, strict=True):
        error = y - a @ W
        if w > 0:
            W = W + np.outer(a / (1 / (gain * w) + a @ a), error)
        errors.append(error)
    return W, np.array(errors)


def forgetting_ridge(H, Y, epsilon, alpha, floor, events, weight=None):
    """Dynamic OPIUM with a floor: a ridge regression whose prior follows the weights.

    A row k rows ago counts (2 - alpha)^k, and so does the prior epsilon²/alpha. `events` are the
    period, share and pull of the floor: every so many rows, the rows floor·I join them with the
    targets pull·floor·W, counting the share. The floor may depend on the rows learned so far.
    """
    keep, (n, M) = 2 - alpha, H.shape
    period, share, pull = events
    weight = np.ones(n) if weight is None else weight
    A, B = np.eye(M) * epsilon / np.sqrt(alpha), np.zeros((M, Y.shape[1]))
    for start in range(0, n, period):
        rows = slice(start, min(n, start + period))
        length = rows.stop - rows.start
        root = np.sqrt(weight[rows] * keep ** np.arange(length - 1, -1, -1.0))[:, None]
        A = np.vstack([np.sqrt(keep**length) * A, root * H[rows]])
        B = np.vstack([np.sqrt(keep**length) * B, root * Y[rows]])
        if length == period and floor is not None:
            rho = floor(H[: rows.stop]) if callable(floor) else floor
            rho = rho * np.sqrt(share)
            W = np.linalg.lstsq(A, B, rcond=1e-17)[0]
            A, B = np.vstack([A, rho * np.eye(M)]), np.vstack([B, pull * rho * W])
        Q, A = np.linalg.qr(A)  # as many rows as there are weights say the same
        B = Q.T @ B
    return np.linalg.lstsq(A, B, rcond=1e-17)[0]


def relative_error(got, want):
    return np.linalg.norm(np.asarray(got, np.float64) - want) / np.linalg.norm(want)


def known_answer(rng, n, M, N, condition=1.0, rank=None):
    """H with singular values from 1 down to 1/condition, W of minimum norm, and Y with residuals.

    The residuals are orthogonal to the columns of H, so W is the exact least-squares solution.
    """
    rank = min(n, M) if rank is None else rank
    U, _ = np.linalg.qr(rng.normal(size=(n, n)))
    V, _ = np.linalg.qr(rng.normal(size=(M, M)))
    s = np.logspace(0, -np.log10(condition), rank)
    H = U[:, :rank] * s @ V[:, :rank].T
    W = V[:, :rank] @ rng.normal(size=(rank, N))
    residual = U[:, rank:] @ rng.normal(size=(n - rank, N))
    return H, W, H @ W + residual / condition


def nearest_probabilities(scores):
    """Each row's nearest point that is >= 0 and sums to one: probabilities before sharpness."""
    ordered = -np.sort(-scores, axis=1)
    excess = np.cumsum(ordered, axis=1) - 1
    count = np.arange(1, scores.shape[1] + 1)
    r = (ordered * count > excess).sum(axis=1)
    t = excess[np.arange(len(scores)), r - 1] / r
    return np.maximum(scores - t[:, None], 0)
