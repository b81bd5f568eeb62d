"""Rows with their predictions beside them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from ._answers import Answers
from .batch import Batch, TableError, Troubles
from .insights import reasons
from .model import TableModel


def with_predictions(
    model: TableModel,
    batch: Batch,
    answers: Answers,
    troubles: Troubles,
    name: str,
    *,
    why: bool = False,
) -> Any:
    """The record batch with a column of predictions, and what else was asked for.

    With `why` also the columns with the largest shares of each prediction.

    Rows that cannot be used are counted, and have no prediction.
    """
    troubles.count_skipped(batch)
    troubles.meet_rows(batch, answers.wrong)
    unusable = np.zeros(len(batch), bool)
    unusable[list(answers.wrong)] = True
    new = {name: answers.prediction}
    if answers.std is not None:
        new["std"] = answers.std
    if answers.proba is not None:
        new |= {f"p({label})": answers.proba[:, i] for i, label in enumerate(model.classes)}
    if why:
        new["why"] = np.array(reasons(model, batch, answers.prediction), object)
    table = batch.table
    for column, values in new.items():
        if column in table.schema.names:
            raise TableError(
                f"{batch.source}: it has a column {column!r} already; rename it, or name the "
                "column of predictions",
                " with {as}.",
                **{"as": None},
            )
        table = table.append_column(column, pa.array(values, mask=unusable))
    return table
