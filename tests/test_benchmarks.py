"""The comparison of several libraries: rounds, answers, failures, and the files written."""

import json
import math

import pytest
from benchmarks import quick, report
from benchmarks.comparison import Candidate, compare
from benchmarks.machine import Machine

from greville.compiled import use as use_kernels

from .candidates import broken, missing, runner

pytestmark = pytest.mark.full  # each candidate has a process of its own


@pytest.fixture(scope="module")
def comparison():
    candidates = [
        Candidate("greville", runner, (0.01, [1.0, 2.0])),
        Candidate("slow", runner, (0.03, [1.0, 2.0]), rounds=2),
        Candidate("wrong", runner, (0.01, [1.0, 3.0])),
        Candidate("missing", missing),
        Candidate("broken", broken),
    ]
    return compare("case", "job", "s", candidates, rounds=3, limit=0.005)


def test_rounds_ratios_and_notes(comparison):
    ours, slow, wrong, missing, broken = comparison.timings
    assert [len(s.times) for s in comparison.timings] == [3, 2, 3, 0, 0]
    assert slow.ratio == pytest.approx(1 / 3)
    assert ours.note == slow.note == ""
    assert "another answer" in wrong.note
    assert "not installed" in missing.note
    assert "ArithmeticError: it cannot" in broken.note
    assert comparison.part_of_limit == pytest.approx(0.5)


def test_files(comparison, tmp_path):
    machine = Machine({"float64": 1e9, "float32": 2e9}, {"float64": 1e9, "float32": 2e9}, 1e10)
    environment = {"cpu": "a cpu", "cores": 2, "blas": "a blas", "python": "3.11"}
    growth = {
        "rows": [{"n": 1000, "seconds": 1.0, "megabytes": 2.0}],
        "units": [{"M": 100, "seconds": 1.0, "megabytes": 2.0, "matrices": 3.0}],
    }
    startup = {"import greville": {"milliseconds": 30.0, "ratio": 0.02}}
    report.save(tmp_path, [comparison], machine, environment, growth, startup)
    found = json.loads((tmp_path / "speed.json").read_text())
    assert found["comparisons"][0]["timings"][0]["name"] == "greville"
    assert found["comparisons"][0]["timings"][3]["ratio"] is None  # JSON has no nan
    text = (tmp_path / "speed.md").read_text()
    assert "| job | **greville** |" in text
    assert "another answer" in text
    assert (tmp_path / "speed.png").stat().st_size > 5000


def test_quick_cases_beside_those_of_the_last_run(tmp_path, capsys, monkeypatch):
    """Nothing is compiled: that takes longer than all of the cases."""
    monkeypatch.setattr(quick, "use_kernels", lambda wanted: use_kernels(False))
    case, path = quick.CASES[0], tmp_path / "quick.json"
    earlier = {"name": case.name, "reference": case.reference, "ratio": 0.25}
    path.write_text(json.dumps([earlier]), encoding="utf-8")
    lines = quick.run(tmp_path, budget=0, rounds=1, shrink=20)
    assert [line.name for line in lines] == [case.name for case in quick.CASES]
    assert all(math.isfinite(line.ratio) and line.ratio > 0 for line in lines)
    header, first, *others = capsys.readouterr().out.splitlines()
    assert header.split()[-2:] == ["before", "now/before"]
    assert first.split()[-2:] == ["0.250", f"{lines[0].ratio / 0.25:.2f}"]
    assert all(line.endswith("s)") for line in others)  # nothing is known of before
    found = json.loads(path.read_text(encoding="utf-8"))
    assert [line["ratio"] for line in found] == [line.ratio for line in lines]
