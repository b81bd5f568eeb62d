"""Jobs in processes of their own: on all cores at once, or one alone, whose memory is measured.

A worker is a Python process that runs `work`. It reads jobs from stdin, one line of JSON each, and
writes a line of JSON for each result to stdout. JSON keeps every digit of a float.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from importlib import import_module
from typing import Any

from ..threads import cores
from ..validation import check_number

Job = tuple[str, dict[str, Any]]
"""The name of a function, and its arguments."""

SEED = 22  # the report on MNIST says why

# The functions that a worker may run, with their modules.
_JOBS = {
    "sine_run": "_sine",
    "long_run": "_sine",
    "ecg_run": "_ecg",
    "mnist_run": "_mnist",
    "light_errors": "_mnist",
    "gain_errors": "_mnist",
}


class WorkerError(RuntimeError):
    """A worker process has failed."""


def seed_range(seed: Any, runs: Any) -> range:
    """The seeds of several runs; a ValueError unless all are valid."""
    check_number("runs", runs, low=1, whole=True)
    check_number("seed", seed, low=0, high=2**32 - runs + 1, whole=True)
    return range(int(seed), int(seed) + int(runs))


def run_jobs(
    jobs: Sequence[Job], done: Callable[[int], None], *, n_workers: int | None = None
) -> list[Any]:
    """Run jobs, each on one core; their results in the same order.

    `done` is called with the index of each job that is finished, maybe in another thread. With one
    worker the jobs run in this process, one after the other; the numbers are the same.
    """
    n_workers = min(cores() if n_workers is None else n_workers, len(jobs))
    if n_workers > 1:
        return _run(jobs, done, n_workers, threads=1)
    results = []
    for index, job in enumerate(jobs):
        results.append(_result(job))
        done(index)
    return results


def run_alone(function: str, job: dict[str, Any]) -> Any:
    """Run one job in a new process with all cores."""
    return _run([(function, job)], lambda index: None, 1, threads=None)[0]


def _run(
    jobs: Sequence[Job], done: Callable[[int], None], n_workers: int, threads: int | None
) -> list[Any]:
    """Run jobs in several processes, of which each takes one job in `n_workers`."""
    shares = [range(len(jobs))[k::n_workers] for k in range(n_workers)]
    workers = [_started([jobs[index] for index in share], threads) for share in shares]
    results: dict[int, Any] = {}

    def collect(worker: subprocess.Popen[str], share: range) -> None:
        assert worker.stdout is not None
        assert worker.stderr is not None
        for index in share:
            line = worker.stdout.readline()
            if not line:
                said = worker.stderr.read().strip().splitlines()
                reason = said[-1] if said else f"it ended with exit code {worker.wait()}"
                raise WorkerError(f"A worker process failed: {reason}")
            results[index] = json.loads(line)
            done(index)

    pool = ThreadPoolExecutor(n_workers)
    try:
        collected = [pool.submit(collect, *each) for each in zip(workers, shares, strict=True)]
        for each in as_completed(collected):
            each.result()
    finally:
        for worker in workers:
            worker.kill()
        pool.shutdown()
        for worker in workers:
            worker.communicate()  # closes its pipes
    return [results[index] for index in range(len(jobs))]


def _started(jobs: Sequence[Job], threads: int | None) -> subprocess.Popen[str]:
    """Start a worker that runs these jobs."""
    environment = dict(os.environ)
    environment["PYTHONPATH"] = os.pathsep.join(path or os.getcwd() for path in sys.path)
    if threads is not None:
        for name in ("OPENBLAS", "OMP", "MKL"):
            environment[f"{name}_NUM_THREADS"] = str(threads)
    with tempfile.TemporaryFile("w+", encoding="utf-8") as stdin:
        stdin.writelines(json.dumps(job) + "\n" for job in jobs)
        stdin.seek(0)
        return subprocess.Popen(
            [sys.executable, "-c", f"from {__name__} import work; work()"],
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            env=environment,
        )


def work() -> None:
    """Run the jobs in stdin."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process handles Ctrl-C
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1, encoding="utf-8")
    sys.stdout = sys.stderr  # prints must not mix with the answers
    for line in sys.stdin:
        answers.write(json.dumps(_result(json.loads(line)), allow_nan=False) + "\n")


def _result(job: Job) -> Any:
    function, arguments = job
    return getattr(import_module(f".{_JOBS[function]}", __package__), function)(**arguments)
