"""What a page about a model says: how good it is, what matters, and where it is most wrong."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..elm import LinearClassifier, LinearRegressor
from ..insight import Effect, Importance
from ..tables import Batch, TableError, TableModel, sampled
from .measures import BASELINES, measures_of

# Rows that are looked at, columns whose effects are shown, and rows with the largest errors.
MOST_ROWS, _MOST_EFFECTS, _MOST_ERRORS = 2000, 8, 10


@dataclass(frozen=True)
class Facts:
    """Facts about a model and some rows, which its page shows.

    Attributes
    ----------
    target, predicted : ndarray of shape (n,)
    certainty : ndarray of shape (n,), or None
        For classes the probability of the predicted one.
    left_out : bool
        Whether each row was predicted as if it had not been learned.
    measures : list of (str, dict of str to float)
        The model's, and those of simple ones on the same rows.
    importance : Importance
    effects : list of Effect
    worst : list of (int, dict of str to str)
        The rows with the largest errors, by their place, and their values as they are written.
    """

    model: TableModel
    target: NDArray[Any]
    predicted: NDArray[Any]
    certainty: NDArray[np.float64] | None
    left_out: bool
    measures: list[tuple[str, dict[str, float]]]
    importance: Importance
    effects: list[Effect]
    worst: list[tuple[int, dict[str, str]]]


def facts_of(model: TableModel, batches: Iterable[Batch], *, learned: bool) -> Facts:
    """Compute facts about a model from rows; `learned` rows are predicted by leaving each out."""
    rows = sampled(batches, MOST_ROWS)[0]
    model = model.twin().settle()
    leaves_out = learned and model.leaves_out
    try:
        answers = [_predicted(model, batch, leaves_out) for batch in rows]
    except ValueError:  # a row determines its own prediction, or was not learned
        if not leaves_out:
            raise
        leaves_out, answers = False, [_predicted(model, batch, False) for batch in rows]
    parts, places = [], []
    for i, (target, predicted, proba, use) in enumerate(answers):
        parts.append((target[use], predicted[use], None if proba is None else proba[use]))
        places += [(i, int(row)) for row in np.flatnonzero(use)]
    if not places:
        raise TableError(f"no row has a value of {model.target!r} and can be predicted.")
    target, predicted = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
    probabilities = [part[2] for part in parts if part[2] is not None]
    proba = np.concatenate(probabilities) if probabilities else None
    linear = _linear(model, rows, places)
    importance = model.importance(rows)
    return Facts(
        model,
        target,
        predicted,
        None if proba is None else proba.max(axis=1),
        leaves_out,
        _measures(model, target, predicted, proba, linear),
        importance,
        _effects(model, rows, importance),
        _worst(model, rows, places, target, predicted, proba),
    )


def _predicted(model: TableModel, batch: Batch, leaves_out: bool) -> tuple[Any, Any, Any, Any]:
    """Return targets, predictions, probabilities, and a mask of rows with target and prediction."""
    if leaves_out:
        answers = model.leave_out(batch)
        assert answers.target is not None
        assert answers.has_target is not None
        return answers.target, answers.prediction, answers.proba, answers.has_target
    target, there, wrong = model.targets(batch)
    answers = model.answers(batch, proba=bool(model.classes))
    use = there.copy()
    use[list({**wrong, **answers.wrong})] = False
    return target, answers.prediction, answers.proba, use


def _linear(model: TableModel, rows: list[Batch], places: list[tuple[int, int]]) -> Any:
    """Predictions of a linear model of the same inputs, each row left out; None if it fails."""
    encoded, targets = [], []
    for i, batch in enumerate(rows):
        use = [row for batch_at, row in places if batch_at == i]
        encoded.append(model.schema.encode(batch.with_gaps(model.settings.na))[0][use])
        targets.append(model.targets(batch)[0][use])
    X, y = np.concatenate(encoded), np.concatenate(targets)
    linear: Any = LinearClassifier() if model.classes else LinearRegressor()
    try:
        return linear.fit(X, y).loo_predict(X, y)
    except ValueError:  # one class, or too few rows
        return None


def _measures(
    model: TableModel, target: Any, predicted: Any, proba: Any, linear: Any
) -> list[tuple[str, dict[str, float]]]:
    classes = list(model.classes) or None
    if classes:
        labels, counts = np.unique(target, return_counts=True)
        simple = np.full(len(target), labels[counts.argmax()])
    else:
        simple = np.full(len(target), target.mean())
    measured = [("this model", measures_of(target, predicted, proba, classes))]
    if linear is not None:
        measures = measures_of(target, linear, None, classes)
        measured.append(("a linear model, each row left out", measures))
    return [*measured, (BASELINES[str(model.task)], measures_of(target, simple, None, classes))]


def _effects(model: TableModel, rows: list[Batch], importance: Importance) -> list[Effect]:
    """Effects of the most important columns that are ordered or have few values, and of two."""
    effects: list[Effect] = []
    for name in importance.order():
        if len(effects) == _MOST_EFFECTS:
            break
        try:
            effects.append(model.effect(name, rows))
        except TableError:  # free text, a vector
            continue
    names = [effect.names[0] for effect in effects[:2]]
    return [*effects, model.effect(names, rows)] if len(names) == 2 else effects


def _worst(
    model: TableModel, rows: list[Batch], places: Any, target: Any, predicted: Any, proba: Any
) -> list[tuple[int, dict[str, str]]]:
    if proba is None:
        size = abs(target - predicted)
    else:  # sure, and wrong
        size = np.where(target == predicted, -1.0, proba.max(axis=1))
    chosen = [i for i in np.argsort(-size, kind="stable")[:_MOST_ERRORS] if size[i] > 0]
    names = [column.name for column in model.schema.used][:8]
    errors = []
    for i in chosen:
        batch, row = rows[places[i][0]], places[i][1]
        there = set(batch.table.schema.names)
        errors.append((int(i), {n: batch.value(n, row) if n in there else "" for n in names}))
    return errors
