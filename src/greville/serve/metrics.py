"""The numbers of requests and of served models, for Prometheus."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from .. import __version__
from ..tables import TableError
from .refusals import RequestError
from .service import Service

# Seconds: half a millisecond is one row, ten seconds a model that chooses its units.
_BOUNDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

# Models of more columns are measured when the page asks, not every few seconds.
_MOST_COLUMNS = 100

# Of each model: name, what it says, and the number.
_Value = Callable[[Service], float | None]
_GAUGES: tuple[tuple[str, str, _Value], ...] = (
    (
        "ready",
        "1 if the model answers, and its file could be read.",
        lambda s: bool(s.published and not s.failure),
    ),
    ("rows", "Rows that the model has learned.", lambda s: s.n_rows),
    ("waiting_rows", "Rows that wait for their targets.", lambda s: s.n_waiting),
    (
        "error_now",
        "Mean absolute error, or share of wrong classes, of the last 1,000 rows.",
        lambda s: s.board.record.now,
    ),
    ("error_since_start", "The same since the first row.", lambda s: s.board.record.since_start),
    ("position", "Entries in the log.", lambda s: s.position),
    ("snapshot_position", "Entries that the last snapshot has.", lambda s: s.snapshot_position),
    ("behind_rows", "Entries of the leader's log that a replica lacks.", lambda s: s.behind),
    ("behind_seconds", "Seconds since a replica heard its leader.", lambda s: s.silence),
)
_COUNTERS: tuple[tuple[str, str, _Value], ...] = (
    ("predictions", "Predictions since the start.", lambda s: s.board.predictions),
    ("learned_rows", "Rows learned since the start.", lambda s: s.board.learned),
    ("refused", "Requests of clients that were refused.", lambda s: s.board.refused),
    ("forgotten_rows", "Rows whose target did not come in time.", lambda s: s.forgotten),
    ("drift_alarms", "Alarms of drift since the first row.", lambda s: s.board.record.n_alarms),
)


def _importance(service: Service) -> dict[str, float]:
    """Return each column's importance; an empty dict if it is unknown or slow to compute."""
    model = service.published and service.published.model
    if not model or not model.has_schema or len(model.schema.columns) > _MOST_COLUMNS:
        return {}
    try:
        return service.importance()
    except (RequestError, TableError):
        return {}


class Metrics:
    """Metrics of a server, for Prometheus.

    Parameters
    ----------
    services : dict
        Models by their names.
    """

    def __init__(self, services: Mapping[str, Service]) -> None:
        self._services, self.registry = services, CollectorRegistry()
        self.registry.register(self)
        requests = Counter(
            "greville_requests",
            "Requests by route and status.",
            ("route", "status"),
            registry=self.registry,
        )
        seconds = Histogram(
            "greville_request_seconds",
            "Seconds from the head of a request to the start of its answer.",
            ("route",),
            buckets=_BOUNDS,
            registry=self.registry,
        )
        about = ("greville_info", "The version of greville.", ("version",))
        Gauge(*about, registry=self.registry).labels(__version__).set(1)
        self._of = cache(
            lambda route, status: (requests.labels(route, str(status)), seconds.labels(route))
        )

    def observe(self, route: str, status: int, duration: float) -> None:
        """Count one HTTP answer and its duration."""
        requests, seconds = self._of(route, status)
        requests.inc()
        seconds.observe(duration)

    def collect(self) -> Iterator[Metric]:
        """The numbers of all models, when they are asked for."""
        for family, table in ((GaugeMetricFamily, _GAUGES), (CounterMetricFamily, _COUNTERS)):
            for name, text, value in table:
                metric = family(f"greville_{name}", text, labels=("model",))
                for model, service in self._services.items():
                    number = value(service)
                    if number is not None:
                        metric.add_metric((model,), number)
                yield metric
        importance = GaugeMetricFamily(
            "greville_importance",
            "How far predictions move with a column, at the last rows.",
            labels=("model", "column"),
        )
        for model, service in self._services.items():
            for column, moved in _importance(service).items():
                importance.add_metric((model, column), moved)
        yield importance
