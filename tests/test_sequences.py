"""Any sequence of public operations gives what a dense oracle gives."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from greville import DynamicOpium, Opium, OpiumLight, SlidingOpium

from . import oracles

M, N = 6, 2


class Sequence(RuleBasedStateMachine):
    """Learn, predict, record, unlearn, merge, copy, pickle and be refused, in any order."""

    solver = Opium(0.1)
    dtype = np.float64

    @initialize(seed=st.integers(0, 10_000))
    def start(self, seed):
        self.rng = np.random.default_rng(seed)
        self.model = copy.deepcopy(self.solver)
        self.H = np.zeros((0, M))
        self.Y = np.zeros((0, N))
        self.weight = np.zeros(0)
        self.tol = 1e-7 if self.dtype == np.float64 else 2e-2
        self.learn(3, False)

    def rows(self, n):
        kind = self.rng.integers(4)
        H = self.rng.normal(size=(n, M))
        if kind == 0:
            H[:, 1:] = 0  # one direction
        elif kind == 1:
            H[:] = 0
        elif kind == 2 and len(self.H):
            H[:] = self.H[self.rng.integers(len(self.H), size=n)]  # seen before
        return H.astype(self.dtype), self.rng.normal(size=(n, N)).astype(self.dtype)

    def weights(self, n, weighted):
        return self.rng.uniform(0.5, 2, size=n).astype(self.dtype) if weighted else None

    def note(self, H, Y, weight):
        self.H, self.Y = np.vstack([self.H, H]), np.vstack([self.Y, Y])
        self.weight = np.append(self.weight, np.ones(len(H)) if weight is None else weight)

    def oracle(self):
        H, Y, weight, solver = self.H, self.Y, self.weight, self.solver
        if isinstance(solver, OpiumLight):
            return oracles.opium_light(H, Y, solver.gain, weight)[0]
        if isinstance(solver, DynamicOpium):
            return oracles.forgetting_ridge(
                H, Y, solver.epsilon, solver.alpha, solver.floor, weight
            )
        last = slice(-solver.window, None) if isinstance(solver, SlidingOpium) else slice(None)
        return oracles.pseudoinverse_weights(H[last], Y[last], solver.epsilon, weight[last])

    def close(self, got, want):
        scale = max(1.0, np.abs(want).max())
        assert np.abs(got - want).max() < self.tol * scale

    @rule(n=st.sampled_from([1, 2, 5, 40, 130, 300]), weighted=st.booleans())
    def learn(self, n, weighted):
        H, Y = self.rows(n)
        weight = self.weights(n, weighted)
        self.model.partial_fit(H, Y, weight)
        self.note(H, Y, weight)

    @rule(n=st.sampled_from([1, 7, 130]), weighted=st.booleans())
    def record(self, n, weighted):
        H, Y = self.rows(n)
        weight = self.weights(n, weighted)
        first = H[:1] @ self.oracle()
        got = self.model.prequential(H, Y, weight)
        self.close(got[:1], first)
        self.note(H, Y, weight)

    @rule(n=st.sampled_from([1, 3, 70]), ask=st.sampled_from(["", "first", "twice", "another"]))
    def learn_singly(self, n, ask):
        H, Y = self.rows(n)
        for k, (h, y) in enumerate(zip(H, Y, strict=True)):
            if ask:
                got = self.model.predict_one(h)
                if k < 3:
                    self.close(got, h @ self.oracle())
            if ask == "twice":
                self.close(self.model.predict_one(h), got)
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
    @rule(part=st.floats(0.05, 0.5))
    def unlearn(self, part):
        gone = self.rng.permutation(len(self.H))[: max(1, int(part * len(self.H)))]
        H, Y, weight = (a[gone].astype(self.dtype) for a in (self.H, self.Y, self.weight))
        try:
            self.model.unlearn(H, Y, weight)
        except ValueError:
            return  # too little would be left of some direction; the model is as it was
        left = np.setdiff1d(np.arange(len(self.H)), gone)
        self.H, self.Y, self.weight = self.H[left], self.Y[left], self.weight[left]

    @precondition(lambda self: hasattr(self.model, "merge"))
    @rule(n=st.sampled_from([1, 30]), new=st.booleans())
    def merge(self, n, new):
        H, Y = self.rows(n)
        other = copy.deepcopy(self.solver).partial_fit(H, Y)
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
    def the_weights_are_the_oracles(self):
        if hasattr(self, "H") and len(self.H):
            self.close(self.model.coef_.T, self.oracle())
            assert self.model.n_samples_seen_ == len(self.H)


SOLVERS = [
    Opium(0.1),
    OpiumLight(0.7),
    DynamicOpium(1.02, 0.3, 0.5),
    SlidingOpium(60, 0.1),
]


@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=lambda dtype: dtype.__name__)
@pytest.mark.parametrize("solver", SOLVERS, ids=str)
def test_any_sequence(solver, dtype):
    case = type("Case", (Sequence,), {"solver": solver, "dtype": dtype}).TestCase
    case.settings = settings(
        max_examples=25, stateful_step_count=15, deadline=None, derandomize=True
    )
    case("runTest").runTest()
