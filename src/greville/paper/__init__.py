"""The experiments of the paper's section 5, and the claims of sections 2 and 3, run again.

Each function runs one experiment and returns a `Result`: its `numbers`, the `series` its figures
are drawn from, and what it has to say (`blocks()`, `figures()`). ``greville paper`` runs them all
and writes a report.

    >>> from greville import paper
    >>> result = paper.ecg(runs=1)
    >>> sorted(result.numbers["rms"])
    ['dynamic', 'dynamic_default', 'dynamic_floored', 'light', 'linear', 'opium', 'persistence']
"""

from ._ecg import ecg
from ._exactness import exactness
from ._mnist import mnist
from ._report import write_report
from ._result import Result
from ._sine import sine
from ._workers import WorkerError

__all__ = ["Result", "WorkerError", "ecg", "exactness", "mnist", "sine", "write_report"]
