"""Dynamic OPIUM: rows count less the older they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..linalg import Array
from ..validation import check_number, check_squares, warn
from ._bank import MEMORIES, Bank
from ._choosing import ChoosingSolver
from ._chosen import ChosenRoot
from ._root import Root
from ._rows import Rows, block_length

# floor="auto", squared, as a part of the mean square activation. A larger one hides more of what
# the data say, a smaller one lets predictions overshoot more after a change; docs/forgetting.md
# shows both.
_AUTO_FLOOR = {"d": 1e-9, "f": 1e-6}

# The part of the floor that pulls the weights to zero; the rest holds them where they are. Without
# it, what directions that no row excites took up in a change would stay there for ever.
_LEAK = 0.1

# The factor by which rows of one prequential block may outgrow each other: (2 - alpha)^(-rows / 2).
_LARGEST_FACTOR = 1e3


class FadingRoot(Root):
    """A root that also knows how large activations are, from the rows that had any."""

    is_sum = False
    energy = 0.0  # the sum of |a|², a row k such rows ago counting (2 - alpha)^k
    excited = 0.0  # the number of such rows, counted likewise
    warned = False

    def see(self, energies: Array, keep: float) -> None:
        energies = energies[energies > 0]
        counts = keep ** np.arange(len(energies) - 1, -1, -1.0)
        faded = keep ** len(energies)
        self.energy = faded * self.energy + float(counts @ energies)
        self.excited = faded * self.excited + float(counts.sum())


class FadingChosenRoot(ChosenRoot, FadingRoot):
    """The same, with a ridge that is chosen."""

    is_sum = False


class DynamicOpium(ChoosingSolver):
    """Dynamic OPIUM, eqs. (29)-(33): exact recursive least squares that forgets.

    A row k rows ago counts (2 - alpha)^k: exponentially weighted recursive least squares with
    forgetting factor 2 - alpha, started from θ_0⁻¹ = epsilon²·I / alpha.

    The paper's rule also forgets what keeps θ finite: in directions that no row excites, θ grows
    until nothing is left of the solution. The `floor` prevents it: as often as the old rows have
    lost half their weight, half of floor²·I is added to θ⁻¹ again, around the weights as they are.
    So θ⁻¹ stays above a part of floor² in every direction, the weights stay bounded, and where the
    data say something the floor is not in the way.

    Parameters
    ----------
    alpha : float or "auto", default=1.003
        The paper's α, in [1, 2). With 1, nothing is forgotten and this is `Opium`. "auto" keeps six
        memories at once, for α from 1 to 1.03, and predicts with those that have erred least on
        about the last twelve rows; it takes six times as long.
    epsilon : float or "auto", default=1e-3
        The paper's ε, eq. (23). "auto" chooses, whenever the floor would be due, the ridge with the
        largest evidence for the rows as they count then, instead of a floor; until the next
        choice it fades like them.
    floor : float, "auto" or None, default="auto"
        The size of the prior that is not forgotten, in units of the activations. "auto" is
        3e-5 times the root mean square of the activations, in float32 1e-3 times. None is the
        paper's rule to the letter: a warning says when directions have been forgotten, and a
        FloatingPointError when numbers would underflow.

    Attributes
    ----------
    coef_ : ndarray of shape (n_outputs, n_hidden), or (n_hidden,) for 1-d targets
    theta_ : ndarray of shape (n_hidden, n_hidden)
    psi_ : ndarray of shape (n_outputs, n_hidden), or (n_hidden,)
    loss_ : ndarray of shape (n_outputs,), or float
    alpha_ : float
        The α in use; for "auto" the mean over its memories.
    epsilon_ : float
        What is left of ε; for "auto" the ridge in use.
    n_samples_seen_ : int
    n_features_in_ : int

    Notes
    -----
    With ``alpha="auto"``, `theta_`, `psi_` and `loss_` are those of the memory trusted most.

    Cost as for `Opium`, and with a floor (2/3)M³ operations more once per half-life, h = log(2) /
    -log(2 - alpha) rows, or once in M/4 rows where that is longer, up to 10·h. Time is counted in
    rows: a sample weight multiplies the squared error of its row and does not make time pass
    faster; a row of weight zero is a step of time in which nothing is learned.

    References
    ----------
    van Schaik & Tapson, "Online and Adaptive Pseudoinverse Solutions for ELM Weights".

    Examples
    --------
    >>> import numpy as np
    >>> from greville import DynamicOpium
    >>> H = np.random.default_rng(0).normal(size=(2000, 3))
    >>> model = DynamicOpium(alpha=1.01)
    >>> _ = model.partial_fit(H[:1000], H[:1000] @ [1.0, 2.0, 3.0])
    >>> _ = model.partial_fit(H[1000:], H[1000:] @ [3.0, 2.0, 1.0])  # the rule changes
    >>> model.coef_.round(3)
    array([3., 2., 1.])
    """

    def __init__(
        self,
        alpha: float | str = 1.003,
        epsilon: float | str = 1e-3,
        floor: float | str | None = "auto",
    ) -> None:
        self.alpha = alpha
        self.epsilon = epsilon
        self.floor = floor

    def _check_parameters(self) -> None:
        if isinstance(self.alpha, str):
            if self.alpha != "auto":
                raise ValueError(f"alpha={self.alpha!r}: pass 'auto' or a number >= 1 and < 2.")
        else:
            check_number("alpha", self.alpha, low=1, high=2)
        if isinstance(self.epsilon, str):
            if self.epsilon != "auto":
                raise ValueError(f"epsilon={self.epsilon!r}: pass 'auto' or a number >= 0.")
            if self.alpha in ("auto", 1):
                raise ValueError(
                    f"epsilon='auto', alpha={self.alpha!r}: epsilon is chosen for one memory; pass "
                    "a number > 1 as alpha, or use Opium where nothing is forgotten."
                )
        else:
            check_number("epsilon", self.epsilon, low=0)
        if isinstance(self.floor, str) and self.floor != "auto":
            raise ValueError(f"floor={self.floor!r}: pass 'auto', None or a number >= 0.")
        if not (self.floor is None or isinstance(self.floor, str)):
            check_number("floor", self.floor, low=0)

    def _start(self, n_hidden: int, n_outputs: int, dtype: Any) -> Any:
        if self.epsilon == "auto":
            return FadingChosenRoot(n_hidden, n_outputs, dtype)
        epsilon = float(self.epsilon)
        check_squares("epsilon", epsilon, dtype)
        if not isinstance(self.floor, str):
            check_squares("floor", self.floor or 0.0, dtype)
        if self.alpha == "auto":
            starts = [
                DynamicOpium(alpha, self.epsilon, self.floor)._start(n_hidden, n_outputs, dtype)
                for alpha in MEMORIES
            ]
            return Bank.start(starts, n_outputs)
        return FadingRoot(n_hidden, n_outputs, float(epsilon / np.sqrt(float(self.alpha))), dtype)

    def _check_outputs(self, name: str, Y: Array) -> None:
        super()._check_outputs(name, Y)
        if isinstance(self._held[0], Bank) != (self.alpha == "auto"):
            raise ValueError(
                f"alpha={self.alpha!r}: a model that has started with a fixed alpha cannot go on "
                "with 'auto', nor the other way round; call fit to start again."
            )
        if isinstance(self._held[0], ChosenRoot) != (self.epsilon == "auto"):
            raise ValueError(
                f"epsilon={self.epsilon!r}: a model that has started with a given epsilon cannot "
                "go on with 'auto', nor the other way round; call fit to start again."
            )

    # Several memories at once, for alpha="auto"

    def _members(self) -> list[DynamicOpium]:
        """A solver for each memory, to work on the states of a bank."""
        members = []
        for alpha in MEMORIES:
            member = DynamicOpium(alpha, self.epsilon, self.floor)
            member.n_features_in_, member._dtype = self.n_features_in_, self._dtype
            members.append(member)
        return members

    def _innovate_all(
        self, bank: Bank, H: Array, Y: Array, weight: Array, seen: int
    ) -> tuple[Bank, Array]:
        rows = Rows.of(H, Y, weight)
        runs = [
            member._run(root, rows, seen)
            for member, root in zip(self._members(), bank.roots, strict=True)
        ]
        errors = np.stack([Y - predicted for _, predicted in runs])
        return bank.mixed([root for root, _ in runs], errors, weight)

    @property
    def alpha_(self) -> float:
        """The alpha in use; for "auto" the mean of those that are tried, by trust."""
        check_is_fitted(self)
        state = self._flush()
        if isinstance(state, Bank):
            return float(state.trust() @ MEMORIES)
        return float(self.alpha)

    def _root(self) -> Root:
        state = self._flush()
        root: Root = state.best if isinstance(state, Bank) else state
        root.refresh()
        return root

    def _absorb(self, state: Any, rows: Rows, seen: int) -> Any:
        if isinstance(state, Bank):
            return self._run(state, rows, seen)[0]
        state = state.copy()
        for start, stop in self._periods(rows.n, seen):
            self._absorb_part(state, rows.part(start, stop))
            self._hold(state, seen + stop)
        return state

    def _absorb_part(self, state: FadingRoot, rows: Rows) -> None:
        """Rows between two additions of the floor."""
        weight = self._decay(np.arange(rows.n - 1, -1, -1))
        if rows.weight is not None:
            weight = weight * rows.weight
        energies = np.zeros(rows.n)

        def blocks() -> Iterator[tuple[Array, Array]]:
            stop = 0
            for H, Y in rows.blocks(block_length(self.n_features_in_, self._dtype)):
                start, stop = stop, stop + len(H)
                energies[start:stop] = _energies(H)
                f = np.sqrt(weight[start:stop, None]).astype(H.dtype)
                yield f * H, f * Y

        state.absorb(blocks, rows.n, decay=self._decay(rows.n))
        given = np.ones(rows.n) if rows.weight is None else rows.weight
        state.tally(given, self._decay(np.arange(rows.n - 1, -1, -1)), self._decay(rows.n))
        state.see(energies if rows.weight is None else energies * rows.weight, self._decay(1))

    def _innovate(
        self, state: Any, H: Array, Y: Array, weight: Array, seen: int
    ) -> tuple[Any, Array]:
        if isinstance(state, Bank):
            return self._innovate_all(state, H, Y, weight, seen)
        # Rows growing by the inverse of what old ones lose, and all of it scaled down at the end.
        n = len(H)
        state, errors = self._innovated(state, H, Y, self._growth(weight))
        state.fade(self._decay(n))
        state.tally(weight, self._decay(np.arange(n - 1, -1, -1)), self._decay(n))
        state.see(_energies(H) * weight, self._decay(1))
        self._hold(state, seen + n)
        return state, errors

    def _growth(self, weight: Array) -> Any:
        if self.alpha == "auto":
            return None
        return np.sqrt(weight / self._decay(np.arange(1, len(weight) + 1)))

    def _reach(self, seen: int) -> int:
        return min(super()._reach(seen), self._record_length(seen))

    def _growth_of_a_row(self) -> float:
        return float(self._keep**-0.5)

    def _record_length(self, seen: int) -> int:
        longest = super()._record_length(seen)
        if self.alpha == "auto":
            return longest
        if self._keep < 1:
            longest = min(longest, int(2 * np.log(_LARGEST_FACTOR) / -np.log(self._keep)))
        if self._has_floor:
            longest = min(longest, self._due(seen) - seen)
        return max(1, longest)

    @property
    def _keep(self) -> float:
        """What is left of a row's weight after the next: the forgetting factor."""
        return 2.0 - float(self.alpha)

    def _decay(self, n_rows: Any) -> Any:
        return self._keep**n_rows

    # The floor

    @property
    def _has_floor(self) -> bool:
        if self.epsilon == "auto":
            return True  # which takes the place of the floor
        return self._keep < 1 and self.floor is not None and self.floor != 0

    @property
    def _period(self) -> int:
        """The rows between two additions of the floor: those in which the old lose half.

        More of them in large layers, where an addition costs as much as many rows.
        """
        half = np.log(2) / -np.log(self._keep)
        return max(1, int(np.clip(self.n_features_in_ / 4, half, 10 * half)))

    def _due(self, seen: int) -> int:
        """The next row at which the floor is added, or ε chosen: that also at 1, 2, 4, ..."""
        due = seen + self._period - seen % self._period
        return min(due, 1 << seen.bit_length()) if self.epsilon == "auto" else due

    def _periods(self, n: int, seen: int) -> Iterator[tuple[int, int]]:
        """Parts of the next n rows that end where the floor is due."""
        stop = 0
        while stop < n:
            start = stop
            stop = min(n, self._due(seen + start) - seen) if self._has_floor else n
            yield start, stop

    def _hold(self, state: FadingRoot, seen: int) -> None:
        """Add the floor if it is due; without one, see to it that nothing is lost unnoticed."""
        if not self._has_floor:
            self._watch(state)
        elif isinstance(state, ChosenRoot):
            if self._due(seen - 1) == seen:
                state.choose(cheap=True)
        elif seen % self._period == 0:
            ridge = (1 - self._decay(self._period)) * self._floor_squared(state)
            state.hold(ridge, 1 - _LEAK)

    def _floor_squared(self, state: FadingRoot) -> float:
        if self.floor != "auto":
            return float(self.floor) ** 2  # type: ignore[arg-type]
        if state.excited == 0:
            return float(self.epsilon) ** 2  # nothing to measure by: as in the beginning
        mean_square = state.energy / (state.excited * self.n_features_in_)
        return _AUTO_FLOOR[self._dtype.char] * mean_square

    def _watch(self, state: FadingRoot) -> None:
        if self._keep == 1 or not state.rank:
            return
        pivots = np.abs(np.diagonal(state.R))
        if state.basis is not None and float(self.epsilon) > 0:  # what no row has reached
            pivots = np.append(pivots, state.prior)
        limits = np.finfo(state.R.dtype)
        if pivots.min() < limits.tiny:
            raise FloatingPointError(
                "Without a floor, forgetting has gone on until the weight of directions that no "
                "row excites underflowed; pass floor='auto', or less alpha."
            )
        if not state.warned and pivots.min() < limits.eps * pivots.max():
            state.warned = True
            warn(
                "Without a floor, directions that no row has excited for long now count less "
                "than rounding; predictions may jump when they are excited again. Pass "
                "floor='auto' to prevent it."
            )

    @property
    def theta_(self) -> Array:
        """The paper's θ, of shape (n_hidden, n_hidden); eq. (30)."""
        return super().theta_ / self._dtype.type(self._best_alpha())

    @property
    def psi_(self) -> Array:
        """The paper's ψ, of shape (n_outputs, n_hidden) or (n_hidden,); eq. (29)."""
        return super().psi_ * self._dtype.type(self._best_alpha())

    def _best_alpha(self) -> float:
        """That of the root which θ and ψ are read from."""
        state = self._flush()
        if isinstance(state, Bank):
            return MEMORIES[int(state.trust().argmax())]
        return float(self.alpha)


def _energies(H: Array) -> Array:
    return np.einsum("ij,ij->i", H, H, dtype=np.float64)
