"""The answers of a stream, mixed with what the last targets say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from ..following import Follower
from ._answers import Answers


class Following(NamedTuple):
    """A follower, and what it was before the targets that came together with the last one."""

    now: Follower
    since: Follower


def followed(
    following: Following, found: Sequence[Answers], joined: Sequence[bool]
) -> tuple[Following, list[Answers]]:
    """The follower after rows that a model has answered and learned, and its own answers.

    Rows that have no prediction, and those that are wrong, keep what they have. Where a row is
    `joined`, its target came together with that of the row before it, and it is predicted by what
    was known before both.
    """
    answers = []
    follower, since = following
    flags = iter(joined)
    for part in found:
        own_flags = list(islice(flags, len(part.prediction)))
        if part.target is not None and part.target.dtype.kind not in "fiu":
            answers.append(part)  # labels, from before a row that made numbers of them
            continue
        new = _own(part)
        model = part.prediction.tolist()
        for k, predicted in enumerate(model):
            if not own_flags[k]:
                since = follower
            if k in part.wrong:
                continue
            _follow(new, k, since)
            if part.target is not None and part.known is not None and part.known[k]:
                if k in part.guessed:
                    follower = follower.meet(predicted, part.target[k])
                else:
                    together = since if own_flags[k] else None
                    follower = follower.learn(predicted, part.target[k], together)
        answers.append(new)
    return Following(follower, since), answers


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
