"""The live view of ``greville stream --watch``."""

from __future__ import annotations

import time
from collections import deque
from typing import Any, Self

from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

_BARS = " ▁▂▃▄▅▆▇█"
_RECENT, _HISTORY_LENGTH = 1000, 60


class View:
    """Rate, error and alarms, on stderr so that answers stay alone on stdout."""

    def __init__(self, state: Any) -> None:
        self._state = state
        self._start, self._from = time.monotonic(), state.lines
        self._recent: deque[float] = deque(maxlen=_RECENT)
        self._history: deque[float] = deque(maxlen=_HISTORY_LENGTH)
        self._sum, self._n, self._drawn = 0.0, 0, 0.0
        self._times: deque[tuple[float, int]] = deque(maxlen=40)
        self._live = Live(console=Console(stderr=True), auto_refresh=False, transient=False)

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._draw()
        self._live.__exit__(*error)

    def see(self, answers: list[dict[str, Any]], rows: list[Any]) -> None:
        target = self._state.model.target
        for answer, row in zip(answers, rows, strict=True):
            known = row.get(target) if isinstance(row, dict) else None
            predicted = answer.get("prediction")
            if known in (None, "") or predicted is None:
                continue
            try:
                error = self._error(predicted, known)
            except (TypeError, ValueError):
                continue
            self._recent.append(error)
            self._sum += error
            self._n += 1
        now = time.monotonic()
        if now - self._drawn > 0.25:
            self._drawn = now
            self._times.append((now, self._state.lines))
            if self._recent:
                self._history.append(sum(self._recent) / len(self._recent))
            self._draw()

    def _error(self, predicted: Any, known: Any) -> float:
        if self._state.model.task == "regression":
            return float(abs(float(predicted) - float(known)))
        return float(str(predicted) != str(known))

    def _draw(self) -> None:
        state, monitor = self._state, self._state.monitor
        table = Table.grid(padding=(0, 2))
        table.add_row("lines", f"{state.lines:,}")
        table.add_row("rate", f"{self._rate():,.0f} lines/s")
        table.add_row("rows learned", f"{state.model.n_rows + len(state.rows):,}")
        if self._n:
            what = "mean error" if state.model.task == "regression" else "share wrong"
            last = sum(self._recent) / len(self._recent)
            table.add_row(
                what,
                f"{last:.4g} in the last {len(self._recent):,}, {self._sum / self._n:.4g} in all",
            )
            table.add_row("", _spark(self._history))
        if state.id is not None:
            table.add_row("waiting for targets", f"{len(state.waiting):,}")
        parts: list[Any] = [table]
        if monitor is not None:
            alarms = monitor.alarms_
            shown = ", ".join(f"{k + 1:,}" for k in alarms[-5:])
            rows = "row" if len(alarms) == 1 else "rows"
            text = f"drift alarms: {len(alarms)}" + (
                f", the last at {rows} {shown}" if alarms else ""
            )
            parts.append(Text(text, style="bold red" if alarms else "green"))
        self._live.update(
            Panel(Group(*parts), title="greville stream", title_align="left"), refresh=True
        )

    def _rate(self) -> float:
        if len(self._times) > 1:
            (t0, n0), (t1, n1) = self._times[0], self._times[-1]
            return (n1 - n0) / max(t1 - t0, 1e-9)
        return (self._state.lines - self._from) / max(time.monotonic() - self._start, 1e-9)


def _spark(values: Any) -> str:
    """A line of bars, from zero to the largest."""
    top = max(values, default=0.0) or 1.0
    return "".join(_BARS[round(value / top * (len(_BARS) - 1))] for value in values)
