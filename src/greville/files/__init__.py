"""Models in files: everything that was learned, and nothing that could run."""

from ._api import load, read, save
from ._errors import ModelFileError
from ._writing import whole_file

__all__ = ["ModelFileError", "load", "read", "save", "whole_file"]
