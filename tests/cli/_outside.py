"""Commands in processes of their own, and what they refuse."""

import os
import resource

from .. import children
from ..children import GREVILLE
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


def refused_stream(lines, *more, target="y"):
    done = outside("stream", "--target", target, *more, stdin=lines.encode())
    assert (done.returncode, done.stdout) == (2, b"")
    return done.stderr.decode().strip()


def refused_train(name, target="y", *more):
    return refused("train", name, "--target", target, *more)
