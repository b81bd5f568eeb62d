"""The `greville` command."""

from __future__ import annotations

import sys

from ._process import (
    EXIT_INTERRUPTED,
    flush_output,
    interrupt,
    is_closed_pipe,
    make_safe_for_text,
    repeating,
)


def main() -> None:
    """Run the command line; if a package is missing, say how to install it."""
    make_safe_for_text()
    stdout = sys.stdout
    try:
        with repeating(KeyboardInterrupt, interrupt):
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
        # After an interrupt in source that Python executes, as dataclasses do, it ends by a signal
        # under `python -m`, whatever the exit code; unless it executes more.
        exec("")
