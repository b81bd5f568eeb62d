"""BLAS threads: one where several would slow each other down.

QR factorisations and products with few rows are thousands of small steps. Two threads gain little
there when nothing else runs. When something does, be it NumPy's own BLAS threads still spinning
after the user's last product, they wait for each other: 20 s instead of 0.3 s were seen for one
factorisation at M = 2000.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from threading import RLock, get_ident, local
from typing import Any
from weakref import WeakSet

from threadpoolctl import ThreadpoolController  # a dependency of scikit-learn


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@cache
def _pools() -> list[Any]:
    """Return the thread controllers of SciPy's BLAS, or of every BLAS if SciPy has none."""
    pools = [pool for pool in ThreadpoolController().lib_controllers if pool.user_api == "blas"]
    own = [pool for pool in pools if "scipy" in str(Path(pool.filepath).parent)]
    return own or pools


_locks: WeakSet[Any] = WeakSet()


def new_lock() -> Any:
    """A lock that its holder may take again, and that is free in a child forked by another thread.

    A signal handler runs in the thread that it interrupts, which may hold the lock. A thread that
    held it when another one forked is not in the child, and would never release it there.
    """
    lock = RLock()
    _locks.add(lock)
    return lock


class LockOfEach:
    """An attribute of a class: a lock for each of its objects, made when it is first used."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, thing: Any, owner: Any = None) -> Any:
        return self if thing is None else vars(thing).setdefault(self._name, new_lock())


class _OneThread:
    """A context in which SciPy's BLAS runs on one thread; it may be entered again inside itself.

    BLAS has one number of threads for the whole process. A thread that leaves restores the number
    from before the first one entered, so that it is right when the last one has left; a thread
    that is still inside then goes on with more threads, which is slower and nothing else.

    An interrupt while a thread enters or leaves undoes or completes that. (It can come before the
    first step of `__exit__`, where nothing can be done; BLAS stays at one thread then.)
    """

    def __init__(self) -> None:
        self._lock = RLock()  # for a fork in a signal handler that interrupts its holder
        self._inside: set[int] = set()  # threads; adding or removing one twice does no harm
        self._before: list[int] = []
        self._mine = _Depth()

    def __enter__(self) -> None:
        mine = self._mine
        if mine.depth:
            mine.depth += 1  # the last line on this way: what follows could be interrupted
        else:
            try:
                self._set()
                mine.depth = 1
            except BaseException:
                self._put_back()
                raise

    def __exit__(self, *_: object) -> None:
        depth = self._mine.depth - 1
        try:
            self._leave(depth)
        except BaseException:
            self._leave(depth)
            raise

    def _leave(self, depth: int) -> None:
        self._mine.depth = depth
        if depth == 0:
            self._put_back()

    def _set(self) -> None:
        pools = _pools()
        with self._lock:
            if not self._inside:
                self._before = [pool.num_threads for pool in pools]
            self._inside.add(get_ident())
            for pool in pools:
                pool.set_num_threads(1)

    def _put_back(self) -> None:
        with self._lock:
            if get_ident() in self._inside:
                self._restore()
                self._inside.discard(get_ident())

    def _restore(self) -> None:
        for pool, n_threads in zip(_pools(), self._before, strict=True):
            pool.set_num_threads(n_threads)

    # While a process forks, no thread may be setting the number: it would hold this lock, or one
    # of BLAS's own, for ever in the child, where only the thread that forked goes on.

    def before_fork(self) -> None:
        self._lock.acquire()

    def after_fork_in_parent(self) -> None:
        self._lock.release()

    def after_fork_in_child(self) -> None:
        self._lock = RLock()
        others = self._inside - {get_ident()}
        self._inside -= others
        if others and not self._inside:
            self._restore()
        for lock in _locks:
            if not lock._is_owned():
                lock._at_fork_reinit()


class _Depth(local):
    """The nesting depth of the context in the present thread."""

    depth = 0


one_thread = _OneThread()

if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(
        before=one_thread.before_fork,
        after_in_parent=one_thread.after_fork_in_parent,
        after_in_child=one_thread.after_fork_in_child,
    )
