"""Numbers in the text format of Prometheus."""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

# Seconds: half a millisecond is one row, ten seconds a model that chooses its units.
BOUNDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

Labels = Mapping[str, str]
Values = float | Iterable[tuple[Labels, float]]

_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*\Z")
_LABEL = re.compile(r"(?!__)[a-zA-Z_][a-zA-Z0-9_]*\Z")


@dataclass(frozen=True)
class Family:
    """All samples of one name.

    Parameters
    ----------
    name : str
    kind : {"counter", "gauge", "histogram"}
    help : str
        One sentence.
    samples : tuple of (suffix, labels, value)
        The suffix is what a histogram adds to the name: ``_bucket``, ``_sum`` or ``_count``.
    """

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    help: str
    samples: tuple[tuple[str, Labels, float], ...]


def counter(name: str, help: str, values: Values) -> Family:
    """What only grows; its name should end in ``_total``.

    Parameters
    ----------
    values : float, or pairs of labels and float

    Examples
    --------
    >>> print(text([counter("rows_total", "Rows learned.", [({"model": "houses"}, 12)])]), end="")
    # HELP rows_total Rows learned.
    # TYPE rows_total counter
    rows_total{model="houses"} 12
    """
    return Family(name, "counter", help, _plain(values))


def gauge(name: str, help: str, values: Values) -> Family:
    """What goes up and down. Parameters as in `counter`."""
    return Family(name, "gauge", help, _plain(values))


class Histogram:
    """How many values were at most as large as each bound.

    Parameters
    ----------
    bounds : tuple of float
        In ascending order.
    """

    def __init__(self, bounds: tuple[float, ...] = BOUNDS) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)  # the last: larger than all bounds
        self.sum = 0.0

    def observe(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value

    def samples(self, labels: Labels) -> list[tuple[str, Labels, float]]:
        found: list[tuple[str, Labels, float]] = []
        total = 0
        for bound, count in zip((*self.bounds, math.inf), self.counts, strict=True):
            total += count
            found.append(("_bucket", {**labels, "le": _number(bound)}, total))
        return [*found, ("_sum", labels, self.sum), ("_count", labels, total)]


def histogram(name: str, help: str, values: Iterable[tuple[Labels, Histogram]]) -> Family:
    """Histograms with their labels."""
    samples = (sample for labels, found in values for sample in found.samples(labels))
    return Family(name, "histogram", help, tuple(samples))


class Requests:
    """How many requests there were and how long they took.

    To be used from one thread. Routes are those of `Guard.route`, so there are few of them.
    """

    def __init__(self) -> None:
        self._counts: dict[tuple[str, int], int] = {}
        self._seconds: dict[str, Histogram] = {}

    def observe(self, route: str, status: int, seconds: float) -> None:
        """Count an answer."""
        key = route, status
        self._counts[key] = self._counts.get(key, 0) + 1
        found = self._seconds.get(route)
        if found is None:
            found = self._seconds[route] = Histogram()
        found.observe(seconds)

    def families(self) -> list[Family]:
        """What there is to write."""
        return [
            counter(
                "greville_requests_total",
                "Requests by route and status; 499 where the client did not wait.",
                [
                    ({"route": route, "status": str(status)}, count)
                    for (route, status), count in sorted(self._counts.items())
                ],
            ),
            histogram(
                "greville_request_seconds",
                "Seconds from the head of a request to the start of its answer.",
                [({"route": route}, found) for route, found in sorted(self._seconds.items())],
            ),
        ]


def text(families: Iterable[Family]) -> str:
    """Write families as Prometheus reads them.

    Raises
    ------
    ValueError
        Where a name is invalid, or is there twice: Prometheus would drop everything.
    """
    lines: list[str] = []
    names: set[str] = set()
    samples: set[str] = set()
    for family in families:
        if not _NAME.match(family.name):
            raise ValueError(f"{family.name!r} is not a name of a metric.")
        if family.name in names:
            raise ValueError(f"The metric {family.name} is there twice: join its samples.")
        names.add(family.name)
        help = family.help.replace("\\", r"\\").replace("\n", r"\n")
        lines += [f"# HELP {family.name} {help}", f"# TYPE {family.name} {family.kind}"]
        for suffix, labels, value in family.samples:
            sample = family.name + suffix + _braces(labels)
            if sample in samples:
                raise ValueError(f"The sample {sample} is there twice.")
            samples.add(sample)
            lines.append(f"{sample} {_number(value)}")
    return "".join(f"{line}\n" for line in lines)


def _plain(values: Values) -> tuple[tuple[str, Labels, float], ...]:
    if isinstance(values, Iterable):
        return tuple(("", labels, value) for labels, value in values)
    return (("", {}, values),)


def _braces(labels: Labels) -> str:
    if not labels:
        return ""
    pairs = []
    for name, value in labels.items():
        if not _LABEL.match(name):
            raise ValueError(f"{name!r} is not a name of a label.")
        escaped = value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
        pairs.append(f'{name}="{escaped}"')
    return "{" + ",".join(pairs) + "}"


def _number(value: float) -> str:
    if isinstance(value, int):
        return str(int(value))
    value = float(value)
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return repr(value)
