"""Jobs in worker processes: on all cores at once, or one alone so that its memory can be measured.

A worker is a Python process that runs `work`. It reads jobs from stdin, one line of JSON each, and
writes lines of JSON to stdout: its progress, and at the end the result. JSON keeps every digit of a
float.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from importlib import import_module
from inspect import signature
from typing import Any

from ..progress import Advance
from ..threads import cores
from ..validation import check_number

Job = dict[str, Any]

SEED = 22  # the report on MNIST says why


class WorkerError(RuntimeError):
    """A worker process has failed."""


def seed_range(seed: Any, runs: Any) -> range:
    """The seeds of several runs; a ValueError unless all are valid."""
    check_number("runs", runs, low=1, whole=True)
    check_number("seed", seed, low=0, high=2**32 - runs + 1, whole=True)
    return range(int(seed), int(seed) + int(runs))


# The functions that a worker may run, with their modules.
_JOBS = {
    "sine_run": "_sine",
    "long_run": "_sine",
    "ecg_run": "_ecg",
    "mnist_run": "_mnist",
    "light_errors": "_mnist",
    "gain_errors": "_mnist",
}


def run_jobs(
    jobs: Sequence[tuple[str, Job]],
    done: Callable[[int], None],
    *,
    n_workers: int | None = None,
) -> list[Any]:
    """Run jobs, each the name of a function and its arguments; their results in the same order.

    `done` is called with the index of each job that is finished. With one worker the jobs run in
    this process, one after the other; the numbers are the same.
    """
    n_workers = min(cores() if n_workers is None else n_workers, len(jobs))
    results: dict[int, Any] = {}
    if n_workers <= 1:
        for index, (function, job) in enumerate(jobs):
            results[index] = _function_named(function)(**job)
            done(index)
        return list(results.values())
    pending: queue.SimpleQueue[int] = queue.SimpleQueue()
    for index in range(len(jobs)):
        pending.put(index)
    answers: queue.SimpleQueue[tuple[int, Any]] = queue.SimpleQueue()
    workers = [_Worker(threads=1) for _ in range(n_workers)]

    def serve(worker: _Worker) -> None:
        try:
            while True:
                index = pending.get_nowait()
                answers.put((index, worker.run(*jobs[index])))
        except queue.Empty:
            pass
        except Exception as error:  # raised below
            answers.put((-1, error))

    try:
        for worker in workers:
            threading.Thread(target=serve, args=(worker,), daemon=True).start()
        while len(results) < len(jobs):
            index, answer = answers.get()
            if isinstance(answer, Exception):
                raise answer
            results[index] = answer
            done(index)
    finally:
        for worker in workers:
            worker.stop()
    return [results[index] for index in range(len(jobs))]


def run_alone(function: str, job: Job, advance: Advance) -> Any:
    """Run one job in a new process with all cores; it calls `advance`."""
    worker = _Worker(threads=None)
    try:
        return worker.run(function, job, advance)
    finally:
        worker.stop()


class _Worker:
    def __init__(self, threads: int | None) -> None:
        environment = dict(os.environ)
        environment["PYTHONPATH"] = os.pathsep.join(path or os.getcwd() for path in sys.path)
        if threads is not None:
            for name in ("OPENBLAS", "OMP", "MKL"):
                environment[f"{name}_NUM_THREADS"] = str(threads)
        self._process = subprocess.Popen(
            [sys.executable, "-c", f"from {__name__} import work; work()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            env=environment,
        )

    def run(self, function: str, job: Job, advance: Advance = lambda done: None) -> Any:
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            process.stdin.write(json.dumps([function, job]) + "\n")
            process.stdin.flush()
        except BrokenPipeError:
            pass  # the reason is on stderr
        for line in process.stdout:
            kind, value = json.loads(line)
            if kind == "result":
                return value
            advance(value)
        lines = process.stderr.read().strip().splitlines()
        reason = lines[-1] if lines else f"it ended with exit code {process.wait()}"
        raise WorkerError(f"A worker process failed: {reason}")

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe:
                pipe.close()


def _function_named(function: str) -> Callable[..., Any]:
    return getattr(import_module(f".{_JOBS[function]}", __package__), function)


def work() -> None:
    """Run jobs until stdin is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process handles Ctrl-C
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1, encoding="utf-8")
    sys.stdout = sys.stderr  # prints must not mix with the answers

    def answer(kind: str, value: Any) -> None:
        answers.write(json.dumps([kind, value], allow_nan=False) + "\n")

    for line in sys.stdin:
        name, job = json.loads(line)
        function = _function_named(name)
        if "advance" in signature(function).parameters:
            job["advance"] = lambda done: answer("done", done)
        answer("result", function(**job))
