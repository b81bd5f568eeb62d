"""Rows that are collected before they are learned together, as an immutable value.

A QR factorisation of one row costs nearly as much as one of thirty, and past a hundred there is
little to gain.
"""

from __future__ import annotations

from typing import Any

from ..backend import Backend
from ..threads import new_lock
from ._rows import Rows


class Pending:
    """Chunks of rows that wait to be learned.

    Parameters
    ----------
    chunks : tuple of WaitingChunk
    """

    __slots__ = ("chunks", "n")

    def __init__(self, chunks: tuple[WaitingChunk, ...] = ()) -> None:
        self.chunks = chunks
        self.n = sum(chunk.n for chunk in chunks)

    def with_rows(self, rows: Rows) -> Pending:
        """The same with more rows, whose check may still run on a device."""
        return Pending((*self.chunks, WaitingChunk(rows)))

    def rows(self, b: Backend) -> Rows:
        """All rows that passed their checks, in the order in which they came.

        Raises
        ------
        ValueError
            The first time that a late check refuses rows. They are left out then.
        """
        self.finish_checks()
        good = [chunk.rows for chunk in self.chunks if not chunk.is_refused]
        return Rows.joined(b, good or [self.chunks[0].rows.part(0, 0)])

    def finish_checks(self) -> None:
        """Read the results of late checks; a ValueError, the first time, if some did not pass."""
        errors = [(chunk.n, chunk.finish_check()) for chunk in self.chunks]
        problems = [(n, error) for n, error in errors if error is not None]
        if problems:
            raise ValueError(
                f"{problems[0][1]} The numbers of short chunks on a device are looked at when the "
                f"chunks are learned together: the {sum(n for n, _ in problems)} rows of the calls "
                "that passed such numbers were left out. Nothing of the call that raises this was "
                "learned."
            )

    @property
    def n_refused(self) -> int:
        """How many rows late checks have refused."""
        return sum(chunk.n for chunk in self.chunks if chunk.is_refused)

    def __reduce__(self) -> Any:
        self.finish_checks()
        return _remade, ([chunk.rows.arrays() for chunk in self.chunks if not chunk.is_refused],)


def _remade(chunks: list[Any]) -> Pending:
    return Pending(tuple(WaitingChunk(Rows.of(*arrays)) for arrays in chunks))


class WaitingChunk:
    """The rows of one call, in arrays of their own, and a check that may still run."""

    __slots__ = ("_check", "_lock", "_sizes", "is_refused", "n", "rows")

    def __init__(self, rows: Rows) -> None:
        H, Y, self._sizes = rows.unchecked()
        self.n, self.is_refused = rows.n, False
        self._check, self._lock = rows.check, None if self._sizes is None else new_lock()
        self.rows = Rows.of(*Rows.of(H, Y, rows.weight).arrays())

    def finish_check(self) -> ValueError | None:
        """Read the result of a check that was started; once, the error if the rows failed it."""
        if self._lock is None:
            return None
        with self._lock:  # others wait for what is found
            sizes, self._sizes = self._sizes, None
            try:
                if sizes is not None and self._check is not None:
                    self._check.finish(sizes)
            except ValueError as error:
                self.is_refused = True
                return error
        return None
