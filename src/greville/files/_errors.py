"""What goes wrong with files."""

from __future__ import annotations


class ModelFileError(ValueError):
    """A file cannot be written, or is not a model that can be trusted to work."""


class Wrong(Exception):
    """What is wrong inside; `_api` makes a sentence of it that names the file."""
