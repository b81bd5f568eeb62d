"""Files that commands read and write."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ._errors import UserError


def load_table_model(path: Path, *, replaced: bool = False) -> Any:
    """The model of a file, if it is one of tables."""
    return read_table_model(path, replaced=replaced)[0]


def load_learned_model(path: Path) -> Any:
    """The same, if it has learned any row: without one every prediction would be zero."""
    model = load_table_model(path)
    if model.n_rows == 0:
        raise UserError(f"{path}: it has learned no rows; there is nothing to predict from.")
    return model


def read_table_model(path: Path, *, replaced: bool = False) -> tuple[Any, dict[str, Any], str]:
    """The same, what stands beside it in the file, and the checksum of the file.

    A file of a stream or a server is more than a model, and must not be `replaced` by one.
    """
    from ..persistence import open_file
    from ..tables import Stream, TableModel

    if not path.exists():
        raise UserError(f"{path}: there is no such file.")
    file = open_file(path)
    model = file.model
    if isinstance(model, Stream):
        if replaced:
            what = "file of a server" if "serve" in (file.extra or {}) else "checkpoint of a stream"
            raise UserError(
                f"{path}: it is the {what}, which would become a plain model; name another file "
                "with -o. (A server unlearns rows itself: POST /unlearn.)"
            )
        model = model.settled()
    if not isinstance(model, TableModel):
        raise UserError(
            f"{path}: it holds a {type(model).__name__} saved from Python; this command needs a "
            "model made by greville train or greville stream."
        )
    return model.settle(), file.extra or {}, file.header["checksum"]


def check_writable(path: Path) -> None:
    """Find out at once that a file cannot be written there, not after hours."""
    if path.is_dir():
        raise UserError(f"{path}: it is a folder; name a file in it.")
    if path.exists() and not path.is_file():
        raise UserError(f"{path}: it is not a plain file; name another.")
    folder = Path(os.path.realpath(path)).parent
    if not folder.is_dir():
        raise UserError(f"{path}: the folder {folder} does not exist; create it first.")
    if not os.access(folder, os.W_OK):
        raise UserError(f"{path}: no permission to write in {folder}; check its permissions.")


def check_picture(path: Path | None) -> None:
    """Find out at once that a picture cannot be written."""
    if path is not None:
        check_writable(path)
        if path.suffix.lower() not in (".png", ".svg", ".pdf"):
            raise UserError(f"--plot {path}: end its name in .png, .svg or .pdf.")


def save_picture(figure: Any, path: Path) -> None:
    """Write a picture, whole or not at all."""
    from ..persistence import whole_file

    with whole_file(path) as new:
        figure.savefig(new, format=path.suffix.lower()[1:], dpi=150)
