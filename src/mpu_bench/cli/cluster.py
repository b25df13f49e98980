"""The options of the verbs that can make runs on a cluster."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Annotated

import typer

from mpu_bench.cli.options import say
from mpu_bench.config.bounds import MOST_JOBS

if TYPE_CHECKING:
    from mpu_bench.data.download.cache import DataHome
    from mpu_bench.experiment.pool.cluster.client import ClusterPool
    from mpu_bench.experiment.pool.cluster.connect import Cluster

ClusterAddress = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="ADDRESS",
        help="Make the runs on a Dask cluster: the address of its scheduler, the file that it has written, or local:N.",
    ),
]
JobsPerWorker = Annotated[
    int, typer.Option(min=1, max=MOST_JOBS, help="How many runs at once on each worker of the cluster.")
]
SendData = Annotated[
    bool, typer.Option("--send-data", help="Send prepared data to the machines of the cluster, instead of addresses.")
]


def cluster_of(address: str | None, jobs_per_worker: int, send_data: bool, jobs: int) -> Cluster | None:
    """Return the cluster that the options name, if they do.

    Raises
    ------
    ConfigError
        If an option means nothing without a cluster, or ``jobs``, how many runs this machine makes at once, with one.
    """
    from mpu_bench.errors import ConfigError
    from mpu_bench.experiment.pool.cluster.connect import Cluster

    if address is not None:
        if jobs > 1:
            raise ConfigError(f"--jobs {jobs}: is for this machine; with --cluster give --jobs-per-worker {jobs}")
        return Cluster(address, jobs_per_worker, send_data)
    if jobs_per_worker > 1 or send_data:
        raise ConfigError(
            f"{'--send-data' if send_data else '--jobs-per-worker'}: is for a cluster; give --cluster, too"
        )
    return None


def cluster_pool(cluster: Cluster, home: DataHome) -> AbstractContextManager[ClusterPool]:
    """Connect to a cluster; what happens to it is printed on stderr."""
    from mpu_bench.experiment.pool.cluster.connect import pool_of

    return pool_of(cluster, home.folder, say)
