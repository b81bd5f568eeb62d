"""Contestants in processes of their own, asked by turns, so that noise hits all alike."""

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

from ._measure import Array

OURS = "greville"

# How far answers may lie apart, as a part of their size, to count as the same.
SAME = 1e-3


class Player(Protocol):
    """Something that does the job of a case, in rounds."""

    def round(self, k: int) -> float:
        """Do the k-th piece of work; return the seconds it took, per unit of the case."""

    def answer(self) -> Array | float:
        """What it has learned: predictions for rows it has not seen, or an error rate."""


@dataclass(frozen=True)
class Contestant:
    """`start(*args)`, a function of a module of this package, makes the player.

    `rounds` limits those that take too long. `another` says what is different about one that is
    not meant to give our answer.
    """

    name: str
    start: Callable[..., Player]
    args: tuple[Any, ...] = ()
    rounds: int | None = None
    another: str = ""


@dataclass
class Score:
    """What one contestant did, in units of the case; ratios are ours by theirs, round by round."""

    name: str
    times: list[float] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)
    megabytes: float = float("nan")
    apart: float = float("nan")
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
class Match:
    """One job, all contestants."""

    case: str
    job: str
    unit: str
    scores: list[Score]
    limit: float = float("nan")  # what the machine would need for the least work, in the same unit

    @property
    def ours(self) -> Score:
        return self.scores[0]

    @property
    def part_of_limit(self) -> float:
        return self.limit / self.ours.median

    def as_dict(self) -> dict[str, Any]:
        rows = []
        for score in self.scores:
            low, high = score.spread
            rows.append({**asdict(score), "median": score.median, "ratio": score.ratio,
                         "ratio_low": low, "ratio_high": high})  # fmt: skip
        mine = {
            key: getattr(self, key) for key in ("case", "job", "unit", "limit", "part_of_limit")
        }
        return {**mine, "scores": rows}


def hold(
    case: str,
    job: str,
    unit: str,
    contestants: Sequence[Contestant],
    rounds: int = 7,
    limit: float = float("nan"),
) -> Match:
    """Let all of them play some rounds by turns; the first is ours, and what others must say.

    Who plays fewer rounds is compared with what we said after as many.
    """
    print(f"  {job} ", end="", flush=True)
    seats = [_Seat(contestant) for contestant in contestants]
    scores = [Score(contestant.name) for contestant in contestants]
    wanted = [contestant.rounds or rounds for contestant in contestants]
    said: dict[int, Any] = {}
    for k in range(rounds):
        print(".", end="", flush=True)
        for seat, score in zip(seats, scores, strict=True):
            if seat.alive and k < min(rounds, seat.contestant.rounds or rounds):
                seconds = seat.ask("round", k)
                if seconds is not None:
                    score.times.append(seconds)
                    if scores[0].times:
                        score.ratios.append(scores[0].times[-1] / seconds)
        if k + 1 in wanted and seats[0].alive:
            said[k + 1] = seats[0].ask("answer")
    for seat, score, n in zip(seats, scores, wanted, strict=True):
        score.megabytes = seat.ask("memory") if seat.alive else float("nan")
        answer = seat.ask("answer") if seat.alive else None
        score.apart = _apart(answer, said.get(min(n, rounds)))
        score.note = seat.error
        if seat.alive and seat.contestant.another:
            score.note = seat.contestant.another
        elif score.times and not score.apart <= SAME:
            score.note = f"another answer ({score.apart:.1g} apart)"
        seat.close()
    print(flush=True)
    match = Match(case, job, unit, scores, limit)
    _show(match)
    return match


def _apart(answer: Any, ours: Any) -> float:
    if answer is None or ours is None:
        return float("nan")
    a, b = np.ravel(np.asarray(answer, float)), np.ravel(np.asarray(ours, float))
    if a.size == 1:  # error rates in percent: a quarter of a percent is the same
        return abs(float(a[0] - b[0])) * SAME / 0.25
    return float(np.linalg.norm(a - b) / np.linalg.norm(b))


def _show(match: Match) -> None:
    for score in match.scores:
        low, high = score.spread
        line = f"    {score.name:34}"
        if score.times:
            line += f"{score.median:12.4g} {match.unit}"
            if score is not match.ours:
                line += f"   ours/theirs {score.ratio:.3f} ({low:.3f} to {high:.3f})"
            line += f"   {score.megabytes:.0f} MB"
        print(line + (f"   {score.note}" if score.note else ""))
    if np.isfinite(match.limit):
        print(f"    {match.part_of_limit:.0%} of what the machine could do")


class _Seat:
    """A process with a player in it."""

    def __init__(self, contestant: Contestant) -> None:
        context = multiprocessing.get_context("spawn")
        self.contestant = contestant
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_play, args=(theirs, contestant), daemon=True)
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


def _play(pipe: Any, contestant: Contestant) -> None:
    from greville.paper.measure import PeakMemory

    warnings.filterwarnings("ignore")
    sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - for good
    try:
        importlib.import_module(contestant.start.__module__)
        player = contestant.start(*contestant.args)
        memory = PeakMemory()
        pipe.send(("ok", None))
        while True:
            what, *args = pipe.recv()
            if what == "memory":
                pipe.send(("ok", memory.beyond))
            else:
                pipe.send(("ok", getattr(player, what)(*args)))
    except EOFError:
        pass
    except ImportError as error:
        pipe.send(("error", f"not installed ({error})"))
    except BaseException as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        pipe.send(("error", f"{type(error).__name__}: {error} ({last.name})"[:200]))
