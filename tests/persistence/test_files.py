"""Files: a model goes on as if nothing had happened, and a bad file does no harm.

The files in data/ are never written again: they show that what older versions wrote can be
read. (Format 1 was never released, and is refused.) Those of format 2 were made with

    python -c "from tests.persistence.test_files import write_fixtures as w; w('tests/persistence/data')"

and the next format gets files of its own, with its number in their names.
"""

import copy
import errno
import json
import os
import pickle
import resource
import signal
import stat
import sys
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from greville.solvers._ahead import Ahead
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import PCA

import greville
from greville import (
    Batch,
    ClassLayer,
    ContrastLayer,
    DynamicOpium,
    ELMClassifier,
    ELMRegressor,
    FourierLayer,
    Greville,
    Opium,
    OpiumLight,
    RandomLayer,
    ReceptiveFieldLayer,
    SlidingOpium,
    files,
)
from greville.files import ModelFileError, _container, _formats, _objects, _values
from greville.files._known import KNOWN
from greville.monitor import DriftMonitor
from greville.solvers._rows import Waiting, _Store
from greville.tables import Stream, TableModel, Troubles

from .. import children
from ..problems import ONLINE_SOLVERS

DATA = Path(__file__).parent / "data"

LAYERS = [
    RandomLayer(20, bias=True, random_state=0),
    RandomLayer(20, weights="normal", activation="relu", random_state=np.random.RandomState(3)),
    FourierLayer(21, random_state=0),
    ReceptiveFieldLayer((4, 4), 20, border=0, min_area=2, random_state=0),
    ReceptiveFieldLayer((40, 40), 20, border=16, random_state=0),  # sparse
    ContrastLayer(20, receptive_fields=(4, 4), border=0, min_area=2, random_state=0),
    ClassLayer(20, random_state=0),
]


def there_and_back(model, folder):
    """The model from a file."""
    path = Path(folder) / "model.greville"
    greville.save(model, path)
    return greville.load(path)


def content(model):
    """All that a file of the model would hold."""
    encoder = _values.Encoder(_objects.taken)
    document = encoder.encode(model, "")
    return document, {k: (v.dtype, v.shape, v.tobytes()) for k, v in encoder.tensors.items()}


def rows(rng, n, width, outputs, dtype):
    H = rng.normal(size=(n, width)).astype(dtype)
    H[2] = 0
    Y = H @ rng.normal(size=(width, max(outputs, 1))) + 0.1 * rng.normal(size=(n, max(outputs, 1)))
    Y = Y.astype(dtype)
    return H, Y if outputs else Y[:, 0]


def act(model, rng, X, y):
    """Do one thing with a model, chosen at random; what it says."""
    kind, i = rng.integers(9), rng.integers(len(X) - 200)
    few, weight = int(rng.integers(1, 20)), rng.random(200).astype(X.dtype)
    weight = weight[:few] if few % 2 else None
    target = y[i]
    if y.ndim == 1 and y.dtype.kind == "f":
        target = float(target) * 1.000000123  # more digits than float32 has
    if not model._started:
        model.partial_fit(X[i : i + few], y[i : i + few], sample_weight=weight)
        return None
    if kind == 0:
        return model.predict_one(X[i])
    if kind == 1:
        model.learn_one(X[i], target)
        return None
    if kind == 2:
        return model.predict(X[:5])
    if kind == 3:
        model.partial_fit(X[i : i + few], y[i : i + few], sample_weight=weight)
        return None
    if kind == 4:
        return model.prequential(X[i : i + few], y[i : i + few], sample_weight=weight)
    if kind == 5 and few < 5:
        model.partial_fit(X[i : i + 150], y[i : i + 150])
        return None
    if kind == 6:
        return getattr(model, "solver_", model).coef_
    predicted = model.predict_one(X[i])
    model.learn_one(X[i], target)
    return predicted


def interrupted(model, rng, X, y, folder, *, before, after, times=3):
    """Save and load a model at random moments; it must say what the one that was not says."""
    for _ in range(rng.integers(before)):
        act(model, rng, X, y)
    for _ in range(times):
        state = pickle.dumps(model)
        loaded = there_and_back(model, folder)
        assert pickle.dumps(model) == state  # saving changes nothing
        assert content(loaded) == content(model)
        for _ in range(rng.integers(1, after)):
            seed = int(rng.integers(1 << 30))
            ours, theirs = (act(m, np.random.default_rng(seed), X, y) for m in (model, loaded))
            assert (ours is None) == (theirs is None)
            if ours is not None:
                np.testing.assert_array_equal(ours, theirs, strict=True)
        assert content(loaded) == content(model)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("outputs", [0, 3])
@pytest.mark.parametrize("solver", ONLINE_SOLVERS, ids=str)
def test_solvers_go_on_to_the_bit(rng, tmp_path, solver, outputs, dtype):
    for width in (6, 25):
        H, Y = rows(rng, 400, width, outputs, dtype)
        interrupted(clone(solver), rng, H, Y, tmp_path, before=60, after=30)


def test_wide_solvers_go_on_to_the_bit(rng, tmp_path):
    """Layers so wide that hundreds of first rows wait, and a record runs on two cores."""
    H, Y = rows(rng, 1200, 150, 0, np.float64)
    for solver in (Opium(1.0), Opium("auto")):
        model = solver
        for h, y in zip(H[:130], Y, strict=False):
            if model._started:
                model.predict_one(h)
            model.learn_one(h, float(y))
        interrupted(model, rng, H, Y, tmp_path, before=2, after=6, times=2)
        loaded = there_and_back(model, tmp_path)
        assert np.array_equal(loaded.prequential(H, Y), model.prequential(H, Y))


ESTIMATORS = [
    (ELMRegressor(15, random_state=0), np.float64),
    (ELMRegressor(15, random_state=0), np.float32),
    (ELMRegressor(15, Opium(0.1), random_state=0), np.float32),
    (ELMRegressor(15, "dynamic", random_state=0, standardize=True), np.float64),
    (ELMRegressor(15, "light", random_state=0, standardize=False), np.float64),
    (ELMRegressor(FourierLayer(15), SlidingOpium(40), random_state=0), np.float64),
    (ELMClassifier(15, random_state=0), np.float64),
    (ELMClassifier(15, "greville", random_state=0), np.float32),
    (ELMClassifier(RandomLayer(15, random_state=1), DynamicOpium("auto")), np.float64),
]


@pytest.mark.parametrize(("model", "dtype"), ESTIMATORS, ids=str)
def test_estimators_go_on_to_the_bit(rng, tmp_path, model, dtype):
    X, y = rows(rng, 400, 4, 0, dtype)
    X *= np.array([1, 100, 0.01, 1], dtype)
    if isinstance(model, ELMClassifier):
        y = np.array(["rain", "sun", "thunderstorm"])[np.digitize(y, [-1, 1])]
    interrupted(clone(model), rng, X, y, tmp_path, before=40, after=20, times=4)
    late = clone(model).partial_fit(np.repeat(X, 3, axis=0), np.repeat(y, 3, axis=0))
    interrupted(late, rng, X, y, tmp_path, before=10, after=10, times=1)


def test_targets_of_several_columns_and_sparse_first_rows(rng, tmp_path):
    X, Y = rows(rng, 400, 5, 3, np.float64)
    interrupted(ELMRegressor(12, random_state=0), rng, X, 1e6 * Y, tmp_path, before=20, after=20)
    model = ELMRegressor(12, random_state=0)
    model.partial_fit(sparse.csr_array(X[:20] * (X[:20] > 0)), Y[:20])
    loaded = there_and_back(model, tmp_path)
    for m in (model, loaded):
        m.partial_fit(sparse.csr_array(X[20:60]), Y[20:60])
    assert np.array_equal(model.predict(X), loaded.predict(X))


def test_what_follows_waiting_rows_is_there_again(rng, tmp_path):
    """Predicted, saved, loaded, and only then learned; and copies that share what follows."""
    H, y = rows(rng, 300, 10, 0, np.float32)
    model = Opium(0.1).fit(H[:100], y[:100])
    for h, target in zip(H[100:140], y[100:140], strict=True):
        model.predict_one(h)
        model.learn_one(h, float(target) * 1.0000001)
    model.predict_one(H[140])
    loaded = there_and_back(model, tmp_path)
    assert loaded._ahead._n == 40
    assert loaded._ahead.held is loaded._held
    for m in (model, loaded):
        assert m._ahead.learned(H[140], H[140].tobytes(), 0.1) is not None

    one, other = model, copy.copy(model)
    one.predict_one(H[150])
    one.learn_one(H[150], 1.0)
    loaded = there_and_back(other, tmp_path)
    interrupted(other, rng, H, y, tmp_path, before=1, after=10, times=1)
    interrupted(one, rng, H, y, tmp_path, before=1, after=10, times=1)


# What can be written


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
    models += [Batch(0.1).fit(H, y), Opium().fit(pd.DataFrame(H).rename(columns=str), y)]
    for layer in LAYERS:
        models.append(clone(layer))
        width = 1600 if getattr(layer, "shape", None) == (40, 40) else 16
        X = rng.normal(size=(60, width))
        models.append(clone(layer).fit(X, labels[:60]))
        models.append(ELMClassifier(layer, random_state=0).partial_fit(X, labels[:60]))
    models += [ELMRegressor(), ELMClassifier(solver=Opium())]
    models.append(ELMRegressor(10, "batch", np.random.RandomState(1)).fit(H, y))
    models.append(ELMRegressor(10).partial_fit(H[:50], 1e9 + y[:50], sample_weight=abs(y[:50])))
    models.append(ELMRegressor(10).partial_fit(H, y).partial_fit(H, y))
    models.append(ELMClassifier(10).partial_fit(H[:50], labels[:50]))
    models.append(ELMClassifier(10).fit(H, labels.astype(object)))
    models.append(ELMClassifier(10).fit(pd.DataFrame(H).rename(columns=str), labels == "a"))
    monitor = DriftMonitor()
    monitor.update_many(np.concatenate([rng.normal(size=500), 100 + rng.normal(size=20)]))
    return [*models, DriftMonitor(0.01), monitor]


@pytest.fixture(scope="module")
def models():
    return corpus(np.random.default_rng(0))


def test_every_kind_of_model_comes_back(models, tmp_path):
    for model in models:
        loaded = there_and_back(model, tmp_path)
        assert type(loaded) is type(model)
        assert content(loaded) == content(model)
        for name in (n for n in vars(model) if not n.startswith("_") and not n.endswith("_")):
            ours, theirs = (repr(getattr(m, name)).split(" at 0x")[0] for m in (model, loaded))
            assert ours == theirs
    assert loaded.alarms_ == model.alarms_
    assert loaded._known == model._known


def test_the_table_has_every_attribute(models):
    """So that nothing is forgotten when a class gets another attribute."""
    met = set()

    def visit(thing):
        if type(thing) in (list, tuple):
            for item in thing:
                visit(item)
        if type(thing).__name__ not in KNOWN:
            return
        name, fields = _objects.taken(thing)
        entry = KNOWN[name]
        declared = {*entry.always, *entry.together, *entry.maybe}
        if name not in ("Waiting", "RandomState"):
            own = thing.to_fields() if hasattr(thing, "to_fields") else vars(thing)
            present = set(own) - set(entry.caches)
            assert present <= declared, name
            assert set(entry.always) <= present, name
            lost = present - set(fields)
            assert lost <= {"_ahead", "_long_rows"}, name  # nothing, or what nobody asks for
        met.add(name)
        for value in fields.values():
            visit(value)

    for model in models:
        visit(model)
    below = ("greville.tables", "greville.forecasting")
    assert met == {name for name, entry in KNOWN.items() if not entry.module.startswith(below)}
    assert Waiting.__slots__ == ("n", "store")
    assert set(_Store.__slots__) == {"H", "Y", "length", "used", "weight", "weighted"}
    model = Opium().partial_fit([[1.0, 2.0]], [3.0])
    model.predict_one(np.ones(2))
    assert isinstance(model._ahead, Ahead)
    assert set(vars(model._ahead)) == {
        *("root", "reach", "growth", "held", "longest", "reflects", "_n", "_store", "_kernels"),
        *("_Z", "_into", "_longest_of_all", "_single", "_K", "_T", "_errors", "_weights", "_last"),
        *("_lock", "_limit", "_safe", "_means", "_longest_row"),
    }


def test_the_same_model_gives_the_same_bytes(rng, tmp_path):
    H, y = rows(rng, 100, 5, 0, np.float64)
    model = ELMRegressor(20, random_state=0).partial_fit(H, y)
    contents = set()
    for _ in range(5):
        greville.save(model, tmp_path / "model")
        contents.add((tmp_path / "model").read_bytes())
        model = greville.load(tmp_path / "model")
    assert len(contents) == 1


def test_a_file_is_a_safetensors_file(rng, tmp_path):
    from safetensors import safe_open

    H, y = rows(rng, 100, 5, 0, np.float64)
    model = Opium(0.1).fit(H, y)
    path = tmp_path / "model.greville"
    greville.save(model, path)
    with safe_open(path, framework="np") as file:
        entry = json.loads(file.metadata()["greville"])
        R = file.get_tensor("_held.0.R")
    assert entry["format"] == _formats.FORMAT
    assert entry["document"]["greville"] == greville.__version__
    assert np.array_equal(R.T, model._held[0].R)
    assert greville.load(path)._held[0].R.flags.f_contiguous


@pytest.mark.parametrize(
    ("model", "advice"),
    [
        (ELMRegressor(PCA(2)), "greville's layers"),
        (RandomLayer(activation=np.tanh), "the name of one"),
        (RandomLayer(random_state=np.random.default_rng(0)), "pass a number"),
        (RandomLayer(random_state=np.random.RandomState(np.random.PCG64(0))), "pass a number"),
        (PCA(2), "greville's own models"),
        ({"a": 1}, "greville's own models"),
        (Opium(epsilon=[1]), "Opium.epsilon must be"),
        (np.random.RandomState(0), "a part of a model"),
    ],
    ids=lambda value: str(value).split(" at 0x")[0],
)
def test_what_is_foreign_is_refused(model, advice, tmp_path):
    with pytest.raises(ModelFileError, match=advice):
        greville.save(model, tmp_path / "model.greville")
    assert os.listdir(tmp_path) == []


def test_a_subclass_an_attribute_and_bad_extras_are_refused(tmp_path):
    class Opium2(Opium):
        pass

    Opium2.__name__ = "Opium"
    model = Opium()
    model.note = "mine"
    with pytest.raises(ModelFileError, match="greville's own models"):
        greville.save(Opium2(), tmp_path / "model")
    with pytest.raises(ModelFileError, match="'note', which no file has; delete it"):
        greville.save(model, tmp_path / "model")
    deep = []
    for _ in range(100):
        deep = [deep]
    for extra in ([1], {"a": (1,)}, {1: 2}, {"a": np.float64(1)}, {"a": deep}, {"a": 1 << 70}):
        with pytest.raises(ModelFileError, match="extra must be a dict"):
            greville.save(Opium(), tmp_path / "model", extra=extra)
    with pytest.raises(ModelFileError, match="too large"):
        greville.save(Opium(), tmp_path / "model", extra={"a": [0] * 1_000_000})
    assert os.listdir(tmp_path) == []


def test_numbers_and_text_are_exact(tmp_path):
    tree = {
        "numbers": [0.1, -0.0, 5e-324, 1.7976931348623157e308, 1e22, 2**62, -1, True, None],
        "not": [float("inf"), -float("inf")],
        "text": ["", "Größe \u2028 \ud800 \0", "inf"],
        "dict": {"float": "nan", "object": {}, "": []},
    }
    deep = [0.5]
    for _ in range(15):
        deep = [{"a": deep}]
    tree["deep"] = deep
    path = tmp_path / "model.greville"
    files.save(Opium(np.float32(0.1)), path, extra={**tree, "nan": float("nan")})
    model, extra, header = files.read(path)
    assert type(model.epsilon) is np.float32
    assert model.epsilon == np.float32(0.1)
    assert np.isnan(extra.pop("nan"))
    assert extra == tree
    assert str(extra["numbers"][1]) == "-0.0"
    assert header["format"] == _formats.FORMAT
    assert header["class"] == "Opium"
    assert header["version"] == greville.__version__
    assert header["size"] == path.stat().st_size
    assert len(header["checksum"]) == 64


def test_random_states_go_on(tmp_path):
    random = np.random.RandomState(7)
    random.normal()  # half of a pair is kept
    loaded = there_and_back(RandomLayer(5, random_state=random), tmp_path)
    assert np.array_equal(loaded.random_state.normal(size=99), random.normal(size=99))


def test_without_safetensors_it_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "safetensors.numpy", None)
    with pytest.raises(ModelFileError, match=r"pip install 'greville\[files\]'"):
        greville.save(Opium(), tmp_path / "model")


# Writing


def test_rights_stay_and_links_stay_links(tmp_path):
    path, link = tmp_path / "model", tmp_path / "link"
    before = os.umask(0o027)
    try:
        greville.save(Opium(1), path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    path.chmod(0o604)
    link.symlink_to("model")
    greville.save(Opium(2), link)
    assert link.is_symlink()
    assert greville.load(path).epsilon == 2
    assert stat.S_IMODE(path.stat().st_mode) == 0o604
    assert sorted(os.listdir(tmp_path)) == ["link", "model"]


@pytest.mark.parametrize("function", ["open", "fsync", "replace", "fchmod"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES])
def test_an_error_leaves_the_old_file(tmp_path, monkeypatch, function, number):
    path = tmp_path / "model"
    greville.save(Opium(1), path)
    old = path.read_bytes()
    real = getattr(os, function)

    def fails(name, *args):
        if function != "open" or args[0] & os.O_CREAT:
            raise OSError(number, os.strerror(number))
        return real(name, *args)

    with monkeypatch.context() as patch:
        patch.setattr(os, function, fails)
        with pytest.raises(ModelFileError, match=os.strerror(number)):
            greville.save(Opium(2), path)
    assert path.read_bytes() == old
    assert os.listdir(tmp_path) == ["model"]


def test_a_full_disk_and_an_interrupt_leave_the_old_file(rng, tmp_path, monkeypatch):
    path = tmp_path / "model"
    greville.save(Opium(1), path)
    old = path.read_bytes()
    large = Opium().fit(rng.normal(size=(50, 30)), rng.normal(size=50))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, limits[1]))
    try:
        with pytest.raises(ModelFileError, match="cannot be written"):
            greville.save(large, path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        greville.save(large, path)
    assert path.read_bytes() == old
    assert os.listdir(tmp_path) == ["model"]


def test_places_where_no_file_can_be(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    for path, message in (
        (tmp_path, "it is a folder"),
        (tmp_path / "no" / "model", "No such file"),
        (tmp_path / "pipe", "not a plain file"),
        (tmp_path / "loop", "not a plain file|symbolic links"),
        (tmp_path / ("n" * 300), "too long"),
    ):
        with pytest.raises(ModelFileError, match=message):
            greville.save(Opium(), path)
    for path in (tmp_path, tmp_path / "none", tmp_path / "pipe", tmp_path / "loop"):
        with pytest.raises(ModelFileError, match="cannot be loaded"):
            greville.load(path)
    assert sorted(os.listdir(tmp_path)) == ["loop", "pipe"]


def _in_a_process(function, folder, timeout=200):
    """Run a function of this module in a process of its own; what it prints."""
    code = f"from tests.persistence.test_files import {function}; {function}({str(folder)!r})"
    root = Path(__file__).parents[2]
    ended = children.run(
        [sys.executable, "-c", code],
        cwd=root,
        capture_output=True,
        text=True,
        limit=timeout,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    return ended.stdout


def killed_while_saving(folder):
    """Kill processes that save at random moments; there must be a whole file after each."""
    rng = np.random.default_rng(0)
    H = rng.normal(size=(100, 60))
    path = Path(folder) / "model"
    pair = [Opium(0.1).fit(H, H[:, 0]), Opium(0.2).fit(H, H[:, 1])]
    greville.save(pair[0], path)
    contents = {path.read_bytes()}
    greville.save(pair[1], path)
    contents.add(path.read_bytes())
    for _ in range(20):
        child = os.fork()
        if child == 0:
            while True:
                for model in pair:
                    greville.save(model, path)
        time.sleep(rng.uniform(0, 0.03))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        assert path.read_bytes() in contents
        assert greville.load(path).epsilon in (0.1, 0.2)
    print("done")


def test_a_kill_leaves_a_whole_file(tmp_path):
    assert _in_a_process("killed_while_saving", tmp_path) == "done\n"


# Versions


def _forged(path, document, tensors, number=_formats.FORMAT):
    """Write a file with a right checksum, whatever is in it."""
    text = json.dumps(document, separators=(",", ":"))
    for mark in DEEP:  # what json would not write
        _, left, right, n = mark.split("@")
        text = text.replace(json.dumps(mark), left * int(n) + "1" + right * int(n))
    digest = _container.checksum(number, text, tensors)
    save_raw(path, _container.metadata_for(number, digest, text), tensors)


def save_raw(path, metadata, tensors):
    from safetensors.numpy import save_file

    save_file(tensors, path, metadata=metadata)


def _opened(path):
    with _container.opened(str(path)) as file:
        return json.loads(_container.metadata_of(file.metadata)[2]), file.tensors()


def test_a_newer_format_says_so(tmp_path):
    path = tmp_path / "model"
    greville.save(Opium(), path)
    _forged(path, *_opened(path), number=_formats.FORMAT + 1)
    with pytest.raises(ModelFileError, match="newer greville.*pip install -U greville"):
        greville.load(path)


def test_older_formats_are_upgraded(tmp_path, monkeypatch):
    path = tmp_path / "model"
    greville.save(Opium(0.25), path)
    document, tensors = _opened(path)
    fields = document["model"]["object"]["fields"]
    fields["ridge"] = fields.pop("epsilon")  # as it might have been called once
    _forged(path, document, tensors)

    def renamed(document):
        fields = document["model"]["object"]["fields"]
        fields["epsilon"] = fields.pop("ridge")
        return document

    with pytest.raises(ModelFileError, match="lacks epsilon"):
        greville.load(path)
    monkeypatch.setattr(_formats, "FORMAT", 3)
    with pytest.raises(ModelFileError, match="in format 2, .*; train the model again"):
        greville.load(path)
    monkeypatch.setitem(_formats.UPGRADES, 2, renamed)
    assert greville.load(path).epsilon == 0.25


def write_fixtures(folder):
    """The files of the present format, and what the models in them predict."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 3))
    y = X[:, 0] * X[:, 1] + 100
    labels = np.array(["fog", "rain", "sun"])[np.digitize(X[:, 2], [-0.5, 0.5])]
    regressor = ELMRegressor(12, random_state=0).partial_fit(X, y)
    classifier = ELMClassifier(12, Opium(0.1), random_state=0).partial_fit(X[:500], labels[:500])
    classifier.partial_fit(X[500:1100], labels[500:1100])
    for x, label in zip(X[1100:1120], labels[1100:1120], strict=True):
        classifier.predict_one(x)
        classifier.learn_one(x, label)
    names = {"regressor": regressor, "classifier": classifier}
    for name, model in names.items():
        greville.save(model, Path(folder) / f"format-{_formats.FORMAT}-{name}.greville")
    again = {name: copy.deepcopy(model) for name, model in names.items()}
    expected = {
        "X": X[:8].tolist(),
        "regressor": again["regressor"].predict(X[:8]).tolist(),
        "classifier": again["classifier"].predict_proba(X[:8]).tolist(),
    }
    (Path(folder) / f"format-{_formats.FORMAT}.json").write_text(json.dumps(expected, indent=1))


def test_files_of_format_1_are_refused():
    with pytest.raises(ModelFileError, match="in format 1, .*; train the model again"):
        greville.load(DATA / "format-1-regressor.greville")


def test_files_of_format_2_can_be_read():
    expected = json.loads((DATA / "format-2.json").read_text())
    regressor = greville.load(DATA / "format-2-regressor.greville")
    classifier = greville.load(DATA / "format-2-classifier.greville")
    assert classifier.solver_._held[1].n == 20
    assert list(classifier.classes_) == ["fog", "rain", "sun"]
    found = regressor.predict(expected["X"]), classifier.predict_proba(expected["X"])
    np.testing.assert_allclose(found[0], expected["regressor"], rtol=1e-9)
    np.testing.assert_allclose(found[1], expected["classifier"], rtol=1e-9, atol=1e-9)
    classifier.partial_fit(expected["X"], ["snow"] * 8)
    assert "snow" in classifier.classes_


# Files that nobody should trust

HOSTILE = [
    None, True, -1, 0, 7, 2**31, 2**62, 2**63, -(10**30), 10**100, 1e308, -0.5, "", "auto",
    "x" * 99, [], [[]], {}, {"float": "nan"}, {"float": "inf"}, {"float": 3}, {"tuple": []},
    {"tuple": 5}, {"dict": {}}, {"dtype": "float64"}, {"dtype": "O"}, {"numpy": ["float32", 1]},
    {"numpy": ["uint8", -1]}, {"numpy": ["object", 1]}, {"array": ["R", "F"]}, {"array": ["", "C"]},
    {"words": "R"}, {"strings": ["a", "b"]}, {"strings": [1]}, {"strings": "ab"},
    {"sparse": ["csc_array", [1 << 30, 1 << 30], [], [], []]},
    {"object": {"class": "os.system", "fields": {}}},
    {"object": {"class": "Opium", "fields": {"epsilon": 1.0, "intercept": False}}},
    {"object": {"class": "RandomState", "fields": {}}}, {"eval": "1/0"}, {"object": []},
]  # fmt: skip

# Marks for brackets in brackets in brackets.
DEEP = ["@[@]@40", "@[@]@200", "@[@]@100000", '@{"dict":{"a":@}}@50', '@{"tuple":[@]}@20000']


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
    way = ways[rng.integers(len(ways))]
    parent, kind = _parent(document, way), rng.integers(10)
    if kind == 0:
        del parent[way[-1]]
    elif kind == 1 and isinstance(parent, dict):
        parent["more"] = HOSTILE[rng.integers(len(HOSTILE))]
    elif kind == 2:
        other = ways[rng.integers(len(ways))]
        parent[way[-1]] = copy.deepcopy(_parent(document, other)[other[-1]])
    elif kind == 3:
        parent[way[-1]] = DEEP[rng.integers(len(DEEP))]
    elif kind == 4:
        names = [w for w in ways if w[-1] == "class"]
        known = [*KNOWN, "builtins.eval", "PCA"]
        way = names[rng.integers(len(names))] if names else way
        _parent(document, way)[way[-1]] = known[rng.integers(len(known))]
    elif kind == 5 and isinstance(parent[way[-1]], (int, float)):
        parent[way[-1]] = parent[way[-1]] * int(rng.choice([2, -1, 1000, 10**9])) + 1
    else:
        parent[way[-1]] = HOSTILE[rng.integers(len(HOSTILE))]


def _mutate_tensor(rng, document, tensors):
    if not tensors:
        return _mutate_document(rng, document, tensors)
    names = sorted(tensors)
    name = names[rng.integers(len(names))]
    a, kind = tensors[name], rng.integers(9)
    if kind == 0:
        del tensors[name]
    elif kind == 1:
        tensors[name + "2"] = a
    elif kind == 2:
        tensors[name] = a.astype(rng.choice(["f4", "f8", "i8", "u1", "?", "f2"]))
    elif kind == 3:
        tensors[name] = a.reshape(-1, 1) if rng.integers(2) else a.reshape(a.shape[::-1])
    elif kind == 4:
        tensors[name] = a[: len(a) // 2].copy()
    elif kind == 5:
        other = names[rng.integers(len(names))]
        tensors[name], tensors[other] = tensors[other], tensors[name]
    elif a.size:
        values = a.copy().reshape(-1)
        hostile = [np.nan, np.inf, -1, 0, 1e30, -1e300, 1e-300, 2**31]
        with np.errstate(all="ignore"):
            values[rng.integers(a.size)] = np.array(rng.choice(hostile)).astype(a.dtype)
        tensors[name] = values.reshape(a.shape)
    return None


def _mutate_bytes(rng, content):
    b, n = bytearray(content), len(content)
    i = int(rng.integers(n)) if rng.integers(2) else int(rng.integers(min(n, 400)))
    kind = rng.integers(8)
    if kind == 0:
        b[i] ^= 1 << int(rng.integers(8))
    elif kind == 1:
        b[i : i + 8] = rng.bytes(8)
    elif kind == 2:
        del b[i:]
    elif kind == 3:
        b += rng.bytes(int(rng.integers(1, 100)))
    elif kind == 4:
        j = int(rng.integers(n))
        b[i : i + 16], b[j : j + 16] = b[j : j + 16], b[i : i + 16]
    elif kind == 5:
        b[:8] = int(rng.choice([0, 1, n, n - 8, 2**31, 2**62])).to_bytes(8, "little")
    elif kind == 6:
        del b[i : i + int(rng.integers(1, 50))]
    else:
        length = int.from_bytes(b[:8], "little")
        header = b[8 : 8 + length].decode()
        old, new = [('"F64"', '"X"'), ("[0,", "[9,"), ('"shape":[', '"shape":[99999999999,'),
                    ('{"', '{"a":NaN,"'), ('"dtype"', '"dtype":1,"dtype"'), ("1", "-1"),
                    ("{", "[" * 100_000)][rng.integers(7)]  # fmt: skip
        changed = header.replace(old, new, int(rng.integers(1, 3))).encode()
        b = bytearray(len(changed).to_bytes(8, "little") + changed + b[8 + length :])
    return bytes(b)


def _works(model):
    """Whether all that a loaded model says is finite."""
    if isinstance(model, Stream):
        model.answer([{"x": 0.0, "kind": "a", "id": "new"}], model.lines + 1, Troubles(skip=True))
        model = model.settled()
    if isinstance(model, TableModel):
        if model.estimator is None:
            return True
        row = pa.table({column.name: [None] for column in model.encoding.used})
        return all(p is None or np.isfinite(p) for p in model.predict(row))
    if isinstance(model, DriftMonitor):
        model.update(1.0)
        return np.isfinite(model.statistic_)
    if not getattr(model, "_started", hasattr(model, "weights_")):
        return True
    n = model.n_features_in_
    dtype = model.fitted_.hidden.dtype if hasattr(model, "fitted_") else np.float64
    X = np.array([np.zeros(n), np.linspace(-1, 1, n)], dtype)
    if not hasattr(model, "predict"):
        return np.isfinite(model.transform(X)).all()
    if isinstance(model, ELMClassifier):
        assert model.predict(X)[0] in model.classes_
        return np.isfinite(model.decision_function(X)).all()
    one = model.predict_one(X[0])
    return np.isfinite(one).all() and np.isfinite(model.predict(X)).all()


def _learns(model):
    """Learn from rows; a model that was tampered with may refuse them, with a ValueError."""
    if not hasattr(model, "partial_fit") or not getattr(model, "_started", False):
        return
    rng = np.random.default_rng(0)
    shown = getattr(model, "fitted_", None)
    dtype = model._dtype if shown is None else shown.hidden.dtype
    flat = model._flat if shown is None else getattr(shown.targets, "flat", True)
    n_outputs = model._n_outputs if shown is None else shown.targets.n_outputs
    H = rng.normal(size=(300, model.n_features_in_)).astype(dtype)
    if isinstance(model, ELMClassifier):
        y = model.classes_[rng.integers(len(model.classes_), size=len(H))]
    else:
        shape = len(H) if flat else (len(H), n_outputs)
        y = rng.normal(size=shape).astype(dtype)
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
        ELMRegressor(8, random_state=np.random.RandomState(0)).partial_fit(H[:40], 1e5 * y[:40]),
        ELMClassifier(8, random_state=0).partial_fit(H[:40], labels[:40]),
        ELMRegressor(FourierLayer(7), "dynamic").fit(H, y),
        ReceptiveFieldLayer((40, 40), 8, border=16, random_state=0).fit(np.ones((2, 1600))),
        _table_model(rng),
        _stream(rng),
    ]


def _table(rng, n):
    kinds = rng.choice(["a", "b"], n)
    days = np.datetime64("2024-01-01") + rng.integers(0, 99, n)
    return pa.table({"x": rng.normal(size=n), "kind": kinds, "day": days, "y": rng.normal(size=n)})


def _table_model(rng):
    return TableModel("y", hidden=5).learn(_table(rng, 20))


def _stream(rng):
    stream = Stream(_table_model(rng), "id", DriftMonitor())
    rows = [{"x": 1.0, "kind": "a", "id": i, "y": None if i % 3 else 2.0} for i in range(9)]
    stream.answer(rows, 1, Troubles())
    return stream


def mutate(folder, how_many=1000):
    """Load files that were tampered with, in so little memory that none may take much."""
    rng = np.random.default_rng(1)
    good, path = Path(folder) / "good", Path(folder) / "bad"
    sources = []
    for model in _mutation_sources(rng):
        greville.save(model, good)
        sources.append((good.read_bytes(), *_opened(good)))
        assert _works(greville.load(good))
    in_use = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (in_use + (100 << 20), resource.RLIM_INFINITY))
    signal.alarm(150)  # a file on which it hangs ends the process
    loaded = slow = 0
    for i in range(how_many):
        content, document, tensors = sources[i % len(sources)]
        if i % 3 == 0:
            path.write_bytes(_mutate_bytes(rng, content))
        else:
            document, tensors = copy.deepcopy(document), dict(tensors)
            for _ in range(int(rng.integers(1, 3))):
                change = _mutate_document if rng.integers(3) else _mutate_tensor
                change(rng, document, tensors)
            _forged(path, document, tensors)
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
    print(loaded, slow)


def test_no_file_does_harm(tmp_path):
    loaded, slow = _in_a_process("mutate", tmp_path).split()
    assert int(loaded) < 500
    assert float(slow) < 20  # it does not hang


@pytest.mark.parametrize("n", [10**6, 10**9, 2**62])
def test_a_small_file_cannot_ask_for_much_memory(tmp_path, n):
    """Roots that have seen nothing are as small in a file however wide they are."""
    path = tmp_path / "model"
    greville.save(Greville().fit(np.zeros((1, 3)), [0.0]), path)
    document, tensors = _opened(path)
    fields = document["model"]["object"]["fields"]
    fields["n_features_in_"] = n
    fields["_held"]["tuple"][0]["object"]["fields"]["n_hidden"] = n
    for name in ("_held.0.basis", "_held.0._weights"):
        if name in tensors:
            tensors[name] = np.empty((0, min(n, 1 << 40)))
    fields["_held"]["tuple"][0]["object"]["fields"]["_weights"] = None
    tensors.pop("_held.0._weights", None)
    _forged(path, document, tensors)
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError) if n > 10**6 else memoryview(b""):
            greville.load(path)
        assert tracemalloc.get_traced_memory()[1] < 100e6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("epsilon", [1.0, "auto"])
def test_loading_takes_the_memory_of_the_model(rng, tmp_path, epsilon):
    """Also where rows wait, or the root must be made again from the sums."""
    path = tmp_path / "model"
    H = rng.normal(size=(60, 1300))
    greville.save(
        Opium(epsilon).partial_fit(H[:50], H[:50, 0]).partial_fit(H[50:], H[50:, 0]), path
    )
    tracemalloc.start()
    try:
        greville.load(path)
        assert tracemalloc.get_traced_memory()[1] < 1.2 * path.stat().st_size + 1e7
    finally:
        tracemalloc.stop()
