"""Models that run without greville: ONNX, a C file, a JavaScript module."""

from typing import Any

from .c import to_c
from .javascript import to_js
from .onnx import OPSET, to_onnx
from .program import program_of

__all__ = ["OPSET", "notes", "to_c", "to_js", "to_onnx"]


def notes(model: Any) -> list[str]:
    """Return notes about the inputs for users of an exported model.

    Examples
    --------
    >>> import numpy as np
    >>> from greville import ELMRegressor
    >>> from greville.export import notes
    >>> X = np.linspace(-1, 1, 50)[:, None]
    >>> notes(ELMRegressor(20, random_state=0).fit(X, X[:, 0]))
    []
    """
    return program_of(model).notes
