"""Objects whose memory is not what is written: how they are taken apart, and made again."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..linalg import Array
from ..solvers._ahead import Ahead, most_ahead
from ..solvers._base import Solver
from ..solvers._exact import RootSolver
from ..solvers._root import Root
from ..solvers._rows import FEW, Rows, Waiting, _Store
from ..solvers.sliding import SlidingOpium, WindowRoot
from ..threads import one_thread
from ..validation import largest_square
from ._errors import Wrong

Fields = dict[str, Any]

# What may be set aside for rows to come; where more would be, it is set aside later.
ROOM = 40 << 20

# Rows that `Ahead.follow` takes at once.
_AT_ONCE = 32


def attributes(thing: Any) -> Fields:
    """All attributes."""
    return dict(vars(thing))


def remade(cls: type, fields: Fields) -> Any:
    """An object with these attributes, without a call of its class."""
    thing: Any = object.__new__(cls)
    vars(thing).update(fields)
    return thing


def own_fields(thing: Any) -> Fields:
    """What an object of a room above this one says it consists of."""
    fields: Fields = thing._file_fields()
    return fields


def given_fields(cls: Any, fields: Fields) -> Any:
    """An object of such a class; it checks what it is given."""
    return cls._from_file_fields(fields)


def to_fields(thing: Any) -> Fields:
    """What an estimator says it consists of."""
    fields: Fields = thing.to_fields()
    return fields


def from_fields(cls: Any, fields: Fields) -> Any:
    """An estimator of such a class."""
    return cls.from_fields(fields)


# Rows that wait


def waiting_fields(waiting: Waiting) -> Fields:
    if not waiting.n:
        return {"rows": None, "weighted": False, "claimed": False}
    store: Any = waiting.store
    rows = tuple(np.ascontiguousarray(part) for part in store.part(waiting.n))
    return {"rows": rows, "weighted": store.weighted, "claimed": store.used != waiting.n}


def waiting_again(cls: type, fields: Fields) -> Waiting:
    if fields["rows"] is None:
        return Waiting()
    H, Y, weight = fields["rows"]
    n, dtype = len(H), H.dtype
    alike = H.ndim == Y.ndim == 2 and Y.dtype == weight.dtype == dtype and dtype.char in "fd"
    if not alike or not n or len(Y) != n or len(weight) != n or 0 in (*H.shape, *Y.shape):
        raise Wrong("the rows that wait do not go with each other")
    if (weight < 0).any():
        raise Wrong("rows that wait have negative weights")
    if 2 * FEW * (H.shape[1] + Y.shape[1]) * dtype.itemsize <= ROOM:
        waiting = Waiting().with_rows(Rows.of(H, Y, weight))
    else:
        store = _Store(0, 0, 0, dtype)
        store.H, store.Y, store.weight, store.length, store.used = H, Y, weight, n, n
        waiting = Waiting(store, n)
    waiting.store.weighted = bool(fields["weighted"])  # type: ignore[union-attr]
    waiting.store.used += bool(fields["claimed"])  # type: ignore[union-attr]
    return waiting


# What follows them, beside the root


@dataclass
class Followed:
    """What cannot be found again about an `Ahead`.

    The rows it follows are those that wait, and what they do to the root is computed again. But
    their errors may have been rounded from targets with more digits than the rows have.

    Attributes
    ----------
    errors : of the rows that it follows
    longest : the sum of their squared lengths, and of some that it could not follow
    reflects : whether it uses reflections
    current : whether it follows all that wait
    overtaken : whether a copy of the model has gone on with it
    asked : the row that was just predicted, which `learn_one` will know again
    weights : whether the weights were asked for
    """

    errors: Array
    longest: float
    reflects: bool
    current: bool
    overtaken: bool
    asked: Array | None
    weights: bool


def solver_fields(solver: Solver) -> Fields:
    fields = attributes(solver)
    ahead, long_rows = fields.pop("_ahead", None), fields.pop("_long_rows", False)
    if ahead is not None:
        followed = _followed(solver, ahead)
        if followed is None:  # the next question would find that it is of no use
            long_rows = ahead.long_rows
        else:
            fields["_ahead"] = followed
    if long_rows:
        fields["_long_rows"] = True
    return fields


def _followed(solver: Any, ahead: Ahead) -> Followed | None:
    state, waiting = solver._held
    n, following = waiting.n, ahead._n
    if ahead.root is not state or n > following + _AT_ONCE or n >= ahead.reach:
        return None
    if n and following and waiting.store is not ahead._store:
        return None
    if (ahead.reach, ahead.growth) != _reach_and_growth(solver):
        return None  # somebody has set other parameters since
    last, weights = ahead._last, ahead._weights
    asked = None
    if last is not None and last[1] == n <= following:
        asked = np.frombuffer(last[0], state.Z.dtype)
    return Followed(
        errors=ahead._errors[: min(n, following)].copy(),
        longest=float(ahead.longest),
        reflects=ahead.reflects,
        current=ahead.held is solver._held,
        overtaken=following > n,
        asked=asked,
        weights=weights is not None and weights[0] == n,
    )


def _reach_and_growth(solver: Any) -> tuple[int, float]:
    state, waiting = solver._held
    reach = min(solver._reach(solver.n_samples_seen_ - waiting.n), most_ahead(state))
    return reach, solver._growth_of_a_row()


def solver_again(cls: type, fields: Fields) -> Any:
    fields = dict(fields)
    followed = fields.pop("_ahead", None)
    solver = remade(cls, fields)
    if "_held" in fields:
        solver._shape, solver._limit = (solver.n_features_in_,), largest_square(solver._dtype)
    if followed is not None:
        solver._followed = followed  # until `follow_again`, when all else is known to be right
    return solver


def follow_again(solver: Any) -> None:
    """Make the `Ahead` of a solver again, with the arithmetic that made it."""
    followed = vars(solver).pop("_followed", None)
    if followed is None:
        return
    reach, growth = _can_follow(solver, followed)
    state, waiting = solver._held
    n, rows = waiting.n, len(followed.errors)
    if reach * (state.n_hidden + reach) * state.Z.dtype.itemsize > ROOM:
        return  # it will be made when it is wanted; only rounding depends on it
    ahead = Ahead(state, reach, growth, reflect=bool(followed.reflects))
    for stop in range(0, rows + _AT_ONCE, _AT_ONCE):
        if not ahead.follow((state, Waiting(waiting.store, min(stop, rows)))):
            raise Wrong("the rows that wait cannot be followed")
    if followed.errors.shape != ahead._errors[:rows].shape:
        raise Wrong("what follows the waiting rows does not go with them")
    ahead._errors[:rows] = followed.errors
    ahead.longest = float(followed.longest)
    if followed.current:
        ahead.held = solver._held
    if followed.asked is not None:
        _ask_again(solver, ahead, followed.asked, n)
    if followed.weights:
        ahead.weights(n)
    if followed.overtaken:  # as if there were more rows, in a store that is another's
        ahead._n = n + 1
        ahead._store = waiting.store if n else object()
    solver._ahead = ahead


def _can_follow(solver: Any, followed: Followed) -> tuple[int, float]:
    """How far it would reach, and how fast rows grow; raises where it could not be."""
    state, waiting = solver._held
    usual = isinstance(solver, RootSolver) and not isinstance(solver, SlidingOpium)
    if not usual or not isinstance(state, Root):
        raise Wrong("something follows rows where nothing can")
    if state.basis is not None and not state.is_prior_alone:
        raise Wrong("something follows rows where nothing can")
    n, rows = waiting.n, len(followed.errors)
    reach, growth = _reach_and_growth(solver)
    whole = rows == n or not (followed.current or followed.overtaken or followed.weights)
    if not rows <= n < reach or not whole or n > rows + _AT_ONCE:
        raise Wrong("what follows the waiting rows does not go with them")
    return reach, growth


def _ask_again(solver: Any, ahead: Ahead, asked: Array, n: int) -> None:
    dtype = ahead.root.Z.dtype
    if asked.shape != (solver.n_features_in_,) or asked.dtype != dtype or ahead._n != n:
        raise Wrong("the row that was predicted last is none")
    with nullcontext() if n <= ahead._safe else one_thread:
        ahead._last = (asked.tobytes(), n, *ahead._asked(asked, n))


# The rows of a window: many short chunks, which are views of a few long arrays


def window_fields(root: WindowRoot) -> Fields:
    fields = attributes(root)
    if root.kept:
        lengths = np.array([len(chunk[0]) for chunk in root.kept])
        arrays = (np.concatenate([chunk[i] for chunk in root.kept]) for i in range(3))
        fields["kept"] = (*arrays, lengths)
    return fields


def window_again(cls: type, fields: Fields) -> Any:
    kept = fields.get("kept")
    if kept:
        H, Y, weight, lengths = kept
        ends = np.cumsum(lengths)
        right = (lengths > 0).all() and (lengths < 1 << 40).all() and len(lengths)
        if not right or not ends[-1] == len(H) == len(Y) == len(weight):
            raise Wrong("the rows of the window do not go with each other")
        parts = [slice(int(end - n), int(end)) for n, end in zip(lengths, ends, strict=True)]
        chunks = tuple((H[part], Y[part], weight[part]) for part in parts)
        fields = {**fields, "kept": chunks}
    return remade(cls, fields)


# Random numbers


def random_fields(random: np.random.RandomState) -> Fields:
    state: Any = random.get_state(legacy=False)
    if state["bit_generator"] != "MT19937":
        raise Wrong("random_state: only RandomState with MT19937 can be written; pass a number")
    return {
        "key": state["state"]["key"],
        "pos": int(state["state"]["pos"]),
        "has_gauss": int(state["has_gauss"]),
        "gauss": float(state["gauss"]),
    }


def random_again(cls: type, fields: Fields) -> Any:
    key, pos, has_gauss = fields["key"], fields["pos"], fields["has_gauss"]
    if key.shape != (624,) or key.dtype != np.uint32 or not 0 <= pos <= 624:
        raise Wrong("the state of its random numbers is none")
    if has_gauss not in (0, 1) or not key.any():
        raise Wrong("the state of its random numbers is none")
    random = np.random.RandomState(0)
    random.set_state(("MT19937", key, int(pos), int(has_gauss), float(fields["gauss"])))
    return random
