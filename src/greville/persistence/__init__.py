"""Models in files, which contain what was learned and no code.

`save` and `load` are the way in and out. A class says beside its definition which of its fields
are stored (`greville.fields`), and is found through the `registry`.
"""

from .api import ModelFile, check_fits, fingerprint, load, open_file, read, save
from .atomic import whole_file
from .container import ModelFileError
from .locking import locked
from .registry import register

__all__ = [
    "ModelFile",
    "ModelFileError",
    "check_fits",
    "fingerprint",
    "load",
    "locked",
    "open_file",
    "read",
    "register",
    "save",
    "whole_file",
]
