"""`make bench CASES=serve`, in short, and that it does not report numbers of wrong answers."""

import json
from dataclasses import replace

import pytest
from benchmarks import serve
from benchmarks.load_generator import Load, Measured

pytestmark = pytest.mark.full

LIMIT, ONE, _, _, MANY, *_ = serve.JOBS


def test_a_short_run(monkeypatch, capsys):
    """Two servers instead of six, and a small model."""
    monkeypatch.setattr(serve.os, "getloadavg", lambda: (3.0, 3.0, 3.0))
    monkeypatch.setattr(serve, "MANY_UNITS", 20)
    monkeypatch.setattr(serve, "BEFORE", 500)
    jobs = (LIMIT, replace(ONE, server="both"), replace(MANY, server="both"))
    found = serve.run(rounds=1, seconds=60, warm_up=0, requests=60, jobs=jobs)
    assert [one.job for one in found["jobs"]] == list(jobs)
    for one in found["jobs"]:
        assert one.rounds[0].rate > 0
        assert 0 < one.rounds[0].p50 <= one.rounds[0].p99
    busy, synced, *lines = capsys.readouterr().out.splitlines()
    assert "Load average 3.0" in busy
    assert "A sync of the disk takes" in synced
    assert sum(line.startswith("| ") for line in lines) == 2 + len(jobs) + 2
    assert len({line.count("|") for line in lines[2:7]}) == 1  # a table


def test_what_is_wrong_is_not_reported():
    row = {f"x{i}": 0.0 for i in range(serve.INPUTS)}
    load = Load(1, "/predict", [json.dumps(row)])
    good = Measured(100.0, 1.0, 2.0, 50, {}, (0, '{"prediction": 0.01}'), 0.1)
    assert serve.checked(ONE, load, good) is good
    for bad in (
        {"sample": (0, '{"prediction": 5.0}')},
        {"errors": {"status 503": 1}},
        {"acknowledged": 0},
    ):
        with pytest.raises(RuntimeError, match="predict 1 row"):
            serve.checked(ONE, load, replace(good, **bad))
    learned = replace(good, sample=(0, '{"learned": 99}'))
    with pytest.raises(RuntimeError, match="wrong answer"):
        serve.checked(MANY, load, learned)


def test_a_generator_that_is_the_limit_is_said(capsys):
    load = Load(1, "/predict", ["{}"])
    measured = Measured(100.0, 1.0, 2.0, 50, {}, (0, '{"prediction": 1.0}'), 0.95)
    serve.checked(LIMIT, load, measured)
    assert "95%" in capsys.readouterr().out
