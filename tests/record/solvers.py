"""Solvers alone: what they have learned, however rows, dtypes and targets came."""

import numpy as np

from greville import Batch, DynamicOpium, Greville, Opium, OpiumLight, SlidingOpium

from .cases import case
from .outcome import about, few

SOLVERS = {
    "batch": lambda: Batch(0.3),
    "greville": Greville,
    "opium": lambda: Opium(0.3),
    "opium-intercept": lambda: Opium(0.3, intercept=True),
    "opium-auto": lambda: Opium("auto"),
    "opium-auto-intercept": lambda: Opium("auto", intercept=True),
    "dynamic": lambda: DynamicOpium(1.01, 0.3),
    "dynamic-auto": lambda: DynamicOpium(1.01, "auto", intercept=True),
    "dynamic-alpha-auto": lambda: DynamicOpium("auto", 0.3),
    "dynamic-no-floor": lambda: DynamicOpium(1.02, 0.3, floor=None),
    "sliding": lambda: SlidingOpium(50, 0.3),
    "light": lambda: OpiumLight(0.5),
}
EXACT = {name: SOLVERS[name] for name in ("greville", "opium", "opium-auto-intercept")}
WITH_STD = {
    name: SOLVERS[name]
    for name in ("greville", "opium", "opium-auto-intercept", "dynamic", "dynamic-auto", "sliding")
}
ONLINE = {name: make for name, make in SOLVERS.items() if name != "batch"}
DTYPES = {"float32": np.float32, "float64": np.float64}
CUTS = {
    "float64/whole": (np.float64, None),
    "float64/chunks-64": (np.float64, 64),
    "float64/chunks-7": (np.float64, 7),
    "float64/chunks-1": (np.float64, 1),
    "float32/whole": (np.float32, None),
    "float32/chunks-7": (np.float32, 7),
}


def problem(n=150, M=8, N=2, dtype=np.float64, seed=0):
    """Activations of about the same size in all directions, and targets with noise."""
    rng = np.random.default_rng(seed)
    H = np.tanh(rng.normal(0.3, 1.0, size=(n, M)))
    Y = H @ rng.normal(1.0, 1.0, size=(M, N)) + 0.1 * rng.normal(size=(n, N)) - 1.0
    return H.astype(dtype), Y.astype(dtype)


def learned(solver, H, Y, size=None, weight=None):
    """The solver, after it has learned the rows in pieces of this size."""
    for start in range(0, len(H), size or len(H)):
        rows = slice(start, start + (size or len(H)))
        solver.partial_fit(H[rows], Y[rows], sample_weight=None if weight is None else weight[rows])
    return solver


def seen(solver, H):
    """What a solver has learned, as its public attributes say it."""
    found = {"coef": few(solver.coef_), "predictions": few(solver.predict(H[:20]))}
    for name in ("intercept_", "epsilon_", "alpha_", "loss_", "rank_", "n_samples_seen_"):
        value = getattr(solver, name, None)
        if name == "loss_" and value is not None and solver.coef_.dtype == np.float32:
            found[name] = [about(each) for each in np.ravel(value)]  # a small rest of large sums
        elif value is not None:
            found[name] = value if np.size(value) <= 3 else few(value)
    return found


@case("solvers/learn/{solver}/{cut}", solver=ONLINE, cut=CUTS)
def learns_in_pieces(solver, cut):
    """The chunk size changes nothing but rounding."""
    dtype, size = cut
    H, Y = problem(dtype=dtype)
    return seen(learned(solver(), H, Y, size), H)


@case("solvers/fit/{solver}", solver=SOLVERS)
def fits(solver):
    """``fit`` starts anew, with 1-d targets here."""
    H, Y = problem()
    model = solver().fit(H[:50], Y[:50])
    return {**seen(model.fit(H, Y[:, 0]), H), "score": about(model.score(H, Y[:, 0]))}


@case("solvers/weighted/{solver}", solver=SOLVERS)
def learns_with_weights(solver):
    """A weight counts as so many rows, or as the solver's documentation says."""
    H, Y = problem()
    weight = np.tile([0.5, 1.0, 2.0], 50)
    model = solver()
    model = (
        model.fit(H, Y, weight) if isinstance(model, Batch) else learned(model, H, Y, 11, weight)
    )
    return seen(model, H)


@case("solvers/one-by-one/{solver}", solver=ONLINE)
def learns_single_rows(solver):
    """``predict_one`` and ``learn_one`` are mixed with chunks."""
    H, Y = problem()
    model = solver().partial_fit(H[:30], Y[:30])
    said = []
    for h, y in zip(H[30:120], Y[30:120], strict=True):
        said.append(model.predict_one(h))
        model.learn_one(h, y)
    return {"said": few(said), **seen(model.partial_fit(H[120:], Y[120:]), H)}


@case("solvers/prequential/{solver}", solver=ONLINE)
def predicts_before_it_learns(solver):
    """``prequential`` predicts each row from those before it."""
    H, Y = problem()
    model = solver()
    said = model.prequential(H, Y[:, 0])
    return {"first": said[:3], "said": few(said[20:]), **seen(model, H)}


@case("solvers/std/{solver}", solver=WITH_STD)
def says_how_sure_it_is(solver):
    """Standard errors of predictions and of prequential predictions."""
    H, Y = problem()
    model = solver()
    _, before = model.prequential(H[:100], Y[:100], return_std=True)
    predicted, std = model.predict(H[100:], return_std=True)
    return {"before": few(before[30:]), "predicted": few(predicted), "std": few(std)}


@case("solvers/few-rows/{solver}", solver=ONLINE)
def learns_fewer_rows_than_units(solver):
    """Five rows, eight units."""
    H, Y = problem()
    return seen(learned(solver(), H[:5], Y[:5], 2), H)


@case("solvers/dependent-rows/{solver}", solver=SOLVERS)
def learns_dependent_rows(solver):
    """Rows in a plane of three dimensions, and a row of zeros."""
    H, Y = problem()
    H = H[:, :3] @ problem(3, 8, seed=1)[0]
    H[7] = 0
    model = solver()
    model = model.fit(H, Y) if isinstance(model, Batch) else learned(model, H, Y, 25)
    return {"predictions": few(model.predict(H[:20])), "rank": getattr(model, "rank_", None)}


@case("solvers/merge/{solver}/{dtype}", solver=EXACT, dtype=DTYPES)
def merges(solver, dtype):
    """Models of parts make the model of all rows."""
    H, Y = problem(dtype=dtype)
    parts = [learned(solver(), H[i::3], Y[i::3]) for i in range(3)]
    added = sum(parts[1:], parts[0])
    return {**seen(added, H), "n_samples_seen": [p.n_samples_seen_ for p in parts]}


@case("solvers/merge-in-place/{solver}", solver=EXACT)
def merges_in_place(solver):
    """``merge`` takes several models, and changes the first."""
    H, Y = problem()
    parts = [learned(solver(), H[i::3], Y[i::3]) for i in range(3)]
    return seen(parts[0].merge(parts[1], parts[2]), H)


@case("solvers/unlearn/{solver}/{dtype}", solver=EXACT, dtype=DTYPES)
def unlearns(solver, dtype):
    """Rows are removed, also in other pieces than they came."""
    H, Y = problem(dtype=dtype)
    model = learned(solver(), H, Y, 40)
    model.unlearn(H[10:30], Y[10:30]).unlearn(H[100:101], Y[100:101])
    return seen(model, H)


@case(
    "solvers/leave-one-out/{solver}",
    solver={k: EXACT[k] for k in ("opium", "opium-auto-intercept")},
)
def leaves_one_out(solver):
    """Predictions of models that have not learned the row, with weights too."""
    H, Y = problem()
    weight = np.tile([0.5, 1.0, 2.0], 50)
    model, weighted = learned(solver(), H, Y), learned(solver(), H, Y, None, weight)
    left_out = {"plain": few(model.loo_predict(H, Y))}
    return {**left_out, "weighted": few(weighted.loo_predict(H, Y, weight))}


@case("solvers/theta/{solver}", solver={k: v for k, v in WITH_STD.items() if k != "dynamic-auto"})
def has_the_matrices_of_the_paper(solver):
    """θ and ψ."""
    H, Y = problem()
    model = learned(solver(), H, Y, 30)
    return {"theta": few(model.theta_), "psi": few(model.psi_)}


@case("solvers/path/{solver}", solver={k: SOLVERS[k] for k in ("opium-auto", "dynamic-auto")})
def has_a_path(solver):
    """The values of ε that were tried, with their evidence, and the one chosen."""
    H, Y = problem()
    path = learned(solver(), H, Y).path()
    epsilon, evidence = path
    return {
        "epsilon": few(epsilon),
        "evidence": few(evidence - evidence.max()),
        "chosen": path.chosen,
    }
