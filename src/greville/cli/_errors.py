"""Errors of commands: what users are told, and exit codes."""

from __future__ import annotations

import ast
import errno
import os
import re
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from ._process import is_closed_pipe
from ._terminal import as_option, printable_lines, say

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

# An argument of the library with its value, at the beginning of a message.
_ARGUMENT = re.compile(r"(\w+)=('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[^\s:]+)(?=: )")

# What the library advises, and what that is for the command.
_OPTION_FOR = {
    "--mix False": "--no-mix",
    "start a new log, without": "pass --new-log to go on without",
    "choose another name for": "pass --id with another name for",
    "give it a token": "pass --token-file",
    "name the field to predict to start": "pass --target to start",
    "learn=True": "--learn",
}


class UserError(Exception):
    """Something that the user of a command can fix."""


@contextmanager
def reported() -> Iterator[None]:
    """A block whose errors are one sentence, with exit codes that mean something."""
    debugging = bool(os.environ.get("GREVILLE_DEBUG"))
    try:
        with warnings.catch_warnings():
            if not debugging:
                warnings.simplefilter("ignore")  # they are for programmers
            yield
    except (typer.Exit, typer.Abort, KeyboardInterrupt):
        raise
    except Exception as error:
        if is_closed_pipe(error):
            raise typer.Exit(0) from None
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

    message, advice, named = str(error), "", not isinstance(error, UserError)
    if isinstance(error, TableError):
        message, advice = error.message, error.advice(as_option)
        named = error.argument is not None
    found = _ARGUMENT.match(message)
    if named and found is not None:
        option = as_option(found[1], _value(found[2]))
        message = option + message[found.end() :]
    for said, option in _OPTION_FOR.items():
        message = message.replace(said, option)
    return message + advice


def _value(text: str) -> object:
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text


def fail(message: str, code: int) -> None:
    """Say what was wrong, and end the command."""
    try:
        say(message)
    except OSError as error:
        if not is_closed_pipe(error):
            raise
    raise typer.Exit(code)
