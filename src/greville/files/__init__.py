"""Models in files: everything that was learned, and nothing that could run."""

from ._api import check_fits, load, read, save
from ._errors import ModelFileError
from ._locking import locked
from ._writing import whole_file

__all__ = ["ModelFileError", "check_fits", "load", "locked", "read", "save", "whole_file"]
