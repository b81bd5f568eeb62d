"""The `greville` command."""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import Any

INTERRUPTED = 130


def _interrupt_again(unraisable: Any) -> None:
    """Python drops an interrupt that comes inside a callback, of which imports have many."""
    if unraisable.exc_type is KeyboardInterrupt:
        threading.Timer(0.01, os.kill, (os.getpid(), signal.SIGINT)).start()
    else:
        sys.__unraisablehook__(unraisable)


def _output() -> Any:
    """What standard output is: another where somebody has put something in its place."""
    try:
        found = os.fstat(1)
    except OSError:  # it is closed
        return None
    return found.st_dev, found.st_ino, type(sys.stdout).__name__


def _nobody_reads(before: Any) -> bool:
    """Whether standard output is a pipe that somebody has closed, as head does: that is no error.

    rich and typer then put something in its place, and exit with 1.
    """
    if before is None:
        return False
    closed = _output() != before
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        closed = True
    if closed:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # where the rest goes when Python ends
    return closed


def main() -> None:
    """Run the command line; say what to install where something is missing."""
    unraisable, sys.unraisablehook = sys.unraisablehook, _interrupt_again
    output = _output()
    try:
        from ._app import app

        app()
    except SystemExit as ended:
        unread = _nobody_reads(output) and ended.code == 1
        sys.exit(0 if unread else ended.code)
    except ModuleNotFoundError as missing:
        if missing.name not in ("typer", "rich"):
            raise
        sys.exit(
            f"The greville command needs {missing.name}; install it with: "
            "pip install 'greville[cli]'"
        )
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        sys.exit(INTERRUPTED)
    finally:
        sys.unraisablehook = unraisable
