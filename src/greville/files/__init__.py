"""Models in files: everything that was learned, and nothing that could run."""

from ._api import load, read, save
from ._errors import ModelFileError

__all__ = ["ModelFileError", "load", "read", "save"]
