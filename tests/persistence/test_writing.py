"""Writing: a file is replaced whole or not at all."""

import errno
import os
import signal
import stat
import time

import pytest

import greville
from greville import Opium
from greville.persistence import ModelFileError

from .. import children


@pytest.mark.posix("access rights")
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


@pytest.mark.parametrize("function", ["open", "fsync", "replace"])
def test_an_error_leaves_the_old_file(tmp_path, monkeypatch, function):
    number = errno.ENOSPC
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


@pytest.mark.posix("named pipes")
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
    for path in (tmp_path, tmp_path / "pipe", tmp_path / "loop"):
        with pytest.raises(ModelFileError, match="cannot be loaded"):
            greville.load(path)
    with pytest.raises(ModelFileError, match="none: there is no such file"):
        greville.load(tmp_path / "none")
    assert sorted(os.listdir(tmp_path)) == ["loop", "pipe"]


@pytest.mark.posix("fork")
def test_a_kill_leaves_a_whole_file(rng, tmp_path):
    """Processes that save are killed at random moments; there is a whole file after each."""
    H = rng.normal(size=(100, 60))
    path = tmp_path / "model"
    pair = [Opium(0.1).fit(H, H[:, 0]), Opium(0.2).fit(H, H[:, 1])]
    contents = set()
    for model in pair:
        greville.save(model, path)
        contents.add(path.read_bytes())

    def save_for_ever():
        while True:
            for model in pair:
                greville.save(model, path)

    for _ in range(20):
        child = children.fork(save_for_ever)
        time.sleep(rng.uniform(0, 0.03))
        os.kill(child, signal.SIGKILL)
        assert children.exit_code(child) == -signal.SIGKILL
        assert path.read_bytes() in contents
        assert greville.load(path).epsilon in (0.1, 0.2)
