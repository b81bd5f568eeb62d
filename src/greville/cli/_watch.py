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
        self._sum, self._n = 0.0, 0
        self._times = deque([(time.monotonic(), state.lines)], maxlen=40)

    def __exit__(self, *error: Any) -> None:
        self._draw()
        super().__exit__(*error)
        if not self.console.is_terminal:
            self.console.line()

    def see(self, answers: list[dict[str, Any]], rows: list[Any]) -> None:
        """Take answers and their rows into the errors; draw, at most four times a second."""
        numeric, target = self._state.model.task == "regression", self._state.model.target
        for answer, row in zip(answers, rows, strict=True):
            known = row.get(target) if isinstance(row, dict) else None
            predicted = answer.get("prediction")
            if known in (None, "") or predicted is None:
                continue
            try:
                differs = float(str(predicted) != str(known))
                error = abs(float(predicted) - float(known)) if numeric else differs
            except (TypeError, ValueError):
                continue
            self._errors.append(error)
            self._sum, self._n = self._sum + error, self._n + 1
        if time.monotonic() - self._times[-1][0] > 0.25:
            self._times.append((time.monotonic(), self._state.lines))
            self._draw()

    def _draw(self) -> None:
        state, alarms = self._state, getattr(self._state.monitor, "alarms_", [])
        (first, before), (last, lines) = self._times[0], (time.monotonic(), state.lines)
        table = Table.grid(padding=(0, 2))
        table.add_row("lines", f"{lines:,}")
        table.add_row("rate", f"{(lines - before) / max(last - first, 1e-9):,.0f} lines/s")
        table.add_row("rows learned", f"{state.model.n_rows + len(state.rows):,}")
        if self._n:
            recent = f"{sum(self._errors) / len(self._errors):.4g} in the last"
            what = "mean error" if state.model.task == "regression" else "share wrong"
            table.add_row(what, f"{recent} {len(self._errors):,}, {self._sum / self._n:.4g} in all")
        if state.id is not None:
            table.add_row("waiting for targets", f"{len(state.waiting):,}")
        rows = ", ".join(f"{k + 1:,}" for k in alarms[-_ALARMS_SHOWN:])
        text = f"{len(alarms)}, the last at row {rows}" if alarms else "0"
        table.add_row("drift alarms", text, style="bold red" if alarms else "green")
        if alarms and (changed := state.most_changed()):
            column, before, now = changed
            what = f"{column}: predictions moved by {before:.3g} with it, now by {now:.3g}"
            table.add_row("changed most since", what)
        self.update(Panel(table, title="greville stream", title_align="left"), refresh=True)
