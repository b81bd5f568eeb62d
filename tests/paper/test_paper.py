"""Small versions of the experiments of the paper, and the page about them."""

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from greville import DynamicOpium, Opium, OpiumLight, datasets, paper
from greville.datasets import ecg as ecg_signal
from greville.datasets import sine_switch
from greville.layers import RandomLayer
from greville.paper import Picture, Table, _mnist, _sine, _workers, figures, markdown
from greville.paper.measure import PeakMemory
from greville.paper.printed import printed_opium
from greville.paper.result import ratio, scientific

from .. import oracles
from .conftest import REPRODUCTION

ROOT = Path(__file__).parents[2]
full = pytest.mark.full


@pytest.mark.parametrize("alpha", [1.0, 1.02])
def test_the_printed_recursion_is_the_papers(rng, alpha):
    X, y = sine_switch(300)
    H = RandomLayer(12, random_state=1).fit_transform(X + 0.1 * rng.normal(size=X.shape))
    W, errors = printed_opium(H, y, 0.3, alpha)
    want, _, _, want_errors = oracles.opium(H, y[:, None], 0.3, alpha)
    assert np.allclose(W, want[:, 0], rtol=1e-9)
    assert np.allclose(errors, want_errors[:, 0], rtol=1e-9, atol=1e-12)


def test_the_printed_recursion_stops_at_overflow():
    """A direction that no row excites, until theta has overflowed there."""
    H = np.vstack([np.tile([1.0, 0.0], (400, 1)), np.tile([0.5, 1.0], (9, 1))])
    errors = printed_opium(H, np.arange(409.0), 1.0, alpha=1.9)[1]
    assert np.isfinite(errors[:300]).all()
    assert not np.isnan(errors).any()
    assert np.isinf(errors[-1])


@full
def test_table_1(sine):
    """The longest reading is close to all three numbers of the paper."""
    readings = sine.numbers["readings"]
    for which, factor in (("opium", 2), ("light", 2), ("dynamic", 3)):
        ours, theirs = readings["long"][which]["mean"], _sine.PAPER[which]
        assert theirs / factor < ours < theirs * factor
    assert readings["literal"]["dynamic"]["mean"] > 1e-2  # the literal one cannot


def test_table_1_against_the_paper_as_printed():
    X, y = _sine.READINGS["literal"].signal()
    H = RandomLayer(100, random_state=5).fit_transform(X)
    got = _sine.sine_run("literal", 5)
    for which, errors in {
        "opium": oracles.opium(H, y[:, None], 10)[3],
        "light": oracles.opium_light(H, y[:, None], 1)[1],
        "dynamic": oracles.opium(H, y[:, None], 10, 1.003)[3],
    }.items():
        assert got[which] == pytest.approx(np.sqrt(np.mean(errors**2)), rel=1e-9)


@full
def test_the_long_run(sine):
    for name in _sine.LONG_READINGS:
        outcome = sine.numbers["long_run"][name]
        assert outcome["floored"]["worst_final_rms"] < 1e-7
        assert outcome["floored"]["worst_final_rms"] < outcome["printed"]["worst_final_rms"]


@full
def test_the_numbers_of_the_sine_are_those_of_the_runs(sine):
    """Mean, median and range over seeds; the largest error once settled, for each run."""
    runs = [_sine.sine_run("fine", seed) for seed in range(22, 24)]
    for which in _sine.SOLVERS:
        values = [run[which] for run in runs]
        spread = sine.numbers["readings"]["fine"][which]
        assert spread["mean"] == pytest.approx(np.mean(values))
        assert spread["median"] == pytest.approx(np.median(values))
        assert (spread["min"], spread["max"]) == (min(values), max(values))
    X, y = sine_switch(20_000, change=5_000)
    H = RandomLayer(100, random_state=22).fit_transform(X)
    errors = y - DynamicOpium(1.003, 10.0).prequential(H, y)
    outcome = sine.numbers["long_run"]["long"]["floored"]
    assert outcome["errors"] == [pytest.approx(np.abs(errors[10_000:]).max())]
    assert outcome["worst_final_rms"] == pytest.approx(np.sqrt(np.mean(errors[-1000:] ** 2)))


@full
def test_workers_change_no_digit(sine):
    again = paper.sine(runs=2, seed=22, long_samples=20_000, long_runs=1, n_workers=2)
    assert again.numbers == sine.numbers


@full
def test_a_job_alone_and_one_that_fails():
    reported, job = [], {"reading": "literal", "seed": 3}
    want = _workers.run_jobs([("sine_run", job)], reported.append)
    assert reported == [0]
    assert _workers.run_alone("sine_run", job) == want[0]
    jobs = [("sine_run", {"reading": "nonsense", "seed": seed}) for seed in range(3)]
    with pytest.raises(paper.WorkerError, match="A worker process failed: .*'nonsense'"):
        _workers.run_jobs(jobs, reported.append, n_workers=2)


@full
def test_ecg(results):
    rms = results[1].numbers["rms"]
    after = {which: parts["after it"] for which, parts in rms.items()}
    assert after["opium"] < after["light"] < after["persistence"]
    assert after["dynamic_floored"] < after["opium"]
    X, y = ecg_signal()
    H = RandomLayer(100, random_state=22).fit_transform(X)
    light = oracles.opium_light(H, y[:, None], 1.0)[1][:, 0]
    for which, errors in {
        "light": light,
        "persistence": y - X[:, 0],
        "linear": oracles.opium(X, y[:, None], 0.01)[3][:, 0],
    }.items():
        for part, rows in (("first second", errors[:360]), ("after it", errors[360:])):
            assert rms[which][part] == pytest.approx(np.sqrt(np.mean(rows**2)), rel=1e-6)


@full
def test_exactness(results):
    numbers = results[2].numbers
    for name, limit in (("random", 1e-11), ("ecg", 1e-8)):
        difference = numbers["difference"][name]
        for method in ("greville", "opium_by_one", "opium_in_chunks", "opium_at_once"):
            assert difference[method] < limit
        assert difference["opium_by_one"] < difference["printed"] < difference["light"]
    X, _ = ecg_signal(400)
    H = RandomLayer(100, random_state=22).fit_transform(X)
    stacked = np.vstack([1e-3 * np.eye(100), H])
    assert numbers["condition"]["ecg"] == pytest.approx(np.linalg.cond(stacked), rel=1e-3)


@full
def test_mnist(data_dir, monkeypatch):
    """A small network; the jobs run here."""

    def run_here(function, job):
        return json.loads(json.dumps(getattr(_mnist, function)(**job)))

    reported = {}

    class Progress:
        def __init__(self, what, total):
            self.what, self.total = what, total

        def __enter__(self):
            reported[self.what] = 0
            return self.advance

        def advance(self, done):
            reported[self.what] += done

        def __exit__(self, *error):
            pass

    monkeypatch.setattr(_mnist, "run_alone", run_here)
    result = paper.mnist(seed=3, units=100, spread=2, directory=data_dir, progress=Progress)
    numbers = result.numbers
    assert 10 < numbers["opium_60000"]["error"] < 25
    assert numbers["opium_60000"]["error"] < numbers["opium_10000"]["error"] + 2
    assert numbers["gains"]["1"] == numbers["light_60000"]["error"]
    assert numbers["gains"]["100"] == pytest.approx(numbers["gains"]["1"], abs=1)
    assert reported["mnist: OPIUM light, 60,000 digits"] == 1
    spread = numbers["light_spread"]
    assert [len(errors) for errors in spread.values()] == [1, 2, 2]
    assert spread["light_10000"] == _mnist.light_errors(
        str(_mnist.find_mnist(data_dir)), 100, [("drawn", 0), ("drawn", 1)]
    )
    X, y, X_test, y_test = datasets.mnist(data_dir)
    H, H_test = (RandomLayer(100, random_state=3).fit(X).transform(x) for x in (X, X_test))
    drawn = np.random.RandomState(3).permutation(60_000)[:10_000]

    def error(solver, rows):
        model = solver.fit(H[rows], np.eye(10, dtype=np.float32)[y[rows]])
        return 100 * np.mean(model.predict(H_test).argmax(axis=1) != y_test)

    for run, rows in (
        ("light_60000", slice(None)),
        ("light_10000", drawn),
        ("light_first_10000", slice(10_000)),
    ):
        assert numbers[run]["error"] == pytest.approx(error(OpiumLight(1.0), rows))
        assert numbers[run]["seconds"] > numbers[run]["training_seconds"] > 0
    assert numbers["gains"]["0.01"] == pytest.approx(error(OpiumLight(0.01), slice(None)))
    assert numbers["opium_10000"]["error"] == pytest.approx(error(Opium(1e-3), drawn), abs=0.05)
    theta = np.linalg.inv(H.T.astype(float) @ H + 1e-6 * np.eye(100))
    diagonal, g = np.diag(theta), np.diag(theta).mean()
    others = np.abs(theta[~np.eye(100, dtype=bool)]) / g
    low, high = np.percentile(diagonal, [0.5, 99.5])
    for key, want in {
        "g": g,
        "diagonal_max_over_min": diagonal.max() / diagonal.min(),
        "diagonal_max_over_min_of_99_percent": high / low,
        "off_diagonal_mean_size_over_g": others.mean(),
        "off_diagonal_rms_over_g": np.sqrt(np.mean(others**2)),
        "off_diagonal_below_a_tenth_of_g": np.mean(others < 0.1),
    }.items():
        assert numbers["theta"][key] == pytest.approx(want, rel=0.01)
    assert keys(numbers) == keys(committed("mnist"))
    corner = np.array(result.series["theta"]["corner"])
    assert corner.shape == (60, 60)
    assert np.allclose(corner, corner.T)
    assert set(result.figures()) == {"theta"}
    first = next(block for block in result.blocks() if isinstance(block, Table))
    assert "nothing to compare" in first.title  # not the paper's network
    assert "paper" not in first.columns


def test_peak_memory():
    """A large array that is gone before does not count, where that can be known."""
    memory = PeakMemory()
    block = np.ones(20_000_000)
    assert memory.beyond > 100
    assert memory.total > memory.beyond
    del block
    assert memory.beyond > 100


@full
def test_a_figure_is_drawn_for_every_picture(results):
    for result in results:
        pictures = {block.name for block in result.blocks() if isinstance(block, Picture)}
        assert set(result.figures()) == pictures


@full
def test_long_runs_that_overflow_can_be_drawn(sine):
    records = {key: dict(record) for key, record in sine.series["long_run"].items()}
    for record in records.values():
        record["printed"] = {"rms": [1e-3, 1e30, None, None], "largest": None}
    figure = figures.long_runs(records, _sine.READINGS, 1000)
    figure.canvas.draw()


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (4.4e-8, "4.4e-8"),
        (2.0e-2, "2.0e-2"),
        (0.2, "0.20"),
        (1.0, "1.0"),
        (3.2e13, "3.2e13"),
        (None, "overflow"),
    ],
)
def test_scientific_notation(number, text):
    assert scientific(number) == text


@pytest.mark.parametrize(
    ("ours", "text"), [(1.0, "0.50"), (4.4, "2.20"), (2e-3, "1/1,000"), (4e6, "2.0e6")]
)
def test_ratios(ours, text):
    assert ratio(ours, 2.0) == text


def test_arguments_are_checked():
    with pytest.raises(ValueError, match="runs"):
        paper.sine(runs=0)
    with pytest.raises(ValueError, match="long_samples"):
        paper.sine(long_samples=10)
    with pytest.raises(ValueError, match="runs"):
        paper.ecg(runs=1.5)
    with pytest.raises(ValueError, match="units"):
        paper.mnist(units=1)
    for seed in (-1, 1.5, None, 2**32):
        for experiment in (paper.sine, paper.ecg, paper.exactness, paper.mnist):
            with pytest.raises(ValueError, match="seed"):
                experiment(seed=seed)
    with pytest.raises(ValueError, match="seed"):
        paper.ecg(runs=2, seed=2**32 - 1)


# The page in docs/, made from the results in docs/reproduction/


def test_the_page_is_what_the_results_say(documented):
    page = markdown.document(*documented, REPRODUCTION.name)
    assert (ROOT / "docs" / "reproduction.md").read_text() == page


def test_the_documented_results_are_the_papers(documented):
    numbers = documented[1]["experiments"]
    for run, limit in (("opium_60000", 1000), ("opium_10000", 1000), ("light_60000", 10)):
        ours, theirs = numbers["mnist"][run], _mnist.MNIST_PAPER[run]
        assert abs(ours["error"] - theirs["error"]) <= 0.4
        assert theirs["seconds"] / ours["seconds"] >= limit
    for name in _sine.LONG_READINGS:
        assert numbers["sine"]["long_run"][name]["floored"]["worst_final_rms"] < 1e-7
        assert numbers["sine"]["long_run"][name]["printed"]["worst_error"] > 1


def committed(name):
    return json.loads((REPRODUCTION / "results.json").read_text())["experiments"][name]


def keys(value):
    """The structure of nested dictionaries."""
    return {k: keys(v) for k, v in value.items()} if isinstance(value, dict) else None


@full
def test_keys_are_as_they_were(results):
    for result in results:
        assert keys(result.numbers) == keys(committed(result.name))


def test_pictures_of_the_page_are_there(documented):
    for result in documented[0]:
        for block in result.blocks():
            if isinstance(block, Picture):
                for kind in ("png", "svg"):
                    assert (REPRODUCTION / f"{block.name}.{kind}").stat().st_size > 5_000
            if isinstance(block, Table):
                assert all(len(row) == len(block.columns) for row in block.rows)
