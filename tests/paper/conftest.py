"""Small versions of the experiments, each run once."""

from pathlib import Path

import pytest

from greville import paper
from greville.paper._report import read_results

REPRODUCTION = Path(__file__).parents[2] / "docs" / "reproduction"


@pytest.fixture(scope="session")
def sine():
    return paper.sine(runs=2, seed=22, long_samples=20_000, long_runs=1, n_workers=1)


@pytest.fixture(scope="session")
def results(sine):
    return [sine, paper.ecg(runs=1, seed=22), paper.exactness(seed=22)]


@pytest.fixture(scope="session")
def documented():
    """The results in docs/, and all that stands beside them."""
    return read_results(REPRODUCTION / "results.json")
