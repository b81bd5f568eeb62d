"""What everyday work costs, in under two minutes: ratios to plain NumPy, SciPy and scikit-learn.

Each line is our time divided by that of a reference, measured by turns: the median over the rounds.
It is the time of the processor, with one BLAS thread, so that other work on the machine disturbs
little. What is compiled is compiled before the clock starts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from copy import deepcopy
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.linalg import cho_factor, cho_solve
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import Ridge
from threadpoolctl import threadpool_limits

from greville import DynamicOpium, ELMClassifier, ELMRegressor, Opium, OpiumLight, RandomLayer
from greville.compiled import use as use_kernels
from greville.tables import Stream, TableRegressor

from .measure import Array
from .runners import INPUTS, RIDGE, activations, light_single, printed_single

RESULTS = Path("benchmarks/results")
FORGETTING = 0.997

Work = Callable[[], object]
Pair = tuple[Work, Work, int]  # our work, that of the reference, and how many rows ours has


@dataclass(frozen=True)
class Case:
    """`start(*sizes)` makes the two pieces of work; the model is there and has learned rows."""

    name: str
    reference: str
    start: Callable[..., Pair]
    sizes: tuple[int, ...] = ()


@dataclass(frozen=True)
class Line:
    """A line of the table: the ratio, the middle half of its rounds, and our time."""

    name: str
    reference: str
    ratio: float
    low: float
    high: float
    microseconds: float


def run(
    folder: Path = RESULTS, budget: float = 2.5, rounds: int = 5, shrink: int = 1
) -> list[Line]:
    """Print the table, beside the ratios of the last run, and keep it in `folder`/quick.json.

    A case has `budget` seconds after one round to warm up (none with a budget of 0), and at least
    so many rounds, or three if they take too long. `shrink` divides the sizes.
    """
    path = folder / "quick.json"
    before = _ratios(path)
    headers = f"{'before':>10}{'now/before':>12}" if before else ""
    print(f"{'our time / that of the reference':34}{'now':>7}{'':48}{headers}")
    lines = []
    with threadpool_limits(1), use_kernels(True):
        for case in CASES:
            pair = case.start(*(max(size // shrink, 10) for size in case.sizes))
            lines.append(_measured(case, pair, budget, rounds))
            _show(lines[-1], before)
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([asdict(line) for line in lines], indent=1), encoding="utf-8")
    return lines


def _measured(case: Case, pair: Pair, budget: float, rounds: int) -> Line:
    ours, reference, n = pair
    if budget:
        ours(), reference()  # what is loaded or compiled at first is not timed
    times: list[float] = []
    ratios: list[float] = []
    start, passed = time.perf_counter(), 0.0
    while passed < budget or len(times) < (rounds if passed < 4 * budget else min(rounds, 3)):
        times.append(_seconds(ours))
        ratios.append(times[-1] / _seconds(reference))
        passed = time.perf_counter() - start
    low, ratio, high = np.percentile(ratios, [25, 50, 75]).tolist()
    return Line(case.name, case.reference, ratio, low, high, 1e6 * float(np.median(times)) / n)


def _seconds(work: Work) -> float:
    """The time of the processor, in this process and in those it starts."""
    start = _clock()
    work()
    return max(_clock() - start, 1e-9)


def _clock() -> float:
    if os.name == "nt":  # which does not count the processes that have ended
        return time.perf_counter()
    times = os.times()
    return time.process_time() + times.children_user + times.children_system


def _ratios(path: Path) -> dict[tuple[str, str], float]:
    """The ratios of an earlier run, by the names of the work and of the reference."""
    if not path.exists():
        return {}
    lines = json.loads(path.read_text(encoding="utf-8"))
    return {(line["name"], line["reference"]): line["ratio"] for line in lines}


def _show(line: Line, before: dict[tuple[str, str], float]) -> None:
    took = line.microseconds
    time = f"({took:.3g} µs)" if took < 1000 else f"({took / 1000:.{1 if took < 1e5 else 0}f} ms)"
    text = f"{line.name:34}{line.ratio:7.3f} x {line.reference:34}{time:>11}"
    earlier = before.get((line.name, line.reference))
    if earlier is not None:
        text += f"{earlier:10.3f}{line.ratio / earlier:12.2f}"
    print(text, flush=True)


# What is measured


def by_row(model: Any, rows: Iterable[Any], targets: Iterable[Any]) -> Work:
    """Predict each row, then learn it."""
    pairs = list(zip(rows, targets, strict=True))
    predict, learn = (
        (model.predict_one, model.learn_one)
        if hasattr(model, "learn_one")
        else (model.predict, model.learn)
    )

    def work() -> None:
        for row, target in pairs:
            predict(row)
            learn(row, target)

    return work


def solver_rows(solver: Any, printed: Any, M: int, n: int) -> Pair:
    H, y = activations(M, 2 * M + n)
    solver.partial_fit(H[: 2 * M], y[: 2 * M])
    rows, targets = list(H[2 * M :]), y[2 * M :].tolist()
    return by_row(solver, rows, targets), by_row(printed, rows, targets), n


def single(M: int, n: int) -> Pair:
    return solver_rows(Opium(1e-3), printed_single(M, 1, 1), M, n)


def forgetting(M: int, n: int) -> Pair:
    solver = DynamicOpium(2 - FORGETTING, 1e-3)
    return solver_rows(solver, printed_single(M, 1, 1, FORGETTING), M, n)


def light(M: int, n: int) -> Pair:
    return solver_rows(OpiumLight(1.0), light_single(M, 1, 1), M, n)


def chunks(M: int, n: int) -> Pair:
    H, y = activations(M, 2 * M + n)
    model = Opium(1e-3).partial_fit(H, y)
    G, b = H.T @ H + RIDGE * np.eye(M), H.T @ y
    H, y, W = H[-n:], y[-n:], np.zeros(M)

    def ours() -> None:
        model.predict(H)
        model.partial_fit(H, y)
        model.coef_  # noqa: B018 - so that pending rows are learned

    def reference() -> None:
        nonlocal G, b, W
        H @ W
        G += H.T @ H
        b += H.T @ y
        W = cho_solve(cho_factor(G), b)

    return ours, reference, n


def fit(M: int, n: int) -> Pair:
    X, y = activations(INPUTS, n)
    model = ELMRegressor(RandomLayer(M), Opium(1e-3), random_state=0, standardize=False)
    weights = RandomLayer(M, random_state=0).fit(X).weights_
    ridge = Ridge(RIDGE, fit_intercept=False, solver="cholesky", copy_X=False)
    return lambda: model.fit(X, y), lambda: ridge.fit(np.tanh(X @ weights), y), n


def record(M: int, n: int) -> Pair:
    H, y = activations(M, n)
    return lambda: Opium(1e-3).prequential(H, y), printed_rows(M, n), n


def long_record(M: int, n: int) -> Pair:
    H, y = activations(M, n)
    return lambda: Opium(1e-3).prequential(H, y), lambda: H.T @ H, n


def first_rows(model: Callable[[], Any], as_row: Callable[[Array], Any], n: int) -> Pair:
    """A new model, from its first row on."""
    X, y = activations(10, n)
    rows, targets, ridge = [as_row(x) for x in X], y.tolist(), Ridge()

    def ours() -> None:
        by_row(model().learn_one(rows[0], targets[0]), rows[1:], targets[1:])()

    def reference() -> None:
        for i in range(1, n):
            ridge.fit(X[:i], y[:i]).predict(X[i : i + 1])

    return ours, reference, n


def regressor_start(n: int) -> Pair:
    return first_rows(lambda: ELMRegressor(random_state=0), np.asarray, n)


def table_start(n: int) -> Pair:
    return first_rows(TableRegressor, as_dict, n)


def later_rows(model: Any, rows: Iterable[Any], targets: Array) -> Work:
    """Learn with a copy, so that each round is the same work: some rows take longer than others."""
    pairs = list(rows), targets.tolist()
    by_row(model, *pairs)()  # what is done once is done

    def work() -> None:
        by_row(deepcopy(model), *pairs)()

    return work


def printed_rows(M: int, n: int) -> Work:
    H, y = activations(M, n)
    return by_row(printed_single(M, 1, 1), H, y.tolist())


def regressor(M: int, n: int) -> Pair:
    X, y = activations(10, 1500 + n)
    model = ELMRegressor(random_state=0).partial_fit(X[:-n], y[:-n])
    return later_rows(model, X[-n:], y[-n:]), printed_rows(M, n), n


def classifier(M: int, n: int) -> Pair:
    X, y = activations(10, 1500 + n)
    labels = np.array(["a", "b", "c"])[np.digitize(y, [-0.5, 0.5])]
    model = ELMClassifier(random_state=0).partial_fit(X[:-n], labels[:-n])
    return later_rows(model, X[-n:], labels[-n:]), printed_rows(M, n), n


def table(n: int) -> Pair:
    X, y = activations(10, 200 + n)
    rows = [as_dict(x) for x in X]
    model = TableRegressor().fit(pa.Table.from_pylist(rows[:200]), y[:200])
    vectorizer = DictVectorizer(sparse=False).fit(rows)
    printed = printed_single(len(vectorizer.feature_names_), 1, 1)

    def reference() -> None:
        for row, target in zip(rows[200:], y[200:].tolist(), strict=True):
            x = vectorizer.transform(row)[0]
            printed.predict(x)
            printed.learn(x, target)

    return later_rows(model, rows[200:], y[200:]), reference, n


class StreamOfPairs:
    """A stream whose targets come beside their rows."""

    def __init__(self) -> None:
        self.stream = Stream("target", task="numbers")

    def predict_one(self, row: dict[str, Any]) -> Any:
        return self.stream.predict_one(row)

    def learn_one(self, row: dict[str, Any], target: float) -> None:
        self.stream.learn_one({**row, "target": target})


def stream(n: int) -> Pair:
    X, y = activations(10, 2000 + n)
    model, rows = StreamOfPairs(), [dict(zip("abcdefghij", x, strict=True)) for x in X.tolist()]
    for row, target in zip(rows[:2000], y[:2000].tolist(), strict=True):
        model.learn_one(row, target)
    return later_rows(model, rows[2000:], y[2000:]), printed_rows(200, n), n


def as_dict(x: Array) -> dict[str, Any]:
    """Ten numbers and a word."""
    return {**dict(zip("abcdefghij", x.tolist(), strict=True)), "kind": "odd" if x[0] > 0 else "no"}


def predictions(M: int, n: int, one: bool = False) -> Pair:
    X, y = activations(INPUTS, 2 * M + n)
    model = ELMRegressor(RandomLayer(M), Opium(1e-3), random_state=0, standardize=False).fit(X, y)
    weights, coef, rows = RandomLayer(M, random_state=0).fit(X).weights_, np.ones(M), list(X[:n])
    if one:
        return (
            lambda: [model.predict_one(x) for x in rows],
            lambda: [np.tanh(x @ weights) @ coef for x in rows],
            n,
        )
    return lambda: model.predict(X[:n]), lambda: np.tanh(X[:n] @ weights) @ coef, n


def predict_one(M: int, n: int) -> Pair:
    return predictions(M, n, one=True)


def python(*arguments: str) -> Work:
    return lambda: subprocess.run([sys.executable, *arguments], check=True, capture_output=True)


def show_help() -> Pair:
    return python("-m", "greville", "--help"), python("-c", IMPORT), 1


def train(n: int) -> Pair:
    X, y = activations(10, n)
    header = ",".join([*"abcdefghij", "y"])

    def ours() -> None:
        with TemporaryDirectory() as folder:
            data, model = Path(folder, "rows.csv"), Path(folder, "model.greville")
            np.savetxt(data, np.column_stack([X, y]), delimiter=",", header=header, comments="")
            python("-m", "greville", "train", f"{data}", "--target", "y", "-o", f"{model}")()

    return ours, python("-c", IMPORT), 1


PRINTED = "the printed recursion"
REFITTED = "Ridge refitted with each row"
PLAIN = "tanh(X @ W) @ coef"
IMPORT = "import sklearn.linear_model"

CASES = [
    Case("single rows, 10 units", PRINTED, single, (10, 1000)),
    Case("single rows, 100 units", PRINTED, single, (100, 1000)),
    Case("single rows, 1000 units", PRINTED, single, (1000, 64)),
    Case("DynamicOpium, 100 units", "eqs. (31)-(33) as printed", forgetting, (100, 1000)),
    Case("OpiumLight, 1000 units", "eqs. (27)-(28) in NumPy", light, (1000, 1000)),
    Case("chunks of 100, 1000 units", "H'H added up and solved", chunks, (1000, 100)),
    Case("fit, 500 units, 5000 rows", "tanh(X @ W) and Ridge", fit, (500, 5000)),
    Case("record, 100 units, 1000 rows", PRINTED, record, (100, 1000)),
    Case("record, 500 units, 5000 rows", "the product H'H", long_record, (500, 5000)),
    Case("ELMRegressor(), first 200 rows", REFITTED, regressor_start, (200,)),
    Case("ELMRegressor(), later rows", f"{PRINTED}, 400 units", regressor, (400, 500)),
    Case("ELMClassifier(), later rows", f"{PRINTED}, 400 units", classifier, (400, 500)),
    Case("TableRegressor(), first 100 rows", REFITTED, table_start, (100,)),
    Case("TableRegressor(), later rows", "DictVectorizer and the recursion", table, (500,)),
    Case("Stream, rows after 2,000", f"{PRINTED}, 200 units", stream, (500,)),
    Case("predict_one, 1000 units", PLAIN, predict_one, (1000, 500)),
    Case("predict, 1000 units, 1000 rows", PLAIN, predictions, (1000, 1000)),
    Case("greville --help", IMPORT, show_help),
    Case("greville train, 100 rows", IMPORT, train, (100,)),
]
