"""Commands on a cluster: one that is started for the command, or one that runs already."""

from __future__ import annotations

import logging
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from ._errors import UserError
from ._progress import rows_progress
from ._signals import EXIT_STOPPED, TERMINATION, stopping_on
from ._terminal import say

# How long a scheduler may take to answer, in seconds.
_PATIENCE = 10


@dataclass(frozen=True)
class ClusterOptions:
    """On how many workers, or on which cluster.

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
    def wanted(self) -> bool:
        """Whether there is to be a cluster."""
        return self.workers is not None or self.scheduler is not None


@contextmanager
def cluster(options: ClusterOptions) -> Iterator[Any]:
    """A client of the cluster; one that was started here has ended when this has."""
    if options.workers is not None and options.scheduler is not None:
        raise UserError("--workers and --scheduler: pass one of them.")
    try:
        import greville.dask  # noqa: F401
    except ImportError as error:
        option = "--workers" if options.scheduler is None else "--scheduler"
        raise UserError(f"{option}: this needs Dask; pip install 'greville[dask]'.") from error
    from concurrent.futures import CancelledError

    from distributed import KilledWorker
    from distributed.comm import CommClosedError

    from ..tables import Stopped

    for name in ("asyncio", *logging.root.manager.loggerDict):
        if name.startswith(("asyncio", "distributed", "tornado")):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    made = _started(options.workers) if options.workers else _running(str(options.scheduler))
    try:
        # A cluster that starts is not stopped before it has started: no worker is left behind.
        with stopping_on(*TERMINATION) as stop, made as client, stop.at_once():
            yield client
    except Stopped:
        say("Stopped before the end.")
        raise typer.Exit(EXIT_STOPPED) from None
    except KilledWorker as error:
        raise UserError(
            "Workers died again and again with the same rows; give them more memory, or use "
            "fewer units."
        ) from error
    except (CancelledError, CommClosedError) as error:
        raise UserError(
            "The connection to the cluster was lost; check that the scheduler runs, and start the "
            "command again."
        ) from error


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

    try:
        client = Client(address, timeout=_PATIENCE, set_as_default=False)
    except Exception as error:  # an address that is none, nobody there, or somebody else
        raise UserError(
            f"--scheduler {address}: it does not answer; is a Dask scheduler running there?"
        ) from error
    with client:
        try:
            client.wait_for_workers(1, timeout=_PATIENCE)
            versions = set(client.run(_version).values())
        except Exception as error:
            raise UserError(
                f"--scheduler {address}: it has no workers that can run greville ({error})."
            ) from error
        if versions != {__version__}:
            there = ", ".join(sorted(map(str, versions)))
            raise UserError(
                f"--scheduler {address}: its workers have greville {there}, and this is "
                f"{__version__}; install the same."
            )
        yield client


def _version() -> str:
    import greville

    return greville.__version__


@contextmanager
def cluster_bar(quiet: bool, what: str, job: Any, *, reported: bool = True) -> Iterator[None]:
    """A bar for what workers do: rows, rows a second, time left. Without reports, it only moves."""
    if quiet or not sys.stderr.isatty():
        yield
        return
    sizes = [max(1, part.source.size) for part in job.parts]
    with rows_progress(what) as bars:
        task = bars.add_task(what, total=sum(sizes) if reported else None, rows=0, rate=0.0)
        start, rows = time.monotonic(), [0]

        def report(i: int, n: int) -> None:
            rows[0] += n
            rate = rows[0] / max(time.monotonic() - start, 1e-9)
            bars.update(task, advance=sizes[i], rows=rows[0], rate=rate)

        job.report = report if reported else None
        yield
        job.report = None


def check_folder(output: Path | str | None) -> str:
    """Where parts are to be written: a folder that is not there yet, or an address of one."""
    if output is None:
        raise UserError("--output is missing: name a folder for the parts that workers write.")
    from ..tables import check_new_address, format_of

    path = Path(output)
    if "://" in str(output):
        check_new_address(str(output))
    elif path.exists():
        raise UserError(f"{path}: it exists already; name a folder that does not exist.")
    elif format_of(path) is not None:
        raise UserError(f"{path}: workers write a folder of Parquet files; name a folder.")
    elif not path.resolve().parent.is_dir():
        folder = path.resolve().parent
        raise UserError(f"{path}: the folder {folder} does not exist; create it first.")
    return str(output).rstrip("/")


@contextmanager
def new_folder(name: str) -> Iterator[Callable[[int], str]]:
    """Where to write each part: a folder that is there when all are; an address at once."""
    if "://" in name:
        yield lambda i: f"{name}/part-{i:05d}.parquet"
        return
    path = Path(name).resolve()
    with tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as work:
        folder = Path(work, path.name)
        folder.mkdir()
        yield lambda i: f"{folder}/part-{i:05d}.parquet"
        folder.rename(path)
