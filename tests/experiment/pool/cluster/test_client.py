"""A cluster as its client sees it: what workers answer, refuse, and what is done about those that are lost."""

from __future__ import annotations

import errno
import math
import os
import pickle
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import cloudpickle
import pytest
from distributed import Client, get_worker

from machines import Machines
from mpu_bench.config.choices import DatasetChoice
from mpu_bench.config.read import read_config
from mpu_bench.data.cards import catalog
from mpu_bench.data.download.cache import DataDirectory
from mpu_bench.data.prepare.load import META, prepared_folder
from mpu_bench.errors import ClusterError
from mpu_bench.experiment import plan
from mpu_bench.experiment.messages import News, Phase, Task
from mpu_bench.experiment.pool import Outcome
from mpu_bench.experiment.pool.cluster import host
from mpu_bench.experiment.pool.cluster.client import MAX_LOSSES, ClusterPool, _Run, portable_options
from mpu_bench.experiment.pool.cluster.host import About, Refused, Request
from mpu_bench.quantities import Ending, Record, RunStatus

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # the workers do not import the tests


def make(asked: Request) -> Any:
    """Stand in for a run; the seed says what becomes of it."""
    name = str(get_worker().name)
    match asked.task.run.seed % 10:
        case 1 if name != "three":
            return Refused(RunStatus.OUT_OF_MEMORY, "it has 1 kB of memory free")
        case 2:
            return Refused(RunStatus.UNAVAILABLE, "no way out")
        case 3:
            os._exit(1)
        case 4:
            raise RuntimeError("the worker is confused")
        case 5:
            return "what no worker sends"
        case 8:
            raise OSError(errno.ENOSPC, "No space left on device")
        case 7 if name in ("left", "right"):
            time.sleep(60)
        case 6 if name != "two":
            return made(asked, name, starved=True)
    return made(asked, name)


def made(asked: Request, name: str, starved: bool = False) -> Outcome:
    worker = get_worker()
    worker.log_event(asked.topic, (worker.get_current_task(), pickle.dumps(Phase("training"))))
    record = Record(status=RunStatus.DONE, train_seconds=1.0, passes=2.0, ended_by=Ending.SYSTEM if starved else None)
    return Outcome(asked.task, record, [Record()], {"id": name, "host": name}, b"a model")


def about(dask_worker: Any = None) -> About:
    name = str(dask_worker.name)
    return About(name, name, host.versions())


def another_version(dask_worker: Any = None) -> About:
    found = about(dask_worker)
    return found if found.host == "two" else found._replace(versions={**found.versions, "numba": "0.1"})


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    with Machines(tmp_path_factory.mktemp("machines")) as made:
        made.start_scheduler()
        for name in ("one", "two", "three"):
            made.start_worker(name)
        with Client(made.address) as client:
            client.wait_for_workers(3, timeout=60)
        yield made


@pytest.fixture
def client(machines: Machines) -> Iterator[Client]:
    with Client(machines.address, set_as_default=False) as made:
        yield made


@pytest.fixture
def task(tmp_path: Path) -> Callable[..., Task]:
    path = tmp_path / "tried.yaml"
    path.write_text("name: tried\ndataset: digits\nsolvers: [projectron++]\n", encoding="utf-8")
    (run,) = plan.plan(read_config(path))
    numbers = iter(range(10_000))

    def made(seed: int = 0, group: str = "", **more: Any) -> Task:
        return Task(f"run{next(numbers)}", replace(run, seed=seed), DataDirectory(tmp_path), group=group, **more)

    return made


def do(pool: ClusterPool, tasks: list[Task], news: list[News] | None = None) -> dict[str, Outcome]:
    told = (lambda _task, each: news.append(each)) if news is not None else lambda *_: None
    found = []
    for each in tasks:
        while not pool.has_room:
            found.append(pool.next_outcome(told))
        pool.submit(each)
    found += [pool.next_outcome(told) for _ in range(len(tasks) - len(found))]
    with pytest.raises(LookupError):
        pool.next_outcome(told)
    return {each.task.run_id: each for each in found}


class Deaf:
    """A client of a cluster some of whose workers cannot read a file of theirs."""

    status = "running"

    def __init__(self, *names: str) -> None:
        self.resources: dict[str, dict[str, int]] = {name: {} for name in names}
        self.asked: list[str] = []

    def scheduler_info(self, **_: Any) -> dict[str, Any]:
        return {"address": "tcp://here", "workers": {}}  # as Dask's does at times, whatever workers there are

    @property
    def scheduler(self) -> Deaf:
        return self

    def identity(self, **_: Any) -> dict[str, Any]:
        return {"workers": {name: {"resources": of} for name, of in self.resources.items()}}

    def sync(self, function: Callable[..., Any], **options: Any) -> Any:
        return function(**options)

    def run(self, function: Callable[..., Any], *_: Any, workers: list[str], **__: Any) -> dict[str, Any]:
        assert function is host.enlist
        self.asked += workers
        self.resources |= {name: {host.RUNS: 1} for name in workers}
        heard = About("one", "one", host.versions())
        return {name: heard if name == "one" else PermissionError(errno.EACCES, "data") for name in workers}

    def subscribe_topic(self, *_: Any) -> None: ...

    def cancel(self, *_: Any, **__: Any) -> None: ...


def test_a_worker_that_cannot_be_asked_is_left_out_and_said_once() -> None:
    said, client = list[str](), Deaf("one", "deaf")
    with ClusterPool(client, say=said.append) as pool:  # type: ignore[arg-type]
        for _ in range(10):
            pool._look()
        assert list(pool._workers) == ["one"]
    assert client.asked.count("deaf") == 1
    assert [line for line in said if "deaf" in line] == [
        "left out: worker deaf cannot say who it is (PermissionError: [Errno 13] data)"
    ]


def test_a_cluster_that_has_lost_its_workers_is_not_waited_for_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    deaf = Deaf("one")
    with ClusterPool(deaf) as pool:  # type: ignore[arg-type]
        deaf.resources.clear()
        pool._look()  # it may come back
        monkeypatch.setattr("mpu_bench.experiment.pool.cluster.client._SECONDS_FOR_WORKERS", 0.0)
        with pytest.raises(ClusterError, match="no worker was there for 0 seconds; finished runs are saved"):
            pool._look()


def test_what_has_come_of_a_scheduler_that_is_gone_is_taken(task: Callable[..., Task]) -> None:
    deaf = Deaf("one")
    with ClusterPool(deaf) as pool:  # type: ignore[arg-type]
        wanted = task()
        pool._under_way["key"] = _Run(wanted, pool._data_of(wanted), worker="one", machine="one")
        pool._inbox.put(("done", "key", Outcome(wanted, Record(status=RunStatus.DONE), [])))
        deaf.status, pool._looked = "closed", -math.inf
        assert pool.next_outcome(lambda _task, _news: None).record.status == "done"
        with pytest.raises(ClusterError, match="the scheduler is gone; finished runs are saved"):
            pool._look()


def test_a_worker_that_has_left_after_its_run_is_not_lost_with_it(task: Callable[..., Task]) -> None:
    deaf, said = Deaf("one"), list[str]()
    with ClusterPool(deaf, say=said.append) as pool:  # type: ignore[arg-type]
        wanted = task()
        pool._under_way["key"] = _Run(wanted, pool._data_of(wanted), worker="one", machine="one")
        pool._inbox.put(("done", "key", Outcome(wanted, Record(status=RunStatus.DONE), [])))
        deaf.resources.clear()
        pool._look()
        assert not pool._waiting
        assert pool.next_outcome(lambda _task, _news: None).record.status == "done"
    assert not any("is lost" in line for line in said)


def test_what_ended_before_a_pool_was_closed_is_nobodys_outcome(task: Callable[..., Task]) -> None:
    with ClusterPool(Deaf("one")) as pool:  # type: ignore[arg-type]
        data = pool._data_of(task())
        pool._end(_Run(task(), data), RunStatus.ERROR, "of an experiment whose results cannot be written")
        pool.close()
        assert pool.has_room
        with pytest.raises(LookupError):
            pool.next_outcome(lambda _task, _news: None)


def test_a_group_is_where_its_own_experiment_has_begun_it(client: Client, task: Callable[..., Task]) -> None:
    with ClusterPool(client, make=make, about=about) as pool:
        for name in ("one", "two", "three"):
            found = do(pool, [task(group="a", host=name) for _ in range(2)])
            assert {each.environment["host"] for each in found.values() if each.environment} == {name}


def test_a_cluster_whose_only_worker_cannot_be_asked_is_an_error_with_its_reason() -> None:
    said = list[str]()
    with pytest.raises(ClusterError, match="can make these runs"):
        ClusterPool(Deaf("deaf"), say=said.append)  # type: ignore[arg-type]
    assert said[-1] == "left out: worker deaf cannot say who it is (PermissionError: [Errno 13] data)"


def test_runs_of_a_group_are_made_on_one_machine(client: Client, task: Callable[..., Task]) -> None:
    tasks = [task(group=group) for group in "abcdef" * 4]
    said, news = list[str](), list[News]()
    with ClusterPool(client, say=said.append, make=make, about=about) as pool:
        found = do(pool, tasks, news)
    where = defaultdict[str, set[str]](set)
    for each in tasks:
        outcome = found[each.run_id]
        assert outcome.task is each
        assert outcome.environment is not None
        where[each.group].add(outcome.environment["host"])
    assert all(len(hosts) == 1 for hosts in where.values())
    assert set.union(*where.values()) == {"one", "two", "three"}
    assert said == ["cluster: 3 workers on 3 machines"]
    assert Phase("training") in news


def test_a_group_goes_on_on_the_host_that_made_some_of_it(client: Client, task: Callable[..., Task]) -> None:
    with ClusterPool(client, make=make, about=about) as pool:
        found = do(pool, [task(group="a", host="two") for _ in range(6)])
    assert {each.environment["host"] for each in found.values() if each.environment} == {"two"}


def test_what_a_machine_refuses_another_makes_or_the_row_says_why(client: Client, task: Callable[..., Task]) -> None:
    small, impossible, starved = task(1), task(2), task(6)
    with ClusterPool(client, make=make, about=about) as pool:
        found = do(pool, [small, starved]) | do(pool, [impossible])
    assert found[small.run_id].environment == {"id": "three", "host": "three"}
    assert found[starved.run_id].environment == {"id": "two", "host": "two"}
    record = found[impossible.run_id].record
    assert record.status == "unavailable"
    assert all(f"{name}: no way out" in record.reason for name in ("one", "two", "three"))


def test_data_that_a_machine_cannot_have_are_not_asked_for_again(client: Client, task: Callable[..., Task]) -> None:
    said = list[str]()
    with ClusterPool(client, say=said.append, make=make, about=about) as pool:
        found = do(pool, [task(2), task(0), task(0)])
        began = time.monotonic()
        assert {each.record.status for each in do(pool, [task(0) for _ in range(100)]).values()} == {"unavailable"}
        assert time.monotonic() - began < 10
    assert all("no way out" in each.record.reason for each in found.values() if each.record.status != "done")
    refusals = [line for line in said if line.endswith("cannot make runs on digits: no way out")]
    assert len(refusals) == len(set(refusals)) == 3  # of each machine one


def test_data_that_have_been_removed_here_are_a_row(client: Client, task: Callable[..., Task]) -> None:
    said = list[str]()
    with ClusterPool(client, send_data=True, say=said.append, make=make, about=about) as pool:
        (outcome,) = do(pool, [task()]).values()
    assert outcome.record.status == "unavailable"
    assert "No such file or directory" in outcome.record.reason
    assert not any("is lost" in line for line in said)


def test_data_that_cannot_be_read_here_are_a_row(client: Client, task: Callable[..., Task]) -> None:
    said, wanted = list[str](), task()
    folder = prepared_folder(catalog.card("digits", {}), wanted.home)
    (folder / "train.npy").mkdir(parents=True)
    (folder / META).touch()
    with ClusterPool(client, send_data=True, say=said.append, make=make, about=about) as pool:
        (outcome,) = do(pool, [wanted]).values()
    assert outcome.record.status == "unavailable"
    assert "Is a directory" in outcome.record.reason
    assert not any("is lost" in line for line in said)


def test_a_cluster_without_workers_is_waited_for(tmp_path: Path, task: Callable[..., Task]) -> None:
    said = list[str]()
    with Machines(tmp_path / "slow") as slow:
        slow.start_scheduler()
        slow.start_worker("two")
        with Client(slow.address) as client, ClusterPool(client, say=said.append, make=make, about=about) as pool:
            do(pool, [task()])
            (worker,) = slow.workers
            slow.kill(worker)
            slow.start_worker("three")
            do(pool, [task()])
    waited = [line for line in said if line.endswith("has no workers yet; waiting for one")]
    changes = [line for line in said if line.startswith("cluster: ") and line not in waited]
    assert changes[0] == changes[-1] == "cluster: 1 worker on 1 machine"
    assert set(changes[1:-1]) <= {"cluster: no worker is left; waiting for another", "cluster: 2 workers on 2 machines"}


def test_what_a_worker_raises_or_sends_is_a_row(client: Client, task: Callable[..., Task], tmp_path: Path) -> None:
    raising, wrong, good = task(4), task(5), task(0, model_files=[tmp_path / "models" / "m.mpu"])
    full, said = task(8), list[str]()
    with ClusterPool(client, say=said.append, make=make, about=about) as pool:
        found = do(pool, [raising, wrong, good, full])
    assert "OSError: [Errno 28] No space left" in found[full.run_id].record.reason
    assert not any("is lost" in line for line in said)
    assert "RuntimeError: the worker is confused" in found[raising.run_id].record.reason
    assert found[wrong.run_id].record.status == "error"
    assert found[good.run_id].record.status == "done"
    assert (tmp_path / "models" / "m.mpu").read_bytes() == b"a model"


def test_workers_of_another_version_are_left_out(client: Client, task: Callable[..., Task]) -> None:
    said = list[str]()
    with ClusterPool(client, say=said.append, make=make, about=another_version) as pool:
        assert {each.environment["host"] for each in do(pool, [task(), task()]).values() if each.environment} == {"two"}
    assert sum("left out: worker tcp://" in line and "has numba 0.1 (here " in line for line in said) == 2
    with pytest.raises(ClusterError, match="no worker of this cluster can make these runs"):
        ClusterPool(client, make=make, about=lambda _worker: "I do not know")  # type: ignore[arg-type, return-value]


def test_a_run_with_which_workers_are_lost_is_a_row(
    machines: Machines, client: Client, task: Callable[..., Task]
) -> None:
    for name in ("four", "five", "six"):
        machines.start_worker(name)
    client.wait_for_workers(6, timeout=60)
    deadly, harmless = task(3), task(0)
    said = list[str]()
    with ClusterPool(client, say=said.append, make=make, about=about) as pool:
        found = do(pool, [deadly, harmless])
    record = found[deadly.run_id].record
    assert (record.status, record.reason.count("tcp://")) == ("crashed", MAX_LOSSES)
    assert record.reason.startswith(f"lost with its worker {MAX_LOSSES} times: ")
    assert found[harmless.run_id].record.status == "done"
    assert sum("is lost; another worker takes over its run" in line for line in said) == MAX_LOSSES - 1


def on_one_machine(dask_worker: Any = None) -> About:
    return about(dask_worker)._replace(machine="lab", host="lab")


def test_workers_of_a_machine_may_be_lost_one_after_another(tmp_path: Path, task: Callable[..., Task]) -> None:
    said = list[str]()
    with Machines(tmp_path / "pair") as pair:
        pair.start_scheduler()
        left, right = (pair.start_worker(name) for name in ("left", "right"))

        def replace_both() -> None:
            pair.kill(left)
            time.sleep(3)
            pair.kill(right)
            pair.start_worker("late")

        with Client(pair.address) as client:
            client.wait_for_workers(2, timeout=60)
            with ClusterPool(client, say=said.append, make=make, about=on_one_machine) as pool:
                replacing = threading.Timer(1.0, replace_both)
                replacing.start()
                outcomes = do(pool, [task(7), task(7)]).values()
                replacing.join()
    assert {each.environment["host"] for each in outcomes if each.environment} == {"late"}
    assert "cluster: 1 worker on 1 machine" in said
    assert sum("is lost; another worker takes over its run" in line for line in said) == 2


def test_a_run_that_dask_gives_up_is_one_whose_worker_is_lost(
    tmp_path: Path, task: Callable[..., Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", "0")
    with Machines(tmp_path / "four") as four:
        four.start_scheduler()
        for name in ("four", "five", "six", "seven"):
            four.start_worker(name)
        with Client(four.address) as client:
            client.wait_for_workers(4, timeout=60)
            with ClusterPool(client, make=make, about=on_one_machine) as pool:
                (deadly,) = do(pool, [task(3)]).values()
                (harmless,) = do(pool, [task(0)]).values()
    assert (deadly.record.status, harmless.record.status) == ("crashed", "done")
    assert deadly.record.reason.count(" on lab") == MAX_LOSSES


def test_a_card_of_the_users_own_travels_with_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "datasets").mkdir()
    (tmp_path / "datasets" / "board.yaml").write_text("extends: checkerboard\ntitle: Mine\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    given = {"rows": 300, "test_rows": 50}
    here = catalog.card("board", given)
    options = portable_options(DatasetChoice("board", given, "board", ("black", "white")))
    monkeypatch.chdir("/")
    there = catalog.card("board", options)
    assert (there.name, there.preparation_key(), there.title) == (here.name, here.preparation_key(), "Mine")


def test_what_every_machine_has_does_not_travel() -> None:
    options = {"rows": 300}
    assert portable_options(DatasetChoice("checkerboard", options, "board", ("black", "white"))) is options
