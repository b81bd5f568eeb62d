"""Importance and effects, against dense solutions and predictions one by one."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

from greville import (
    ELMClassifier,
    ELMRegressor,
    FourierLayer,
    LinearRegressor,
    Opium,
    OpiumLight,
    RandomLayer,
    TableClassifier,
    TableLayer,
    TableRegressor,
)
from greville.anatomy import anatomy_of
from greville.insight.importance import gradients
from greville.tables import TableError, TableModel

EPSILON = 0.7


def rows(rng, n=300):
    X = rng.normal(size=(n, 5)) * [1, 3, 0.2, 1, 1] + [0, 5, 0, 0, 2]
    y = 3 * np.sin(X[:, 0]) + X[:, 1] + 0.3 * X[:, 0] * X[:, 4] + 0.1 * rng.normal(size=n)
    return X, y


def dense_ridge(H, Y):
    """The loss, the inverse of H'H + ε²I and the weights, for rows around their mean."""
    H, Y = H - H.mean(axis=0), Y - Y.mean(axis=0)
    G = H.T @ H + EPSILON**2 * np.eye(H.shape[1])
    W = np.linalg.solve(G, H.T @ Y)
    return ((Y - H @ W) ** 2).sum(axis=0) + EPSILON**2 * (W**2).sum(axis=0), np.linalg.inv(G), W


@pytest.mark.parametrize("several", [False, True], ids=["flat", "two"])
def test_a_smaller_model_from_the_sums_is_the_one_that_was_never_larger(several, rng):
    X, y = rows(rng)
    Y = np.c_[y, X[:, 3] - 2 * y**2] if several else y[:, None]
    layer = TableLayer(80, random_state=0)
    model = ELMRegressor(layer, Opium(EPSILON, intercept=True)).fit(X, Y if several else y)
    found = model.importance()
    parts = anatomy_of(model)
    H = model.fitted_.hidden.activations(X)
    sees = model.hidden_.weights_ != 0
    few = ~sees.all(axis=0)
    n = len(X)

    def measured(units):
        loss, inverse, _ = dense_ridge(H[:, units], Y / parts.target_unit)
        _, log_det = np.linalg.slogdet(np.linalg.inv(inverse))
        loss = loss * parts.target_unit**2
        prior = 2 * units.sum() * np.log(EPSILON)
        evidence = -0.5 * ((n - 1) * np.log(loss).sum() + Y.shape[1] * (log_det - prior))
        used = units.sum() - EPSILON**2 * np.trace(inverse) + 1
        return evidence, np.sqrt(loss.sum() / (n - used) * (1 + used / n))

    evidence, error = measured(few)
    for j in range(5):
        without_evidence, without_error = measured(few & ~sees[j])
        assert found.evidence[j] == pytest.approx(evidence - without_evidence, rel=1e-7)
        assert found.error[j] == pytest.approx(without_error - error, rel=1e-6, abs=1e-9 * error)
    assert found.change is None


LAYERS = [
    *(RandomLayer(30, activation=a, bias=True, random_state=0) for a in ("tanh", "sigmoid", "sin")),
    *(RandomLayer(30, activation=a, random_state=0) for a in ("cos", "identity")),
    TableLayer(60, random_state=0),
    None,
]


@pytest.mark.parametrize("layer", LAYERS, ids=str)
def test_derivatives(layer, rng):
    X, y = rows(rng)
    model = LinearRegressor() if layer is None else ELMRegressor(layer, standardize=True)
    model = model.fit(X, np.c_[y, y**2])
    found = gradients(model, anatomy_of(model), X[:20], X.std(axis=0))
    for j in range(5):
        step = np.zeros(5)
        step[j] = 1e-5
        slope = (model.predict(X[:20] + step) - model.predict(X[:20] - step)) / 2e-5
        bends = 2 if isinstance(layer, TableLayer) else 0  # rows at which a ReLU bends
        far = abs(found[:, j] - slope) > 1e-4 * abs(slope).max() + 1e-4
        assert far.any(axis=1).sum() <= bends


def test_derivatives_of_other_layers_are_differences(rng):
    X, y = rows(rng, 1000)
    model = ELMRegressor(FourierLayer(200, random_state=0)).fit(X, y)
    found = model.importance(X)
    assert set(found.order()[:2]) == {"0", "1"}
    assert found.evidence is None
    assert found.change[1] == pytest.approx(3, rel=0.3)


def test_what_matters_is_found(rng):
    X, y = rows(rng, 1000)
    X = pd.DataFrame(X, columns=list("abcde"))
    found = ELMRegressor(random_state=0).fit(X, y).importance(X)
    assert found.order()[:2] in (["b", "a"], ["a", "b"])
    assert min(found.error[:2]) > 10 * max(found.error[[2, 3]])
    assert list(found.as_dict()) == found.order()
    assert repr(found).startswith("<Importance of 5 columns: ")


def test_rows_are_needed_where_all_units_see_all_inputs(rng):
    X, y = rows(rng)
    model = ELMRegressor(20, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="X: all units of this layer see all inputs"):
        model.importance()
    light = ELMRegressor(TableLayer(40, random_state=0), OpiumLight()).fit(X, y)
    with pytest.raises(ValueError, match="does not keep the sums"):
        light.importance()
    assert light.importance(X).error is None


# Effects


@pytest.mark.parametrize("layer", ["auto", 30, FourierLayer(40, random_state=0)])
def test_an_effect_is_the_mean_of_predictions(layer, rng):
    X, y = rows(rng)
    model = ELMRegressor(layer, random_state=0).fit(X, 100 * y + 1e4)
    effect = model.effect(1, X)
    assert effect.prediction.shape == effect.std.shape == (24,)
    for value, mean in zip(effect.values[0][::7], effect.prediction[::7], strict=True):
        changed = X.copy()
        changed[:, 1] = value
        assert mean == pytest.approx(model.predict(changed).mean(), rel=1e-9)
    both = model.effect((0, 1), X, values=([0.0, 1.0], [4.0]))
    changed = X.copy()
    changed[:, :2] = 1, 4
    assert both.prediction.shape == (2, 1)
    assert both.prediction[1, 0] == pytest.approx(model.predict(changed).mean(), rel=1e-9)


def test_the_error_of_an_effect_is_that_of_the_weights(rng):
    X, y = rows(rng)
    model = ELMRegressor(RandomLayer(20, random_state=0), Opium(EPSILON, intercept=True)).fit(X, y)
    H = model.hidden_.transform(X)
    loss, inverse, _ = dense_ridge(H, y[:, None])
    changed = X.copy()
    changed[:, 0] = 0.5
    mean = model.hidden_.transform(changed).mean(axis=0) - H.mean(axis=0)
    used = 20 - EPSILON**2 * np.trace(inverse) + 1
    expected = loss / (len(X) - used) * (mean @ inverse @ mean + 1 / len(X))
    assert model.effect(0, X, values=[0.5]).std == pytest.approx(np.sqrt(expected), rel=1e-6)


def test_effects_of_classes_and_without_errors(rng):
    X, y = rows(rng)
    model = ELMClassifier(20, random_state=0).fit(X, (y > 5).astype(int) + (y > 8))
    assert model.effect(0, X).prediction.shape == (24, 3)
    light = ELMRegressor(20, OpiumLight(), random_state=0).fit(X, y)
    assert light.effect(0, X).std is None
    for column in (5, -1, "a", True, 0.5):
        with pytest.raises(ValueError, match="column="):
            light.effect(column, X)


# Tables


def houses(rng, n=600):
    return pd.DataFrame(
        {
            "area": np.where(rng.random(n) < 0.05, np.nan, rng.uniform(30, 200, n)),
            "city": rng.choice(["Bonn", "Kiel", "Ulm"], n),
            "garden": rng.random(n) < 0.5,
            "sold": np.datetime64("2020-01-01") + rng.integers(0, 900, n).astype("timedelta64[D]"),
            "noise": rng.normal(size=n),
        }
    )


def prices(table, rng):
    price = table["area"].fillna(100) + 50 * (table["city"] == "Ulm") + 20 * table["garden"]
    return price + rng.normal(size=len(table))


def test_columns_of_tables(rng):
    table = houses(rng)
    y = prices(table, rng)
    model = TableRegressor().fit(table, y)
    found = model.importance(table)
    assert found.order()[:3] == ["area", "city", "garden"]
    assert len(found.names) == 5
    assert set(np.argsort(-model.importance().error)[:3]) == {0, 1, 2}
    effect = model.effect("city", table)
    assert effect.values[0].tolist() == ["Bonn", "Kiel", "Ulm"]
    for value, mean in zip(*effect.values, effect.prediction, strict=True):
        assert mean == pytest.approx(model.predict(table.assign(city=value)).mean(), rel=1e-9)
    for name in ("area", "garden", "sold", ["area", "city"]):
        assert np.isfinite(model.effect(name, table).std).all()
    when = model.effect("sold", table)
    same = model.predict(table.assign(sold=when.values[0][5])).mean()
    assert when.prediction[5] == pytest.approx(same, rel=1e-9)
    with pytest.raises(TableError, match="column='town': the model uses"):
        model.effect("town", table)


def test_categories_are_changed_not_derived(rng):
    """Between two categories a model may be anything: what counts is what it says for them."""
    table = houses(rng).drop(columns="area")
    y = 50 * (table["city"] == "Ulm") + 20.0 * table["garden"]
    found = TableRegressor(200).fit(table, y).importance(table)
    expected = {"city": 50 * (table["city"] == "Ulm").std(), "garden": 20 * table["garden"].std()}
    for name, std in expected.items():
        assert found.as_dict()[name]["change"] == pytest.approx(std, rel=0.1)


def test_late_values_belong_to_their_column(rng):
    table = houses(rng, 4500).drop(columns=["sold", "noise"])
    late = houses(rng, 500).drop(columns=["sold", "noise"]).assign(city="Jena")
    model = TableRegressor(60).fit(table, prices(table, rng))
    model.partial_fit(late, prices(late, rng) + 500)
    both = pd.concat([table, late])
    assert model.importance(both).order()[0] == "city"


def test_tables_without_rows_or_with_free_text(rng):
    table = houses(rng, 100)
    with pytest.raises(TableError, match="learned nothing"):
        TableModel("y").importance()
    words = [
        " ".join(rng.choice(["old", "new", "big", "red", "sea", "sun"], 6)) for _ in table.city
    ]
    table["text"] = words
    model = TableClassifier(30).fit(table, table["garden"].map({True: "yes", False: "no"}))
    with pytest.raises(TableError, match="has no order"):
        model.effect("text", table)


def test_pictures(rng):
    mpl.use("agg")
    table = houses(rng)
    model = TableRegressor(100).fit(table, prices(table, rng))
    assert len(model.importance(table).plot().patches) == 5
    for column in ("area", "city", "sold", ["area", "city"]):
        axes = model.effect(column, table).plot()
        assert axes.get_xlabel() == (column if isinstance(column, str) else column[0])
        mpl.pyplot.close(axes.figure)
    mpl.pyplot.close("all")
