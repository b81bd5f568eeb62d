"""Jobs in processes of their own: on all cores at once, or alone so that memory can be measured.

A worker is this Python running `work`. It gets jobs, one line of JSON each, and answers with
lines of JSON: how far it is, and in the end the result. Numbers survive that to the last digit.
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

SEED = 22  # see the note in the story of MNIST


class WorkerError(RuntimeError):
    """A process that was to do part of the work has failed."""


def seeds(seed: Any, runs: Any) -> range:
    """The seeds of so many runs; a ValueError unless all are seeds."""
    check_number("runs", runs, low=1, whole=True)
    check_number("seed", seed, low=0, high=2**32 - runs + 1, whole=True)
    return range(int(seed), int(seed) + int(runs))


# The functions a worker may be asked for, with the module each is in.
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
    """The results of many jobs, each a function and its arguments, in their order.

    `done` is called with the index of each as it is done. With one worker the jobs run here, one
    after the other; the numbers are the same.
    """
    n_workers = min(cores() if n_workers is None else n_workers, len(jobs))
    if n_workers <= 1:
        results = []
        for index, (function, job) in enumerate(jobs):
            results.append(_find(function)(**job))
            done(index)
        return results
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    for index in range(len(jobs)):
        waiting.put(index)
    answers: queue.SimpleQueue[tuple[int, Any]] = queue.SimpleQueue()
    workers = [_Worker(threads=1) for _ in range(n_workers)]

    def serve(worker: _Worker) -> None:
        try:
            while True:
                index = waiting.get_nowait()
                answers.put((index, worker.ask(*jobs[index])))
        except queue.Empty:
            pass
        except Exception as error:  # raised where the answers are read
            answers.put((-1, error))

    found: dict[int, Any] = {}
    try:
        for worker in workers:
            threading.Thread(target=serve, args=(worker,), daemon=True).start()
        while len(found) < len(jobs):
            index, answer = answers.get()
            if isinstance(answer, Exception):
                raise answer
            found[index] = answer
            done(index)
    finally:
        for worker in workers:
            worker.stop()
    return [found[index] for index in range(len(jobs))]


def run_alone(function: str, job: Job, advance: Advance) -> Any:
    """The result of one job in a fresh process that has all cores; `advance` is told by the job."""
    worker = _Worker(threads=None)
    try:
        return worker.ask(function, job, advance)
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
            text=True,
            env=environment,
        )

    def ask(self, function: str, job: Job, advance: Advance = lambda done: None) -> Any:
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
        complaint = process.stderr.read().strip().splitlines()
        reason = complaint[-1] if complaint else f"it ended with exit code {process.wait()}"
        raise WorkerError(f"A worker process failed: {reason}")

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe:
                pipe.close()


def _find(function: str) -> Callable[..., Any]:
    return getattr(import_module(f".{_JOBS[function]}", __package__), function)


def work() -> None:
    """The life of a worker: until nobody asks any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for whoever started it
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1)
    sys.stdout = sys.stderr  # nothing else may get between the lines

    def answer(kind: str, value: Any) -> None:
        answers.write(json.dumps([kind, value], allow_nan=False) + "\n")

    for line in sys.stdin:
        name, job = json.loads(line)
        function = _find(name)
        if "advance" in signature(function).parameters:
            job["advance"] = lambda done: answer("done", done)
        answer("result", function(**job))
