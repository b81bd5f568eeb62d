"""Commands in processes of their own, and what they refuse."""

import os
import sys
import tempfile
from pathlib import Path

from greville.cli._app import app

from .. import children
from ..children import GREVILLE
from ..posix import resource
from ..runner import refused

# Colours, the title of the window, a bell, markup and emoji of rich, and writing to the left
EVIL = "\x1b[31mred\x1b]0;title\x07[bold]b[/bold]:smile:\u202ex\x9b1m"


def outside(*arguments, stdin=None, memory=None):
    """A command in a process of its own."""
    limit = None
    if memory is not None:

        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))

    return children.run(
        [*GREVILLE, *map(str, arguments)],
        input=stdin,
        capture_output=True,
        check=False,
        preexec_fn=limit,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )


def streamed(lines, *arguments, code=0):
    done = children.run(
        [*GREVILLE, "stream", *arguments], input=lines, capture_output=True, check=False
    )
    assert done.returncode == code, done.stderr.decode()
    return done.stdout.decode().splitlines(), done.stderr.decode()


def forked_stream(lines, *arguments, code=0):
    """The same in a forked process, without the seconds that imports take."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in ("in", "out", "err")]
        paths[0].write_bytes(lines)

        def work():
            os.dup2(os.open(paths[0], os.O_RDONLY), 0)
            for number in (1, 2):
                os.dup2(os.open(paths[number], os.O_WRONLY | os.O_CREAT), number)
            sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
            try:
                app(["stream", *arguments], standalone_mode=True)
            finally:
                sys.stdout.flush()
                sys.stderr.flush()

        assert children.forked(work) == code, paths[2].read_text()
        return paths[1].read_text().splitlines(), paths[2].read_text()


def refused_stream(lines, *more, target="y"):
    command = "stream", "--target", target, "--on-error", "stop"
    done = outside(*command, *more, stdin=lines.encode())
    assert (done.returncode, done.stdout) == (2, b"")
    return done.stderr.decode().strip()


def refused_train(name, target="y", *more):
    return refused("train", name, "--target", target, *more)
