"""How ``greville train`` learns a table: in chunks, with checkpoints, here or on a cluster."""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ._files import InputTable
from ._options import ModelOptions
from ._terminal import UserError, counted, say, stoppable

# Rows that are learned together. Always as many, counted from the first, so that a run that was
# stopped and goes on does what one that was not does, to the bit.
_ROWS_PER_UPDATE = 16_384


def fingerprint(table: InputTable, base: str, settings: dict[str, Any]) -> str:
    """Return the fingerprint that a checkpoint must have to be one of this run."""
    files = [(source.name, source.size, source.version) for source in table.sources]
    tree = [files, repr(table.how), base, settings, table.row_errors.skip]
    return hashlib.sha256(json.dumps(tree, default=str).encode()).hexdigest()


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

    def restored(self, options: ModelOptions) -> bool:
        """Go on from the checkpoint, if there is one; False if its run has ended."""
        from ..persistence import open_file
        from ..tables import TableModel

        if self.checkpoint is None or not self.checkpoint.exists():
            return True
        file = open_file(self.checkpoint)
        state = file.extra or {}
        if state.get("run") == self.fingerprint and isinstance(file.model, TableModel):
            self.model, self.is_new = options.place(file.model), False
            self.rows = self.saved = int(state["rows"])
            row_errors = self.table.row_errors
            row_errors.count, row_errors.reasons = int(state["skipped"]), list(state["reasons"])
            say(f"Going on after {counted(self.rows, 'row')}, where {self.checkpoint} was written.")
            return True
        finished = (open_file(self.output).extra or {}) if self.output.exists() else {}
        if state and finished.get("finished") == state.get("run"):
            self.checkpoint.unlink()
            say(
                f"That run has ended, and {self.output} is complete; {self.checkpoint} was removed."
            )
            return False
        raise UserError(
            f"{self.checkpoint}: it was not written by this command with these data and settings; "
            "remove it to start again, or name another."
        )

    def learn(self, every: int, quiet: bool) -> dict[str, Any] | None:
        """Learn all rows, and write the model; its scores."""
        from ..fields import compact
        from ..tables import RowErrors, in_chunks

        start, before, table = time.perf_counter(), self.rows, self.table
        with stoppable(self._stopped) as stop:
            reading: Any = (quiet, self.model.needed, lambda: stop.asked)
            if self.is_new and table.can_be_read_again:
                looked_at = replace(table, row_errors=RowErrors(skip=table.row_errors.skip))
                with looked_at.batches("looking", *reading) as batches:
                    self.model.prepare(self.holdout.learned(batches))
            with table.batches("training", *reading) as batches:
                kept = self.holdout.learned(batches)
                for chunk in in_chunks(kept, _ROWS_PER_UPDATE, skip=self.rows):
                    model, row_errors = self.model.twin(), table.row_errors.copy()
                    with stop.at_once():
                        self.score.before_learning(model, chunk)
                        model.learn(chunk, row_errors)
                        compact(model)  # as a checkpoint does: it changes no bit then
                    self.model, table.row_errors = model, row_errors
                    self.rows += sum(map(len, chunk))
                    if self.rows - self.saved >= every:
                        self.save_checkpoint()
            model, row_errors = self.model.twin(), table.row_errors.copy()
            with stop.at_once():
                model.settle(row_errors).choose()
            self.model, table.row_errors = model, row_errors
        self.finish(start, self.rows - before)
        return self.scores(quiet)

    def _stopped(self) -> str:
        """Return the message for a run that a signal ends."""
        self.save_checkpoint()
        message = f"Stopped after {counted(self.rows, 'row')}."
        if self.checkpoint is None:
            return message
        return f"{message} The same command goes on from {self.checkpoint}."

    def save_checkpoint(self) -> None:
        """Save what was learned since the last time, if anything was."""
        from ..persistence import save

        if self.checkpoint is not None and self.rows > self.saved:
            row_errors = self.table.row_errors
            state = {"run": self.fingerprint, "rows": self.rows}
            state |= {"skipped": row_errors.count, "reasons": row_errors.reasons}
            save(self.model, self.checkpoint, extra=state)
            self.saved = self.rows

    def finish(self, start: float, rows: int) -> None:
        """Save the model, and remove the checkpoint."""
        from ..persistence import save

        self.seconds = time.perf_counter() - start
        self.rows_per_second = round(rows / self.seconds) if self.seconds > 0 else None
        target, classes = self.model.target, self.model.classes
        if self.model.n_rows == 0:
            raise UserError(f"no row has a value of {target!r}; there is nothing to learn from.")
        if len(classes) == 1:
            raise UserError(
                f"the target {target!r} is {classes[0]!r} in every row; there are no classes to "
                "tell apart. Is it the right column? For numbers pass --task regression."
            )
        save(self.model, self.output, extra={"finished": self.fingerprint})
        if self.checkpoint is not None:
            self.checkpoint.unlink(missing_ok=True)

    def scores(self, quiet: bool) -> dict[str, Any] | None:
        """Return the model's scores: on held-out rows, or from predictions made before learning."""
        from ..tables import score_rows

        if not self.holdout.share:
            return self.score.summary(self.model)
        with self.table.batches("testing", quiet, self.model.needed) as batches:
            rows = self.holdout.held_out(batches)
            return score_rows(self.model, rows, self.table.row_errors.copy())
