"""A cluster of two processes with one thread each, started once."""

from __future__ import annotations

import warnings

import pytest


@pytest.fixture(scope="session")
def cluster():
    from distributed import LocalCluster

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the cluster itself, about the machine
        with LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",
            scheduler_port=0,
        ) as cluster:
            yield cluster


@pytest.fixture
def client(cluster):
    from distributed import Client

    with Client(cluster) as client:
        yield client
