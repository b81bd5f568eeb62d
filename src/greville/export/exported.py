"""What is exported of a model: the program of its estimator, and the columns of its table."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from ..persistence import whole_file
from ..tables import Stream, TableModel
from .coders import Coder, coders_of, notes_of
from .program import Program, program_of


class Exported(NamedTuple):
    """A program, the columns that its inputs come from, if it is that of a table, and notes."""

    program: Program
    coders: list[Coder]
    target: str
    notes: list[str]


def read_model(model: Any) -> Exported:
    """What is exported of a fitted estimator, solver, stream, or model of a table.

    Raises
    ------
    ValueError
        If it cannot be exported.
    """
    table = table_model_of(model)
    if table is None:
        return Exported(program_of(model), [], "", [])
    estimator = table.settle().estimator
    if estimator is None:
        raise ValueError("model: it has learned nothing yet; train it before it is exported.")
    coders = coders_of(table)
    program, notes = program_of(estimator), notes_of(coders, table)
    if isinstance(model, Stream):
        notes.append("predictions are the model's own, not mixed with the last targets")
    return Exported(program, coders, table.target, notes)


def table_model_of(model: Any) -> TableModel | None:
    """The model of a table in what was passed; None if there is none."""
    if isinstance(model, Stream):
        model = model.settled()
    model = getattr(model, "model_", model)
    return model.twin() if isinstance(model, TableModel) else None


def notes(model: Any) -> list[str]:
    """What whoever uses an exported model must know about its inputs.

    Examples
    --------
    >>> import numpy as np
    >>> from greville import ELMRegressor
    >>> from greville.export import notes
    >>> X = np.linspace(-1, 1, 50)[:, None]
    >>> notes(ELMRegressor(20, random_state=0).fit(X, X[:, 0]))
    []
    """
    return read_model(model).notes


def write_file(path: Any, content: bytes) -> None:
    """Write a file, whole or not at all."""
    with whole_file(path) as new:
        Path(new).write_bytes(content)
