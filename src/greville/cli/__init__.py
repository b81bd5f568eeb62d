"""The `greville` command."""

from __future__ import annotations

import _thread
import os
import signal
import sys
import threading
from typing import Any

from ._imports import lighten
from ._output import discard_output, is_closed_pipe, make_safe_for_text

EXIT_INTERRUPTED = 130


def _interrupt_again(unraisable: Any) -> None:
    """Python drops an interrupt that comes inside a callback, of which imports have many."""
    if unraisable.exc_type is KeyboardInterrupt:
        threading.Timer(0.01, _interrupt).start()
    else:
        sys.__unraisablehook__(unraisable)


def _interrupt() -> None:
    """As Ctrl-C does. Windows would end the process at once for a `kill`."""
    if sys.platform == "win32":
        _thread.interrupt_main()
    else:
        os.kill(os.getpid(), signal.SIGINT)


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
    except OSError as error:
        if not is_closed_pipe(error):
            raise
        closed = True
    if closed:
        discard_output()
    return closed


def main() -> None:
    """Run the command line; if a package is missing, say how to install it."""
    unraisable, sys.unraisablehook = sys.unraisablehook, _interrupt_again
    make_safe_for_text()
    lighten()
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
    except OSError as error:
        if not is_closed_pipe(error):
            raise
        discard_output()
        sys.exit(0)
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        sys.exit(EXIT_INTERRUPTED)
    finally:
        sys.unraisablehook = unraisable
