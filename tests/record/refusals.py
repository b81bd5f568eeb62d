"""What solvers and estimators refuse: the type of the error and its message."""

import numpy as np

import greville
from greville import (
    DynamicOpium,
    ELMClassifier,
    ELMRegressor,
    Greville,
    Opium,
    OpiumLight,
    RandomLayer,
    SlidingOpium,
)

from .cases import case
from .outcome import attempt
from .solvers import learned, problem

PARAMETERS = {
    "opium-negative-epsilon": lambda: Opium(-1.0),
    "opium-epsilon-a-word": lambda: Opium("large"),
    "opium-epsilon-nan": lambda: Opium(np.nan),
    "batch-negative-epsilon": lambda: greville.Batch(-1.0),
    "dynamic-alpha-below-one": lambda: DynamicOpium(0.9),
    "dynamic-alpha-two": lambda: DynamicOpium(2.0),
    "dynamic-alpha-a-word": lambda: DynamicOpium("fast"),
    "dynamic-negative-floor": lambda: DynamicOpium(floor=-1.0),
    "sliding-no-window": lambda: SlidingOpium(0),
    "sliding-epsilon-zero": lambda: SlidingOpium(10, 0.0),
    "light-gain-zero": lambda: OpiumLight(0.0),
    "greville-negative-tol": lambda: Greville(-1.0),
}


@case("refusals/parameters/{which}", which=PARAMETERS)
def parameters_of_solvers(which):
    """Parameters are checked when rows come."""
    H, Y = problem(20)
    return {"made": attempt(lambda: repr(which())), "fit": attempt(lambda: repr(which().fit(H, Y)))}


def _changed(array, place, value):
    array = array.copy()
    array[place] = value
    return array


ROWS = {
    "nan": lambda H, Y: (_changed(H, (3, 2), np.nan), Y),
    "infinite": lambda H, Y: (_changed(H, (3, 2), np.inf), Y),
    "nan-in-target": lambda H, Y: (H, _changed(Y, (3, 1), np.nan)),
    "narrow": lambda H, Y: (H[:, :5], Y),
    "fewer-targets": lambda H, Y: (H, Y[:10]),
    "one-target-more": lambda H, Y: (H, np.hstack([Y, Y[:, :1]])),
    "flat-targets": lambda H, Y: (H, Y[:, 0]),
    "flat-rows": lambda H, Y: (H[0], Y[0]),
    "three-dimensions": lambda H, Y: (H[:, :, None], Y),
    "no-rows": lambda H, Y: (H[:0], Y[:0]),
    "words": lambda H, Y: (H.astype(str), Y),
    "complex": lambda H, Y: (H + 1j, Y),
    "none": lambda H, Y: (None, Y),
    "ragged": lambda H, Y: ([[1.0, 2.0], [3.0]], Y[:2]),
    "objects": lambda H, Y: (_changed(H.astype(object), (0, 0), "a"), Y),
    "lists": lambda H, Y: (H.tolist(), Y.tolist()),
    "integers": lambda H, Y: (np.ones((20, 8), int), Y),
}


@case("refusals/rows/{which}", which=ROWS)
def rows_of_solvers(which):
    """Rows that do not fit are refused, and the model is as it was."""
    H, Y = problem(20)
    model = learned(Opium(0.3), *problem(40))
    before = model.coef_.copy()
    return {
        "partial_fit": attempt(lambda: model.partial_fit(*which(H, Y)).n_samples_seen_),
        "unchanged": bool(np.array_equal(before, model.coef_)),
        "predict": attempt(lambda: model.predict(which(H, Y)[0]).shape),
        "prequential": attempt(lambda: Opium(0.3).prequential(*which(H, Y)).shape),
    }


@case("refusals/single-rows")
def single_rows():
    """``learn_one`` and ``predict_one`` check what they get."""
    H, Y = problem(20)
    model = learned(Opium(0.3), H, Y)
    rows = {"narrow": H[0, :5], "nan": H[0] * np.nan, "two-rows": H[:2], "words": ["a"] * 8}
    found = {f"predict-{k}": attempt(model.predict_one, row) for k, row in rows.items()}
    found |= {f"learn-{k}": attempt(model.learn_one, row, Y[0]) for k, row in rows.items()}
    found["target-nan"] = attempt(model.learn_one, H[0], Y[0] * np.nan)
    found["target-of-three"] = attempt(model.learn_one, H[0], [1.0, 2.0, 3.0])
    return {**found, "n_samples_seen": model.n_samples_seen_}


WEIGHTS = {
    "negative": -np.ones(20),
    "nan": np.full(20, np.nan),
    "short": np.ones(7),
    "zero": np.zeros(20),
    "two-dimensions": np.ones((20, 2)),
    "number": 2.0,
}


@case("refusals/weights/{weight}", weight=WEIGHTS)
def weights_of_rows(weight):
    """Weights are numbers from zero on, one for each row."""
    H, Y = problem(20)
    model = Opium(0.3)
    return {"n": attempt(lambda: model.fit(H, Y, sample_weight=weight).n_samples_seen_)}


@case("refusals/unlearn")
def rows_that_were_not_learned():
    """What could not be a sum of squares any more is refused."""
    H, Y = problem(40)
    model = learned(Opium(0.3), H, Y)
    before = model.coef_.copy()
    found = {
        "other-targets": attempt(model.unlearn, H[:10], Y[:10] + 50),
        "larger": attempt(model.unlearn, 10 * H[:10], Y[:10]),
        "more-than-all": attempt(model.unlearn, np.vstack([H, H]), np.vstack([Y, Y])),
        "narrow": attempt(model.unlearn, H[:, :4], Y),
        "nothing-learned": attempt(Opium(0.3).unlearn, H, Y),
        "dynamic": attempt(lambda: DynamicOpium().fit(H, Y).unlearn(H, Y)),
    }
    return {**found, "unchanged": bool(np.array_equal(before, model.coef_))}


@case("refusals/merge")
def models_that_do_not_go_together():
    """Only models that were started alike can be merged."""
    H, Y = problem(40)
    model = learned(Opium(0.3), H, Y)
    others = {
        "other-epsilon": learned(Opium(0.1), H, Y),
        "auto": learned(Opium("auto"), H, Y),
        "intercept": learned(Opium(0.3, intercept=True), H, Y),
        "greville": learned(Greville(), H, Y),
        "float32": learned(Opium(0.3), *problem(40, dtype=np.float32)),
        "narrow": learned(Opium(0.3), H[:, :5], Y),
        "one-target": learned(Opium(0.3), H, Y[:, 0]),
        "nothing-learned": Opium(0.3),
        "itself": model,
        "a-number": 3,
    }
    merged = {
        name: attempt(lambda other=other: (model + other).n_samples_seen_)
        for name, other in others.items()
    }
    return {**merged, "dynamic": attempt(lambda: DynamicOpium().fit(H, Y) + model)}


@case("refusals/nothing-learned")
def models_that_have_learned_nothing():
    """A model predicts after it has learned."""
    H, _ = problem(5)
    models = {"opium": Opium(), "regressor": ELMRegressor(5), "classifier": ELMClassifier(5)}
    return {
        name: {
            "predict": attempt(model.predict, H),
            "predict_one": attempt(model.predict_one, H[0]),
            "n": attempt(lambda model=model: model.n_samples_seen_),
        }
        for name, model in models.items()
    }


SETTINGS = {
    "hidden-zero": {"hidden": 0},
    "hidden-a-word": {"hidden": "many"},
    "hidden-a-number": {"hidden": 2.5},
    "unknown-solver": {"solver": "adam"},
    "solver-class": {"solver": Opium},
    "standardize-a-word": {"standardize": "maybe"},
    "random-state-a-word": {"random_state": "seed"},
    "layer-of-weights": {"hidden": RandomLayer(5, weights="heavy")},
    "layer-of-activation": {"hidden": RandomLayer(5, activation="step")},
    "layer-of-scale": {"hidden": RandomLayer(5, scale=-1.0)},
}


@case("refusals/settings/{settings}", settings=SETTINGS)
def settings_of_estimators(settings):
    """Parameters of estimators are checked by ``fit``."""
    H, Y = problem(20)
    settings = {"hidden": 5, "random_state": 0, **settings}
    return {"fit": attempt(lambda: ELMRegressor(**settings).fit(H, Y[:, 0]).n_samples_seen_)}
