"""Commands on a cluster: one that is started for the command, or one that runs already."""

from __future__ import annotations

import logging
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from ._errors import UserError
from ._progress import rows_progress
from ._signals import EXIT_STOPPED, TERMINATION, Stop, stopping_on
from ._terminal import say

# How long a scheduler may take to answer, in seconds.
_PATIENCE = 10


@dataclass(frozen=True)
class ClusterOptions:
    """On how many workers, or on which cluster."""

    workers: Annotated[
        int | None,
        typer.Option(
            min=1, help="Use so many processes of one thread each (pip install 'greville[dask]')."
        ),
    ] = None
    scheduler: Annotated[
        str | None,
        typer.Option(help="Use the Dask cluster at this address, such as tcp://host:8786."),
    ] = None

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
    for name in ("asyncio", *logging.root.manager.loggerDict):
        if name.startswith(("asyncio", "distributed", "tornado")):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    if options.scheduler is not None:
        with (
            _ended_by_signal() as stop,
            _running(options.scheduler) as client,
            _lost(client),
            stop.at_once(),
        ):
            yield client
    else:
        assert options.workers is not None
        with (
            _ended_by_signal() as stop,
            _started(options.workers) as client,
            _lost(client),
            stop.at_once(),
        ):
            yield client


@contextmanager
def _lost(client: Any) -> Iterator[None]:
    """Say in one sentence that the cluster has gone, or that its workers die again and again."""
    from concurrent.futures import CancelledError

    from distributed import KilledWorker
    from distributed.comm import CommClosedError

    try:
        yield
    except KilledWorker as error:
        raise UserError(
            "Workers died again and again with the same rows; give them more memory, or use "
            "fewer units."
        ) from error
    except (CancelledError, CommClosedError) as error:
        where = client.scheduler.address if client.scheduler is not None else "the cluster"
        raise UserError(
            f"The connection to {where} was lost; check that the scheduler runs, and start the "
            "command again."
        ) from error


@contextmanager
def _ended_by_signal() -> Iterator[Stop]:
    """SIGTERM ends the work, and a cluster only once it has started: no worker is left behind."""
    from ..tables import Stopped

    try:
        with stopping_on(*TERMINATION) as stop:
            yield stop
    except Stopped:
        say("Stopped before the end.")
        raise typer.Exit(EXIT_STOPPED) from None


@contextmanager
def _started(n_workers: int) -> Iterator[Any]:
    """A cluster of processes on this machine."""
    from distributed import Client, LocalCluster

    with _interrupts_left_to_this_process():
        started = LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        )
    with started, Client(started, set_as_default=False) as client:
        yield client


@contextmanager
def _interrupts_left_to_this_process() -> Iterator[None]:
    """Processes that are started now do not hear Ctrl-C, which a terminal sends to all of them.

    This one hears it when the block ends.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # its start, with the first worker, would end the blocking
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _running(address: str) -> Iterator[Any]:
    """A client of a cluster that others have started, and that goes on afterwards."""
    from distributed import Client

    _check_scheduler(address)
    client = Client(address, timeout=_PATIENCE, set_as_default=False)
    with client:
        _check_versions(client, address)
        yield client


def _check_scheduler(address: str) -> None:
    """Find out whether a scheduler answers, before Dask begins to try again and again."""
    import asyncio

    from distributed.core import rpc

    async def kind() -> str:
        async with rpc(address) as there:
            found: dict[str, Any] = await there.identity()
            return str(found.get("type"))

    try:
        found = asyncio.run(asyncio.wait_for(kind(), _PATIENCE))
    except Exception as error:  # an address that is none, nobody there, or somebody else
        raise UserError(
            f"--scheduler {address}: it does not answer; is a Dask scheduler running there?"
        ) from error
    if found != "Scheduler":
        raise UserError(
            f"--scheduler {address}: this is the address of a {found.lower()}; pass that of the "
            "scheduler."
        )


def _check_versions(client: Any, address: str) -> None:
    """Workers must have this version of greville."""
    from .. import __version__

    try:
        client.wait_for_workers(1, timeout=_PATIENCE)
        versions = set(client.run(_version).values())
    except TimeoutError as error:
        raise UserError(f"--scheduler {address}: it has no workers; start some.") from error
    except Exception as error:
        raise UserError(
            f"--scheduler {address}: its workers cannot run greville ({error}); install it there."
        ) from error
    if versions != {__version__}:
        there = ", ".join(sorted(map(str, versions)))
        raise UserError(
            f"--scheduler {address}: its workers have greville {there}, and this is {__version__}; "
            "install the same."
        )


def _version() -> str:
    import greville

    return greville.__version__


@contextmanager
def cluster_bar(quiet: bool, what: str, job: Any, *, reported: bool = True) -> Iterator[None]:
    """A bar for what workers do: rows, rows a second, workers, time left.

    Without reports, it only moves.
    """
    if quiet or not sys.stderr.isatty():
        yield
        return
    sizes = [max(1, part.source.size) for part in job.parts]
    with rows_progress(what, "{task.fields[workers]} workers") as bars:
        total = sum(sizes) if reported else None
        task = bars.add_task(what, total=total, rows=0, rate=0.0, workers=0)
        start, done, over = time.monotonic(), [0], threading.Event()

        def report(i: int, rows: int) -> None:
            done[0] += rows
            rate = done[0] / max(time.monotonic() - start, 1e-9)
            bars.update(task, advance=sizes[i], rows=done[0], rate=rate)

        def count_workers() -> None:  # which may come and go
            while True:
                with suppress(Exception):
                    bars.update(task, workers=len(job.client.nthreads()))
                if over.wait(2):
                    return

        counting = threading.Thread(target=count_workers, daemon=True)
        counting.start()
        job.report = report if reported else None
        try:
            yield
        finally:
            job.report = None
            over.set()
            counting.join(5)


def check_folder(output: Path | str | None) -> str:
    """Where parts are to be written: a folder that is not there yet, or an address of one."""
    if output is None:
        raise UserError("--output is missing: name a folder for the parts that workers write.")
    from ..tables import check_new_address, format_of

    name = str(output)
    if "://" in name:
        check_new_address(name)
        return name.rstrip("/")
    path = Path(name)
    if path.exists():
        raise UserError(f"{path}: it exists already; name a folder that does not exist.")
    if format_of(path) is not None:
        raise UserError(f"{path}: workers write a folder of Parquet files; name a folder.")
    folder = path.resolve().parent
    if not folder.is_dir():
        raise UserError(f"{path}: the folder {folder} does not exist; create it first.")
    return name


@contextmanager
def new_folder(name: str) -> Iterator[Callable[[int], Any]]:
    """Where to write each part; after an error there is none of them.

    A folder on this machine is there when all are written. At an address, parts that were written
    before an error are removed, as far as it can be reached.
    """
    from ..dask.parts import ParquetPart

    if "://" in name:
        from ..tables import remove_address

        try:
            yield lambda i: ParquetPart(f"{name}/part-{i:05d}.parquet")
        except BaseException:
            remove_address(name)
            raise
        return
    path = Path(name).resolve()
    work = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    try:
        yield lambda i: ParquetPart(str(work / f"part-{i:05d}.parquet"))
        work.chmod(0o777 & ~_umask())
        work.rename(path)
    except BaseException:
        with suppress(OSError):
            shutil.rmtree(work)
        raise


def _umask() -> int:
    import os

    mask = os.umask(0)
    os.umask(mask)
    return mask
