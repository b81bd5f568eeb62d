"""One table of solvers, each against its oracle, over shapes, cuts, weights and dtypes."""

import sys
from dataclasses import dataclass
from threading import Thread
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from greville import Batch, DynamicOpium, Greville, Opium, OpiumLight
from greville.solvers import _gram

from .. import oracles
from ..children import LIMIT
from ..every_pair import quick_first
from ..oracles import relative_error
from ..problems import learned, problem
from .floors import observed


@dataclass
class Case:
    """A solver and what it should give: weights from (H, Y, weight), errors from (H, Y)."""

    solver: Any
    weights: Any
    errors: Any = None

    def __repr__(self):
        return repr(self.solver).replace(" ", "")


def fading(alpha, epsilon, floor):
    def weights(H, Y, weight=None):
        events = observed(alpha, H.shape[1])
        return oracles.forgetting_ridge(H, Y, epsilon, alpha, floor, events, weight)

    return weights


ONLINE = [
    Case(
        Greville(),
        lambda H, Y, w=None: oracles.pseudoinverse_weights(H, Y, 0.0, w),
        lambda H, Y: oracles.greville_method(H, Y)[1],
    ),
    Case(
        Opium(0),
        lambda H, Y, w=None: oracles.pseudoinverse_weights(H, Y, 0.0, w),
        lambda H, Y: oracles.greville_method(H, Y)[1],
    ),
    Case(
        Opium(0.3),
        lambda H, Y, w=None: oracles.pseudoinverse_weights(H, Y, 0.3, w),
        lambda H, Y: oracles.opium(H, Y, 0.3)[3],
    ),
    Case(
        OpiumLight(0.7),
        lambda H, Y, w=None: oracles.opium_light(H, Y, 0.7, w)[0],
        lambda H, Y: oracles.opium_light(H, Y, 0.7)[1],
    ),
    Case(
        DynamicOpium(1.003, 0.3, None),
        fading(1.003, 0.3, 0.0),
        lambda H, Y: oracles.opium(H, Y, 0.3, 1.003)[3],
    ),
    Case(
        DynamicOpium(1.05, 2.0, None),
        fading(1.05, 2.0, 0.0),
        lambda H, Y: oracles.opium(H, Y, 2.0, 1.05)[3],
    ),
    Case(DynamicOpium(1.05, 0.3, 0.5), fading(1.05, 0.3, 0.5)),
    Case(DynamicOpium(1.4, 1.0, 0.8), fading(1.4, 1.0, 0.8)),
    Case(
        DynamicOpium(1.0, 0.3, 5.0),
        lambda H, Y, w=None: oracles.pseudoinverse_weights(H, Y, 0.3, w),
        lambda H, Y: oracles.opium(H, Y, 0.3)[3],
    ),
]


BATCH = [
    Case(Batch(), lambda H, Y, w=None: oracles.pseudoinverse_weights(H, Y, 0.0, w)),
    Case(Batch(0.3), lambda H, Y, w=None: oracles.pseudoinverse_weights(H, Y, 0.3, w)),
]


ALL = ONLINE + BATCH


SHAPES = quick_first(
    [(1, 1), (5, 6), (6, 6), (40, 6), (30, 60), (700, 33)], [(1, 6), (7, 6), (300, 20)]
)


@pytest.mark.everywhere
@pytest.mark.parametrize("case", ALL, ids=repr)
@pytest.mark.parametrize(("n", "M"), SHAPES)
def test_fit_gives_the_oracles_weights(rng, case, n, M):
    H, Y = problem(rng, n, M)
    model = clone(case.solver).fit(H, Y)
    assert model.coef_.shape == (2, M)
    assert model.n_samples_seen_ == n
    assert relative_error(model.coef_.T, case.weights(H, Y)) < 1e-10
    np.testing.assert_allclose(model.predict(H), H @ model.coef_.T, atol=1e-12)


@pytest.mark.everywhere
@pytest.mark.parametrize("case", ONLINE, ids=repr)
@given(data=st.data())
@settings(max_examples=6, deadline=None, derandomize=True)
def test_cutting_changes_nothing(case, data):
    n, M = data.draw(st.integers(1, 400)), data.draw(st.integers(1, 30))
    cuts = sorted(data.draw(st.lists(st.integers(0, n), max_size=8)))
    H, Y = problem(np.random.default_rng(data.draw(st.integers(0, 99))), n, M)
    whole = clone(case.solver).fit(H, Y)
    assert relative_error(learned(case.solver, H, Y, cuts).coef_, whole.coef_) < 1e-9
    assert relative_error(whole.coef_.T, case.weights(H, Y)) < 1e-9


@pytest.mark.parametrize("case", ONLINE, ids=repr)
@pytest.mark.parametrize("length", quick_first([7], [1, 200]))
def test_a_read_between_chunks_changes_nothing(rng, case, length):
    H, Y = problem(rng, 210, 12)
    model = clone(case.solver)
    for start in range(0, 210, length):
        model.partial_fit(H[start : start + length], Y[start : start + length])
        model.predict(H[:1])
    assert relative_error(model.coef_.T, case.weights(H, Y)) < 1e-10


@pytest.mark.everywhere
@pytest.mark.parametrize("case", ALL, ids=repr)
def test_sample_weight(rng, case):
    H, Y = problem(rng, 150, 8)
    weight = rng.integers(0, 4, size=150).astype(float)
    want = case.weights(H, Y, weight)
    fitted = clone(case.solver).fit(H, Y, sample_weight=weight)
    assert relative_error(fitted.coef_.T, want) < 1e-10
    if case in ONLINE:
        model = learned(case.solver, H, Y, [3, 40, 50], weight)
        assert relative_error(model.coef_.T, want) < 1e-10


@pytest.mark.parametrize("case", [ALL[0], ALL[2], *BATCH], ids=repr)
def test_weight_two_is_the_row_twice(rng, case):
    H, Y = problem(rng, 60, 8)
    weight = rng.integers(0, 3, size=60)
    repeated = clone(case.solver).fit(np.repeat(H, weight, axis=0), np.repeat(Y, weight, axis=0))
    weighted = clone(case.solver).fit(H, Y, sample_weight=weight)
    assert relative_error(weighted.coef_, repeated.coef_) < 1e-11


@pytest.mark.everywhere
@pytest.mark.parametrize("case", ONLINE, ids=repr)
@pytest.mark.parametrize("n", [1, 20, 140])
def test_prequential_is_the_loop(rng, case, n):
    H, Y = problem(rng, 40 + n, 25)
    weight = rng.integers(0, 3, size=40 + n).astype(float)
    weight[0] = 1
    for w in (None, weight):
        record, loop = (learned(case.solver, H[:40], Y[:40], [], w) for _ in range(2))
        predicted = record.prequential(H[40:], Y[40:], None if w is None else w[40:])
        slowly = np.empty((n, 2))
        for k in range(n):
            row = slice(40 + k, 41 + k)
            slowly[k] = loop.predict(H[row])[0]
            loop.partial_fit(H[row], Y[row], sample_weight=None if w is None else w[row])
        assert relative_error(predicted, slowly) < 1e-9
        assert relative_error(record.coef_, loop.coef_) < 1e-9
        assert record.n_samples_seen_ == 40 + n


@pytest.mark.everywhere
@pytest.mark.parametrize("case", [c for c in ONLINE if c.errors], ids=repr)
@pytest.mark.parametrize(("n", "M"), [(1, 5), (5, 5), (200, 5), (300, 40), (30, 60)])
def test_prequential_is_the_printed_recursion(rng, case, n, M):
    H, Y = problem(rng, n, M)
    predicted = clone(case.solver).prequential(H, Y)
    assert relative_error(Y - predicted, case.errors(H, Y)) < 1e-9


@pytest.mark.everywhere
@pytest.mark.parametrize("alpha", [1.0, 1.003, 1.2])
def test_theta_and_psi_are_the_papers(rng, alpha):
    H, Y = problem(rng, 60, 7)
    solver = DynamicOpium(alpha, 0.5, None) if alpha > 1 else Opium(0.5)
    W, theta, psi, _ = oracles.opium(H, Y, 0.5, alpha)
    counts = alpha * (2 - alpha) ** np.arange(59, -1, -1.0)[:, None]
    gram = (counts * H).T @ H + (2 - alpha) ** 60 * 0.25 * np.eye(7)
    # The recursion multiplies its rounding errors by 1/(2 - alpha) with every row; ours does not.
    printed = 1e3 * np.finfo(float).eps * (2 - alpha) ** -60
    before = clone(solver).partial_fit(H[:50], Y[:50])
    for model in (clone(solver).fit(H, Y), before.partial_fit(H[50:], Y[50:])):
        assert relative_error(model.theta_, np.linalg.inv(gram)) < 1e-12
        assert relative_error(model.theta_, theta) < printed
        assert relative_error(model.psi_, psi) < 1e-12
        assert relative_error(model.psi_ @ model.theta_, W.T) < printed  # eq. (25)


def squared_condition(solver, H, Y):
    """κ² of the rows and the prior: what a Gram matrix, or a prior in R, multiplies eps by.

    A floor pulls towards the weights of earlier rows, and has their errors: the worst κ² counts.
    """
    model, worst = clone(solver), 0.0
    if not isinstance(model, DynamicOpium | Greville | Opium):
        return np.linalg.cond(H) ** 2
    step = 1 if getattr(model, "floor", None) else len(H)
    for start in range(0, len(H), step):
        model.partial_fit(H[start : start + step], Y[start : start + step])
        s = np.linalg.svd(model.theta_, compute_uv=False)
        worst = max(worst, s[0] / s[s > 1e-12 * s[0]][-1])
    return worst


@pytest.mark.everywhere
@pytest.mark.parametrize("case", ALL, ids=repr)
@pytest.mark.parametrize(("n", "M"), quick_first([(40, 6), (30, 60)], [(5, 6), (300, 20)]))
def test_float32_stays_float32(rng, case, n, M):
    H, Y = (a.astype(np.float32) for a in problem(rng, n, M))
    want = case.weights(H.astype(float), Y.astype(float))
    kappa2 = squared_condition(case.solver, H.astype(float), Y.astype(float))
    models = [clone(case.solver).fit(H, Y)]
    if case in ONLINE:
        models.append(learned(case.solver, H, Y, range(0, n, 9)))
        assert models[1].prequential(H, Y).dtype == np.float32
        models[1] = learned(case.solver, H, Y, range(0, n, 9))
    for model in models:
        assert model.coef_.dtype == np.float32
        assert model.predict(H).dtype == np.float32
        assert model.predict(H.astype(float)).dtype == np.float32
        assert relative_error(model.coef_.T, want) < 10 * np.finfo(np.float32).eps * kappa2


def test_other_dtypes_become_float64(rng):
    H, Y = rng.integers(0, 5, size=(30, 4)), rng.integers(0, 5, size=30)
    for kind in (int, np.int8, bool, object, np.float16):
        model = Opium(1.0).fit(H.astype(kind), Y)
        assert model.coef_.dtype == np.float64
        want = oracles.pseudoinverse_weights(H.astype(kind), Y[:, None], 1.0)
        assert relative_error(model.coef_[:, None], want) < 1e-12


def test_targets_keep_their_shape(rng):
    H, Y = problem(rng, 30, 4, 1)
    flat = Opium().fit(H, Y[:, 0])
    tall = Opium().fit(H, Y)
    assert flat.coef_.shape == (4,)
    assert flat.psi_.shape == (4,)
    assert flat.predict(H).shape == (30,)
    assert flat.prequential(H, Y[:, 0]).shape == (30,)
    assert tall.coef_.shape == (1, 4)
    assert tall.predict(H).shape == (30, 1)
    assert tall.prequential(H, Y).shape == (30, 1)


@pytest.mark.everywhere
@pytest.mark.parametrize("case", ALL, ids=repr)
def test_input_is_left_alone(rng, case):
    H, Y = problem(rng, 200, 10)
    H.flags.writeable = Y.flags.writeable = False
    want = clone(case.solver).fit(H, Y).coef_
    for h, y in [
        (np.asfortranarray(H), np.asfortranarray(Y)),
        (np.repeat(H, 2, axis=1)[:, ::2], np.repeat(Y, 2, axis=0)[::2]),
        (H[::-1][::-1], Y.tolist()),
    ]:
        h_before = h.copy()
        model = clone(case.solver).fit(h, y)
        assert relative_error(model.coef_, want) < 1e-13
        if case in ONLINE:
            model.partial_fit(h[:5], y[:5])
            model.prequential(h, y)
        np.testing.assert_array_equal(h, h_before)


def test_rows_given_and_changed_afterwards_were_learned_as_given(rng):
    H, Y = problem(rng, 20, 5)
    model, want = Opium(), Opium().fit(H, Y).coef_
    buffer = np.empty((1, 5))
    for k in range(20):
        buffer[:] = H[k]
        model.partial_fit(buffer, Y[k : k + 1])
    np.testing.assert_allclose(model.coef_, want, rtol=1e-12)


@pytest.mark.full
@pytest.mark.everywhere
@pytest.mark.parametrize("case", ONLINE, ids=repr)
def test_where_the_gram_fails_qr_takes_over(rng, monkeypatch, case):
    monkeypatch.setattr(_gram, "sums_by_gram", lambda *args: None)
    H, Y = problem(rng, 900, 30)
    for cuts in ([], [200], [450]):
        assert relative_error(learned(case.solver, H, Y, cuts).coef_.T, case.weights(H, Y)) < 1e-10


def test_pending_rows_are_few(rng):
    H, Y = problem(rng, 1000, 5)
    model = Opium()
    for k in range(1000):
        model.partial_fit(H[k : k + 1], Y[k : k + 1])
        assert model.fitted_.n_pending < model.fitted_.shape.backend.tuning.pending_rows


@pytest.mark.everywhere
@pytest.mark.parametrize(
    "solver", [Greville(), Opium(0), Opium(0.1), DynamicOpium(1.1, 0)], ids=repr
)
def test_rows_of_weight_zero_are_only_predicted(solver):
    record = clone(solver)
    predicted = record.prequential(np.eye(2), [1.0, 1.0], sample_weight=[1, 0])
    np.testing.assert_allclose(predicted, [0, 0], atol=1e-14)
    want = clone(solver).partial_fit(np.eye(2), [1.0, 1.0], sample_weight=[1, 0]).coef_
    np.testing.assert_allclose(record.coef_, want, atol=1e-14)
    assert want[1] == 0


@pytest.mark.everywhere
@pytest.mark.parametrize(
    ("solver", "epsilon"), [(Greville(), 0.0), (Opium(0.3), 0.3), (Opium(1e-7), 1e-7)], ids=repr
)
@pytest.mark.parametrize(("n", "M"), [(6, 20), (60, 20), (300, 20)])
def test_the_loss_is_what_is_minimised(rng, solver, epsilon, n, M):
    H, Y = problem(rng, n, M)
    for model in (clone(solver).fit(H, Y), learned(solver, H, Y, range(0, n, 5))):
        W = model.coef_.T
        want = ((Y - H @ W) ** 2).sum(0) + epsilon**2 * (W**2).sum(0)
        np.testing.assert_allclose(model.loss_, want, rtol=1e-9, atol=1e-9)
    assert isinstance(clone(solver).fit(H, Y[:, 0]).loss_, float)


def test_predicting_in_threads_loses_and_doubles_nothing(rng):
    H, Y = rng.normal(size=(100, 60)), rng.normal(size=100)
    want, interval = Opium(1.0).fit(H, Y).coef_, sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(30):
            model = Opium(1.0).partial_fit(H, Y)
            threads = [Thread(target=model.predict, args=(H[:3],)) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(LIMIT)
            np.testing.assert_allclose(model.coef_, want, rtol=1e-9)
    finally:
        sys.setswitchinterval(interval)
