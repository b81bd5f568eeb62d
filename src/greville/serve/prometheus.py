"""The numbers of requests and of served models, for Prometheus."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from .. import __version__

# Seconds: half a millisecond is one row, ten seconds a model that chooses its units.
_BOUNDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

# Of each model: name, what it says, and the number, from its engine and what its board counts.
_Value = Callable[[Any, Mapping[str, Any]], float | None]
_GAUGES: tuple[tuple[str, str, _Value], ...] = (
    ("ready", "1 if the model answers, and its file could be read.", lambda e, n: e.is_ready),
    ("rows", "Rows that the model has learned.", lambda e, n: n["rows"]),
    ("waiting_rows", "Rows that wait for their targets.", lambda e, n: n["waiting"]),
    ("queued_requests", "Requests that wait for the disk.", lambda e, n: e.n_queued),
    (
        "error_now",
        "Mean absolute error, or share of wrong classes, of the last 1,000 rows.",
        lambda e, n: n["error"]["now"],
    ),
    (
        "error_since_start",
        "The same since the first row.",
        lambda e, n: n["error"]["since_start"],
    ),
    ("position", "Entries in the log.", lambda e, n: e.position),
    (
        "snapshot_position",
        "Entries in the log that the last snapshot has.",
        lambda e, n: e.snapshot_position,
    ),
    ("behind_rows", "Entries of the leader's log that a replica lacks.", lambda e, n: e.behind),
    ("behind_seconds", "Seconds since a replica heard its leader.", lambda e, n: e.silence),
    (
        "snapshot_age_seconds",
        "Seconds since the last snapshot.",
        lambda e, n: time.time() - e.snapshot_at,
    ),
)
_COUNTERS: tuple[tuple[str, str, _Value], ...] = (
    ("predictions", "Predictions since the start.", lambda e, n: n["predictions"]),
    ("learned_rows", "Rows learned since the start.", lambda e, n: n["learned"]),
    ("refused", "Requests of clients that were refused.", lambda e, n: n["refused"]),
    ("forgotten_rows", "Rows whose target did not come in time.", lambda e, n: n["forgotten"]),
    ("drift_alarms", "Alarms of drift since the first row.", lambda e, n: e.record.n_alarms),
)


class Meters:
    """What is measured of a server.

    Parameters
    ----------
    models : dict
        Models by their names, each with an `engine` and a `board`.
    """

    def __init__(self, models: Mapping[str, Any]) -> None:
        self._models = models
        self.registry = CollectorRegistry()
        self.registry.register(self)
        self._requests = Counter(
            "greville_requests",
            "Requests by route and status.",
            ("route", "status"),
            registry=self.registry,
        )
        self._seconds = Histogram(
            "greville_request_seconds",
            "Seconds from the head of a request to the start of its answer.",
            ("route",),
            buckets=_BOUNDS,
            registry=self.registry,
        )
        self._children: dict[tuple[str, int], tuple[Counter, Histogram]] = {}
        info = Gauge(
            "greville_info", "The version of greville.", ("version",), registry=self.registry
        )
        info.labels(__version__).set(1)

    def observe(self, route: str, status: int, seconds: float) -> None:
        """Count an answer."""
        children = self._children.get((route, status))
        if children is None:
            children = self._requests.labels(route, str(status)), self._seconds.labels(route)
            self._children[route, status] = children
        children[0].inc()
        children[1].observe(seconds)

    def collect(self) -> Iterator[Metric]:
        """The numbers of all models, when they are asked for."""
        numbers = [(m.name, m.engine, m.board.numbers()) for m in self._models.values()]
        for family, table in ((GaugeMetricFamily, _GAUGES), (CounterMetricFamily, _COUNTERS)):
            for name, text, value in table:
                found = family(f"greville_{name}", text, labels=("model",))
                for model, engine, counts in numbers:
                    number = value(engine, counts)
                    if number is not None:
                        found.add_metric((model,), number)
                yield found
