"""What goes wrong with files."""

from __future__ import annotations


class ModelFileError(ValueError):
    """A file cannot be written, or is not a model that can be trusted to work.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import greville
    >>> from greville.persistence import ModelFileError
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "model.greville"
    ...     _ = path.write_text("something else")
    ...     try:
    ...         greville.load(path)
    ...     except ModelFileError:
    ...         print("this is no model")
    this is no model
    """


class Refused(Exception):
    """Why a file is refused; `api` makes a sentence of it that names the file."""
