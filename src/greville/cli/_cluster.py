"""``greville train`` on a cluster: one that is started for it, or one that runs already."""

from __future__ import annotations

import logging
import signal
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Annotated, Any

from ._terminal import UserError, progress_bars, stoppable

# How long a scheduler may take to answer, in seconds.
_PATIENCE = 10

_DIED = (
    "Workers died again and again with the same rows; give them more memory, or use fewer units."
)
_LOST = "The connection to the cluster was lost; check that the scheduler runs."


@dataclass(frozen=True)
class ClusterOptions:
    """Options that say on how many workers, or on which cluster, to learn.

    Parameters
    ----------
    workers : N
        Use so many processes of one thread each (pip install 'greville[dask]').
    scheduler : ADDRESS
        Use the Dask cluster at this address, such as tcp://host:8786.
    """

    workers: Annotated[int | None, {"min": 1}] = None
    scheduler: str | None = None

    @property
    def option(self) -> str | None:
        """The option that asks for a cluster."""
        return "scheduler" if self.scheduler is not None else "workers" if self.workers else None


def learn_on_cluster(run: Any, on: ClusterOptions, quiet: bool) -> dict[str, Any] | None:
    """Learn all rows on a cluster; the scores. The model is that of one machine."""
    if run.checkpoint is not None:
        raise UserError(
            "--checkpoint: on a cluster, workers that die are replaced and their rows are learned "
            "again; leave it out."
        )
    with _cluster(on) as client:
        from ..dask.tables import ClusterTable

        start, table = time.perf_counter(), run.table
        rows = ClusterTable(client, table.sources, table.how, run.holdout, table.row_errors.skip)
        run.n_workers = len(client.nthreads())
        sample, n = rows.sample(run.model)
        if run.is_new:
            run.model.prepare_from(sample, n)
        before = run.model.n_rows
        with progress_bars(quiet) as (progress, _), progress("training", n) as advance:
            run.model, table.row_errors = rows.learn(run.model, advance)
        if run.model.leaves_out:
            run.score.before_learning(run.model, sample)
            run.score.calibrate(run.model)
    run.finish(start, run.model.n_rows - before)
    return run.scores(quiet)


@contextmanager
def _cluster(options: ClusterOptions) -> Iterator[Any]:
    """A client of the cluster; one that was started here has ended when this has."""
    if options.workers is not None and options.scheduler is not None:
        raise UserError("--workers and --scheduler: pass one of them.")
    from distributed import KilledWorker
    from distributed.comm import CommClosedError

    for name in ("asyncio", *logging.root.manager.loggerDict):
        if name.startswith(("asyncio", "distributed", "tornado")):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    made = _started(options.workers) if options.workers else _running(str(options.scheduler))
    try:
        # A cluster that starts is not stopped before it has started: no worker is left behind.
        with stoppable(lambda: "Stopped before the end.") as stop, made as client, stop.at_once():
            yield client
    except (KilledWorker, CancelledError, CommClosedError) as error:
        raise UserError(_DIED if isinstance(error, KilledWorker) else _LOST) from error


@contextmanager
def _started(n_workers: int) -> Iterator[Any]:
    """A cluster of processes on this machine, which do not hear the Ctrl-C of a terminal."""
    from multiprocessing import resource_tracker

    from distributed import Client, LocalCluster

    blocks = hasattr(signal, "pthread_sigmask")
    if blocks:
        resource_tracker.ensure_running()  # its start, with the first worker, would end that
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        address, options = "127.0.0.1:0", {"threads_per_worker": 1, "silence_logs": 60}
        local = LocalCluster(n_workers=n_workers, dashboard_address=address, **options)
    finally:
        if blocks:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
    with local, Client(local, set_as_default=False) as client:
        yield client


@contextmanager
def _running(address: str) -> Iterator[Any]:
    """A client of a cluster that others have started, and that goes on afterwards."""
    from distributed import Client

    from .. import __version__

    with ExitStack() as stack:
        try:
            client = Client(address, timeout=_PATIENCE, set_as_default=False)
            stack.enter_context(client).wait_for_workers(1, timeout=_PATIENCE)
            versions = set(client.run(_version).values())
            if versions != {__version__}:
                raise ValueError(f"they have {', '.join(sorted(versions))}")
        except Exception as error:  # an address that is none, nobody there, or somebody else
            asked = "is a Dask scheduler running there, whose workers have greville"
            raise UserError(f"--scheduler {address}: {asked} {__version__}? ({error})") from error
        yield client


def _version() -> str:
    import greville

    return greville.__version__
