"""A certificate that rows were unlearned: what was before and after, and what never saw them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import __version__, persistence
from .tables import TableModel, batches_of, encoded

# Rows whose predictions are compared.
_MOST_ROWS = 2000


class Proof:
    """A record made before rows are unlearned, which certifies afterwards that they were removed.

    Parameters
    ----------
    model : estimator or TableModel
        What is about to unlearn rows.
    fingerprint : str, optional
        Of the model, where its file has one already.

    Examples
    --------
    >>> import numpy as np
    >>> from greville import ELMRegressor
    >>> from greville.proof import Proof
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(300, 2)), rng.normal(size=300)
    >>> model = ELMRegressor(20, random_state=0).fit(X, y)
    >>> proof = Proof(model)
    >>> certificate = proof.certify(model.unlearn(X[:50], y[:50]), (X[50:], y[50:]))
    >>> certificate["rows removed"], certificate["largest difference"] < 1e-9
    (50, True)
    """

    def __init__(self, model: Any, fingerprint: str | None = None) -> None:
        self.fingerprint, self.n_rows = (
            fingerprint or persistence.fingerprint(model),
            _n_rows(model),
        )

    def certify(self, model: Any, others: Any = None) -> dict[str, Any]:
        """Return the certificate of a model that has unlearned rows.

        Parameters
        ----------
        model : estimator or TableModel
            The same model, afterwards.
        others : tuple, table or iterator of tables, optional
            All rows that it still knows: X and y, and of a `TableModel` a table with the target.
            Another model with the same units and hidden layer then learns them alone.

        Returns
        -------
        certificate : dict
            "before" and "after" are fingerprints: the checksum that ``greville info`` shows of the
            model's file. "rows before", "rows after" and "rows removed" are numbers. With `others`,
            "largest difference" is that between the outputs of both models for "rows compared" of
            these rows, in standard deviations of the outputs.

        Raises
        ------
        ValueError
            If there are more or fewer other rows than the model knows.
        """
        n = _n_rows(model)
        certificate = {
            "greville": __version__,
            "before": self.fingerprint,
            "after": persistence.fingerprint(model),
            "rows before": self.n_rows,
            "rows after": n,
            "rows removed": self.n_rows - n,
        }
        if others is None:
            return certificate
        retrained, X = _retrained(model, others)
        if _n_rows(retrained) != n:
            raise ValueError(
                f"others: {_n_rows(retrained):,} rows, but the model knows {n:,}; pass exactly the "
                "rows that it still knows."
            )
        outputs, expected = _outputs(model, X), _outputs(retrained, X)
        difference = np.abs(outputs - expected).max() / (expected.std() or 1.0)
        return {**certificate, "rows compared": len(X), "largest difference": float(difference)}


def _n_rows(model: Any) -> int:
    if isinstance(model, TableModel):
        return model.settle().n_rows
    return int(model.n_samples_seen_)


def _retrained(model: Any, others: Any) -> tuple[Any, Any]:
    """Return a model trained on the other rows alone, and inputs to compare predictions."""
    if not isinstance(model, TableModel):
        X, y = others
        return model.emptied().partial_fit(X, y).choose(), X[:_MOST_ROWS]
    again, compared, n = model.forgotten(), [], 0
    for table in others if isinstance(others, Iterator) else [others]:
        again.learn(table)
        if n < _MOST_ROWS:
            compared.append(encoded(model, batches_of(table)))
            n += len(compared[-1])
    return again.choose(), np.concatenate(compared)[:_MOST_ROWS]


def _outputs(model: Any, X: Any) -> NDArray[Any]:
    """Numbers, or the scores of classes."""
    estimator = model.estimator if isinstance(model, TableModel) else model
    outputs = getattr(estimator, "decision_function", estimator.predict)(X)
    return np.asarray(outputs, np.float64)
