"""What a cluster's client costs: runs that only sleep, on 64 workers of one process that stand for 64 machines.

    python scripts/bench/cluster.py [--machines 64] [--seconds 5] [--runs-each 6] [--many 10000]

Scaling: the seconds of (machines x runs each) runs of so many seconds, against the ideal. Overhead: many runs of no
seconds through the whole runner, with its plan and its store; processor seconds of the client a run, and the memory it
has gained between the first tenth and the end.
"""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import dask
import psutil
from distributed import Client, LocalCluster, get_worker

from mpu_bench.config.read import read_config
from mpu_bench.data.download.cache import DataDirectory
from mpu_bench.experiment import environment, plan, runner
from mpu_bench.experiment.pool import Outcome
from mpu_bench.experiment.pool.cluster import host
from mpu_bench.experiment.pool.cluster.client import ClusterPool
from mpu_bench.experiment.pool.cluster.host import About, Request
from mpu_bench.quantities import Record, RunStatus

ROW = Record(passes=1.0, train_seconds=0.0, test_error=0.5)
_FEW = 4  # workers that make many runs: each worker of a process costs that process some percent of its time
ENVIRONMENT = environment.describe(1)
RECORD = replace(ROW, status=RunStatus.DONE, threads=1)


def serve(machines: int, address: Any) -> None:
    """Run a scheduler and workers until the process is ended."""
    dask.config.set({"distributed.worker.profile.enabled": False})  # 64 profilers of one process would be its work
    with LocalCluster(
        n_workers=machines, threads_per_worker=1, processes=False, dashboard_address=None, protocol="tcp://",
        host="127.0.0.1", silence_logs=50,
    ) as cluster:  # fmt: skip
        address.send(cluster.scheduler_address)
        time.sleep(3600)


def about(dask_worker: Any = None) -> About:
    """Say that every worker is a machine."""
    name = f"machine-{dask_worker.name}"
    return About(name, name, host.versions())


def make(asked: Request) -> Outcome:
    """Sleep as long as the solver's parameter says."""
    time.sleep(asked.task.run.solver.parameters["C"] - 1)
    described = {**ENVIRONMENT, "host": f"machine-{get_worker().name}"}
    return Outcome(asked.task, RECORD, [ROW], described)


def execute(client: Client, runs: int, seconds: float, place: Path) -> tuple[float, float, list[int]]:
    """Make runs by the whole runner; return wall and processor seconds, and the memory after every run."""
    path = place / "sleep.yaml"
    path.write_text(
        f"name: sleep-{runs}\ndataset: {{checkerboard: {{rows: 100, test_rows: 50}}}}\nplacement: spread\n"
        f"seed: 0\nrepeats: {min(runs, 1000)}\nsolvers:\n"
        f"  - dcd: {{C: {1 + seconds}, tolerance: {[0.1 + each / 1000 for each in range(-(-runs // 1000))]}}}\n",
        encoding="utf-8",
    )
    experiment = read_config(path)
    planned, memory, this = plan.Plan(plan.plan(experiment)[:runs]), [], psutil.Process()
    listener = runner.Listener(finished=lambda _run, _record: memory.append(this.memory_info().rss))
    home = DataDirectory(place / "data", offline=True)
    with ClusterPool(client, make=make, about=about) as pool:
        pool.prepare("checkerboard", {"rows": 100, "test_rows": 50}, home, experiment.limits, listener.progress)
        wall, processor = time.perf_counter(), time.process_time()
        assert runner.execute(
            experiment, planned, planned, home=home, folder=place / str(runs), pool=pool, listener=listener
        )
        return time.perf_counter() - wall, time.process_time() - processor, memory


def main() -> None:
    """Print both figures."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--machines", type=int, default=64)
    options.add_argument("--seconds", type=float, default=5.0)
    options.add_argument("--runs-each", type=int, default=6)
    options.add_argument("--many", type=int, default=10_000)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder, serving(chosen.machines) as client:
        runs = chosen.machines * chosen.runs_each
        wall, processor, _ = execute(client, runs, chosen.seconds, Path(folder))
        ideal = chosen.runs_each * chosen.seconds
        print(
            f"{runs} runs of {chosen.seconds:g} s on {chosen.machines} workers: {wall:.2f} s, ideal {ideal:.2f} s: "
            f"{100 * ideal / wall:.0f} % of ideal scaling; client {1000 * processor / runs:.2f} ms a run"
        )
    with tempfile.TemporaryDirectory() as folder, serving(_FEW) as client:
        wall, processor, memory = execute(client, chosen.many, 0.0, Path(folder))
        print(
            f"{chosen.many} runs of no seconds: {wall:.1f} s, client {1000 * processor / chosen.many:.2f} ms of its "
            f"processor a run; memory {memory[len(memory) // 10] / 2**20:.0f} MB after a tenth, "
            f"{memory[-1] / 2**20:.0f} MB at the end"
        )


@contextmanager
def serving(machines: int) -> Iterator[Client]:
    """Connect to a cluster in a process of its own."""
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(machines, theirs), daemon=True)
    server.start()
    with Client(ours.recv()) as client:
        yield client
    server.kill()
    server.join()


if __name__ == "__main__":
    main()
