"""One BLAS thread inside, as many as before outside, in every Python thread."""

from threading import Barrier, Thread

import pytest

from greville import threads


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
    steps, seen = Barrier(2, timeout=10), []

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
        worker.join()
    assert seen[-1] == before
    if isinstance(pool, SharedPool):  # a real one may obey only the thread that set it first
        assert seen[0] == 1
    assert pool.num_threads == before
