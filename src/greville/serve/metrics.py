"""The numbers of requests and of served models, for Prometheus."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache

from prometheus_client import CollectorRegistry, Counter, Histogram, Info
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from .. import __version__
from ..tables import TableError
from .bodies import RequestError
from .service import Service

# Seconds: half a millisecond is one row, ten seconds a model that chooses its units.
_BOUNDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

# Models of more columns are measured when the page asks, not every few seconds.
_MOST_COLUMNS = 100

_ERROR_NOW = "Mean absolute error, or share of wrong classes, of the last 1,000 rows."
_Value = Callable[[Service], float | None]
_GAUGES: dict[tuple[str, str], _Value] = {
    ("ready", "1 if the model answers."): lambda s: bool(s.published and not s.failure),
    ("rows", "Rows that the model has learned."): lambda s: s.n_rows,
    ("waiting_rows", "Rows that wait for their targets."): lambda s: s.n_waiting,
    ("error_now", _ERROR_NOW): lambda s: s.board.record.now,
    ("error_since_start", "It since the first row."): lambda s: s.board.record.since_start,
    ("position", "Entries in the log."): lambda s: s.position,
    ("snapshot_position", "Entries that the last snapshot has."): lambda s: s.snapshot_position,
    ("behind_rows", "Entries of the leader's log that a replica lacks."): lambda s: s.behind,
    ("behind_seconds", "Seconds since a replica heard its leader."): lambda s: s.silence,
}
_COUNTERS: dict[tuple[str, str], _Value] = {
    ("predictions", "Predictions since the start."): lambda s: s.board.predictions,
    ("learned_rows", "Rows learned since the start."): lambda s: s.board.learned,
    ("refused", "Requests of clients that were refused."): lambda s: s.board.refused,
    ("forgotten_rows", "Rows whose target did not come in time."): lambda s: s.forgotten,
    ("drift_alarms", "Drift alarms since the first row."): lambda s: s.board.record.n_alarms,
}


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
        self._services, registry = services, CollectorRegistry()
        self.registry = registry
        registry.register(self)
        Info("greville", "The version of greville.", registry=registry).info(
            {"version": __version__}
        )
        text = "Seconds from the head of a request to the start of its answer."
        requests = Counter(
            "greville_requests",
            "Requests by route and status.",
            ("route", "status"),
            registry=registry,
        )
        seconds = Histogram(
            "greville_request_seconds", text, ("route",), buckets=_BOUNDS, registry=registry
        )
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
        services = self._services.items()
        for family, values in ((GaugeMetricFamily, _GAUGES), (CounterMetricFamily, _COUNTERS)):
            for (name, text), value in values.items():
                metric = family(f"greville_{name}", text, labels=("model",))
                for model, service in services:
                    number = value(service)
                    if number is not None:
                        metric.add_metric((model,), number)
                yield metric
        text = "How far predictions move with a column, at the last rows."
        importance = GaugeMetricFamily("greville_importance", text, labels=("model", "column"))
        for model, service in services:
            for column, moved in _importance(service).items():
                importance.add_metric((model, column), moved)
        yield importance
