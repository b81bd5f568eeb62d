"""Timing of several libraries at the same job, by turns, so that noise affects all alike.

Each runs in a process of its own.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

import numpy as np

from .measure import Array

OURS = "greville"

# The largest relative difference of answers that count as the same.
TOLERANCE = 1e-3


class Runner(Protocol):
    """Does the job of a case, in rounds."""

    def round(self, k: int) -> float:
        """Do the k-th piece of work; return the seconds it took, per unit of the case."""

    def answer(self) -> Array | float:
        """Predictions for rows that were not learned, or an error rate."""


@dataclass(frozen=True)
class Candidate:
    """`start(*args)`, a function of a module of this package, makes the runner.

    `rounds` limits those that take too long. `difference` says why a candidate is not expected to
    give our answer.
    """

    name: str
    start: Callable[..., Runner]
    args: tuple[Any, ...] = ()
    rounds: int | None = None
    difference: str = ""


@dataclass
class Timing:
    """Times of one candidate, in the unit of the case, and ours divided by them, round by round."""

    name: str
    times: list[float] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)
    megabytes: float = float("nan")
    distance: float = float("nan")
    note: str = ""

    @property
    def median(self) -> float:
        return float(np.median(self.times)) if self.times else float("nan")

    @property
    def ratio(self) -> float:
        return float(np.median(self.ratios)) if self.ratios else float("nan")

    @property
    def spread(self) -> tuple[float, float]:
        if not self.ratios:
            return float("nan"), float("nan")
        low, high = np.percentile(self.ratios, [25, 75])
        return float(low), float(high)


@dataclass
class Comparison:
    """The timings of all candidates at one job."""

    case: str
    job: str
    unit: str
    timings: list[Timing]
    limit: float = float("nan")  # time of the least work possible on this machine

    @property
    def ours(self) -> Timing:
        return self.timings[0]

    @property
    def part_of_limit(self) -> float:
        return self.limit / self.ours.median

    def as_dict(self) -> dict[str, Any]:
        rows = []
        for timing in self.timings:
            low, high = timing.spread
            rows.append({**asdict(timing), "median": timing.median, "ratio": timing.ratio,
                         "ratio_low": low, "ratio_high": high})  # fmt: skip
        mine = {
            key: getattr(self, key) for key in ("case", "job", "unit", "limit", "part_of_limit")
        }
        return {**mine, "timings": rows}


def compare(
    case: str,
    job: str,
    unit: str,
    candidates: Sequence[Candidate],
    rounds: int = 7,
    limit: float = float("nan"),
) -> Comparison:
    """Run some rounds of all candidates by turns; the first is ours, and gives the right answer.

    A candidate with fewer rounds is compared with our answer after as many.
    """
    print(f"  {job} ", end="", flush=True)
    processes = [_Process(candidate) for candidate in candidates]
    timings = [Timing(candidate.name) for candidate in candidates]
    wanted = [candidate.rounds or rounds for candidate in candidates]
    our_answers: dict[int, Any] = {}
    for k in range(rounds):
        print(".", end="", flush=True)
        for process, timing in zip(processes, timings, strict=True):
            if process.alive and k < min(rounds, process.candidate.rounds or rounds):
                seconds = process.ask("round", k)
                if seconds is not None:
                    timing.times.append(seconds)
                    if timings[0].times:
                        timing.ratios.append(timings[0].times[-1] / seconds)
        if k + 1 in wanted and processes[0].alive:
            our_answers[k + 1] = processes[0].ask("answer")
    for process, timing, n in zip(processes, timings, wanted, strict=True):
        timing.megabytes = process.ask("memory") if process.alive else float("nan")
        answer = process.ask("answer") if process.alive else None
        timing.distance = _distance(answer, our_answers.get(min(n, rounds)))
        timing.note = process.error
        if process.alive and process.candidate.difference:
            timing.note = process.candidate.difference
        elif timing.times and not timing.distance <= TOLERANCE:
            timing.note = f"another answer ({timing.distance:.1g} apart)"
        process.close()
    print(flush=True)
    comparison = Comparison(case, job, unit, timings, limit)
    _show(comparison)
    return comparison


def _distance(answer: Any, ours: Any) -> float:
    if answer is None or ours is None:
        return float("nan")
    a, b = np.ravel(np.asarray(answer, float)), np.ravel(np.asarray(ours, float))
    if a.size == 1:  # error rates in percent: a quarter of a percent is the same
        return abs(float(a[0] - b[0])) * TOLERANCE / 0.25
    return float(np.linalg.norm(a - b) / np.linalg.norm(b))


def _show(comparison: Comparison) -> None:
    for timing in comparison.timings:
        low, high = timing.spread
        line = f"    {timing.name:34}"
        if timing.times:
            line += f"{timing.median:12.4g} {comparison.unit}"
            if timing is not comparison.ours:
                line += f"   ours/theirs {timing.ratio:.3f} ({low:.3f} to {high:.3f})"
            line += f"   {timing.megabytes:.0f} MB"
        print(line + (f"   {timing.note}" if timing.note else ""))
    if np.isfinite(comparison.limit):
        print(f"    {comparison.part_of_limit:.0%} of what the machine could do")


class _Process:
    """A process that runs a candidate."""

    def __init__(self, candidate: Candidate) -> None:
        context = multiprocessing.get_context("spawn")
        self.candidate = candidate
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, candidate), daemon=True)
        self._process.start()
        theirs.close()
        self.error = ""
        self.alive = True
        self.ask("ready")

    def ask(self, *question: Any) -> Any:
        try:
            if question[0] != "ready":
                self._pipe.send(question)
            kind, value = self._pipe.recv()
        except (EOFError, OSError):
            kind, value = "error", "it crashed"
        if kind == "error":
            self.error, self.alive = str(value), False
            return None
        return value

    def close(self) -> None:
        self._pipe.close()
        self._process.join(20)
        if self._process.is_alive():
            self._process.terminate()


def _serve(pipe: Any, candidate: Candidate) -> None:
    from greville.paper.measure import PeakMemory

    warnings.filterwarnings("ignore")
    sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - until the process ends
    try:
        importlib.import_module(candidate.start.__module__)
        runner = candidate.start(*candidate.args)
        memory = PeakMemory()
        pipe.send(("ok", None))
        while True:
            what, *args = pipe.recv()
            if what == "memory":
                pipe.send(("ok", memory.beyond))
            else:
                pipe.send(("ok", getattr(runner, what)(*args)))
    except EOFError:
        pass
    except ImportError as error:
        pipe.send(("error", f"not installed ({error})"))
    except BaseException as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        pipe.send(("error", f"{type(error).__name__}: {error} ({last.name})"[:200]))
