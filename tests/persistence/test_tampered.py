"""Files that must not be trusted: refused, or a model that works."""

import copy
import os
import signal
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import greville
from greville import (
    DynamicOpium,
    ELMClassifier,
    ELMRegressor,
    FourierLayer,
    Greville,
    Opium,
    OpiumLight,
    ReceptiveFieldLayer,
    SlidingOpium,
)
from greville.fields import STORABLE
from greville.monitor import DriftMonitor
from greville.persistence import ModelFileError
from greville.tables import RowErrors, Stream, TableModel

from .. import children
from ..posix import resource
from .models import (
    DEEP,
    forge,
    is_fitted,
    rows,
    stream_of_rows,
    table_estimators,
    table_model,
    take_apart,
)

HOSTILE = [
    None, True, -1, 0, 7, 2**31, 2**62, 2**63, -(10**30), 10**100, 1e308, -0.5, "", "auto",
    "x" * 99, [], [[]], {}, {"float": "nan"}, {"float": "inf"}, {"float": 3}, {"tuple": []},
    {"tuple": 5}, {"dict": {}}, {"dict": [[[], 1]]}, {"dict": [["a", 1]]},
    {"dtype": "float64"}, {"dtype": "O"}, {"numpy": ["float32", 1]},
    {"numpy": ["uint8", -1]}, {"numpy": ["object", 1]}, {"array": ["R", "F"]}, {"array": ["", "C"]},
    {"triangle": ["state.sums.R", "F"]}, {"triangle": ["state.sums.Z", "C"]},
    {"words": "R"}, {"strings": ["a", "b"]}, {"strings": [1]}, {"strings": "ab"},
    {"sparse": ["csc_array", [1 << 30, 1 << 30], [], [], []]},
    {"object": {"class": "os.system", "fields": {}}},
    {"object": {"class": "Opium", "fields": {"epsilon": 1.0, "intercept": False}}},
    {"object": {"class": "RandomState", "fields": {}}}, {"eval": "1/0"}, {"object": []},
]  # fmt: skip


def _places_in(node, way=()):
    """All ways into a tree."""
    items = enumerate(node) if isinstance(node, list) else node.items()
    for key, value in items:
        yield (*way, key)
        if isinstance(value, (list, dict)):
            yield from _places_in(value, (*way, key))


def _parent(tree, way):
    for key in way[:-1]:
        tree = tree[key]
    return tree


def _mutate_document(rng, document, tensors):
    ways = list(_places_in(document))
    way, other = (ways[rng.integers(len(ways))] for _ in range(2))
    parent, kind = _parent(document, way), rng.integers(8)
    if kind == 0:
        del parent[way[-1]]
    elif kind == 1:
        parent[way[-1]] = copy.deepcopy(_parent(document, other)[other[-1]])
    elif kind == 2:
        parent[way[-1]] = DEEP[rng.integers(len(DEEP))]
    elif kind == 3 and (names := [w for w in ways if w[-1] == "class"]):
        known = [*STORABLE, "builtins.eval", "PCA"]
        way = names[rng.integers(len(names))]
        _parent(document, way)[way[-1]] = known[rng.integers(len(known))]
    elif kind == 4 and isinstance(parent[way[-1]], (int, float)):
        parent[way[-1]] = parent[way[-1]] * int(rng.choice([2, -1, 1000, 10**9])) + 1
    else:
        key = "more" if kind == 5 and isinstance(parent, dict) else way[-1]
        parent[key] = HOSTILE[rng.integers(len(HOSTILE))]


def _mutate_tensor(rng, document, tensors):
    if not tensors:
        return
    names = sorted(tensors)
    name, other = (names[rng.integers(len(names))] for _ in range(2))
    a = tensors[name]
    values, number = a.copy().reshape(-1), rng.choice([np.nan, np.inf, -1, 0, 1e30, 1e-300, 2**31])
    with np.errstate(all="ignore"):
        other_dtype = a.astype(rng.choice(["f4", "f8", "i8", "u1", "?", "f2"]))
        if values.size:
            values[rng.integers(a.size)] = np.array(number).astype(a.dtype)
    changed = [
        {name: values.reshape(a.shape)},
        {name: other_dtype},
        {name: a.reshape(-1, 1) if rng.integers(2) else a.reshape(a.shape[::-1])},
        {name: a[: len(a) // 2].copy()},
        {name: tensors[other], other: a},
        {name + "2": a},
        {},
    ]
    tensors |= changed[min(rng.integers(10), 6) if rng.integers(2) else 0]
    if rng.integers(10) == 0:
        del tensors[name]


def _mutate_bytes(rng, content):
    b, n = bytearray(content), len(content)
    i, j = int(rng.integers(n if rng.integers(2) else min(n, 400))), int(rng.integers(n))
    kind, length = rng.integers(7), int.from_bytes(b[:8], "little")
    if kind == 0:
        b[i] ^= 1 << int(rng.integers(8))
    elif kind == 1:
        b[i : i + 8] = rng.bytes(8)
    elif kind == 2:
        b = b[:i] if rng.integers(2) else b + rng.bytes(50)
    elif kind == 3:
        b[i : i + 16], b[j : j + 16] = b[j : j + 16], b[i : i + 16]
    elif kind == 4:
        b[:8] = int(rng.choice([0, 1, n, n - 8, 2**31, 2**62])).to_bytes(8, "little")
    elif kind == 5:
        del b[i : i + int(rng.integers(1, 50))]
    else:
        old, new = [('"F64"', '"X"'), ("[0,", "[9,"), ('"shape":[', '"shape":[99999999999,'),
                    ('{"', '{"a":NaN,"'), ('"dtype"', '"dtype":1,"dtype"'), ("1", "-1"),
                    ("{", "[" * 100_000)][rng.integers(7)]  # fmt: skip
        changed = b[8 : 8 + length].decode().replace(old, new, int(rng.integers(1, 3))).encode()
        b = bytearray(len(changed).to_bytes(8, "little") + changed + b[8 + length :])
    return bytes(b)


def _works(model):
    """Whether all that a loaded model says is finite."""
    if isinstance(model, Stream):
        model.answer([{"x": 0.0, "kind": "a", "id": "new"}], model.lines + 1, RowErrors(skip=True))
        model = model.settled()
    if isinstance(model, TableModel):
        if model.estimator is None:
            return True
        row = pa.table({column.name: [None] for column in model.schema.used})
        return all(p is None or np.isfinite(p) for p in model.predict(row))
    if isinstance(model, DriftMonitor):
        model.update(1.0)
        return np.isfinite(model.statistic_)
    if not is_fitted(model):
        return True
    n = model.n_features_in_
    X = np.array([np.zeros(n), np.linspace(-1, 1, n)])
    if not hasattr(model, "predict"):
        return np.isfinite(model.transform(X)).all()
    if isinstance(model, ELMClassifier):
        assert model.predict(X)[0] in model.classes_
        return np.isfinite(model.decision_function(X)).all()
    one = model.predict_one(X[0])
    return np.isfinite(one).all() and np.isfinite(model.predict(X)).all()


def _learns(model):
    """Learn from rows; a model that was tampered with may refuse them, with a ValueError."""
    if not hasattr(model, "partial_fit") or not is_fitted(model):
        return
    rng = np.random.default_rng(0)
    H = rng.normal(size=(300, model.n_features_in_))
    if isinstance(model, ELMClassifier):
        y = model.classes_[rng.integers(len(model.classes_), size=len(H))]
    else:
        y = rng.normal(size=(len(H), *model.predict(H[:1]).shape[1:]))
    for learn in (
        lambda: model.partial_fit(H[:3], y[:3]),
        lambda: [model.learn_one(h, t) for h, t in zip(H[3:9], y[3:9], strict=True)],
        lambda: model.partial_fit(H, y),
        lambda: model.prequential(H[:5], y[:5]) if hasattr(model, "prequential") else None,
        lambda: model.unlearn(H[:2], y[:2]) if hasattr(model, "unlearn") else None,
    ):
        try:
            learn()
        except ValueError:
            continue


def _mutation_sources(rng):
    H, y = rows(rng, 200, 6, 0, np.float64)
    labels = np.array(["a", "bb", "c"])[rng.integers(3, size=200)]
    following = Opium(0.1).fit(H[:50], y[:50])
    for h, target in zip(H[50:70], y[50:70], strict=True):
        following.predict_one(h)
        following.learn_one(h, float(target))
    following.predict_one(H[70])
    monitor = DriftMonitor()
    monitor.update_many(y)
    sliding = SlidingOpium(30).fit(H, np.column_stack([y, -y])).partial_fit(H[:5], H[:5, :2])
    return [
        following,
        sliding,
        monitor,
        DynamicOpium("auto").fit(H, y).partial_fit(H[:3], y[:3], [1, 2, 0]),
        DynamicOpium(1.02, "auto").fit(H, y),
        Opium("auto", intercept=True).fit(H, y).partial_fit(H[:7], y[:7]),
        Opium(0.2, intercept=True).partial_fit(H[:4], y[:4]),
        OpiumLight().partial_fit(H[:3], y[:3]),
        Greville().partial_fit(H[:3].astype("f"), y[:3].astype("f")),
        ELMRegressor(8, random_state=0).partial_fit(H[:40], 1e5 * y[:40]),
        ELMClassifier(8, random_state=0).partial_fit(H[:40], labels[:40]),
        ELMRegressor(FourierLayer(7), "dynamic").fit(H, y),
        ReceptiveFieldLayer((40, 40), 8, border=16, random_state=0).fit(np.ones((2, 1600))),
        table_model(rng),
        stream_of_rows(rng),
    ]


def mutate(folder, how_many):
    """Load files that were tampered with, in so little memory that none may take much."""
    rng = np.random.default_rng(1)
    good, path = Path(folder) / "good", Path(folder) / "bad"
    sources = []
    for model in _mutation_sources(rng):
        greville.save(model, good)
        sources.append((good.read_bytes(), *take_apart(good)))
        assert _works(greville.load(good))
    in_use = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (in_use + (100 << 20), resource.RLIM_INFINITY))
    loaded = slow = 0
    for i in range(how_many):
        signal.alarm(60)  # a file on which it hangs ends the process
        content, document, tensors = sources[i % len(sources)]
        if i % 3 == 0:
            path.write_bytes(_mutate_bytes(rng, content))
        else:
            document, tensors = copy.deepcopy(document), dict(tensors)
            for _ in range(int(rng.integers(1, 3))):
                change = _mutate_document if rng.integers(3) else _mutate_tensor
                change(rng, document, tensors)
            forge(path, document, tensors)
        begun = time.perf_counter()
        model = error = None
        try:
            model = greville.load(path)
        except ModelFileError as refused:
            error = refused
        if error is None:
            loaded += 1
            assert _works(model), i
            _learns(model)
        else:
            assert not isinstance(error.__cause__, MemoryError), i
            assert str(error).startswith(f"{path} cannot be loaded: "), error
        slow = max(slow, time.perf_counter() - begun)
    assert loaded < how_many / 2
    assert slow < 20  # it does not hang


@pytest.mark.posix("limits of resources")
def test_no_file_does_harm(tmp_path):
    """With `make fuzz` 20,000 files."""
    how_many = 20_000 if os.environ.get("GREVILLE_LONG") else 90
    assert children.forked(lambda: mutate(tmp_path, how_many), limit=100 + how_many) == 0


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("labels_", ["up"], "the model has learned other labels"),
        ("n_features_in_", 2, "feature_names_in_ has another length"),
    ],
)
def test_fields_of_models_of_tables_go_together(rng, tmp_path, field, value, message):
    path = tmp_path / "model"
    greville.save(table_estimators(rng)[2], path)
    document, tensors = take_apart(path)
    document["model"]["object"]["fields"][field] = value
    forge(path, document, tensors)
    with pytest.raises(ModelFileError, match=message):
        greville.load(path)


@pytest.mark.parametrize("n", [10**6, 10**9, 2**62])
def test_a_small_file_cannot_ask_for_much_memory(tmp_path, n):
    """Roots that have seen nothing are as small in a file however wide they are."""
    path = tmp_path / "model"
    greville.save(Greville().fit(np.zeros((1, 3)), [0.0]), path)
    document, tensors = take_apart(path)
    fields = document["model"]["object"]["fields"]
    fields["n_features_in_"] = n
    sums = fields["state"]["object"]["fields"]["sums"]
    sums["object"]["fields"]["n_hidden"] = n
    tensors["state.sums.basis"] = np.empty((0, min(n, 1 << 40)))
    forge(path, document, tensors)
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError) if n > 10**6 else memoryview(b""):
            greville.load(path)
        assert tracemalloc.get_traced_memory()[1] < 100e6
    finally:
        tracemalloc.stop()
