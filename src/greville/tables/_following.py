"""The answers of a stream, mixed with what the last targets say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..following import Follower
from ._answers import Answers


def followed(follower: Follower, found: Sequence[Answers]) -> tuple[Follower, list[Answers]]:
    """The follower after rows that a model has answered and learned, and its own answers.

    Rows that have no prediction, and those that are wrong, keep what they have.
    """
    answers = []
    for part in found:
        if part.target is not None and part.target.dtype.kind not in "fiu":
            answers.append(part)  # labels, from before a row that made numbers of them
            continue
        new = _own(part)
        model = part.prediction.tolist()
        for k, predicted in enumerate(model):
            if k in part.wrong:
                continue
            _follow(new, k, follower)
            if part.target is not None and part.known is not None and part.known[k]:
                learn = follower.meet if k in part.guessed else follower.learn
                follower = learn(predicted, part.target[k])
        answers.append(new)
    return follower, answers


def predicted(follower: Follower, found: Answers) -> Answers:
    """The follower's own answers to rows without a target."""
    new = _own(found)
    for k in range(len(new.prediction)):
        if k not in found.wrong:
            _follow(new, k, follower)
    return new


def _own(part: Answers) -> Answers:
    std = None if part.std is None else part.std.copy()
    return replace(part, prediction=part.prediction.copy(), std=std)


def _follow(answers: Answers, k: int, follower: Follower) -> None:
    """Put the follower's prediction in the place of the model's, where that has one."""
    value = answers.prediction[k]
    if value is None or value != value:  # noqa: PLR0124 - nan
        return
    model = float(value)
    if answers.std is None:
        answers.prediction[k] = follower.predict(model)
    else:
        answers.prediction[k], answers.std[k] = follower.predict(model, float(answers.std[k]))  # type: ignore[misc]
