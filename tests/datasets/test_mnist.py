"""Where MNIST is read from.

The files are small ones of the same format, with checksums of their own; the mirrors they are
downloaded from are servers in this process.
"""

import gzip
import hashlib
import struct
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from greville.datasets import DataError, _mnist, find_mnist, mnist

from ..every_pair import every_pair


@pytest.fixture
def small(monkeypatch, tmp_path):
    """Archives as mirrors serve them; an empty cache, and no other data."""
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
    monkeypatch.setattr(_mnist, "MIRRORS", ("http://127.0.0.1:9/",))  # no server
    return archives


@pytest.fixture
def mirror(small, monkeypatch):
    """Start a server that answers by `serve(handler, archive)`, and add it to the mirrors."""
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
        mirrors = tuple(f"http://127.0.0.1:{s.server_port}/" for s in servers)
        monkeypatch.setattr(_mnist, "MIRRORS", mirrors)
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
    """Too short, with a length that says the same."""
    _answer(handler, archive[: len(archive) // 2])


def _corrupt(handler, archive):
    _answer(handler, archive[:40] + b"\0\0\0\0" + archive[44:])


def _missing(handler, archive):
    handler.send_error(404)


def _cached_files(tmp_path):
    return sorted(path.name for path in (tmp_path / "cache").rglob("*") if path.is_file())


def test_a_download_and_then_the_cache(mirror, tmp_path):
    asked = mirror(_answer)
    reported = []

    @contextmanager
    def progress(what, total):
        reported.append([what, 0.0])

        def advance(done):
            reported[-1][1] += done

        yield advance

    X, y, X_test, _ = mnist(progress=progress)
    assert X.shape == (20, 784)
    assert X.dtype == np.float32
    assert 0 <= X.min() < X.max() <= 1
    assert y.shape == (20,)
    assert y.dtype == np.int64
    assert X_test.shape == (10, 784)
    assert len(asked) == 4
    assert len(reported) == 4
    assert all(done == pytest.approx(1) for _, done in reported)
    again = mnist()
    assert len(asked) == 4  # no second download
    assert np.array_equal(again[0], X)
    assert len(_cached_files(tmp_path)) == 4


@pytest.mark.parametrize("broken", [_truncated, _cut, _corrupt, _missing])
def test_a_broken_mirror_and_a_good_one(mirror, tmp_path, broken):
    mirror(broken)
    with pytest.raises(DataError) as failure:
        mnist()
    assert "\n" not in str(failure.value)
    assert "--data" in str(failure.value)
    assert _cached_files(tmp_path) == []  # nothing half-done is left
    mirror(_answer)
    assert mnist()[0].shape == (20, 784)


def test_a_transfer_that_breaks_off_once(mirror):
    """It starts over cleanly at the next call, and what was whole is kept."""

    def third_breaks(handler, archive):
        (_truncated if len(asked) == 3 else _answer)(handler, archive)

    asked = mirror(third_breaks)
    with pytest.raises(DataError, match="broke off"):
        mnist()
    assert len(asked) == 3
    assert mnist()[1].shape == (20,)
    assert len(asked) == 5


def test_a_damaged_cache_is_downloaded_again(mirror, tmp_path):
    asked = mirror(_answer)
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


@every_pair(compressed=[True, False], folder=["mnist", "."], named=["argument", "environment"])
def test_a_folder_that_the_user_names(small, tmp_path, monkeypatch, compressed, folder, named):
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
def test_a_damaged_file_is_named(small, tmp_path, damage):
    for name, archive in small.items():
        (tmp_path / f"{name}.gz").write_bytes(archive)
    victim = tmp_path / "t10k-images-idx3-ubyte.gz"
    victim.write_bytes(damage(victim.read_bytes()))
    for read in (mnist, find_mnist):
        with pytest.raises(DataError, match="t10k-images-idx3-ubyte.gz is damaged"):
            read(tmp_path)


@pytest.mark.full
def test_the_whole_of_mnist(data_dir):
    X, y, X_test, y_test = mnist(data_dir)
    assert X.shape == (60_000, 784)
    assert X_test.shape == (10_000, 784)
    assert np.bincount(y).tolist() == [
        5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949,
    ]  # fmt: skip
    assert y_test[:5].tolist() == [7, 2, 1, 0, 4]
    assert X.max() == 1.0
