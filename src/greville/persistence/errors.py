"""What goes wrong with files."""

from __future__ import annotations


class ModelFileError(ValueError):
    """A file cannot be written, or is not a model that can be trusted to work."""


class Refused(Exception):
    """Why a file is refused; `api` makes a sentence of it that names the file."""
