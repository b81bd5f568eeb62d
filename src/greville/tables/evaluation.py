"""The score of a model: measured in the pass in which it learns, or on held-out rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ._first import FirstRows
from ._sample import HELD_OUT, Sample, uniform
from .batch import Batch, TableError, Troubles
from .metrics import ClassificationScore, RegressionScore
from .model import TableModel
from .target import CLASSIFICATION
from .unlearned import UnlearnedValues

# Rows that are left out, one at a time, to see how good a model is.
_ROWS_LEFT_OUT = 4096


class Holdout:
    """Rows that are held out of learning: a share of them, by their number alone.

    Parameters
    ----------
    share : float
        From 0 to below 1.

    Examples
    --------
    >>> from pathlib import Path
    >>> from greville import datasets
    >>> from greville.tables import Holdout, Reading, Troubles, find_sources, read
    >>> path = Path(datasets.__file__).with_name("ecg.npz")  # a table that comes with greville
    >>> batches = list(read(find_sources([str(path)]), Reading(), Troubles()))
    >>> holdout = Holdout(0.2)
    >>> sum(len(batch) for batch in holdout.learned(batches))
    17248
    >>> sum(len(batch) for batch in holdout.held_out(batches))
    4352
    """

    def __init__(self, share: float) -> None:
        if not 0 <= share < 1:
            raise TableError(
                f"test={share}: pass a share of the rows, at least 0 and below 1.", argument="test"
            )
        self.share = share

    def learned(self, batches: Iterable[Batch], first: int = 0) -> Iterator[Batch]:
        """The rows that are to be learned; `first` others come before these."""
        return self._part(batches, first, held_out=False)

    def held_out(self, batches: Iterable[Batch], first: int = 0) -> Iterator[Batch]:
        """The other rows."""
        return self._part(batches, first, held_out=True)

    def _part(self, batches: Iterable[Batch], number: int, *, held_out: bool) -> Iterator[Batch]:
        for batch in batches:
            chosen = uniform(number, len(batch), HELD_OUT) < self.share
            number += len(batch)
            yield batch.filter(chosen == held_out) if self.share else batch


class TrainingScore:
    """Scores a model while it learns.

    Where rows can be left out exactly, that is done at the end for a sample of them. With other
    solvers every chunk but the first is predicted before it is learned.
    """

    def __init__(self) -> None:
        self._sample = Sample(_ROWS_LEFT_OUT)
        self._found: Any = None

    def before_learning(self, model: TableModel, chunk: Sequence[Batch]) -> None:
        """Look at a chunk that the model has not learned yet."""
        if not model.leaves_out:
            if model.n_rows > 0:
                self._found = self._found or empty_score(model)
                for batch in chunk:
                    add_scores(self._found, model, batch, Troubles(skip=True))
            return
        for batch in chunk:
            self._sample.add(batch)

    def calibrate(self, model: TableModel) -> None:
        """Have a model that has learned all learn from the rows seen here how sure it may be."""
        if model.leaves_out and self._sample.total:
            model.calibrate(self._rows())

    def _rows(self) -> Batch:
        rows = FirstRows()
        for batch in self._sample.batches():
            rows = rows.with_batch(batch, lambda name: True)
        return rows.batch()

    def summary(self, model: TableModel) -> dict[str, Any] | None:
        """What the scores are, once the model has learned all; None if there are none."""
        how = "before learning"
        if model.leaves_out and self._sample.total:
            how = "leave-one-out"
            try:
                answers = model.leave_out(self._rows())
            except ValueError:  # rows determine their own predictions
                return None
            self._found, use = empty_score(model), answers.known
            assert use is not None
            assert answers.target is not None
            proba = None if answers.proba is None else answers.proba[use]
            self._found.add(answers.target[use], answers.prediction[use], proba)
        if self._found is None or not self._found.n:
            return None
        return {"how": how, **self._found.summary()}


def score_rows(model: TableModel, batches: Iterable[Batch], troubles: Troubles) -> dict[str, Any]:
    """The scores of a model on rows that have a target."""
    found = empty_score(model)
    for batch in batches:
        add_scores(found, model, batch, troubles)
    check_held_out(found, model)
    return {"how": "held out", **found.summary()}


def check_held_out(found: Any, model: TableModel) -> None:
    """Raise a TableError if no row that was held out could be scored."""
    if not found.n:
        raise TableError(f"no row that was held out has a value of {model.target!r}.")


def empty_score(model: TableModel) -> RegressionScore | ClassificationScore:
    """The score of a model before any row.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from greville.tables import TableModel, empty_score
    >>> model = TableModel("y", hidden=10)
    >>> _ = model.learn(pa.table({"x": [1.0, 2.0, 3.0], "y": [1.5, 2.0, 3.0]})).settle()
    >>> type(empty_score(model)).__name__
    'RegressionScore'
    """
    classes = model.task == CLASSIFICATION
    return ClassificationScore(model.classes) if classes else RegressionScore()


def add_scores(
    found: Any,
    model: TableModel,
    batch: Batch,
    troubles: Troubles,
    unlearned: UnlearnedValues | None = None,
) -> int:
    """Count the predictions for a batch; how many of its rows have no target."""
    classes = model.task == CLASSIFICATION
    y, there, wrong = model.targets(batch)
    answers = model.answers(batch, proba=classes, std=not classes and model.says_how_sure)
    if unlearned is not None:
        unlearned.add(answers)
    wrong = answers.wrong | wrong
    troubles.count_skipped(batch)
    troubles.meet_rows(batch, wrong)
    use = there.copy()
    use[list(wrong)] = False
    more = answers.proba if classes else answers.std
    found.add(y[use], answers.prediction[use], None if more is None else more[use])
    return int((~there).sum())
