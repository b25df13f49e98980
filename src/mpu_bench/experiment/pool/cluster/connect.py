"""The connection to a cluster: one that exists, or one of this machine that is started for a command."""

from __future__ import annotations

import json
import logging
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from pathlib import Path
from typing import TYPE_CHECKING

from mpu_bench.errors import ClusterError, ConfigError
from mpu_bench.files import is_file, read_bounded
from mpu_bench.installed import extra

if TYPE_CHECKING:
    from distributed import Client

    from mpu_bench.experiment.pool.cluster.client import ClusterPool

_LOCAL = re.compile(r"local:([1-9][0-9]{0,2})")
_ADDRESS = re.compile(r"([a-z]+://)?[^\s/]+:[0-9]{2,5}")
_QUIET = {"distributed.nanny.pre-spawn-environ.DASK_LOGGING__DISTRIBUTED": "critical"}  # of the workers' own logs
_SECONDS_TO_CONNECT = 15.0
_MAX_FILE_BYTES = 10**6
_EXPECTED = (
    "give the address of a Dask scheduler (tcp://host:8786), the file that it has written (--scheduler-file), or "
    "local:N for N workers on this machine"
)


def scheduler_of(address: str) -> str:
    """Return the address of a scheduler: the one that is given, or the one in the file that is given.

    Parameters
    ----------
    address : str
        Of the scheduler (``tcp://host:8786``), the file that it has written, or ``local:3``: three workers here.

    Raises
    ------
    ConfigError
        If it is no address, or the file is none that a scheduler has written.
    """
    path = Path(address)
    if _LOCAL.fullmatch(address) or (_ADDRESS.fullmatch(address) and not is_file(path)):
        return address
    if not is_file(path):
        raise ConfigError(f"--cluster {address}: {_EXPECTED}")
    try:
        written = json.loads(read_bounded(path, _MAX_FILE_BYTES, ConfigError))["address"]
    except (ValueError, KeyError, TypeError, RecursionError):
        written = None
    if not isinstance(written, str) or not _ADDRESS.fullmatch(written):
        raise ConfigError(f"--cluster {path}: a Dask scheduler did not write this file; {_EXPECTED}")
    return written


@contextmanager
def pool_of(
    address: str, data: Path, say: Callable[[str], object], *, slots: int = 1, send_data: bool = False
) -> Iterator[ClusterPool]:
    """Return a pool on a cluster, for as long as the context lasts.

    Parameters
    ----------
    address : str
        As `scheduler_of` takes it.
    data : Path
        The data directory, for workers of this machine.
    say : function
        Called with what happens to the cluster.
    slots : int
        The number of parallel runs on each worker.
    send_data : bool
        Whether prepared data are sent from here.

    Raises
    ------
    ConfigError
        If Dask is not installed.
    ClusterError
        If the scheduler does not answer, or no worker can execute runs.
    """
    try:
        import distributed  # noqa: F401
    except ImportError:
        raise ConfigError(f"--cluster needs Dask: {extra('cluster')}") from None
    from mpu_bench.experiment.pool.cluster.client import ClusterPool

    for name in list(logging.root.manager.loggerDict):  # what matters of Dask's logs, each with a level, the pool says
        if name.partition(".")[0] == "distributed":
            logging.getLogger(name).setLevel(logging.CRITICAL)
    with _connected(address, data) as client, ClusterPool(client, slots, send_data, say) as pool:
        yield pool


@contextmanager
def _connected(address: str, data: Path) -> Iterator[Client]:
    import dask
    from distributed import Client, LocalCluster

    if local := _LOCAL.fullmatch(address):
        with dask.config.set(_QUIET), _without_interrupts():
            started = LocalCluster(
                n_workers=int(local[1]),
                threads_per_worker=1,
                processes=True,
                dashboard_address=None,
                host="127.0.0.1",
                env={"MPU_BENCH_DATA": str(data)},
            )
        with started as running, Client(running) as client:
            yield client
        return
    try:
        client = Client(scheduler_of(address), timeout=_SECONDS_TO_CONNECT)
    except (OSError, ValueError, TypeError) as error:  # the last where there is no certificate for tls://
        raise ClusterError(f"--cluster {address}: no scheduler answers: {error}") from None
    with client:
        yield client


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Let what begins here never see Ctrl-C, which a terminal sends to all processes: it is for the command.

    Threads and processes inherit which signals are blocked, and so do workers that Dask starts again later. One that
    comes meanwhile is heard at the end.
    """
    resource_tracker.ensure_running()  # where it is not, starting it unblocks the signal for the first worker
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
