"""What is ended in the middle of an experiment on a cluster: a worker, the scheduler, the client. Nothing is lost."""

from __future__ import annotations

import itertools
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from faults import clusters
from faults.clusters import SECONDS_TO_WAIT, SEEDS, WORKERS, Client, Rows, lives, wait_until
from machines import Machines

_numbers = itertools.count()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    with Machines(tmp_path_factory.mktemp("machines")) as made:
        yield made


@pytest.fixture
def machines(cluster: Machines) -> Machines:
    """Return a scheduler with three workers; what the test before has killed is started again."""
    if cluster.scheduler is None or cluster.scheduler.poll() is not None:
        cluster.start_scheduler()
    cluster.workers[:] = [each for each in cluster.workers if each.poll() is None]
    while len(cluster.workers) < len(WORKERS):
        cluster.start_worker(f"worker-{next(_numbers)}")
    return cluster


@pytest.fixture
def client(tmp_path: Path) -> Client:
    return Client(tmp_path)


@pytest.fixture(scope="module")
def alone() -> Rows:
    """Make the runs on this machine alone."""
    return clusters.alone()


def test_a_worker_that_is_killed_loses_nothing(machines: Machines, client: Client, alone: Rows) -> None:
    process = client.start("--cluster", machines.address)
    wait_until(lambda: client.begun() >= 3, "three runs have begun")
    machines.kill(machines.workers[0])
    _, said = process.communicate(timeout=SECONDS_TO_WAIT)
    assert process.returncode == 0, said
    assert "is lost; another worker takes over its run" in said
    assert client.rows() == alone
    assert SEEDS <= client.begun() <= SEEDS + 1  # the run that is lost may have been under way to the worker


def test_a_scheduler_that_is_killed_loses_nothing_that_was_finished(
    machines: Machines, client: Client, alone: Rows
) -> None:
    process = client.start("--cluster", machines.address)
    wait_until(lambda: client.begun() >= 5, "five runs have begun")
    assert machines.scheduler is not None
    machines.kill(machines.scheduler)
    _, said = process.communicate(timeout=SECONDS_TO_WAIT)
    assert process.returncode == 2, said
    assert "the scheduler is gone; finished runs are saved" in said
    assert "Traceback" not in said
    kept = [row for row in client.rows() if row["status"] == "done"]
    assert 2 <= len(kept) < SEEDS
    machines.start_scheduler()
    machines.start_worker("four")
    before = client.begun()
    client.run("--cluster", machines.address)
    assert client.rows() == alone
    assert client.begun() - before == SEEDS - len(kept)


def test_a_client_that_is_killed_leaves_nothing_running(machines: Machines, client: Client, alone: Rows) -> None:
    process = client.start("--cluster", machines.address)
    wait_until(lambda: client.begun() >= 5, "five runs have begun")
    process.send_signal(signal.SIGKILL)
    process.communicate()
    begun = client.begun()
    said = client.run("--cluster", machines.address)
    assert "finished before" in said
    assert client.rows() == alone
    assert client.begun() - begun < SEEDS


def test_interrupted_it_ends_what_is_under_way(machines: Machines, client: Client) -> None:
    process = client.start("--cluster", machines.address)
    wait_until(lambda: client.begun() >= 3, "three runs have begun")
    process.send_signal(signal.SIGINT)
    output, said = process.communicate(timeout=SECONDS_TO_WAIT)
    assert process.returncode == 130, said
    assert "interrupted: finished runs are saved" in said
    assert "Traceback" not in said + output
    begun = client.begun()
    time.sleep(2.0)
    assert client.begun() == begun


def test_a_worker_that_ends_ends_its_runs(machines: Machines, client: Client) -> None:
    process = client.start("--cluster", machines.address)
    wait_until(lambda: client.begun() >= 3, "three runs have begun")
    children = [child for worker in machines.workers for child in psutil.Process(worker.pid).children(recursive=True)]
    assert len(children) >= 3
    for worker in machines.workers:
        machines.kill(worker)
    wait_until(lambda: not any(map(lives, children)), "what the workers have started has ended")
    machines.kill(process)
    process.communicate()
