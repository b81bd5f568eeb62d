"""The numbers of served models, for Prometheus."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from .. import __version__
from .metrics import Family, counter, gauge, text


def metrics_text(models: Mapping[str, Any], requests: Any) -> str:
    """All numbers of a server.

    Parameters
    ----------
    models : dict
        Models by their names, each with an `engine` and a `board`.
    requests : Requests, optional
    """
    families = [] if requests is None else list(requests.families())
    version = [({"version": __version__}, 1)]
    families.append(gauge("greville_info", "The version of greville.", version))
    return text([*families, *_of_models(models)])


def _of_models(models: Mapping[str, Any]) -> list[Family]:
    seen = {name: (each.engine, each.board.numbers()) for name, each in models.items()}

    def values(value: Any) -> list[tuple[dict[str, str], float]]:
        found = [({"model": name}, value(*pair)) for name, pair in seen.items()]
        return [(labels, number) for labels, number in found if number is not None]

    return [
        gauge(
            "greville_ready", "1 if the model answers, and its file could be read.", values(_ready)
        ),
        gauge("greville_rows", "Rows that the model has learned.", values(lambda e, n: n["rows"])),
        counter(
            "greville_predictions_total",
            "Predictions since the start.",
            values(lambda e, n: n["predictions"]),
        ),
        counter(
            "greville_learned_rows_total",
            "Rows learned since the start.",
            values(lambda e, n: n["learned"]),
        ),
        counter(
            "greville_refused_total",
            "Requests of clients that were refused since the start.",
            values(lambda e, n: n["refused"]),
        ),
        counter(
            "greville_forgotten_rows_total",
            "Rows whose target did not come in time.",
            values(lambda e, n: n["forgotten"]),
        ),
        gauge(
            "greville_waiting_rows",
            "Rows that wait for their targets.",
            values(lambda e, n: n["waiting"]),
        ),
        gauge(
            "greville_queued_requests",
            "Requests that wait for the disk.",
            values(lambda e, n: e.n_queued),
        ),
        gauge(
            "greville_error_now",
            "Mean absolute error, or share of wrong classes, of the last 1,000 rows.",
            values(lambda e, n: n["error"]["now"]),
        ),
        gauge(
            "greville_error_since_start",
            "The same since the first row.",
            values(lambda e, n: n["error"]["since_start"]),
        ),
        counter(
            "greville_drift_alarms_total",
            "Alarms of drift since the first row.",
            values(lambda e, n: e.record.n_alarms),
        ),
        gauge("greville_position", "Entries in the log.", values(lambda e, n: e.position)),
        gauge(
            "greville_snapshot_position",
            "Entries in the log that the last snapshot has.",
            values(lambda e, n: e.snapshot_position),
        ),
        gauge(
            "greville_snapshot_age_seconds",
            "Seconds since the last snapshot.",
            values(lambda e, n: time.time() - e.snapshot_at),
        ),
    ]


def _ready(engine: Any, numbers: Any) -> int:
    return int(engine.published is not None and engine.failure is None)
