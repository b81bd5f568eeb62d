"""What the commands share: messages, exit codes, files to read and write."""

from __future__ import annotations

import errno
import json
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from math import isfinite
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import typer

from ..validation import NotEnoughMemory
from ._terminal import printable_lines, sentence

P = ParamSpec("P")
R = TypeVar("R")

OURS, YOURS = 1, 2  # exit codes: a mistake of ours, and something for the user to mend


def reported(command: Callable[P, R]) -> Callable[P, R]:
    """A command whose errors are one sentence, and whose exit codes mean something."""

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            with warnings.catch_warnings():
                if not os.environ.get("GREVILLE_DEBUG"):
                    warnings.simplefilter("ignore")  # they speak to programmers
                return command(*args, **kwargs)
        except (typer.Exit, typer.Abort, KeyboardInterrupt, BrokenPipeError):
            raise
        except Exception as error:
            if os.environ.get("GREVILLE_DEBUG"):
                sys.stderr.write(printable_lines(traceback.format_exc()))
            if isinstance(error, ModuleNotFoundError):
                fail(
                    f"This needs {error.name}; install it with: pip install 'greville[cli]'", YOURS
                )
            if isinstance(error, OSError):
                fail(_of_the_system(error), YOURS)
            if isinstance(error, MemoryError):
                known = isinstance(error, NotEnoughMemory)
                fail(
                    f"{error}"
                    if known
                    else "There is not enough memory; try fewer units with --hidden.",
                    YOURS,
                )
            if _is_yours(error):
                fail(f"{error}", YOURS)
            fail(
                f"This is a mistake in greville, not in your data: {type(error).__name__}: {error}."
                " Please report it; GREVILLE_DEBUG=1 shows where it happened.",
                OURS,
            )
            raise AssertionError from error

    return run


def _is_yours(error: Exception) -> bool:
    from ..persistence import ModelFileError
    from ..tables import TableError

    return isinstance(error, (TableError, ModelFileError))


def _of_the_system(error: OSError) -> str:
    name = error.filename2 or error.filename
    where = f"{name}: " if name else ""
    advice = {
        errno.ENOSPC: "the disk is full; make room and try again",
        errno.EDQUOT: "the disk quota is used up; make room and try again",
        errno.EFBIG: "files may not become as large here",
        errno.EACCES: "it may not be read or written; look at its permissions",
        errno.EPERM: "it may not be read or written; look at its permissions",
        errno.EROFS: "it is on a disk that cannot be written",
        errno.ENOENT: "there is no such file or folder",
        errno.EISDIR: "it is a folder, not a file",
        errno.ENOTDIR: "a part of it is a file, not a folder",
    }.get(error.errno or 0, error.strerror or str(error))
    return f"{where}{advice}."


def fail(message: str, code: int) -> None:
    with suppress(BrokenPipeError):
        typer.echo(sentence(message), err=True)
    raise typer.Exit(code)


def say(message: str) -> None:
    """A line for the user, out of the way of what a program reads."""
    typer.echo(sentence(message), err=True)


def show_json(tree: Any) -> None:
    typer.echo(json.dumps(_without_nan(tree), indent=2, default=str))


def _without_nan(tree: Any) -> Any:
    """JSON knows no nan and no infinity."""
    if isinstance(tree, dict):
        return {key: _without_nan(value) for key, value in tree.items()}
    if isinstance(tree, list):
        return [_without_nan(value) for value in tree]
    return None if isinstance(tree, float) and not isfinite(tree) else tree


def load_table_model(path: Path) -> Any:
    """The model of a file, if it is one of tables."""
    return read_table_model(path)[0]


def read_table_model(path: Path) -> tuple[Any, str]:
    """The model of a file, if it is one of tables, and the checksum of the file."""
    from ..persistence import ModelFileError, open_file
    from ..tables import Stream, TableModel

    if not path.exists():
        raise ModelFileError(f"{path}: there is no such file.")
    file = open_file(path)
    model = file.model
    if isinstance(model, Stream):
        model = model.settled()
    if not isinstance(model, TableModel):
        raise ModelFileError(
            f"{path}: it holds a {type(model).__name__} saved from Python; this command needs a "
            "model made by greville train or greville stream."
        )
    return model.settle(), file.header["checksum"]


def check_writable(path: Path) -> None:
    """Find out at once that a file cannot be written there, not after hours."""
    from ..tables import TableError

    if path.is_dir():
        raise TableError(f"{path}: it is a folder; name a file in it.")
    if path.exists() and not path.is_file():
        raise TableError(f"{path}: it is not a plain file; name another.")
    folder = Path(os.path.realpath(path)).parent
    if not folder.is_dir():
        raise TableError(f"{path}: the folder {folder} is not there; make it first.")
    if not os.access(folder, os.W_OK):
        raise TableError(f"{path}: nothing may be written in {folder}; look at its permissions.")


def check_apart(output: Path | None, sources: Any) -> None:
    """Nobody wants to lose the data."""
    from ..tables import TableError

    if output is None or not output.exists():
        return
    for source in sources:
        if source.path is not None and os.path.samefile(output, source.path):
            raise TableError(f"{output}: it is one of the files to read; name another for output.")


def counted(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def check_picture(path: Path | None) -> None:
    """The same for a picture."""
    from ..tables import TableError

    if path is not None:
        check_writable(path)
        if path.suffix.lower() not in (".png", ".svg", ".pdf"):
            raise TableError(f"--plot {path}: end its name in .png, .svg or .pdf.")


def save_picture(figure: Any, path: Path) -> None:
    from ..persistence import whole_file

    with whole_file(path) as new:
        figure.savefig(new, format=path.suffix.lower()[1:], dpi=150)


def report_troubles(troubles: Any) -> None:
    if troubles.count:
        were = "was" if troubles.count == 1 else "were"
        say(f"{counted(troubles.count, 'row')} {were} skipped, for instance:")
        for what in troubles.first:
            say(f"  {what}")


@contextmanager
def quiet_when_nobody_reads() -> Iterator[None]:
    """Output that goes into a closed pipe, as with head, is no error."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(0) from None
