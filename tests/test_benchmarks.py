"""The harness that measures: turns, answers, failures, and what it writes."""

import json

import numpy as np
import pytest
from benchmarks import _report
from benchmarks._contest import Contestant, hold
from benchmarks._machine import Machine


class Player:
    """Says how long it took: how busy the machine is does not matter here."""

    def __init__(self, seconds, answer):
        self.seconds, self.said = seconds, answer

    def round(self, k):
        return self.seconds

    def answer(self):
        return self.said


def player(seconds, answer):
    return Player(seconds, np.asarray(answer))


def missing():
    import a_peer_that_is_not_there  # noqa: F401


def broken():
    raise ArithmeticError("it cannot")


@pytest.fixture(scope="module")
def match():
    contestants = [
        Contestant("greville", player, (0.01, [1.0, 2.0])),
        Contestant("slow", player, (0.03, [1.0, 2.0]), rounds=2),
        Contestant("wrong", player, (0.01, [1.0, 3.0])),
        Contestant("missing", missing),
        Contestant("broken", broken),
    ]
    return hold("case", "job", "s", contestants, rounds=3, limit=0.005)


def test_everyone_has_a_turn(match):
    ours, slow, wrong, missing, broken = match.scores
    assert [len(s.times) for s in match.scores] == [3, 2, 3, 0, 0]
    assert slow.ratio == pytest.approx(1 / 3)
    assert ours.note == slow.note == ""
    assert "another answer" in wrong.note
    assert "not installed" in missing.note
    assert "ArithmeticError: it cannot" in broken.note
    assert match.part_of_limit == pytest.approx(0.5)


def test_what_is_written(match, tmp_path):
    machine = Machine({"float64": 1e9, "float32": 2e9}, {"float64": 1e9, "float32": 2e9}, 1e10)
    environment = {"cpu": "a cpu", "cores": 2, "blas": "a blas", "python": "3.11"}
    growth = {
        "rows": [{"n": 1000, "seconds": 1.0, "megabytes": 2.0}],
        "units": [{"M": 100, "seconds": 1.0, "megabytes": 2.0, "matrices": 3.0}],
    }
    startup = {"import greville": {"milliseconds": 30.0, "ratio": 0.02}}
    _report.save(tmp_path, [match], machine, environment, growth, startup)
    found = json.loads((tmp_path / "speed.json").read_text())
    assert found["matches"][0]["scores"][0]["name"] == "greville"
    assert found["matches"][0]["scores"][3]["ratio"] is None  # not nan, which is no JSON
    text = (tmp_path / "speed.md").read_text()
    assert "| job | **greville** |" in text
    assert "another answer" in text
    assert (tmp_path / "speed.png").stat().st_size > 5000
