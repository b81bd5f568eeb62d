"""Ours next to every peer that can do the same job."""

from __future__ import annotations

from greville import DynamicOpium, Opium, OpiumLight, datasets

from . import _players as players
from ._contest import OURS, Contestant, Match, hold
from ._machine import Machine

FORGETTING = 0.997


def bulk(machine: Machine, *, full: bool = False) -> list[Match]:
    """MNIST, one pass, everything from the pixels to the output weights."""
    try:
        datasets.mnist()
    except datasets.DataError as error:
        print(f"  left out: {error}")
        return []
    matches = []
    for M, n, rounds in (
        (1000, 10_000, 5),
        (2000, 10_000, 5),
        (4000, 10_000, 3),
        (7840, 60_000, 2),
    ):
        for dtype in ("float32", "float64"):
            args = (M, n, dtype)
            contestants = [
                Contestant(OURS, players.greville_bulk, args),
                Contestant("hpelm (batches of 1000)", players.hpelm_bulk, (*args, 1000)),
                Contestant("hpelm (batches of 5000)", players.hpelm_bulk, (*args, 5000)),
                Contestant("scikit-learn Ridge", players.ridge_bulk, (*args, False)),
                Contestant("scikit-learn-intelex Ridge", players.ridge_bulk, (*args, True)),
            ]
            if M <= 2000 or full:
                contestants += [
                    Contestant("pyoselm, at once", players.pyoselm_bulk, (*args, n), rounds=1),
                    Contestant("pyoselm, by 1000", players.pyoselm_bulk, (*args, 1000), rounds=1),
                ]
            needed = n * M**2 + 2 * n * 784 * M + M**3 / 3 + 2 * n * M * 10
            job = f"M = {M}, n = {n:,}, {dtype}"
            limit = machine.product(needed, dtype)
            fewer = 1 if M > 4000 and dtype == "float64" else rounds  # a quarter of an hour else
            matches.append(hold("bulk", job, "s", contestants, fewer, limit))
    return matches


def chunks(machine: Machine, *, full: bool = False) -> list[Match]:
    """Predict then learn, in chunks; the weights are there after each."""
    matches = []
    for M in (500, 2000):
        for length in (1, 10, 100, 1000):
            rounds = {1: 60, 10: 20, 100: 8, 1000: 4}[length]
            args = (M, length, rounds)
            few = 3 if M == 2000 else 6
            contestants = [
                Contestant(OURS, players.greville_chunks, (*args, Opium(1e-3))),
                Contestant(
                    "greville, nothing given",
                    players.greville_chunks,
                    (*args, None),
                    another="another model: with a bias, an intercept, and ε chosen",
                ),
                Contestant("pyoselm", players.pyoselm_chunks, (*args, False), few),
                Contestant("pyoselm (Woodbury)", players.pyoselm_chunks, (*args, True), few),
                Contestant("hpelm", players.hpelm_chunks, args, few),
                Contestant("scikit-learn Ridge, again", players.ridge_chunks, args, few),
            ]
            limit = 1e6 * machine.product(M**2 + 2 * 20 * M)
            matches.append(
                hold("chunks", f"M = {M}, {length} rows", "µs/row", contestants, rounds, limit)
            )
    return matches


def single(machine: Machine, *, full: bool = False) -> list[Match]:
    """Predict one row, then learn it: recursive least squares."""
    matches = []
    for M, length, rounds in ((10, 2000, 9), (100, 2000, 9), (1000, 256, 9), (4000, 64, 7)):
        args = (M, length, rounds)
        contestants = [
            Contestant(OURS, players.greville_single, (*args, Opium(1e-3))),
            Contestant("the recursion as printed", players.printed_single, args),
            Contestant("reservoirpy RLS", players.reservoirpy_single, (*args, "RLS")),
        ]
        if M <= 1000:
            few = None if M <= 100 else 2
            contestants += [
                Contestant("padasip RLS", players.padasip_single, (*args, "RLS"), few),
                Contestant(
                    "river BayesianLinearRegression", players.river_single, (*args, "Bayesian"), few
                ),
            ]
        limit = 1e6 * machine.reading(M**2 / 2)
        matches.append(hold("single", f"M = {M}", "µs/row", contestants, rounds, limit))
    return matches


def light(machine: Machine, *, full: bool = False) -> list[Match]:
    """The same for OPIUM light: least mean squares."""
    matches, plain = [], "another rule: steps that are not normalised"
    for M, length, rounds in ((10, 2000, 9), (100, 2000, 9), (1000, 1000, 9), (4000, 500, 9)):
        args = (M, length, rounds)
        contestants = [
            Contestant(OURS, players.greville_single, (*args, OpiumLight(1.0))),
            Contestant("eqs. (27)-(28) in NumPy", players.light_single, args),
            Contestant("padasip NLMS", players.padasip_single, (*args, "NLMS")),
            Contestant("reservoirpy LMS", players.reservoirpy_single, (*args, "LMS"), None, plain),
            Contestant("river LinearRegression", players.river_single, (*args, "SGD"), None, plain),
        ]
        limit = 1e6 * machine.reading(3 * M)
        matches.append(hold("light", f"M = {M}", "µs/row", contestants, rounds, limit))
    return matches


def dynamic(machine: Machine, *, full: bool = False) -> list[Match]:
    """The same for dynamic OPIUM: recursive least squares that forgets."""
    matches = []
    for M, length, rounds in ((10, 2000, 9), (100, 2000, 9), (1000, 256, 9), (4000, 64, 7)):
        args = (M, length, rounds)
        forgets = DynamicOpium(2 - FORGETTING, 1e-3)
        contestants = [
            Contestant(OURS, players.greville_single, (*args, forgets)),
            Contestant("eqs. (31)-(33) as printed", players.printed_single, (*args, FORGETTING)),
            Contestant("reservoirpy RLS", players.reservoirpy_single, (*args, "RLS", FORGETTING)),
        ]
        if M <= 1000:
            few = None if M <= 100 else 2
            contestants.append(
                Contestant("padasip RLS", players.padasip_single, (*args, "RLS", FORGETTING), few)
            )
        limit = 1e6 * machine.reading(M**2 / 2)
        matches.append(hold("dynamic", f"M = {M}", "µs/row", contestants, rounds, limit))
    return matches


def record(machine: Machine, *, full: bool = False) -> list[Match]:
    """The prediction of each of 10,000 rows before it is learned."""
    matches = []
    for M, rows in ((500, 1000), (1000, 500)):
        n = 10_000
        contestants = [
            Contestant(OURS, players.prequential_record, (M, n)),
            Contestant("greville, row by row", players.loop_record, (M, n), 3),
            Contestant("the recursion, in place", players.printed_record, (M, n, rows, True)),
            Contestant("the recursion, as printed", players.printed_record, (M, n, rows, False)),
        ]
        limit = 1e6 * machine.product(3.2 * M**2)
        matches.append(hold("record", f"M = {M}, n = {n:,}", "µs/row", contestants, 5, limit))
    return matches


def prediction(machine: Machine, *, full: bool = False) -> list[Match]:
    """Predictions alone, 1000 hidden units."""
    M, matches = 1000, []
    for length, repeats in ((1, 300), (100, 60), (100_000, 1)):
        args = (M, length, repeats)
        first = (
            [Contestant("greville, predict_one", players.greville_prediction, (*args, True))]
            if length == 1
            else []
        )
        contestants = [
            *first,
            Contestant(OURS, players.greville_prediction, args),
            Contestant("hpelm", players.hpelm_prediction, args),
            Contestant("pyoselm", players.pyoselm_prediction, args),
            Contestant("scikit-learn Ridge", players.ridge_prediction, args),
        ]
        limit = 1e6 * machine.product(2 * 20 * M + 2 * M)
        matches.append(hold("prediction", f"{length:,} rows", "µs/row", contestants, 7, limit))
    return matches
