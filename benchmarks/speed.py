"""greville next to every library that can do the same job."""

from __future__ import annotations

from greville import DynamicOpium, Opium, OpiumLight, datasets

from . import runners
from .comparison import OURS, Candidate, Comparison, compare
from .machine import Machine

FORGETTING = 0.997
WITHOUT = "greville, without numba"


def bulk(machine: Machine, *, full: bool = False) -> list[Comparison]:
    """MNIST, one pass, everything from the pixels to the output weights."""
    try:
        datasets.mnist()
    except datasets.DataError as error:
        print(f"  left out: {error}")
        return []
    comparisons = []
    for M, n, rounds in (
        (1000, 10_000, 5),
        (2000, 10_000, 5),
        (4000, 10_000, 3),
        (7840, 60_000, 2),
    ):
        for dtype in ("float32", "float64"):
            args = (M, n, dtype)
            candidates = [
                Candidate(OURS, runners.greville_bulk, args),
                Candidate("hpelm (batches of 1000)", runners.hpelm_bulk, (*args, 1000)),
                Candidate("hpelm (batches of 5000)", runners.hpelm_bulk, (*args, 5000)),
                Candidate("scikit-learn Ridge", runners.ridge_bulk, (*args, False)),
                Candidate("scikit-learn-intelex Ridge", runners.ridge_bulk, (*args, True)),
            ]
            if M <= 2000 or full:
                candidates += [
                    Candidate("pyoselm, at once", runners.pyoselm_bulk, (*args, n), rounds=1),
                    Candidate("pyoselm, by 1000", runners.pyoselm_bulk, (*args, 1000), rounds=1),
                ]
            needed = n * M**2 + 2 * n * 784 * M + M**3 / 3 + 2 * n * M * 10
            job = f"M = {M}, n = {n:,}, {dtype}"
            limit = machine.product(needed, dtype)
            fewer = (
                1 if M > 4000 and dtype == "float64" else rounds
            )  # more take a quarter of an hour
            comparisons.append(compare("bulk", job, "s", candidates, fewer, limit))
    return comparisons


def chunks(machine: Machine, *, full: bool = False) -> list[Comparison]:
    """Predict then learn, in chunks; the weights are there after each."""
    comparisons = []
    for M in (500, 2000):
        for length in (1, 10, 100, 1000):
            rounds = {1: 60, 10: 20, 100: 8, 1000: 9}[length]
            args = (M, length, rounds)
            few = 9 if length == 1000 else 3 if M == 2000 else 6
            candidates = [
                Candidate(OURS, runners.greville_chunks, (*args, Opium(1e-3))),
                Candidate(
                    "greville, defaults",
                    runners.greville_chunks,
                    (*args, None),
                    difference="another model: with a bias, an intercept, and ε chosen",
                ),
                Candidate("pyoselm", runners.pyoselm_chunks, (*args, False), few),
                Candidate("pyoselm (Woodbury)", runners.pyoselm_chunks, (*args, True), few),
                Candidate("hpelm", runners.hpelm_chunks, args, few),
                Candidate("scikit-learn Ridge, refitted", runners.ridge_chunks, args, few),
            ]
            limit = 1e6 * machine.product(M**2 + 2 * 20 * M)
            comparisons.append(
                compare("chunks", f"M = {M}, {length} rows", "µs/row", candidates, rounds, limit)
            )
    return comparisons


def single(machine: Machine, *, full: bool = False) -> list[Comparison]:
    """Predict one row, then learn it: recursive least squares."""
    comparisons = []
    for M, length, rounds in ((10, 2000, 9), (100, 2000, 9), (1000, 256, 9), (4000, 64, 7)):
        args = (M, length, rounds)
        candidates = [
            Candidate(OURS, runners.greville_single, (*args, Opium(1e-3))),
            Candidate(WITHOUT, runners.greville_single, (*args, Opium(1e-3), False)),
            Candidate(
                "greville, never predicted",
                runners.greville_single,
                (*args, Opium(1e-3), True, False),
            ),
            Candidate("the recursion as printed", runners.printed_single, args),
            Candidate("reservoirpy RLS", runners.reservoirpy_single, (*args, "RLS")),
        ]
        if M <= 1000:
            few = None if M <= 100 else 2
            candidates += [
                Candidate("padasip RLS", runners.padasip_single, (*args, "RLS"), few),
                Candidate(
                    "river BayesianLinearRegression", runners.river_single, (*args, "Bayesian"), few
                ),
            ]
        limit = 1e6 * machine.reading(M**2 / 2)
        comparisons.append(compare("single", f"M = {M}", "µs/row", candidates, rounds, limit))
    args = (100, 2000, 9)
    candidates = [
        Candidate("greville, ELMRegressor", runners.estimator_single, args),
        Candidate("greville, ELMRegressor without numba", runners.estimator_single, (*args, False)),
    ]
    job = "the defaults, 10 inputs, M = 100"
    comparisons.append(compare("single", job, "µs/row", candidates, 9))
    return comparisons


def light(machine: Machine, *, full: bool = False) -> list[Comparison]:
    """The same for OPIUM light: least mean squares."""
    comparisons, plain = [], "another rule: steps that are not normalised"
    for M, length, rounds in ((10, 2000, 9), (100, 2000, 9), (1000, 1000, 9), (4000, 500, 9)):
        args = (M, length, rounds)
        candidates = [
            Candidate(OURS, runners.greville_single, (*args, OpiumLight(1.0))),
            Candidate(WITHOUT, runners.greville_single, (*args, OpiumLight(1.0), False)),
            Candidate("eqs. (27)-(28) in NumPy", runners.light_single, args),
            Candidate("padasip NLMS", runners.padasip_single, (*args, "NLMS")),
            Candidate("reservoirpy LMS", runners.reservoirpy_single, (*args, "LMS"), None, plain),
            Candidate("river LinearRegression", runners.river_single, (*args, "SGD"), None, plain),
        ]
        limit = 1e6 * machine.reading(3 * M)
        comparisons.append(compare("light", f"M = {M}", "µs/row", candidates, rounds, limit))
    return comparisons


def dynamic(machine: Machine, *, full: bool = False) -> list[Comparison]:
    """The same for dynamic OPIUM: recursive least squares that forgets."""
    comparisons = []
    for M, length, rounds in ((10, 2000, 9), (100, 2000, 9), (1000, 256, 9), (4000, 64, 7)):
        args = (M, length, rounds)
        forgets = DynamicOpium(2 - FORGETTING, 1e-3)
        candidates = [
            Candidate(OURS, runners.greville_single, (*args, forgets)),
            Candidate(WITHOUT, runners.greville_single, (*args, forgets, False)),
            Candidate("eqs. (31)-(33) as printed", runners.printed_single, (*args, FORGETTING)),
            Candidate("reservoirpy RLS", runners.reservoirpy_single, (*args, "RLS", FORGETTING)),
        ]
        if M <= 1000:
            few = None if M <= 100 else 2
            candidates.append(
                Candidate("padasip RLS", runners.padasip_single, (*args, "RLS", FORGETTING), few)
            )
        limit = 1e6 * machine.reading(M**2 / 2)
        comparisons.append(compare("dynamic", f"M = {M}", "µs/row", candidates, rounds, limit))
    return comparisons


def record(machine: Machine, *, full: bool = False) -> list[Comparison]:
    """The prediction of each of 10,000 rows before it is learned."""
    comparisons = []
    for M, rows in ((50, 5000), (100, 3000), (500, 1000), (1000, 500)):
        n = 10_000
        candidates = [
            Candidate(OURS, runners.prequential_record, (M, n)),
            Candidate(WITHOUT, runners.prequential_record, (M, n, False)),
            Candidate(
                "greville, epsilon chosen", runners.chosen_record, (M, n), None, "another ridge"
            ),
            Candidate("greville, row by row", runners.loop_record, (M, n), 3),
            Candidate("the recursion, in place", runners.printed_record, (M, n, rows, True)),
            Candidate("the recursion, as printed", runners.printed_record, (M, n, rows, False)),
        ]
        limit = 1e6 * machine.product(3.2 * M**2)
        comparisons.append(compare("record", f"M = {M}, n = {n:,}", "µs/row", candidates, 5, limit))
    return comparisons


def prediction(machine: Machine, *, full: bool = False) -> list[Comparison]:
    """Predictions alone, 1000 hidden units."""
    M, comparisons = 1000, []
    for length, repeats in ((1, 300), (100, 60), (100_000, 1)):
        args = (M, length, repeats)
        first = (
            [Candidate("greville, predict_one", runners.greville_prediction, (*args, True))]
            if length == 1
            else []
        )
        candidates = [
            *first,
            Candidate(OURS, runners.greville_prediction, args),
            Candidate("hpelm", runners.hpelm_prediction, args),
            Candidate("pyoselm", runners.pyoselm_prediction, args),
            Candidate("scikit-learn Ridge", runners.ridge_prediction, args),
        ]
        limit = 1e6 * machine.product(2 * 20 * M + 2 * M)
        comparisons.append(
            compare("prediction", f"{length:,} rows", "µs/row", candidates, 7, limit)
        )
    return comparisons
