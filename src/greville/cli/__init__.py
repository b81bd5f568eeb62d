"""The `greville` command."""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import Any

EXIT_INTERRUPTED = 130


def _interrupt_again(unraisable: Any) -> None:
    """Python drops an interrupt that comes inside a callback, of which imports have many."""
    if unraisable.exc_type is KeyboardInterrupt:
        threading.Timer(0.01, os.kill, (os.getpid(), signal.SIGINT)).start()
    else:
        sys.__unraisablehook__(unraisable)


def _identify_stdout() -> Any:
    """What standard output is; it changes where something is put in its place."""
    try:
        found = os.fstat(1)
    except OSError:  # it is closed
        return None
    return found.st_dev, found.st_ino, type(sys.stdout).__name__


def _is_closed_pipe(before: Any) -> bool:
    """Whether standard output is a pipe whose other end is closed, as head does: that is no error.

    rich and typer then put something in its place, and exit with 1.
    """
    if before is None:
        return False
    closed = _identify_stdout() != before
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        closed = True
    if closed:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # where the rest goes when Python ends
    return closed


def main() -> None:
    """Run the command line; if a package is missing, say how to install it."""
    unraisable, sys.unraisablehook = sys.unraisablehook, _interrupt_again
    output = _identify_stdout()
    try:
        from ._app import app

        app()
    except SystemExit as ended:
        closed = _is_closed_pipe(output) and ended.code == 1
        sys.exit(0 if closed else ended.code)
    except ModuleNotFoundError as missing:
        if missing.name not in ("typer", "rich"):
            raise
        sys.exit(
            f"The greville command needs {missing.name}; install it with: "
            "pip install 'greville[cli]'"
        )
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        sys.exit(EXIT_INTERRUPTED)
    finally:
        sys.unraisablehook = unraisable
