"""The `greville` command."""

from __future__ import annotations

import _thread
import os
import signal
import sys
import threading
from typing import Any

from ._process import EXIT_INTERRUPTED, flush_output, is_closed_pipe, make_safe_for_text


def _interrupt_again(unraisable: Any) -> None:
    """Python drops an interrupt that comes inside a callback, of which imports have many."""
    if unraisable.exc_type is KeyboardInterrupt:
        threading.Timer(0.01, _interrupt).start()
    else:
        sys.__unraisablehook__(unraisable)


def _interrupt() -> None:
    """Interrupt the command as Ctrl-C does. Windows would end the process at once for a `kill`."""
    if sys.platform == "win32":
        _thread.interrupt_main()
    else:
        os.kill(os.getpid(), signal.SIGINT)


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
        flush_output()
        # A closed pipe, as after head, is no error; typer exits with 1.
        sys.exit(0 if is_closed_pipe(ended.__context__) else ended.code)
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
        # After an interrupt in source that Python executes, as dataclasses do, it ends by a signal
        # under `python -m`, whatever the exit code; unless it executes more.
        exec("")
