"""Models of every kind, and the way into a file and back, for the tests of this package."""

import copy
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from sklearn.base import clone

import greville
from greville import (
    Batch,
    ClassLayer,
    ContrastLayer,
    ELMClassifier,
    ELMRegressor,
    FourierLayer,
    LagLayer,
    LinearClassifier,
    LinearRegressor,
    MiniRocketLayer,
    Opium,
    OpiumLight,
    RandomLayer,
    ReceptiveFieldLayer,
    ReservoirLayer,
    TableLayer,
    TimeSeriesClassifier,
    TimeSeriesRegressor,
    image_layer,
)
from greville.layers import SpanLayer
from greville.monitor import DriftMonitor
from greville.persistence import container, encoding
from greville.tables import RowErrors, Stream, TableClassifier, TableModel, TableRegressor

from ..problems import ONLINE_SOLVERS

LAYERS = [
    RandomLayer(20, bias=True, random_state=0),
    TableLayer(20, random_state=0),
    RandomLayer(20, weights="normal", activation="relu", random_state=3),
    FourierLayer(21, random_state=0),
    ReceptiveFieldLayer((4, 4), 20, border=0, min_area=2, random_state=0),
    ReceptiveFieldLayer((40, 40), 20, border=16, random_state=0),
    ContrastLayer(20, receptive_fields=(4, 4), border=0, min_area=2, random_state=0),
    ClassLayer(20, random_state=0),
    image_layer((4, 4), 20, n_filters=3, random_state=0),
    MiniRocketLayer(84, random_state=0),
    MiniRocketLayer(200, n_channels=2, random_state=0),
]


def there_and_back(model, folder):
    """The model from a file."""
    path = Path(folder) / "model.greville"
    greville.save(model, path)
    return greville.load(path)


def is_fitted(model):
    return hasattr(model, "n_features_in_")


def content(model):
    """All that a file of the model would hold."""
    encoder = encoding.Encoder()
    document = encoder.encode(model, "")
    return document, {k: (v.dtype, v.shape, v.tobytes()) for k, v in encoder.tensors.items()}


def rows(rng, n, width, outputs, dtype):
    H = rng.normal(size=(n, width)).astype(dtype)
    H[2] = 0
    Y = H @ rng.normal(size=(width, max(outputs, 1))) + 0.1 * rng.normal(size=(n, max(outputs, 1)))
    Y = Y.astype(dtype)
    return H, Y if outputs else Y[:, 0]


def corpus(rng):
    """Models of every kind, in every state."""
    H, y = rows(rng, 300, 16, 0, np.float64)
    labels = np.array(["a", "b", "c"])[rng.integers(3, size=300)]
    models = [*map(clone, ONLINE_SOLVERS), Batch()]
    for solver in ONLINE_SOLVERS:
        for dtype in (np.float64, np.float32):
            model = clone(solver).partial_fit(H[:9].astype(dtype), y[:9])
            model.predict_one(H[9].astype(dtype))
            models.append(copy.deepcopy(model))
            models.append(model.learn_one(H[9].astype(dtype), 1.0))
            models.append(clone(solver).fit(H.astype(dtype), np.column_stack([y, -y])))
    models += [Opium("auto", True).fit(H, y).frozen(), OpiumLight().fit(H, y).frozen()]
    models += [Batch(0.1).fit(H, y), Opium().fit(pd.DataFrame(H).rename(columns=str), y)]
    for layer in LAYERS:
        models.append(clone(layer))
        width = 1600 if getattr(layer, "shape", None) == (40, 40) else 16
        X = rng.normal(size=(60, width))
        models.append(clone(layer).fit(X, labels[:60]))
        models.append(ELMClassifier(layer, random_state=0).partial_fit(X, labels[:60]))
    models += [ELMRegressor(), ELMClassifier(solver=Opium())]
    models.append(ELMRegressor(10, "batch", 1).fit(H, y))
    models.append(ELMRegressor(10).partial_fit(H[:50], 1e9 + y[:50], sample_weight=abs(y[:50])))
    models.append(ELMRegressor(10).partial_fit(H, y).partial_fit(H, y))
    models += [ELMRegressor(None).fit(H, y), LinearRegressor(), LinearRegressor().fit(50 * H, y)]
    models.append(LinearClassifier(class_weight={"a": 2.0}).fit(H, labels))
    models.append(ELMClassifier(10).partial_fit(H[:50], np.column_stack([y > 0, y < 1])[:50]))
    models.append(LinearClassifier().partial_fit(H[:50], labels[:50]))
    layers = ReservoirLayer(9, random_state=0), LagLayer(2), SpanLayer()
    models += [layer.fit(H) for layer in layers]
    layer = MiniRocketLayer(84, random_state=0)
    models.append(TimeSeriesRegressor(layer).fit(H.reshape(-1, 2, 8), y))
    models.append(TimeSeriesClassifier(layer).partial_fit(H[:50], labels[:50]))
    models.append(ELMClassifier(10).partial_fit(H[:50], labels[:50]))
    models.append(ELMClassifier(10).fit(H, labels.astype(object)))
    models.append(ELMClassifier(10).fit(pd.DataFrame(H).rename(columns=str), labels == "a"))
    monitor = DriftMonitor()
    monitor.update_many(np.concatenate([rng.normal(size=500), 100 + rng.normal(size=20)]))
    return [*models, DriftMonitor(0.01), monitor, *table_estimators(rng)]


def _table(rng, n):
    kinds = rng.choice(["a", "b", "?"], n)  # a gap, which is said
    days = np.datetime64("2024-01-01") + rng.integers(0, 99, n)
    numbers = {name: rng.normal(size=n) for name in ("x", "y")}
    return pa.table({**numbers, "kind": kinds, "day": days})


def table_model(rng):
    return TableModel("y", hidden=5).learn(_table(rng, 20))


def table_estimators(rng):
    """Models of data frames."""
    table = _table(rng, 20)
    X, y = table.drop_columns("y"), table["y"].to_numpy()
    regressor = TableRegressor(5, ignore=["day"]).fit(X, y)
    classifier = TableClassifier(5, random_state=None).fit(X, np.where(y > 0, "up", "down"))
    doubtful = _table(rng, 60).append_column("one", pa.array(["1,234"] * 60))  # which is a finding
    words = [" ".join(rng.choice(list("abcdefgh"), 6)) + f" {i}" for i in range(60)]
    more = {"on": [True, False] * 30, "two": [[1.0, 2.0]] * 60, "tags": [["a"], []] * 30}
    for name, column in {**more, "words": words, "none": [None] * 60}.items():
        doubtful = doubtful.append_column(name, pa.array(column))
    settled = TableModel("y", hidden=5).learn(doubtful).settle()
    return [TableRegressor(), regressor, classifier, settled]


def stream_of_rows(rng):
    stream = Stream(table_model(rng), "id", DriftMonitor())
    rows = [{"x": 1.0, "kind": "a", "id": i, "y": None if i % 3 else 2.0} for i in range(9)]
    stream.answer(rows, 1, RowErrors())
    return stream


def stream_of_labels():
    """A stream whose labels are followed."""
    stream = Stream("y", hidden=2)
    stream.answer([{"x": float(i), "y": "ab"[i // 20 % 2]} for i in range(60)], 1, RowErrors())
    return stream


def models_of_river():
    """Models of river, where that is installed."""
    try:
        from greville.adapters.river import Classifier, Regressor
    except (ImportError, TypeError):
        return []
    regressor, classifier = Regressor(hidden=3), Classifier(hidden=3)
    for i in range(30):
        regressor.learn_one({"x": i, 7: "ab"[i % 2]}, i % 5)
        classifier.learn_one({"x": i, 7: "ab"[i % 2]}, ["cold", 3, True][i % 3])
    return [regressor, classifier]


# Marks for brackets in brackets in brackets.
DEEP = ["@[@]@40", "@[@]@200", "@[@]@100000", '@{"dict":[["a",@]]}@50', '@{"tuple":[@]}@20000']


def forge(path, document, tensors, number=container.FORMAT):
    """Write a file with a right checksum, whatever is in it."""
    from safetensors.numpy import save_file

    digest = container.checksum(document, tensors)
    text = json.dumps({"format": number, "sha256": digest, "document": document})
    for mark in DEEP:  # what json would not write
        _, left, right, n = mark.split("@")
        text = text.replace(json.dumps(mark), left * int(n) + "1" + right * int(n))
    save_file(tensors, path, metadata={"greville": text})


def take_apart(path):
    """The document and the tensors of a file."""
    content = container.read(str(path))
    return content.document, content.tensors
