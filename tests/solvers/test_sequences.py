"""Any sequence of public operations gives what a dense oracle gives.

`make fuzz` runs many more sequences than the suite: `GREVILLE_SEQUENCES` of each kind.
"""

import copy
import os
import pickle
from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from scipy import sparse

from greville import (
    DynamicOpium,
    ELMClassifier,
    ELMRegressor,
    Opium,
    OpiumLight,
    SlidingOpium,
    backend,
)

from .. import oracles
from ..kernels import kernels
from .floors import observed

M, N = 6, 2

# Times the rounding of one operation, next to the condition of the problem.
MARGIN = 200.0


class World:
    """Rows as people have them: in any units, far from zero, constant, repeated, shifted."""

    def __init__(self, seed, dtype, n_columns):
        self.rng = rng = np.random.default_rng(seed)
        self.dtype = dtype
        self.n = n_columns
        far = 1e6 if dtype == np.float64 else 300.0
        self.offset = np.where(rng.random(n_columns) < 0.5, rng.choice([0.0, 1.0, far]), 0.0)
        self.unit = 10.0 ** rng.integers(-2, 3, size=n_columns) if rng.integers(2) else 1.0
        self.constant = rng.random(n_columns) < 0.1
        self.seen = np.zeros((0, n_columns))

    def rows(self, n):
        rng, kind = self.rng, self.rng.integers(6)
        X = rng.normal(size=(n, self.n))
        X[:, self.constant] = 0
        if kind == 0:
            X[:, 1:] = 0  # one direction
        elif kind == 1:
            X[:] = 0
        elif kind == 2:
            X += 3  # a shift of the mean
        X = ((X + self.offset) * self.unit).astype(self.dtype)
        if kind == 3 and len(self.seen):
            X = self.seen[rng.integers(len(self.seen), size=n)]  # seen before
        self.seen = np.vstack([self.seen, X])[-500:].astype(self.dtype)
        return X

    def weights(self, n, kind):
        if kind == "none":
            return None
        weight = self.rng.uniform(0.5, 2, size=n)
        if kind == "zeros":
            weight[self.rng.random(n) < 0.4] = 0
        return weight.astype(self.dtype)


HAS_NUMBA = find_spec("numba") is not None

WEIGHTS = st.sampled_from(["none", "none", "some", "zeros"])


class Sequence(RuleBasedStateMachine):
    """Learn, predict, record, unlearn, merge, copy, pickle and be refused, in any order."""

    solver = Opium(0.1)
    dtype = np.float64

    @initialize(seed=st.integers(0, 10_000))
    def start(self, seed):
        self.kernels = kernels(HAS_NUMBA and bool(seed % 2))
        self.kernels.__enter__()
        self.world = World(seed, self.dtype, M)
        self.rng = self.world.rng
        self.model = copy.deepcopy(self.solver)
        self.H = np.zeros((0, M))
        self.Y = np.zeros((0, N))
        self.weight = np.zeros(0)
        self.eps = float(np.finfo(self.dtype).eps)
        self.plain = True  # nothing but learning so far
        self.learn(3, "none")

    def teardown(self):
        if hasattr(self, "kernels"):
            self.kernels.__exit__(None, None, None)

    def rows(self, n):
        return self.world.rows(n), self.rng.normal(size=(n, N)).astype(self.dtype)

    def note(self, H, Y, weight):
        self.H, self.Y = np.vstack([self.H, H]), np.vstack([self.Y, Y])
        self.weight = np.append(self.weight, np.ones(len(H)) if weight is None else weight)

    # The oracle: weights and an intercept, and the error that rounding alone may cause

    def oracle(self):
        H, Y, weight, solver = self.H, self.Y, self.weight, self.solver
        none = np.zeros(N)
        if isinstance(solver, OpiumLight):
            return oracles.opium_light(H, Y, solver.gain, weight)[0], none
        if isinstance(solver, DynamicOpium):
            if solver.epsilon == "auto":
                epsilon = self.model.epsilon_
                return oracles.fading_ridge(H, Y, epsilon, solver.alpha, weight), none
            floor = solver.floor
            W = oracles.forgetting_ridge(
                H, Y, solver.epsilon, solver.alpha, floor, observed(solver.alpha, M), weight
            )
            return W, none
        last = slice(-solver.window, None) if isinstance(solver, SlidingOpium) else slice(None)
        epsilon = self.epsilon()
        if getattr(solver, "intercept", False):
            return oracles.ridge_with_intercept(H[last], Y[last], epsilon, weight[last])
        return oracles.pseudoinverse_weights(H[last], Y[last], epsilon, weight[last]), none

    def epsilon(self):
        return self.model.epsilon_ if self.solver.epsilon == "auto" else self.solver.epsilon

    def tolerance(self, rows, W):
        """What an error of eps in the rows does to predictions, with a margin."""
        H = self.H if len(self.H) else rows
        centre = H.mean(axis=0) if getattr(self.solver, "intercept", False) else 0.0
        condition = 1.0
        if not isinstance(self.solver, OpiumLight):
            A = (H - centre) * np.sqrt(self.weight)[:, None] if len(self.weight) else H
            s = np.linalg.svd(np.vstack([A, 1e-3 * np.eye(M)]), compute_uv=False)
            ridge = self.epsilon() if not isinstance(self.solver, DynamicOpium) else 1e-3
            condition = np.hypot(s[0], ridge) / np.hypot(s[-1], ridge)
        lengths = np.abs(rows) @ np.abs(W) + np.abs(rows - centre).max() * np.abs(W).max()
        removed = not self.plain or isinstance(self.solver, SlidingOpium)
        eps = self.eps**0.6 if removed else self.eps  # differences keep fewer digits
        return MARGIN * eps * condition * (np.abs(self.Y).max(initial=1.0) + lengths.max())

    def check(self, rows, got, solution, limit=None):
        W, constant = solution
        rows = rows.astype(np.float64)
        error = np.abs(got - (rows @ W + constant)).max()
        limit = self.tolerance(rows, W) if limit is None else limit
        assert error <= limit, (error, limit)

    @rule(n=st.sampled_from([1, 2, 5, 40, 130, 300]), weights=WEIGHTS)
    def learn(self, n, weights):
        H, Y = self.rows(n)
        weight = self.world.weights(n, weights)
        self.model.partial_fit(H, Y, weight)
        self.note(H, Y, weight)

    @rule(n=st.sampled_from([1, 7, 130]), weights=WEIGHTS)
    def record(self, n, weights):
        H, Y = self.rows(n)
        weight = self.world.weights(n, weights)
        first = self.oracle()
        limit = self.tolerance(H[:1].astype(np.float64), first[0])  # before epsilon changes
        got = self.model.prequential(H, Y, weight)
        self.check(H[:1], got[:1], first, limit)
        self.note(H, Y, weight)

    @rule(n=st.sampled_from([1, 3, 70]), ask=st.sampled_from(["", "first", "twice", "another"]))
    def learn_singly(self, n, ask):
        H, Y = self.rows(n)
        for k, (h, y) in enumerate(zip(H, Y, strict=True)):
            if ask:
                got = self.model.predict_one(h)
                if k < 3:
                    self.check(h[None], got[None], self.oracle())
            if ask == "twice":
                self.check(h[None], self.model.predict_one(h)[None], self.oracle())
            elif ask == "another":
                self.model.predict_one(h + 1)
            self.model.learn_one(h, y)
            self.note(h[None], y[None], None)

    @rule()
    def have_a_twin(self):
        twin = copy.copy(self.model)
        H, Y = self.rows(5)
        for h, y in zip(H, Y, strict=True):
            twin.predict_one(h)
            twin.learn_one(h, y)
        assert twin.n_samples_seen_ == self.model.n_samples_seen_ + 5

    @precondition(lambda self: hasattr(self.model, "unlearn") and len(self.H) > 20)
    @rule(part=st.floats(0.05, 0.9))
    def unlearn(self, part):
        gone = self.rng.permutation(len(self.H))[: max(1, int(part * len(self.H)))]
        H, Y, weight = (a[gone].astype(self.dtype) for a in (self.H, self.Y, self.weight))
        try:
            self.model.unlearn(H, Y, weight)
        except ValueError:
            return  # too little would be left of some direction; the model is as it was
        left = np.setdiff1d(np.arange(len(self.H)), gone)
        self.H, self.Y, self.weight = self.H[left], self.Y[left], self.weight[left]
        self.plain = False

    @precondition(lambda self: hasattr(self.model, "merge"))
    @rule(n=st.sampled_from([1, 30]), new=st.booleans(), part=st.booleans())
    def merge(self, n, new, part):
        H, Y = self.rows(n)
        other = copy.deepcopy(self.solver).partial_fit(H, Y)
        if part and n > 1:
            try:
                other.unlearn(H[2:], Y[2:])
            except ValueError:
                pass
            else:
                H, Y, self.plain = H[:2], Y[:2], False
        self.model = self.model + other if new else self.model.merge(other)
        self.note(H, Y, None)

    @rule()
    def travel(self):
        self.model = pickle.loads(pickle.dumps(copy.deepcopy(self.model)))

    @rule(bad=st.sampled_from(["nan", "narrow", "targets", "weights", "text", "huge", "3-d"]))
    def be_refused(self, bad):
        H, Y = self.rows(4)
        weight = np.ones(4)
        if bad == "nan":
            H = H.copy()
            H[2, 1] = np.nan
        elif bad == "narrow":
            H = H[:, :-1]
        elif bad == "targets":
            Y = Y[:3]
        elif bad == "weights":
            weight = -weight
        elif bad == "text":
            H = H.astype(str)
        elif bad == "huge":
            H = np.full((4, M), np.finfo(self.dtype).max)
        else:
            H = H[:, None]
        for learn in (self.model.partial_fit, self.model.prequential):
            with pytest.raises(ValueError):  # noqa: PT011 - the messages have tests of their own
                learn(H, Y, weight)
        if bad not in ("targets", "weights"):
            with pytest.raises(ValueError):  # noqa: PT011
                self.model.learn_one(H[-2], Y[-2])
            with pytest.raises(ValueError):  # noqa: PT011
                self.model.predict_one(H[-2])

    @invariant()
    def predictions_are_the_oracles(self):
        if hasattr(self, "H") and len(self.H):
            rows = self.H[-50:].astype(self.dtype)
            self.check(rows, self.model.predict(rows), self.oracle())
            assert self.model.n_samples_seen_ == len(self.H)


DTYPES = [np.float64, pytest.param(np.float32, marks=pytest.mark.full)]

SOLVERS = [
    Opium(0.1),
    Opium(0.1, intercept=True),
    Opium("auto"),
    Opium("auto", intercept=True),
    OpiumLight(0.7),
    DynamicOpium(1.02, 0.3, 0.5),
    DynamicOpium(1.02, "auto"),
    SlidingOpium(60, 0.1),
]


def _run(machine, name, examples, **attributes):
    examples = int(os.environ.get("GREVILLE_SEQUENCES", examples))
    if backend.default().name != "scipy":
        examples = max(2, examples // 5)  # each takes several times as long
    case = type(name, (machine,), attributes).TestCase
    case.settings = settings(
        max_examples=examples,
        stateful_step_count=15,
        deadline=None,
        phases=[Phase.generate],  # a sequence is short; to make it shorter takes minutes
        derandomize="GREVILLE_SEQUENCES" not in os.environ,
    )
    case("runTest").runTest()


@pytest.mark.everywhere
@pytest.mark.parametrize("dtype", DTYPES, ids=["float64", "float32"])
@pytest.mark.parametrize("solver", SOLVERS, ids=str)
def test_any_sequence(solver, dtype):
    _run(Sequence, "Case", 4, solver=solver, dtype=dtype)


class EstimatorSequence(RuleBasedStateMachine):
    """The default estimators: dense and sparse rows in turn, any units, labels that come late."""

    classify = False
    dtype = np.float64

    @initialize(seed=st.integers(0, 10_000))
    def start(self, seed):
        self.kernels = kernels(HAS_NUMBA and bool(seed % 2))
        self.kernels.__enter__()
        self.world = World(seed, self.dtype, 3)
        self.rng = self.world.rng
        kind = ELMClassifier if self.classify else ELMRegressor
        self.model = kind(12, random_state=0)
        self.X = np.zeros((0, 3), self.dtype)
        self.y = np.zeros(0, "U1") if self.classify else np.zeros(0)
        self.weight = np.zeros(0)
        self.plain = True
        self.learn(3, "none", False)

    def teardown(self):
        if hasattr(self, "kernels"):
            self.kernels.__exit__(None, None, None)

    def rows(self, n):
        X = self.world.rows(n)
        total = (X / self.world.unit - self.world.offset).sum(axis=1)
        if self.classify:
            known = np.array(list("abcd"[: 2 + (len(self.X) > 100)]))
            return X, known[np.floor(total).astype(int) % len(known)]
        return X, np.sin(total) + 0.1 * self.rng.normal(size=n)

    def given(self, X, as_sparse):
        return sparse.csr_array(X) if as_sparse else X

    def note(self, X, y, weight):
        self.X, self.y = np.vstack([self.X, X]), np.append(self.y, y)
        self.weight = np.append(self.weight, np.ones(len(X)) if weight is None else weight)

    @rule(n=st.sampled_from([1, 5, 40, 300]), weights=WEIGHTS, as_sparse=st.booleans())
    def learn(self, n, weights, as_sparse):
        X, y = self.rows(n)
        weight = self.world.weights(n, weights)
        self.model.partial_fit(self.given(X, as_sparse), y, sample_weight=weight)
        self.note(X, y, weight)

    @rule(n=st.sampled_from([1, 7, 40]))
    def learn_singly(self, n):
        X, y = self.rows(n)
        for x, target in zip(X, y, strict=True):
            self.model.predict_one(x)
            self.model.learn_one(x, target if self.classify else float(target))
        self.note(X, y, None)

    @precondition(lambda self: self.plain and not self.classify)
    @rule(n=st.sampled_from([1, 60]), as_sparse=st.booleans())
    def record(self, n, as_sparse):
        X, y = self.rows(n)
        self.model.prequential(self.given(X, as_sparse), y)
        self.note(X, y, None)

    @precondition(lambda self: len(self.X) > 1100)  # when its units are settled
    @rule(part=st.floats(0.01, 0.2))
    def unlearn(self, part):
        gone = self.rng.permutation(len(self.X))[: int(part * len(self.X))]
        try:
            self.model.unlearn(self.X[gone], self.y[gone], self.weight[gone])
        except ValueError:
            return
        left = np.setdiff1d(np.arange(len(self.X)), gone)
        self.X, self.y, self.weight = self.X[left], self.y[left], self.weight[left]
        self.plain = False

    @rule()
    def travel(self):
        self.model = pickle.loads(pickle.dumps(self.model))

    @invariant()
    def predictions_are_the_oracles(self):
        if not hasattr(self, "X") or not self.weight.any():
            return
        model, X = self.model, self.X
        H = model.hidden_.transform(model.fitted_.hidden.scaling.apply(X, self.dtype)).astype(float)
        if self.classify:
            Y = (self.y[:, None] == model.classes_).astype(float)
        else:
            Y = model.fitted_.targets.scaling.apply(self.y[:, None], np.float64)
        W, constant = oracles.ridge_with_intercept(H, Y, model.epsilon_, self.weight)
        last = slice(-50, None)
        want = H[last] @ W + constant
        if self.classify:
            if len(model.classes_) < 3:
                return  # what two classes say is the difference of their outputs
            got = model.decision_function(X[last])
        else:
            got = model.fitted_.targets.scaling.apply(model.predict(X[last])[:, None], np.float64)
        eps = float(np.finfo(self.dtype).eps)
        scatter = (H - H.mean(axis=0)) * np.sqrt(self.weight)[:, None]
        s = np.linalg.svd(np.vstack([scatter, np.zeros((12, 12))]), compute_uv=False)
        condition = np.hypot(s[0], model.epsilon_) / np.hypot(s[-1], model.epsilon_)
        rounding = MARGIN * (eps if self.plain else eps**0.6) * condition
        sizes = np.abs(H).max() * np.abs(W).sum(axis=0).max() + np.abs(Y).max()
        error = np.abs(got - want).max()
        shift = (
            model.fitted_.hidden.scaling.shift
        )  # sparse rows are centred after the layer's product
        if shift is not None:
            rounding += MARGIN * np.finfo(float).eps * np.abs(shift).max() * condition
        assert error <= rounding * sizes
        assert model.n_samples_seen_ == len(X)


@pytest.mark.parametrize("dtype", DTYPES, ids=["float64", "float32"])
@pytest.mark.parametrize("classify", [False, True], ids=["regressor", "classifier"])
def test_any_sequence_of_an_estimator(classify, dtype):
    _run(EstimatorSequence, "Case", 8, classify=classify, dtype=dtype)
