"""Pipes that are read in the background, as on Windows."""

import os
import threading
from types import SimpleNamespace

import pytest

from greville.cli._input import Background

from ..children import LIMIT

GO_ON = SimpleNamespace(asked=False)


@pytest.fixture
def pipe():
    """The end to read from, and the end to write to, as a file."""
    read, write = os.pipe()
    file = os.fdopen(write, "wb", buffering=0)
    yield read, file
    file.close()


def test_what_has_come_is_there_and_the_end_too(pipe):
    read, write = pipe
    background = Background(read)
    write.write(b"one")
    assert background.read(GO_ON) == b"one"
    assert not background.has_more()
    write.write(b"two")
    write.close()
    found = [background.read(GO_ON)]
    while found[-1]:
        found.append(background.read(GO_ON))
    assert b"".join(found) == b"two"


def test_waiting_ends_when_asked(pipe):
    stop = SimpleNamespace(asked=False)
    background = Background(pipe[0])
    threading.Timer(0.05, lambda: vars(stop).update(asked=True)).start()
    assert background.read(stop) == b""
    background.close()


def test_an_error_of_the_pipe_is_raised(tmp_path):
    write_only = os.open(tmp_path / "file", os.O_WRONLY | os.O_CREAT)
    with pytest.raises(OSError, match="descriptor"):
        Background(write_only).read(GO_ON)


def test_the_thread_ends_when_nobody_reads(pipe):
    read, write = pipe
    before = set(threading.enumerate())
    background = Background(read)
    [thread] = set(threading.enumerate()) - before
    for _ in range(20):
        write.write(b"x" * 1000)
    background.close()
    write.close()
    thread.join(LIMIT)
    assert not thread.is_alive()
    with pytest.raises(OSError, match="descriptor"):
        os.fstat(read)
