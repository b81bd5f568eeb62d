"""Pipes that are read in the background."""

import io
import os
import threading

import pytest

from greville.tables.readers.piped import BackgroundFile, BackgroundPipe

from ..children import LIMIT


@pytest.fixture
def pipe():
    """The end to read from, and the end to write to, as a file."""
    read, write = os.pipe()
    file = os.fdopen(write, "wb", buffering=0)
    yield read, file
    file.close()


def test_what_has_come_is_there_and_the_end_too(pipe):
    read, write = pipe
    background = BackgroundPipe(read)
    write.write(b"one")
    assert background.read(lambda: False) == b"one"
    assert not background.has_more()
    write.write(b"two")
    write.close()
    found = [background.read(lambda: False)]
    while found[-1]:
        found.append(background.read(lambda: False))
    assert b"".join(found) == b"two"


def test_waiting_ends_when_asked(pipe):
    over = threading.Event()
    background = BackgroundPipe(pipe[0])
    threading.Timer(0.05, over.set).start()
    assert background.read(over.is_set) == b""
    background.close()


def test_an_error_of_the_pipe_is_raised(tmp_path):
    write_only = os.open(tmp_path / "file", os.O_WRONLY | os.O_CREAT)
    with pytest.raises(OSError, match="descriptor"):
        BackgroundPipe(write_only).read(lambda: False)


def test_a_file_of_it_gives_all_bytes(pipe):
    read, write = pipe
    content = bytes(range(256)) * 8192
    writer = threading.Thread(target=lambda: (write.write(content), write.close()))
    writer.start()
    with io.BufferedReader(BackgroundFile(read, lambda: False)) as file:
        assert file.peek(3)[:3] == content[:3]
        assert file.read() == content
    writer.join(LIMIT)


def test_the_thread_ends_when_nobody_reads(pipe):
    read, write = pipe
    before = set(threading.enumerate())
    background = BackgroundPipe(read)
    [thread] = set(threading.enumerate()) - before
    for _ in range(20):
        write.write(b"x" * 1000)
    background.close()
    write.close()
    thread.join(LIMIT)
    assert not thread.is_alive()
    with pytest.raises(OSError, match="descriptor"):
        os.fstat(read)
