"""Models that run without greville: ONNX, a C file, a JavaScript module."""

from .c import to_c
from .exported import notes
from .javascript import to_js
from .onnx import OPSET, to_onnx

__all__ = ["OPSET", "notes", "to_c", "to_js", "to_onnx"]
