"""Errors of commands: what users are told, and exit codes."""

from __future__ import annotations

import errno
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec, TypeVar

import typer

from ._output import discard_output, is_closed_pipe
from ._terminal import as_option, printable_lines, say

P = ParamSpec("P")
R = TypeVar("R")

EXIT_BUG, EXIT_USER_ERROR = 1, 2

_ADVICE = {
    errno.ENOSPC: "the disk is full; make room and try again",
    errno.EDQUOT: "the disk quota is used up; make room and try again",
    errno.EFBIG: "the file system does not allow files of this size",
    errno.EACCES: "no permission to read or write it; check its permissions",
    errno.EPERM: "no permission to read or write it; check its permissions",
    errno.EROFS: "it is on a disk that cannot be written",
    errno.ENOENT: "there is no such file or folder",
    errno.EISDIR: "it is a folder, not a file",
    errno.ENOTDIR: "a part of it is a file, not a folder",
}


class UserError(Exception):
    """Something that the user of a command can fix."""


def reported(command: Callable[P, R]) -> Callable[P, R]:
    """A command whose errors are one sentence, and whose exit codes mean something."""

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        debugging = bool(os.environ.get("GREVILLE_DEBUG"))
        try:
            with warnings.catch_warnings():
                if not debugging:
                    warnings.simplefilter("ignore")  # they are for programmers
                return command(*args, **kwargs)
        except (typer.Exit, typer.Abort, KeyboardInterrupt):
            raise
        except Exception as error:
            if is_closed_pipe(error):
                raise
            if debugging:
                sys.stderr.write(printable_lines(traceback.format_exc()))
            message = _user_message(error)
            if message is not None:
                fail(message, EXIT_USER_ERROR)
            fail(
                f"This is a bug in greville, not in your data: {type(error).__name__}: {error}. "
                "Please report it on the project's issue tracker, with the output of greville "
                "--version, the command, and what it prints with GREVILLE_DEBUG=1.",
                EXIT_BUG,
            )
            raise AssertionError from error

    return run


def _user_message(error: Exception) -> str | None:
    """What the user can fix; None if it is a bug."""
    from ..persistence import ModelFileError
    from ..tables import TableError
    from ..validation import NotEnoughMemory

    if isinstance(error, ModuleNotFoundError):
        return f"This needs {error.name}; install it with: pip install 'greville[cli]'"
    if isinstance(error, OSError):
        name = error.filename2 or error.filename
        what = _ADVICE.get(error.errno or 0, error.strerror or str(error))
        return f"{name}: {what}." if name else f"{what}."
    if isinstance(error, MemoryError) and not isinstance(error, NotEnoughMemory):
        return "There is not enough memory; try fewer units with --hidden."
    usual = (UserError, TableError, ModelFileError, NotEnoughMemory)
    return with_options(error) if isinstance(error, usual) else None


def with_options(error: Exception) -> str:
    """The message of an error; options stand in the place of the library's arguments."""
    from ..tables import TableError

    if not isinstance(error, TableError):
        return str(error)
    message = error.message
    if error.argument is not None:
        option = error.argument.replace("_", "-")
        message = f"--{option}{message.removeprefix(error.argument)}"
    return message + error.advice(as_option)


def fail(message: str, code: int) -> None:
    """Say what was wrong, and end the command."""
    try:
        say(message)
    except OSError as error:
        if not is_closed_pipe(error):
            raise
    raise typer.Exit(code)


@contextmanager
def ignoring_closed_output() -> Iterator[None]:
    """Output that goes into a closed pipe, as with head, is no error."""
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        if not is_closed_pipe(error):
            raise
        discard_output()
        raise typer.Exit(0) from None
