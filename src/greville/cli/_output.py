"""Standard output: its encoding, and pipes whose other end is closed. Imports nothing heavy."""

from __future__ import annotations

import errno
import os
import sys
from typing import Any


def make_safe_for_text() -> None:
    """Any text can be written to standard output and standard error, whatever the console.

    Windows gives pipes and files the encoding of its code page, which has no ε and no →: a program
    that reads them gets UTF-8, and lines that end as they do elsewhere. Where the encoding is
    another, characters that it lacks become escapes such as ``\\u03b5``.
    """
    for stream in (sys.stdout, sys.stderr):
        if not hasattr(stream, "reconfigure"):  # None without a console, or a test's
            continue
        if sys.platform == "win32" and not stream.isatty():
            stream.reconfigure(encoding="utf-8", newline="\n")
        if not _is_utf8(stream):
            stream.reconfigure(errors="backslashreplace")


def _is_utf8(stream: Any) -> bool:
    return (stream.encoding or "").lower().replace("-", "").replace("_", "") == "utf8"


def is_closed_pipe(error: BaseException) -> bool:
    """Whether an error says that nobody reads any more, as after head."""
    if isinstance(error, BrokenPipeError):
        return True
    return (  # Windows has no number of its own for it
        sys.platform == "win32"
        and isinstance(error, OSError)
        and error.errno == errno.EINVAL
        and error.filename is None
    )


def discard_output() -> None:
    """Standard output leads nowhere: what Python still has to write when it ends is lost."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
