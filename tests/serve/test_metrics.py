"""Metrics are read back by a parser that shares no code with their writer."""

import math
import re

import pytest

from greville.serve.metrics import (
    BOUNDS,
    Family,
    Histogram,
    Requests,
    counter,
    gauge,
    histogram,
    text,
)

SAMPLE = re.compile(r"([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)")
PAIR = re.compile(r'([a-zA-Z_]\w*)="((?:[^"\\\n]|\\\\|\\"|\\n)*)"(?:,|$)')
UNESCAPED = {r"\\": "\\", r"\"": '"', r"\n": "\n"}


def unescaped(value):
    return re.sub(r"\\.", lambda found: UNESCAPED[found.group()], value)


def parsed(written):
    """Families: name to (type, help, {(sample, labels): value})."""
    assert written.endswith("\n") or not written
    families = {}
    current = None
    for line in written.splitlines():
        if line.startswith("# HELP "):
            _, _, current, help = line.split(" ", 3)
            assert current not in families
            families[current] = [None, unescaped(help), {}]
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name == current
            families[name][0] = kind
        else:
            name, inside, value = SAMPLE.fullmatch(line).groups()
            suffixes = (
                ["_bucket", "_sum", "_count"] if families[current][0] == "histogram" else [""]
            )
            assert name in [current + suffix for suffix in suffixes]
            pairs, end = [], 0
            for found in PAIR.finditer(inside or ""):
                assert found.start() == end
                end = found.end()
                pairs.append((found.group(1), unescaped(found.group(2))))
            assert end == len(inside or "")
            key = name, tuple(pairs)
            assert key not in families[current][2]
            families[current][2][key] = float(value)
    return families


def test_numbers_and_labels_come_back():
    odd = 'a "b" \\ c\nd \\n é'
    written = text(
        [
            counter("a_total", "One\nline \\ and another.", 3),
            gauge("b", "Some.", [({"x": odd, "y": ""}, -1.5), ({"x": "2", "y": "3"}, 0.1 + 0.2)]),
            gauge(
                "c:d",
                "Limits.",
                [
                    ({"i": str(i)}, v)
                    for i, v in enumerate([math.inf, -math.inf, 1e-300, 2**63 + 1, True])
                ],
            ),
            gauge("e", "Nothing yet.", []),
        ]
    )
    found = parsed(written)
    assert found["a_total"] == ["counter", "One\nline \\ and another.", {("a_total", ()): 3}]
    assert found["b"][2] == {
        ("b", (("x", odd), ("y", ""))): -1.5,
        ("b", (("x", "2"), ("y", "3"))): 0.1 + 0.2,
    }
    assert list(found["c:d"][2].values()) == [math.inf, -math.inf, 1e-300, 2.0**63, 1]
    assert found["e"] == ["gauge", "Nothing yet.", {}]
    assert f" {2**63 + 1}\n" in written  # whole numbers stay exact
    assert math.isnan(parsed(text([gauge("f", "No number.", math.nan)]))["f"][2]["f", ()])
    assert text([]) == ""


def test_what_prometheus_would_not_read_is_refused():
    one = counter("a_total", "One.", 1)
    with pytest.raises(ValueError, match="a_total is there twice"):
        text([one, one])
    with pytest.raises(ValueError, match="sample"):
        text([gauge("a", "Same.", [({"x": "1"}, 1), ({"x": "1"}, 2)])])
    for name in ("", "1a", "a-b", "a\n", "é"):
        with pytest.raises(ValueError, match="name of a metric"):
            text([gauge(name, "Bad.", 1)])
    for name in ("", "1a", "a-b", "a\n", "__a", "a:b"):
        with pytest.raises(ValueError, match="name of a label"):
            text([gauge("a", "Bad.", [({name: "x"}, 1)])])


def test_histograms_are_cumulative_and_bounds_belong_to_their_bucket():
    seen = Histogram((0.1, 1.0, 10.0))
    for value in (0.0, 0.1, 0.100001, 1.0, 9.0, 11.0, 1e9):
        seen.observe(value)
    family = histogram("t_seconds", "Times.", [({"route": "/a"}, seen)])
    assert isinstance(family, Family)
    samples = parsed(text([family]))["t_seconds"][2]
    buckets = {dict(key[1])["le"]: value for key, value in samples.items() if "bucket" in key[0]}
    assert buckets == {"0.1": 2, "1.0": 4, "10.0": 5, "+Inf": 7}
    assert samples["t_seconds_count", (("route", "/a"),)] == 7
    assert samples["t_seconds_sum", (("route", "/a"),)] == pytest.approx(1e9 + 21.200001)


def test_requests():
    requests = Requests()
    assert text(requests.families()).count("\n") == 4  # named, though there are none
    told = [("/predict", 200, 0.0004), ("/predict", 200, 0.02), ("/learn", 422, 20.0)]
    for route, status, seconds in told:
        requests.observe(route, status, seconds)
    found = parsed(text(requests.families()))
    counts = found["greville_requests_total"]
    assert counts[0] == "counter"
    assert counts[2] == {
        ("greville_requests_total", (("route", "/learn"), ("status", "422"))): 1,
        ("greville_requests_total", (("route", "/predict"), ("status", "200"))): 2,
    }
    kind, _, samples = found["greville_request_seconds"]
    assert kind == "histogram"
    for route in ("/predict", "/learn"):
        values = [seconds for name, _, seconds in told if name == route]
        for bound in BOUNDS:
            key = "greville_request_seconds_bucket", (("route", route), ("le", repr(bound)))
            assert samples[key] == sum(value <= bound for value in values)
        key = "greville_request_seconds_sum", (("route", route),)
        assert samples[key] == pytest.approx(sum(values))
    assert (BOUNDS[0], BOUNDS[-1]) == (0.0005, 10.0)
    assert list(BOUNDS) == sorted(set(BOUNDS))
