"""A signal handler that learns, or raises, wherever Python may call one."""

import dis
import pickle
import sys
from functools import partial

import numpy as np
import pytest

from greville import DynamicOpium, ELMClassifier, ELMRegressor, Opium
from tests.kernels import kernels

# Python looks for signals after calls, at the beginning of functions, and at the end of loops.
_LOOKS = {"CALL", "CALL_KW", "CALL_FUNCTION_EX", "RESUME", "JUMP_BACKWARD"}
LOOKS = {dis.opmap[name] for name in _LOOKS if name in dis.opmap}


class Stop(Exception):
    """What a handler raises; as a timeout, it is no KeyboardInterrupt."""


def interrupted_at(step, work, handler):
    """Call the handler the step-th time that a signal may be handled; whether it came to that."""
    left = step

    def start(frame, *_):
        if left < 0 or "/greville/" not in frame.f_code.co_filename.replace("\\", "/"):
            return None
        frame.f_trace_opcodes, last = True, None

        def follow(frame, event, _):
            nonlocal left, last
            if event == "opcode" and left >= 0:
                left -= last in LOOKS
                last = frame.f_code.co_code[frame.f_lasti]
                if left < 0:
                    sys.settrace(None)
                    handler()
            return follow

        return follow

    before = sys.gettrace()
    sys.settrace(start)
    try:
        work()
    finally:
        sys.settrace(before)
    return left < 0


KEPT = {"random_state": 0, "standardize": False}  # no warm-up, in which no row is learned in place
MODELS = [
    pytest.param(Opium(0.1), 5, id="in place"),
    pytest.param(Opium("auto", intercept=True), 11, id="chosen", marks=pytest.mark.full),
    pytest.param(DynamicOpium("auto"), 7, id="memories", marks=pytest.mark.full),
    pytest.param(ELMRegressor(5, **KEPT), 11, id="layer", marks=pytest.mark.full),
    pytest.param(ELMClassifier(5, **KEPT), 11, id="classes", marks=pytest.mark.full),
]
WORKS = {
    "learn_one": lambda model, x, y: model.learn_one(x, y),
    "partial_fit": lambda model, x, y: model.partial_fit(x[None], [y]),
    "set_params": lambda model, x, y: model.set_params(device=None),
    "pickle": lambda model, x, y: pickle.loads(pickle.dumps(model)),
}
HANDLERS = {
    "learn_one": lambda model, x, y: model.learn_one(x, y),
    "partial_fit": lambda model, x, y: model.partial_fit(x[None], [y]),
}


def rows(rng, model):
    X = rng.normal(size=(80, 3))
    y = X @ np.arange(1.0, 4.0) + 0.1 * rng.normal(size=80)
    return X, np.where(y > 0, "a", "b") if isinstance(model, ELMClassifier) else y


def started(model, X, y):
    """A model that learns in place."""
    model = pickle.loads(pickle.dumps(model)).partial_fit(X[:4], y[:4])
    for i in range(4, 57):
        model.learn_one(X[i], y[i])
    assert model._live is not None
    return model


def finished(model, X, y):
    for i in range(70, 80):
        model.learn_one(X[i], y[i])
    return getattr(model, "predict_proba", model.predict)(X)


@pytest.mark.parametrize(("model", "stride"), MODELS)
@pytest.mark.parametrize("work", WORKS)
@pytest.mark.parametrize("handler", HANDLERS)
def test_no_row_of_a_handler_is_lost(rng, model, stride, work, handler):
    X, y = rows(rng, model)
    with kernels(True):
        step, alone = 0, started(model, X, y)
        for i in range(57 if work in HANDLERS else 58, 59):
            alone.partial_fit(X[i : i + 1], y[i : i + 1])
        n, want = alone.n_samples_seen_, finished(alone, X, y)
        while True:
            tried = started(model, X, y)
            work_of, handle = WORKS[work], HANDLERS[handler]
            if not interrupted_at(
                step,
                lambda: work_of(tried, X[57], y[57]),  # noqa: B023 - called at once
                lambda: handle(tried, X[58], y[58]),  # noqa: B023
            ):
                break
            assert tried.n_samples_seen_ == n
            np.testing.assert_allclose(finished(tried, X, y), want, atol=1e-6)
            step += 1 if work == "learn_one" else stride


@pytest.mark.parametrize(("model", "stride"), MODELS)
def test_what_a_handler_raises_is_not_taken_for_a_refusal(rng, model, stride):
    """And the row is learned once or not at all."""
    X, y = rows(rng, model)

    def stop():
        raise Stop

    with kernels(True):
        tried = started(model, X, y)
        n, step = tried.n_samples_seen_, 0
        while True:
            try:
                learn = tried.learn_one
                if not interrupted_at(step, partial(learn, X[57], y[57]), stop):
                    break
            except Stop:
                assert tried.n_samples_seen_ in (n, n + 1)
            else:
                pytest.fail("it was caught")
            tried = started(model, X, y)
            step += 1
