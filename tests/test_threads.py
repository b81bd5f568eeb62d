"""One BLAS thread inside, as many as before outside, in every Python thread and forked child."""

import os
import sys
from threading import Barrier, Event, Thread

import numpy as np
import pytest

from greville import ELMRegressor, threads

from .children import LIMIT, forked
from .lengths import at_length


class SharedPool:
    """A BLAS whose number of threads is one for all Python threads, as older ones have it."""

    num_threads = 5

    def set_num_threads(self, n):
        self.num_threads = n


@pytest.fixture(params=["real", "shared"])
def pool(request, monkeypatch):
    if request.param == "shared":
        shared = SharedPool()
        monkeypatch.setattr(threads, "_pools", lambda: [shared])
        return shared
    return threads._pools()[0]


def test_given_back(pool):
    one_thread, before = threads._OneThread(), pool.num_threads
    pool.set_num_threads(3)
    try:
        with one_thread:
            assert pool.num_threads == 1
            with one_thread:
                assert pool.num_threads == 1
            assert pool.num_threads == 1
        assert pool.num_threads == 3
        with pytest.raises(RuntimeError), one_thread:
            raise RuntimeError
        assert pool.num_threads == 3
    finally:
        pool.set_num_threads(before)


def test_given_back_when_threads_overlap(pool):
    """Enter A, enter B, leave A, leave B: the order in which a careless version stays at one."""
    one_thread, before = threads._OneThread(), pool.num_threads
    steps, seen = Barrier(2, timeout=LIMIT), []

    def first():
        with one_thread:
            steps.wait()
            steps.wait()
        steps.wait()

    def second():
        steps.wait()
        with one_thread:
            seen.append(pool.num_threads)
            steps.wait()
            steps.wait()
        seen.append(pool.num_threads)

    workers = [Thread(target=first), Thread(target=second)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(LIMIT)
    assert seen[-1] == before
    if isinstance(pool, SharedPool):  # a real one may obey only the thread that set it first
        assert seen[0] == 1
    assert pool.num_threads == before


def interrupted_at(step, work):
    """Run it with an interrupt before the step-th line of threads.py; whether it has as many.

    The first of `__exit__`, up to its try, do not count: there the thread is still inside.
    """
    leave, left = threads._OneThread.__exit__.__code__, step

    def trace(frame, event, _):
        nonlocal left
        if frame.f_code.co_filename != threads.__file__:
            return None
        if frame.f_code is leave and frame.f_lineno <= leave.co_firstlineno + 2:
            return trace
        if event == "line":
            left -= 1
            if left < 0:
                sys.settrace(None)
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


def test_an_interrupt_while_entering_or_leaving(monkeypatch):
    """Whenever it comes, the thread is outside afterwards and BLAS has its threads again."""
    pool, one_thread, step = SharedPool(), threads._OneThread(), 0
    monkeypatch.setattr(threads, "_pools", lambda: [pool, pool])

    def work():
        with one_thread, one_thread:
            assert pool.num_threads == 1

    while interrupted_at(step, work):
        assert (one_thread._mine.depth, one_thread._inside, pool.num_threads) == (0, set(), 5)
        step += 1
    assert step > 15
    assert (one_thread._mine.depth, one_thread._inside, pool.num_threads) == (0, set(), 5)


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


@needs_fork
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # that is what is tested
@pytest.mark.parametrize(
    "shared",
    [
        pytest.param(True, id="the same model"),
        pytest.param(False, id="own model", marks=pytest.mark.full),
    ],
)
def test_a_child_forked_while_another_thread_learns(shared):
    """It learns too, whatever locks that thread held, and BLAS has its threads there."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5))
    y = X[:, 0]
    model, other = (ELMRegressor(100, random_state=i).fit(X, y) for i in range(2))
    pool, done = threads._pools()[0], Event()
    before = pool.num_threads

    def learn():
        while not done.is_set():
            other.partial_fit(X[:7], y[:7])
            other.learn_one(X[0], y[0])
            other.predict_one(X[1])

    def work():
        learner = other if shared else model
        learner.partial_fit(X[:50], y[:50])
        learner.learn_one(X[0], y[0])
        assert np.isfinite(learner.predict(X[:3])).all()
        assert pool.num_threads == before

    busy = Thread(target=learn, daemon=True)
    busy.start()
    try:
        for _ in range(at_length(10, 400)):
            assert forked(work) == 0
    finally:
        done.set()
        busy.join(LIMIT)


@needs_fork
def test_locks_are_free_in_a_child():
    lock = threads.new_lock()

    def work():
        assert lock.acquire(timeout=LIMIT)

    held, done = Event(), Event()

    def hold():
        with lock:
            held.set()
            done.wait(LIMIT)

    holder = Thread(target=hold, daemon=True)
    holder.start()
    held.wait(LIMIT)
    try:
        assert forked(work) == 0
        assert not lock.acquire(blocking=False)
    finally:
        done.set()
        holder.join(LIMIT)


@needs_fork
def test_the_thread_that_forks_is_still_inside_in_the_child(monkeypatch):
    """And its number of threads is put back when it leaves."""
    pool = SharedPool()
    monkeypatch.setattr(threads, "_pools", lambda: [pool])

    def work():
        assert pool.num_threads == 1
        threads.one_thread.__exit__()
        assert pool.num_threads == 5

    with threads.one_thread:
        assert forked(work) == 0
