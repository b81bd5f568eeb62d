"""The signals, and where MNIST comes from."""

import gzip
import hashlib
import struct
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from greville.datasets import ECG_RATE, DataError, _mnist, ecg, mnist, sine_switch


@pytest.mark.parametrize("lags", [range(1, 11), [10, 20, 100]])
@pytest.mark.parametrize("change", [None, 200])
def test_sine_switch(lags, change):
    X, y = sine_switch(600, dt=1e-3, frequencies=(10.0, 20.0), change=change, lags=lags)
    assert X.shape == (600, len(lags))
    for k in (0, 5, 199, 200, 299, 300, 301, 599):
        frequency = 10 if k < (300 if change is None else change) else 20
        assert y[k] == pytest.approx(np.sin(2 * np.pi * frequency * k * 1e-3), abs=1e-12)
        for j, lag in enumerate(lags):
            if k >= lag:
                assert X[k, j] == y[k - lag]
    assert X[0, 0] == pytest.approx(-np.sin(2 * np.pi * 10 * lags[0] * 1e-3), abs=1e-12)


@pytest.mark.parametrize(
    "bad",
    [
        {"n_samples": 0},
        {"lags": []},
        {"lags": [0]},
        {"lags": [-1]},
        {"frequencies": (1,)},
        {"change": -1},
    ],
)
def test_sine_switch_refuses(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        sine_switch(**bad)


def test_ecg():
    X, y = ecg()
    assert X.shape == (60 * ECG_RATE - 10, 10)
    assert -5 < y.min() < y.max() < 5  # millivolts
    assert np.array_equal(X[1:, 1], X[:-1, 0])
    assert np.array_equal(X[1:, 0], y[:-1])
    X_few, y_few = ecg(100, lags=[3])
    assert X_few.shape == (100, 1)
    assert np.array_equal(X_few[3:, 0], y_few[:-3])


def test_ecg_is_the_first_minute_of_the_recording(data_dir):
    if not (data_dir / "ecg" / "ecg.npz").is_file():
        pytest.skip("GREVILLE_DATA has no ecg/ecg.npz to compare with")
    whole = np.load(data_dir / "ecg" / "ecg.npz")["ecg"].astype(float)
    assert np.array_equal(ecg(lags=[1])[1], ((whole - 1024) / 200)[1 : 60 * ECG_RATE])


@pytest.mark.parametrize("bad", [{"n_samples": 0}, {"n_samples": 21_591}, {"lags": [21_600]}])
def test_ecg_refuses(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        ecg(**bad)


# MNIST. The files are small ones of the same format, with checksums of their own; the homes they
# are downloaded from are servers in this process.


@pytest.fixture
def small(monkeypatch, tmp_path):
    """Archives as their homes serve them; a cache of the test's own, and no other data."""
    rng = np.random.default_rng(0)
    archives = {}
    files = {}
    for name, file in _mnist.FILES.items():
        shape = (20 if name.startswith("train") else 10, *file.shape[1:])
        values = rng.integers(0, 256 if "images" in name else 10, size=shape, dtype=np.uint8)
        lengths = (shape[0], 28, 28) if len(shape) == 2 else shape
        header = struct.pack(f">{1 + len(lengths)}i", 2048 + len(lengths), *lengths)
        contents = header + values.tobytes()
        archives[name] = gzip.compress(contents)
        sums = (hashlib.sha256(data).hexdigest() for data in (archives[name], contents))
        files[name] = _mnist._File(shape, *sums)
    monkeypatch.setattr(_mnist, "FILES", files)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("GREVILLE_DATA", raising=False)
    monkeypatch.setattr(_mnist, "HOMES", ("http://127.0.0.1:9/",))  # nobody there
    return archives


@pytest.fixture
def home(small, monkeypatch):
    """Start a server that serves `serve(name, archive)`, and make it the next home."""
    servers = []
    asked = []

    def start(serve):
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                asked.append(self.path)
                serve(self, small[self.path.strip("/").removesuffix(".gz")])

            def log_message(self, *args):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        homes = tuple(f"http://127.0.0.1:{s.server_port}/" for s in servers)
        monkeypatch.setattr(_mnist, "HOMES", homes)
        return asked

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def _answer(handler, body, length=None):
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(body) if length is None else length))
    handler.end_headers()
    handler.wfile.write(body)


def _truncated(handler, archive):
    _answer(handler, archive[: len(archive) // 2], len(archive))


def _cut(handler, archive):
    """Too short, and the server does not even know."""
    _answer(handler, archive[: len(archive) // 2])


def _corrupt(handler, archive):
    _answer(handler, archive[:40] + b"\0\0\0\0" + archive[44:])


def _missing(handler, archive):
    handler.send_error(404)


def _cached_files(tmp_path):
    return sorted(path.name for path in (tmp_path / "cache").rglob("*") if path.is_file())


def test_a_download_and_then_the_cache(home, tmp_path):
    asked = home(_answer)
    told = []

    @contextmanager
    def progress(what, total):
        told.append([what, 0.0])

        def advance(done):
            told[-1][1] += done

        yield advance

    X, y, X_test, _ = mnist(progress=progress)
    assert X.shape == (20, 784)
    assert X.dtype == np.float32
    assert 0 <= X.min() < X.max() <= 1
    assert y.shape == (20,)
    assert y.dtype == np.int64
    assert X_test.shape == (10, 784)
    assert len(asked) == 4
    assert len(told) == 4
    assert all(done == pytest.approx(1) for _, done in told)
    again = mnist()
    assert len(asked) == 4  # nobody was asked again
    assert np.array_equal(again[0], X)
    assert len(_cached_files(tmp_path)) == 4


@pytest.mark.parametrize("broken", [_truncated, _cut, _corrupt, _missing])
def test_a_broken_home_and_a_good_one(home, tmp_path, broken):
    home(broken)
    with pytest.raises(DataError) as failure:
        mnist()
    assert "\n" not in str(failure.value)
    assert "--data" in str(failure.value)
    assert _cached_files(tmp_path) == []  # nothing half-done is left
    home(_answer)
    assert mnist()[0].shape == (20, 784)


def test_a_transfer_that_breaks_off_once(home):
    """It starts over cleanly at the next call, and what was whole is kept."""

    def third_breaks(handler, archive):
        (_truncated if len(asked) == 3 else _answer)(handler, archive)

    asked = home(third_breaks)
    with pytest.raises(DataError, match="broke off"):
        mnist()
    assert len(asked) == 3
    assert mnist()[1].shape == (20,)
    assert len(asked) == 5


def test_a_damaged_cache_is_mended(home, tmp_path):
    asked = home(_answer)
    mnist()
    victim = next((tmp_path / "cache").rglob("train-images*"))
    victim.write_bytes(victim.read_bytes()[:-5])
    assert mnist()[0].shape == (20, 784)
    assert len(asked) == 5


def test_no_network(small):
    with pytest.raises(DataError, match="no connection.*--data DIR or GREVILLE_DATA"):
        mnist()
    with pytest.raises(DataError, match="allow the download"):
        mnist(download=False)


@pytest.mark.parametrize("compressed", [True, False])
@pytest.mark.parametrize("folder", ["mnist", "."])
@pytest.mark.parametrize("named", ["argument", "environment"])
def test_a_folder_of_the_users(small, tmp_path, monkeypatch, compressed, folder, named):
    (tmp_path / "data" / folder).mkdir(parents=True)
    for name, archive in small.items():
        if compressed:
            (tmp_path / "data" / folder / f"{name}.gz").write_bytes(archive)
        else:
            (tmp_path / "data" / folder / name).write_bytes(gzip.decompress(archive))
    if named == "argument":
        assert mnist(tmp_path / "data")[0].shape == (20, 784)
    else:
        monkeypatch.setenv("GREVILLE_DATA", str(tmp_path / "data"))
        assert mnist()[0].shape == (20, 784)


@pytest.mark.parametrize("damage", [lambda b: b[:-9], lambda b: b[:60] + b"xx" + b[62:]])
def test_a_damaged_file_of_the_users_is_named(small, tmp_path, damage):
    for name, archive in small.items():
        (tmp_path / f"{name}.gz").write_bytes(archive)
    victim = tmp_path / "t10k-images-idx3-ubyte.gz"
    victim.write_bytes(damage(victim.read_bytes()))
    with pytest.raises(DataError, match="t10k-images-idx3-ubyte.gz is damaged"):
        mnist(tmp_path)


def test_mnist_itself(data_dir):
    X, y, X_test, y_test = mnist(data_dir)
    assert X.shape == (60_000, 784)
    assert X_test.shape == (10_000, 784)
    assert np.bincount(y).tolist() == [
        5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949,
    ]  # fmt: skip
    assert y_test[:5].tolist() == [7, 2, 1, 0, 4]
    assert X.max() == 1.0
