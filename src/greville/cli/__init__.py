"""The `greville` command."""

from __future__ import annotations

import _thread
import os
import signal
import sys
import threading
from typing import Any

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


def _flush() -> None:
    """Write what is left for standard output; what nobody reads any more is lost."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        if not is_closed_pipe(error):
            raise
        discard_output()


def main() -> None:
    """Run the command line; if a package is missing, say how to install it."""
    unraisable, sys.unraisablehook = sys.unraisablehook, _interrupt_again
    make_safe_for_text()
    stdout = sys.stdout
    try:
        from ._app import app

        app()
    except SystemExit as ended:
        sys.stdout = stdout  # typer puts something in its place
        _flush()
        # A closed pipe, as after head, is no error; typer exits with 1.
        sys.exit(0 if isinstance(ended.__context__, BrokenPipeError) else ended.code)
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
