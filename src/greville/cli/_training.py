"""How ``greville train`` learns a table: in chunks, with checkpoints, here or on a cluster."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ._files import InputTable
from ._terminal import UserError, counted, stoppable

# Rows that are learned together. Always as many, counted from the first, so that a run that was
# stopped and goes on does what one that was not does, to the bit.
_ROWS_PER_UPDATE = 16_384

_AGAIN = "The same command goes on from"


@dataclass
class Training:
    """A table, the model that learns the table, and the progress of this run."""

    table: InputTable
    model: Any
    output: Path
    checkpoint: Path | None
    fingerprint: str
    holdout: Any
    is_new: bool  # no row was learned, in this run or before it
    score: Any
    rows: int = 0
    saved: int = 0
    seconds: float = 0.0
    rows_per_second: int | None = None
    n_workers: int | None = None  # where there is a cluster

    def learn(self, every: int, quiet: bool) -> dict[str, Any] | None:
        """Learn all rows, and write the model; its scores."""
        from ..fields import compact
        from ..tables import in_chunks

        start, before = time.perf_counter(), self.rows
        with stoppable(self._stopped) as stop:
            self._prepare(quiet, lambda: stop.asked)
            needed = self.model.needed
            with self.table.batches("training", quiet, needed, lambda: stop.asked) as batches:
                kept = self.holdout.learned(batches)
                for chunk in in_chunks(kept, _ROWS_PER_UPDATE, skip=self.rows):
                    with stop.at_once():
                        learned, row_errors = self._copies()
                        self.score.before_learning(learned, chunk)
                        learned.learn(chunk, row_errors)
                        compact(learned)  # as a checkpoint does: it changes no bit then
                    self.model, self.table.row_errors = learned, row_errors
                    self.rows += sum(map(len, chunk))
                    if self.rows - self.saved >= every:
                        self.save_checkpoint()
            with stop.at_once():
                settled, row_errors = self._copies()
                settled.settle(row_errors).choose()
            self.model, self.table.row_errors = settled, row_errors
        self.finish(start, self.rows - before)
        return self.scores(quiet)

    def _stopped(self) -> str:
        """Return the message for a run that a signal ends."""
        self.save_checkpoint()
        said = f"Stopped after {counted(self.rows, 'row')}."
        return said if self.checkpoint is None else f"{said} {_AGAIN} {self.checkpoint}."

    def _copies(self) -> tuple[Any, Any]:
        return self.model.twin(), self.table.row_errors.copy()

    def _prepare(self, quiet: bool, stopped: Callable[[], bool]) -> None:
        """Look at all rows before the first is learned, where they can be read twice."""
        from ..tables import RowErrors

        table = self.table
        if self.is_new and table.can_be_read_again:
            looked_at = replace(table, row_errors=RowErrors(skip=table.row_errors.skip))
            with looked_at.batches("looking", quiet, self.model.needed, stopped) as batches:
                self.model.prepare(self.holdout.learned(batches))

    def scores(self, quiet: bool) -> dict[str, Any] | None:
        """Return the model's scores: on held-out rows, or from predictions made before learning."""
        from ..tables import score_rows

        if not self.holdout.share:
            return self.score.summary(self.model)
        with self.table.batches("testing", quiet, self.model.needed) as batches:
            rows = self.holdout.held_out(batches)
            return score_rows(self.model, rows, self.table.row_errors.copy())

    def findings(self) -> tuple[Any, ...]:
        """Return the findings of readers and columns."""
        return tuple(dict.fromkeys([*self.table.row_errors.findings, *self.model.schema.findings]))

    def save_checkpoint(self) -> None:
        """Save what was learned since the last time, if anything was."""
        from ..persistence import save

        if self.checkpoint is not None and self.rows > self.saved:
            row_errors = self.table.row_errors
            state = {"run": self.fingerprint, "rows": self.rows}
            state |= {"skipped": row_errors.count, "reasons": row_errors.reasons}
            save(self.model, self.checkpoint, extra=state)
            self.saved = self.rows

    def restore(self, model: Any, state: dict[str, Any]) -> None:
        """Continue the run from a checkpoint."""
        self.model, self.is_new = model, False
        self.rows = self.saved = int(state["rows"])
        self.table.row_errors.count = int(state["skipped"])
        self.table.row_errors.reasons = list(state["reasons"])

    def finish(self, start: float, rows: int) -> None:
        """Save the model, and remove the checkpoint."""
        from ..persistence import save

        self.seconds = time.perf_counter() - start
        self.rows_per_second = round(rows / self.seconds) if self.seconds > 0 else None
        model = self.model
        if model.n_rows == 0:
            raise UserError(
                f"no row has a value of {model.target!r}; there is nothing to learn from."
            )
        if model.classes and len(model.classes) < 2:
            raise UserError(
                f"the target {model.target!r} is {model.classes[0]!r} in every row; there are no "
                "classes to tell apart. Is it the right column? For numbers pass --task regression."
            )
        save(model, self.output, extra={"finished": self.fingerprint})
        if self.checkpoint is not None:
            self.checkpoint.unlink(missing_ok=True)
