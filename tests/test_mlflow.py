"""greville.mlflow with the real MLflow, on a store in a folder."""

import numpy as np
import pytest

import greville
from greville.tables import TableModel

from .houses import houses

mlflow = pytest.importorskip("mlflow", reason="install greville[mlflow] to test it")
pytestmark = [
    pytest.mark.full,
    pytest.mark.filterwarnings("ignore"),  # MLflow's own
]


@pytest.fixture
def flavor(here, monkeypatch):
    import greville.mlflow

    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((here / "runs").as_uri())
    return greville.mlflow


def test_a_model_is_logged_and_goes_on_learning(flavor, rng):
    X = rng.normal(size=(300, 3))
    y = np.where(X[:, 0] > X[:, 1], "a", "b")
    model = greville.ELMClassifier(30, random_state=0).fit(X, y)
    info = flavor.log_model(
        model, "which", input_example=X[:5], pyfunc_predict_fn="predict_proba",
        registered_model_name="ours",
    )  # fmt: skip
    assert "float64', (-1, 3)" in str(info.signature.inputs)
    assert "float64', (-1, 2)" in str(info.signature.outputs)
    served = mlflow.pyfunc.load_model("models:/ours/1")
    np.testing.assert_array_equal(served.predict(X), model.predict_proba(X))
    with pytest.raises(mlflow.MlflowException, match="shape"):
        served.predict(X[:, :2])
    again = flavor.load_model(info.model_uri)
    np.testing.assert_array_equal(
        again.partial_fit(X, y[::-1]).predict_proba(X),
        model.partial_fit(X, y[::-1]).predict_proba(X),
    )


@pytest.mark.parametrize("estimator", [True, False])
def test_a_table_has_its_columns_as_signature(flavor, estimator):
    frame = houses(400).to_pandas()
    inputs = frame.drop(columns="price")
    if estimator:
        model = greville.TableRegressor(hidden=30).fit(inputs, frame["price"])
    else:
        model = TableModel("price", hidden=30).learn(frame)
    flavor.save_model(model, "saved")
    served = mlflow.pyfunc.load_model("saved")
    assert set(served.metadata.signature.inputs.input_names()) == set(inputs)
    np.testing.assert_array_equal(served.predict(inputs), model.predict(inputs))
    with pytest.raises(mlflow.MlflowException, match="missing inputs"):
        served.predict(inputs.iloc[:, 1:])
    assert flavor.load_model("saved").predict(inputs).shape == (400,)


def test_nothing_is_pickled_and_nothing_strange_is_loaded(flavor, here, rng):
    X = rng.normal(size=(50, 2))
    flavor.save_model(greville.ELMRegressor(10).fit(X, X[:, 0]), "saved")
    files = [path.name for path in (here / "saved").rglob("*") if path.is_file()]
    assert sorted(files) == [
        "MLmodel", "conda.yaml", "model.greville", "python_env.yaml", "requirements.txt",
    ]  # fmt: skip
    needed = (here / "saved/requirements.txt").read_text()
    assert f"greville[tables]=={greville.__version__}" in needed
    file = here / "saved/data/model.greville"
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    for load in (flavor.load_model, mlflow.pyfunc.load_model):
        with pytest.raises(greville.persistence.ModelFileError):
            load("saved")
    with pytest.raises(TypeError, match="has no predict_proba"):
        flavor.save_model(greville.ELMRegressor(10), "other", pyfunc_predict_fn="predict_proba")
