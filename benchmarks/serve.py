"""Requests a second of `greville serve`, next to the least that FastAPI can do, and to Flask.

All servers and generators of load are processes of their own on this machine. The contestants take
turns, and ratios are taken round by round. The tables are those of docs/serve.md.
"""

from __future__ import annotations

import json
import math
import os
import tempfile
import time
import urllib.error
import urllib.request
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from .load_generator import Load, Measured, generate, generating
from .measure import seconds as seconds_of
from .servers import greville, other, serving

INPUTS, NOISE = 10, 0.1

# Hidden units of the model that predicts and learns, and of that which does both at once.
UNITS, MANY_UNITS = 100, 500

# Rows learned before anything is measured: more than the first rows, which choose what columns are.
BEFORE = 8000

LIMIT = "FastAPI, a constant"

# Servers that are not greville's
OTHERS = ("bare", "flask")


@dataclass(frozen=True)
class Job:
    """A load for one server."""

    name: str
    server: str
    path: str
    rows: int  # in a request
    connections: int = 32


@dataclass
class Found:
    """What the rounds of a job measured."""

    job: Job
    rounds: list[Measured] = field(default_factory=list)

    def middle(self, name: str) -> float:
        return median(getattr(one, name) for one in self.rounds)


JOBS = (
    Job(LIMIT, "bare", "/predict", 1),
    Job("greville, predict 1 row", "predicting", "/predict", 1),
    Job("greville, predict 100 rows", "predicting", "/predict", 100),
    Job("greville, learn 1 row", "learning", "/learn", 1),
    Job("greville, learn 100 rows", "learning", "/learn", 100),
    Job("greville --no-sync, learn 100 rows", "unsynced", "/learn", 100),
    Job("river behind Flask, predict 1 row", "flask", "/predict", 1),
    Job("river behind Flask, learn 1 row", "flask", "/learn", 1),
)


def run(
    rounds: int = 5,
    seconds: float = 5.0,
    warm_up: float = 1.0,
    requests: int = 10_000_000,
    jobs: tuple[Job, ...] = JOBS,
) -> dict[str, Any]:
    """Measure all jobs, each so many seconds or requests, and print their tables.

    The first job is the limit.
    """
    try:
        import fastapi  # noqa: F401
    except ImportError:
        print("    FastAPI is not installed (pip install '.[serve]'): nothing was measured")
        return {}
    others = os.getloadavg()[0]
    if others > 0.5:
        print(
            f"    Load average {others:.1f}: other programs run too, and all numbers are too low."
        )
    rows = _rows(20_000)
    usual = Load(port=0, path="", bodies=[], seconds=seconds, warm_up=warm_up, requests=requests)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        print(f"A sync of the disk takes {1e3 * _sync_seconds(folder):.2f} ms.")
        ports = stack.enter_context(serving(_commands(folder, {job.server for job in jobs})))
        acknowledged = {
            name: _prepare(port, rows) for name, port in ports.items() if name not in OTHERS
        }
        found = [Found(job) for job in jobs if job.server in ports]
        both: dict[float | None, list[tuple[Measured, Measured]]] = {None: [], 200.0: []}
        for _ in range(rounds):
            for one in found:
                load = _load(one.job, ports[one.job.server], rows, usual)
                one.rounds.append(checked(one.job, load, generate(load)))
                if one.job.path == "/learn" and one.job.server in acknowledged:
                    count = one.rounds[-1].acknowledged * one.job.rows
                    acknowledged[one.job.server] += count
            for rate, measured in both.items():
                measured.append(_both(ports["both"], rows, usual, rate))
                acknowledged["both"] += 100 * measured[-1][1].acknowledged
        for name, count in acknowledged.items():
            _check_learned(name, ports[name], count)
    _print(found, both)
    return {"jobs": found, "both": both}


def _commands(folder: Path, wanted: set[str]) -> dict[str, list[str]]:
    """The servers by name; Flask's where it is installed."""
    commands = {
        "bare": other("bare"),
        "predicting": greville(folder / "predicting.greville", UNITS),
        "learning": greville(folder / "learning.greville", UNITS),
        "unsynced": greville(folder / "unsynced.greville", UNITS, "--no-sync"),
        "flask": other("flask"),
        "both": greville(folder / "both.greville", MANY_UNITS),
    }
    missing = [name for name in ("flask", "river") if find_spec(name) is None]
    if missing and "flask" in wanted:
        print(f"    {' and '.join(missing)} not installed: nothing is compared with them")
        del commands["flask"]
    return {name: one for name, one in commands.items() if name in {*wanted, "both"}}


def _sync_seconds(folder: Path, repeats: int = 50) -> float:
    """Of a page of a log; next to nothing where the folder is in memory."""
    with (folder / "synced").open("wb") as file:
        times = []
        for _ in range(repeats):
            file.write(bytes(4096))
            file.flush()
            times.append(seconds_of(lambda: os.fsync(file.fileno())))
    return median(times)


def _rows(count: int) -> list[dict[str, float]]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(count, INPUTS)).round(6)
    y = (_target(X) + NOISE * rng.normal(size=count)).round(6)
    names = [f"x{i}" for i in range(INPUTS)]
    return [
        {**dict(zip(names, x, strict=True)), "y": target}
        for x, target in zip(X.tolist(), y.tolist(), strict=True)
    ]


def _target(X: Any) -> Any:
    return np.sin(X[:, 0]) + X[:, 1]


def _load(job: Job, port: int, rows: list[dict[str, float]], usual: Load) -> Load:
    """The load of a job; each body has other rows."""
    if job.path == "/predict":
        rows = [{name: row[name] for name in row if name != "y"} for row in rows[:2000]]
    if job.rows == 1:
        bodies = [json.dumps(row) for row in rows]
    else:
        parts = range(0, len(rows), job.rows)
        bodies = [json.dumps(rows[begin : begin + job.rows]) for begin in parts]
    return replace(usual, port=port, path=job.path, bodies=bodies, connections=job.connections)


def _prepare(port: int, rows: list[dict[str, float]]) -> int:
    """Have the first rows learned; how many."""
    _wait_until_ready(port)
    job = Job("the first rows", "", "/learn", 100, connections=1)
    count = BEFORE // job.rows
    usual = Load(port, "", [], seconds=600, warm_up=0, requests=count)
    load = _load(job, port, rows, usual)
    return job.rows * checked(job, load, generate(load)).acknowledged


def _wait_until_ready(port: int) -> None:
    until = time.monotonic() + 120
    while True:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/ready", timeout=60):
                return
        except urllib.error.HTTPError as error:
            with error:
                if time.monotonic() > until:
                    raise
            time.sleep(0.05)


def _both(
    port: int, rows: list[dict[str, float]], usual: Load, rate: float | None
) -> tuple[Measured, Measured]:
    """Single predictions while another generator has rows learned as fast as it can."""
    learning = Job("learn 100 rows", "both", "/learn", 100, connections=4)
    predicting = Job("predict 1 row", "both", "/predict", 1, connections=8)
    long = replace(usual, warm_up=usual.warm_up / 2, seconds=usual.seconds + usual.warm_up)
    loads = [
        _load(learning, port, rows, long),
        replace(_load(predicting, port, rows, usual), rate=rate),
    ]
    with generating(loads[0]) as learned:
        predicted = checked(predicting, loads[1], generate(loads[1]))
        return predicted, checked(learning, loads[0], learned())


def checked(job: Job, load: Load, measured: Measured) -> Measured:
    """Raise an error if requests failed, or if the answer that was looked at is wrong."""
    if measured.errors or not measured.acknowledged:
        raise RuntimeError(f"{job.name}: {measured.errors or 'no answer'}")
    asked, answer = json.loads(load.bodies[measured.sample[0]]), json.loads(measured.sample[1])
    if job.path == "/learn":
        right = answer["learned"] == job.rows
    elif job.server in OTHERS:
        right = math.isfinite(answer["prediction"])
    else:
        asked, answers = (asked, answer) if job.rows > 1 else ([asked], [answer])
        truth = _target(np.array([[row["x0"], row["x1"]] for row in asked]))
        predicted = np.array([one["prediction"] for one in answers])
        right = np.sqrt(np.mean((predicted - truth) ** 2)) < 1 and len(answers) == job.rows
    if not right:
        raise RuntimeError(f"{job.name}: wrong answer {measured.sample[1][:200]}")
    if measured.busy > 0.9:
        print(f"    {job.name}: the generator took {measured.busy:.0%} of a core, and is the limit")
    return measured


def _check_learned(name: str, port: int, count: int) -> None:
    """What was acknowledged has been learned, once."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/model", timeout=60) as answer:
        known = json.load(answer)["rows"]
    if known != count:
        raise RuntimeError(f"{name}: {count:,} rows were acknowledged, and {known:,} are learned")


def _print(found: list[Found], both: dict[float | None, list[tuple[Measured, Measured]]]) -> None:
    limit = found[0].rounds
    print(f"{INPUTS} inputs, {UNITS} units, {found[0].job.connections} connections:\n")
    print("| | requests/s | rows/s | p50 | p99 | of the limit |")
    print("|---|---|---|---|---|---|")
    for one in found:
        rate = one.middle("rate")
        rows = "" if one.job.name == LIMIT else f"{rate * one.job.rows:,.0f}"
        share = median(mine.rate / most.rate for mine, most in zip(one.rounds, limit, strict=True))
        print(
            f"| {one.job.name} | {rate:,.0f} | {rows} | {one.middle('p50'):.1f} ms "
            f"| {one.middle('p99'):.1f} ms | {share:.2f} |"
        )
    print(f"\n{MANY_UNITS} units, single predictions while rows are learned, 100 a request:\n")
    print("| | predictions/s | p50 | p99 | rows learned/s |")
    print("|---|---|---|---|---|")
    for wanted, pairs in both.items():
        name = "as fast as they can" if wanted is None else f"{wanted:.0f} a second"
        rate, p50, p99 = (
            median(getattr(predicted, what) for predicted, _ in pairs)
            for what in ("rate", "p50", "p99")
        )
        learned = median(100 * beside.rate for _, beside in pairs)
        print(f"| {name} | {rate:,.0f} | {p50:.1f} ms | {p99:.1f} ms | {learned:,.0f} |")
