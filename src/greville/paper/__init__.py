"""The experiments of section 5 of the paper, and the claims of sections 2 and 3, repeated.

Each function runs one experiment and returns a `Result`: its `numbers`, the `series` its figures
are drawn from, the text and tables about it (`blocks()`) and the figures (`figures()`).
``greville paper`` runs them all and writes a report.

    >>> from greville import paper
    >>> result = paper.ecg(runs=1)
    >>> sorted(result.numbers["rms"])
    ['dynamic', 'dynamic_default', 'dynamic_floored', 'light', 'linear', 'opium', 'persistence']
"""

from ._ecg import ecg
from ._exactness import exactness
from ._mnist import mnist
from ._report import write_report
from ._sine import sine
from ._workers import WorkerError
from .result import Picture, Result, Table, Text

__all__ = [
    "Picture", "Result", "Table", "Text", "WorkerError", "ecg", "exactness", "mnist", "sine",
    "write_report",
]  # fmt: skip
