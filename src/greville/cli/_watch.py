"""The live view of ``greville stream --watch``."""

from __future__ import annotations

import time
from collections import deque
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.panel import Panel
from rich.table import Table

_RECENT, _ALARMS_SHOWN = 1000, 5


class View(Live):
    """Rate, error and alarms, on stderr so that answers stay alone on stdout."""

    def __init__(self, state: Any) -> None:
        super().__init__(console=Console(stderr=True), auto_refresh=False)
        self._state = state
        self._errors: deque[float] = deque(maxlen=_RECENT)
        self._times = deque([(time.monotonic(), state.lines)], maxlen=40)

    def __exit__(self, *error: Any) -> None:
        self._draw()
        super().__exit__(*error)
        if not self.console.is_terminal:
            self.console.line()

    def see(self, answers: list[dict[str, Any]], rows: list[Any]) -> None:
        """Take answers and their rows into the errors; draw, at most four times a second."""
        for answer, row in zip(answers, rows, strict=True):
            target = row.get(self._state.model.target) if isinstance(row, dict) else None
            predicted = answer.get("prediction")
            if target in (None, "") or predicted is None:
                continue
            if self._state.model.task == "regression":
                try:
                    self._errors.append(abs(float(predicted) - float(target)))
                except (TypeError, ValueError):  # an answer with an error
                    continue
            else:
                self._errors.append(str(predicted) != str(target))
        if time.monotonic() - self._times[-1][0] > 0.25:
            self._times.append((time.monotonic(), self._state.lines))
            self._draw()

    def _draw(self) -> None:
        state, alarms = self._state, getattr(self._state.monitor, "alarms_", [])
        (start, before), (end, lines) = self._times[0], (time.monotonic(), state.lines)
        table = Table.grid(padding=(0, 2))
        table.add_row("lines", f"{lines:,}")
        table.add_row("rate", f"{(lines - before) / max(end - start, 1e-9):,.0f} lines/s")
        table.add_row("rows learned", f"{state.model.n_rows + len(state.rows):,}")
        if n := len(self._errors):
            what = "mean error" if state.model.task == "regression" else "share wrong"
            table.add_row(what, f"{sum(self._errors) / n:.4g} in the last {n:,}")
        if state.id is not None:
            table.add_row("waiting for targets", f"{len(state.waiting):,}")
        rows = ", ".join(f"{k + 1:,}" for k in alarms[-_ALARMS_SHOWN:])
        text = f"{len(alarms)}, the last at row {rows}" if alarms else "0"
        table.add_row("drift alarms", text, style="bold red" if alarms else "green")
        if alarms and (changed := state.most_changed()):
            what = "{}: predictions moved by {:.3g} with it, now by {:.3g}".format(*changed)
            table.add_row("changed most since", what)
        self.update(Panel(table, title="greville stream", title_align="left"), refresh=True)
