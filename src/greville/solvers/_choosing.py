"""Solvers that can choose ε."""

from __future__ import annotations

from sklearn.utils.validation import check_is_fitted

from ._chosen import ChosenRoot
from ._evidence import Path
from ._exact import RootSolver


class ChoosingSolver(RootSolver):
    """A solver with ``epsilon="auto"``, which says what it has chosen and why."""

    @property
    def epsilon_(self) -> float:
        """The ε in use; where rows fade, what is left of it."""
        check_is_fitted(self)
        return float(self._root().prior)

    def path(self) -> Path:
        """The evidence for each ε that was tried when ε was last chosen.

        Returns
        -------
        path : Path
            With arrays `epsilon` and `evidence`, the number `chosen`, and a method `plot`.

        Examples
        --------
        >>> import numpy as np
        >>> from greville import Opium
        >>> rng = np.random.default_rng(0)
        >>> H = rng.normal(size=(50, 40))
        >>> model = Opium("auto").fit(H, H[:, 0] + rng.normal(size=50))
        >>> path = model.path()
        >>> bool(path.chosen == path.epsilon[path.evidence.argmax()])
        True
        """
        check_is_fitted(self)
        state = self._root()
        if not isinstance(state, ChosenRoot) or state.path is None:
            raise ValueError(
                "there is no path: epsilon was given, or the rows so far do not differ; pass "
                "epsilon='auto' and learn more rows."
            )
        return state.path
