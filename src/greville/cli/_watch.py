"""The live view of ``greville stream --watch``."""

from __future__ import annotations

import time
from collections import deque
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

_BARS = " ▁▂▃▄▅▆▇█"
_RECENT, _HISTORY_LENGTH, _ALARMS_SHOWN = 1000, 60, 5


class View(Live):
    """Rate, error and alarms, on stderr so that answers stay alone on stdout."""

    def __init__(self, state: Any) -> None:
        super().__init__(console=Console(stderr=True), auto_refresh=False)
        self._state = state
        self._numeric = False
        self._errors: deque[float] = deque(maxlen=_RECENT)
        self._history: deque[float] = deque(maxlen=_HISTORY_LENGTH)
        self._sum, self._n = 0.0, 0
        self._times: deque[tuple[float, int]] = deque(maxlen=40)
        self._times.append((time.monotonic(), state.lines))

    def __exit__(self, *error: Any) -> None:
        self._draw()
        super().__exit__(*error)

    def see(self, answers: list[dict[str, Any]], rows: list[Any]) -> None:
        """Take answers and their rows into the errors; draw, at most four times a second."""
        self._numeric = self._state.model.task == "regression"
        for answer, row in zip(answers, rows, strict=True):
            known = row.get(self._state.model.target) if isinstance(row, dict) else None
            predicted = answer.get("prediction")
            if known in (None, "") or predicted is None:
                continue
            try:
                error = (
                    abs(float(predicted) - float(known))
                    if self._numeric
                    else float(str(predicted) != str(known))
                )
            except (TypeError, ValueError):
                continue
            self._errors.append(error)
            self._sum, self._n = self._sum + error, self._n + 1
        now = time.monotonic()
        if now - self._times[-1][0] > 0.25:
            self._times.append((now, self._state.lines))
            if self._errors:
                self._history.append(sum(self._errors) / len(self._errors))
            self._draw()

    def _draw(self) -> None:
        state, monitor = self._state, self._state.monitor
        (first, before), (last, lines) = self._times[0], (time.monotonic(), state.lines)
        table = Table.grid(padding=(0, 2))
        table.add_row("lines", f"{lines:,}")
        table.add_row("rate", f"{(lines - before) / max(last - first, 1e-9):,.0f} lines/s")
        table.add_row("rows learned", f"{state.model.n_rows + len(state.rows):,}")
        if self._n:
            recent = (
                f"{sum(self._errors) / len(self._errors):.4g} in the last {len(self._errors):,}"
            )
            what = "mean error" if self._numeric else "share wrong"
            table.add_row(what, f"{recent}, {self._sum / self._n:.4g} in all")
            top = max(self._history, default=0.0) or 1.0
            heights = (round(value / top * (len(_BARS) - 1)) for value in self._history)
            table.add_row("", "".join(_BARS[height] for height in heights))
        if state.id is not None:
            table.add_row("waiting for targets", f"{len(state.waiting):,}")
        alarms = [] if monitor is None else monitor.alarms_
        text = f"drift alarms: {len(alarms)}"
        if alarms:
            text += ", the last at row " + ", ".join(f"{k + 1:,}" for k in alarms[-_ALARMS_SHOWN:])
        shown = Group(table, Text(text, style="bold red" if alarms else "green"))
        self.update(Panel(shown, title="greville stream", title_align="left"), refresh=True)
