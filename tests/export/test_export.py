"""Exported models predict what the model predicts, wherever they run."""

from importlib.util import find_spec

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.datasets import load_digits
from sklearn.preprocessing import PolynomialFeatures

import greville
from greville import (
    ContrastLayer,
    DynamicOpium,
    ELMClassifier,
    ELMRegressor,
    FourierLayer,
    LinearRegressor,
    MiniRocketLayer,
    Opium,
    OpiumLight,
    PatchLayer,
    RandomLayer,
    ReceptiveFieldLayer,
    StackedLayer,
    TableLayer,
    TimeSeriesClassifier,
    image_layer,
    to_c,
    to_js,
    to_onnx,
)
from greville.anatomy import anatomy_of
from greville.tables import Stream, TableModel

from ..runner import refused, run
from .programs import run_c, run_js, run_onnx

# Differences to the model, in standard deviations of its predictions
SINGLE, DOUBLE = 1e-5, 1e-9
PRECISIONS = "float32", "float64"

REGRESSORS = {
    "auto": lambda: ELMRegressor(random_state=0),
    "units": lambda: ELMRegressor(150, random_state=0),
    **{
        name: lambda name=name: ELMRegressor(
            RandomLayer(40, activation=name, bias=True, random_state=1), standardize=True
        )
        for name in ("tanh", "sigmoid", "relu", "sin", "cos", "hard-limit", "identity")
    },
    "fourier": lambda: ELMRegressor(FourierLayer(51, random_state=1)),
    "table": lambda: ELMRegressor(TableLayer(60, random_state=2)),
    "stacked": lambda: ELMRegressor(
        StackedLayer(RandomLayer(20, random_state=0), FourierLayer(30, random_state=1))
    ),
    "linear": LinearRegressor,
    "opium": lambda: Opium(1e-3, intercept=True),
    "light": lambda: OpiumLight(0.5),
    "dynamic": lambda: ELMRegressor(30, DynamicOpium(1.01), random_state=0),
}

IMAGES = {
    "digits": lambda: ELMClassifier(200, random_state=0),
    "two stages": lambda: ELMClassifier(image_layer((8, 8), 150, random_state=0)),
    "patches": lambda: ELMClassifier(PatchLayer((8, 8), 6, grid=(3, 5), random_state=0)),
    "fields": lambda: ELMClassifier(ReceptiveFieldLayer((8, 8), 150, border=0, random_state=0)),
    "contrast": lambda: ELMClassifier(ContrastLayer(150, random_state=0)),
}


def rows(n, rng):
    """Rows in odd units, as single precision has them."""
    X = rng.normal(size=(n, 4)) * [1, 3, 0.2, 20] + [0, 5, 0, 300]
    y = 30 * np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.2 * X[:, 3]
    return X.astype(np.float32).astype(float), y


def far(expected, found):
    """The largest difference, in standard deviations of what is expected."""
    assert np.shape(found) == expected.shape
    return (abs(expected - np.asarray(found)).max(axis=0) / expected.std(axis=0)).max()


@pytest.mark.parametrize(
    "several",
    [pytest.param(False, id="flat"), pytest.param(True, id="two", marks=pytest.mark.full)],
)
@pytest.mark.parametrize("name", REGRESSORS)
def test_numbers(name, several, rng, tmp_path):
    X, y = rows(3000, rng)
    Y = np.c_[y, 1000 - 5 * y**2] if several else y
    model = REGRESSORS[name]().fit(X[:900], Y[:900])
    expected = model.predict(X)
    (found,) = run_onnx(model, {"X": X.astype(np.float32)})
    assert found.dtype == np.float32
    assert far(expected, found) < SINGLE
    found = run_c(model, X, 1 + several, folder=tmp_path)[0].reshape(expected.shape)
    assert far(expected, found) < DOUBLE
    assert far(expected[:300], run_js(model, X[:300].tolist(), tmp_path)) < DOUBLE


@pytest.mark.parametrize("name", IMAGES)
def test_classes_and_their_probabilities(name, tmp_path):
    X, y = load_digits(return_X_y=True)
    labels = np.array([f"no. {i}" for i in range(10)])[y]
    model = IMAGES[name]().fit(X[:1000], labels[:1000])
    expected, proba = model.predict(X), model.predict_proba(X)
    label, found = run_onnx(model, {"X": X.astype(np.float32)})
    assert (label == expected).all()
    assert abs(found - proba).max() < SINGLE
    found, places = run_c(model, X, 10, folder=tmp_path)
    assert (model.classes_[places] == expected).all()
    assert abs(found - proba).max() < DOUBLE
    answers = run_js(model, X[:200].tolist(), tmp_path)
    assert [answer["label"] for answer in answers] == expected[:200].tolist()
    found = [answer["probabilities"] for answer in answers]
    assert abs(np.array(found) - proba[:200]).max() < DOUBLE


@pytest.mark.parametrize(("channels", "length", "units"), [(1, 60, 420), (3, 70, 1000), (2, 5, 84)])
def test_time_series(channels, length, units, rng):
    """The same series exceed a bias: their sums are added up in the same order."""
    y = np.arange(300) % 3
    X = np.sin(np.arange(length) / (3 + y)[:, None, None] + rng.uniform(0, 6, (300, channels, 1)))
    X = (X + 0.3 * rng.normal(size=X.shape)).astype(np.float32)
    model = TimeSeriesClassifier(MiniRocketLayer(units), random_state=0).fit(X[:99], y[:99])
    expected, proba = model.predict(X), model.predict_proba(X.astype(float))
    label, found = run_onnx(model, {"X": X.reshape(300, -1)})
    assert (label == expected).all()
    assert abs(found - proba).max() < SINGLE
    with pytest.raises(ValueError, match="MiniRocketLayer can be exported as ONNX alone"):
        to_c(model)


@pytest.mark.parametrize("labels", [[False, True], [-1, 7], [1.0, 2.0]])
def test_labels_of_other_kinds(labels, rng, tmp_path):
    X, y = rows(300, rng)
    y = np.array(labels)[(y > y.mean()).astype(int)]
    model = ELMClassifier(20, random_state=0).fit(X, y)
    assert (run_onnx(model, {"X": X.astype(np.float32)})[0] == model.predict(X)).all()
    answers = run_js(model, X.tolist(), tmp_path)
    assert [answer["label"] for answer in answers] == model.predict(X).tolist()


def test_single_precision_inside(rng):
    """Half the space, and as close where the weights are not large."""
    X, y = rows(2000, rng)
    model = ELMRegressor(200, random_state=0).fit(X, y + 30 * rng.normal(size=len(y)))
    (found,) = run_onnx(model, {"X": X.astype(np.float32)}, precision="float32")
    assert far(model.predict(X), found) < SINGLE
    single, double = (len(to_onnx(model, precision=p).SerializeToString()) for p in PRECISIONS)
    assert single < 0.6 * double
    with pytest.raises(ValueError, match="precision='half'"):
        to_onnx(model, precision="half")


@pytest.mark.parametrize("n_before", [2, 30, 300])
@pytest.mark.parametrize(
    "solver", [OpiumLight(0.3), Opium(1e-2), Opium(0.5, intercept=True)], ids=str
)
def test_a_c_program_learns_as_the_solver_does(solver, n_before, rng, tmp_path):
    """Numbers; for classes the same with ones and zeros."""
    X, y = rows(900, rng)
    Y = np.c_[y, 1000 - 5 * y**2]
    model = ELMRegressor(40, solver, random_state=0).fit(X[:n_before], Y[:n_before])
    found, _ = run_c(model, X[n_before:], 2, Y[n_before:], folder=tmp_path)
    parts, alone = anatomy_of(model), model.solver_
    H = model.fitted_.hidden.activations(X[n_before:])
    scaled = (Y[n_before:] - parts.target_centre) / parts.target_unit
    expected = alone.prequential(H, scaled) * parts.target_unit + parts.target_centre
    assert far(expected[300:], found[300:]) < DOUBLE


# Tables


def houses(n, rng, late=False):
    """Columns of every kind, with gaps, extremes, and values that come late."""
    x = rng.normal(5e4, 1e3, n)
    x[rng.random(n) < 0.1] = np.nan
    z = rng.normal(size=n)
    z[:3] *= 1e6
    colour = rng.choice(["red", "green", 'blue "dark"'], n).astype(object)
    street = np.array([f"k{i}" for i in rng.integers(0, 80, n)], object)
    street[rng.random(n) < 0.1] = None
    if late:
        colour[-500:] = rng.choice(["red", "pink", "teal"], 500)
        colour[-4:] = None
    flag = rng.random(n) < 0.5
    when = np.datetime64("2020-01-01T00:00") + rng.integers(0, 10**6, n).astype("timedelta64[m]")
    days = when.astype(float) / 1440
    y = np.nan_to_num(x, nan=5e4) / 1e3 + z.clip(-3, 3) + 2 * (colour == "red") + flag
    table = {"x": x, "z z": z, "colour": colour, "flag": flag, "when": when, "street": street}
    return pd.DataFrame({**table, "y": y + np.sin(2 * np.pi * (days % 7) / 7)})


def plain(table):
    """Numbers and text alone: days for dates."""
    days = table["when"].to_numpy().astype("datetime64[s]").astype(float) / 86_400
    return table.assign(when=days, flag=table["flag"].astype(float)).drop(columns="y")


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_tables(task, rng, tmp_path):
    train, new = houses(6000, rng, late=True), houses(1500, rng)
    new.loc[:9, "colour"], new.loc[10:15, "colour"] = "pink", None
    unknown = np.arange(16, 26)  # in no row that was learned
    new.loc[unknown, "street"] = "unknown"
    if task == "classification":
        middle = train["y"].median()
        train["y"] = np.where(train["y"] > middle, "high", "low")
    model = TableModel("y", task=task, hidden=100)
    model.learn(pa.Table.from_pandas(train, preserve_index=False)).settle()
    batch = pa.Table.from_pandas(new, preserve_index=False)
    expected, columns = model.predict(batch), plain(new)
    inputs = {
        name: column.fillna("").to_numpy(object)[:, None]
        if column.dtype == object or name in ("colour", "street")
        else column.to_numpy(float)[:, None]
        for name, column in columns.items()
    }
    found = run_onnx(model, inputs)[0]
    records = columns.astype(object).where(columns.notna(), None).to_dict("records")
    answers = run_js(model, records, tmp_path)
    known = np.delete(np.arange(len(new)), unknown)
    if task == "classification":
        answers = np.array([answer["label"] for answer in answers])
        assert (found[known] == expected[known]).all()
        assert (answers == found).all()
        return
    answers = np.array(answers)
    assert far(expected[known], found[known]) < SINGLE
    assert far(expected[known], answers[known]) < DOUBLE
    assert abs(answers - found).max() < SINGLE * expected.std()
    assert abs(answers - expected).max() < 0.5 * expected.std()


@pytest.mark.parametrize("learns", [False, True])
def test_a_table_in_c(learns, rng, tmp_path):
    """Text is compared too: the row of the program has pointers to it."""
    train, new = houses(5000, rng, late=True), houses(300, rng)
    solver = "light" if learns else "opium"
    model = TableModel("y", hidden=60, ignore=["when"], solver=solver)
    model.learn(pa.Table.from_pandas(train, preserve_index=False)).settle()
    columns = plain(new)
    texts = {name: sorted(set(columns[name].dropna())) for name in ("colour", "street")}
    for name, values in texts.items():
        codes = {value: i + 1.0 for i, value in enumerate(values)}
        columns[name] = columns[name].map(codes).fillna(0.0).astype(float)
    tables = "".join(
        f"static const char *{name}[] = {{NULL, "
        + ", ".join('"' + value.replace('"', '\\"') + '"' for value in values)
        + "};\n"
        for name, values in texts.items()
    )
    X = columns[["x", "z z", "flag", "colour", "street"]].to_numpy(float)
    row = "&(model_row){.x = x[0], .z_z = x[1], .flag = x[2], .colour = colour[(int)x[3]], "
    row += ".street = street[(int)x[4]]}"
    table = pa.Table.from_pandas(new, preserve_index=False)
    expected, Y = model.predict(table), new[["y"]].to_numpy() if learns else None
    found, _ = run_c(model, X, 1, Y, row=row, before=tables, folder=tmp_path)
    if learns:  # each row after it was predicted
        before = expected
        expected = np.concatenate([part.prediction for part in model.record(table)])
        assert far(before, expected) > 0.01
    assert far(expected, found[:, 0]) < DOUBLE


def test_estimators_of_tables_and_streams(rng):
    table = houses(400, rng).drop(columns=["when", "z z"])
    model = greville.TableRegressor(40).fit(table.drop(columns="y"), table["y"])
    assert len(to_js(model)) == len(to_js(model.model_))
    labels = np.where(table["y"] > table["y"].median(), "high", "low")
    model = greville.TableClassifier(40).fit(table.drop(columns="y"), labels)
    assert 'export const classes = ["high", "low"];' in to_js(model)
    assert model.effect(table.columns[0], table.drop(columns="y")).classes.tolist() == [
        "high",
        "low",
    ]
    stream = Stream(TableModel("y"))
    stream.answer([{"x": i / 10, "y": i / 5} for i in range(60)], 1, greville.tables.RowErrors())
    assert "not mixed with the last targets" in to_c(stream)


# What cannot be exported


@pytest.mark.parametrize("export", [to_c, to_js])
@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (ELMRegressor(RandomLayer(5, activation=np.arctan)), "RandomLayer cannot be exported"),
        (ELMRegressor(PolynomialFeatures()), "PolynomialFeatures cannot be exported"),
        ("a model", "pass a fitted model of greville"),
    ],
)
def test_models_that_cannot_be_exported(export, model, reason, rng):
    X, y = rows(50, rng)
    if not isinstance(model, str):
        model = model.fit(X, y)
    with pytest.raises(ValueError, match=reason):
        export(model)


def test_models_that_cannot_learn_in_c(rng):
    X, y = rows(50, rng)
    with pytest.raises(ValueError, match="cannot learn in C; use the solver OpiumLight"):
        to_c(ELMRegressor(5, random_state=0).fit(X, y), learn=True)
    with pytest.raises(ValueError, match="name='1 a'"):
        to_c(ELMRegressor(5, random_state=0).fit(X, y), name="1 a")
    with pytest.raises(ValueError, match="learned nothing"):
        to_c(TableModel("y"))


def test_the_command(here):
    lines = "\n".join(f"{i % 7},{'ab'[i % 2]},{i % 7 + (i % 2) * 3}.5" for i in range(200))
    (here / "t.csv").write_text(f"x,kind,y\n{lines}\n")
    run("train", "t.csv", "--target", "y", "-o", "m.greville", "--solver", "light")
    assert "bytes" in run("export", "m.greville", "-o", "m.js")[1]
    run("export", "m.greville", "-o", "m.txt", "--format", "c", "--name", "price", "--learn")
    assert "void price_learn(" in (here / "m.txt").read_text()
    assert "end its name in" in refused("export", "m.greville", "-o", "m.txt")
    assert "only a C file" in refused("export", "m.greville", "-o", "m.js", "--learn")
    assert "no such file" in refused("export", "none.greville", "-o", "m.js")
    if find_spec("onnx"):
        assert "opset 19" in run("export", "m.greville", "-o", "m.onnx")[1]
        assert (here / "m.onnx").stat().st_size > 100
    run("train", "t.csv", "--target", "y", "-o", "auto.greville")
    assert "Opium cannot learn in C" in refused("export", "auto.greville", "-o", "m.c", "--learn")
    assert not (here / "m.c").exists()
