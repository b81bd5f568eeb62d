"""Commands in processes of their own, and what they refuse.

The processes are forked, without the seconds that a new interpreter and its imports take. How a
command ends with its interpreter is tested in test_exits.py.
"""

import os
import signal
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import greville.forecasting  # noqa: F401
from greville.cli import main

from .. import children
from ..children import GREVILLE
from ..posix import resource
from ..runner import invoke, refused

# Colours, the title of the window, a bell, markup and emoji of rich, and writing to the left
EVIL = "\x1b[31mred\x1b]0;title\x07[bold]b[/bold]:smile:\u202ex\x9b1m"


@cache
def _import_all():
    """Import what commands import when they need it, so that no child has to."""
    assert invoke(["stream", "--target", "y"], '{"a": 1, "y": 2}\n' * 3).exit_code == 0


def command(arguments, stdin, stdout, stderr, prepare=None):
    """Fork a process that runs a command with these descriptors; its id."""
    _import_all()

    def work():
        for number, descriptor in enumerate((stdin, stdout, stderr)):
            os.dup2(descriptor, number)
        sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w")
        sys.argv = ["greville", *map(str, arguments)]
        if prepare is not None:
            prepare()
        try:
            main()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()

    return children.fork(work)


class Started:
    """A command that runs: a pipe to its input, one from its output, and a file of its errors."""

    def __init__(self, arguments, prepare, errors):
        theirs, ours = os.pipe()
        answers, written = os.pipe()

        def close_others():
            for descriptor in (theirs, ours, answers, written):
                os.close(descriptor)
            if prepare is not None:
                prepare()

        self.errors = errors
        with open(errors, "wb") as file:
            self.pid = command(arguments, theirs, written, file.fileno(), close_others)
        os.close(theirs)
        os.close(written)
        self.stdin, self.stdout = os.fdopen(ours, "wb", buffering=0), os.fdopen(answers, "rb")
        self.code = None

    def send_signal(self, number):
        os.kill(self.pid, number)

    def wait(self):
        """The exit code. Its input stays open."""
        if self.code is None:
            self.code = children.exit_code(self.pid)
        return self.code

    def said(self):
        return Path(self.errors).read_text()


@contextmanager
def started(*arguments, prepare=None):
    """A command that is talked to while it runs, and killed if it still does at the end."""
    with tempfile.TemporaryDirectory() as folder:
        process = Started(arguments, prepare, Path(folder) / "errors")
        with process.stdin, process.stdout:
            try:
                yield process
            finally:
                if process.code is None:
                    process.send_signal(signal.SIGKILL)
                    process.wait()


def outside(*arguments, stdin=b"", memory=None):
    """A command from its beginning to its end; the bytes of memory are beyond those it has."""
    arguments = [*map(str, arguments)]
    if not hasattr(os, "fork"):
        return children.run([*GREVILLE, *arguments], input=stdin, capture_output=True, check=False)

    def limit():
        sizes = Path("/proc/self/statm")
        if memory is not None and sizes.exists():
            used = int(sizes.read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (used + memory, used + memory))

    with tempfile.TemporaryDirectory() as folder:
        given, out, err = (Path(folder) / name for name in ("in", "out", "err"))
        given.write_bytes(stdin)
        with given.open("rb") as one, out.open("wb") as two, err.open("wb") as three:
            numbers = (file.fileno() for file in (one, two, three))
            child = command(arguments, *numbers, limit)
            code = children.exit_code(child)
        return subprocess.CompletedProcess(arguments, code, out.read_bytes(), err.read_bytes())


def streamed(lines, *arguments, code=0):
    """The answers of a stream to these lines, and what it said."""
    done = outside("stream", *arguments, stdin=lines)
    assert done.returncode == code, done.stderr.decode()
    return done.stdout.decode().splitlines(), done.stderr.decode()


def refused_stream(lines, *more, target="y"):
    command = "stream", "--target", target, "--on-error", "stop"
    done = outside(*command, *more, stdin=lines.encode())
    assert (done.returncode, done.stdout) == (2, b"")
    return done.stderr.decode().strip()


def refused_train(name, target="y", *more):
    return refused("train", name, "--target", target, *more)
