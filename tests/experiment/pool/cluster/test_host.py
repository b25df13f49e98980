"""What a worker of a cluster does with a run."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mpu_bench.config.read import read_config
from mpu_bench.data.cards import catalog
from mpu_bench.data.download.cache import DataHome
from mpu_bench.data.prepare.load import describe
from mpu_bench.experiment import plan
from mpu_bench.experiment.messages import Task
from mpu_bench.experiment.pool.cluster import host
from mpu_bench.experiment.pool.cluster.asked import Asked, Made, Refused

PLUGIN = Path(__file__).parents[3] / "plugins" / "misbehaving.py"


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Asked]:
    """Return a run of a plugin as a client asks for it; the worker's data home is another than the client's."""
    monkeypatch.setenv("MPU_BENCH_DATA", str(tmp_path / "there"))
    path = tmp_path / "tried.yaml"

    def made(how: str, **more: Any) -> Asked:
        path.write_text(
            f"name: tried\ndataset: {{checkerboard: {{rows: 300, test_rows: 50}}}}\nplugins: [{PLUGIN}]\n"
            f"solvers:\n  - misbehaving: {{how: {how}}}\n",
            encoding="utf-8",
        )
        (run,) = plan.plan(read_config(path))
        task = Task("id", run, DataHome(tmp_path / "here", offline=True))
        return Asked("key", "topic", task, {PLUGIN: PLUGIN.read_bytes()}, **more)

    return made


def make(wanted: Asked, is_wanted: Callable[[], bool] = lambda: True) -> Made | Refused:
    """Let a slot make a run, as Dask's task does."""
    told: list[bytes] = []
    with host._Slots().taken(1, is_wanted) as slot:
        try:
            return slot.thread.submit(host._make, slot, wanted, told.append, is_wanted).result()
        finally:
            slot.thread.submit(slot.end).result()


def fingerprint(wanted: Asked) -> str:
    dataset = wanted.task.run.dataset
    return describe(catalog.card(dataset.name, dataset.options), wanted.task.home).fingerprint or ""


def with_data(wanted: Asked) -> Asked:
    return replace(wanted, task=replace(wanted.task, fingerprint=fingerprint(wanted)))


def test_a_run_is_made_and_its_plugin_is_named_as_the_client_knows_it(
    ask: Callable[..., Asked], tmp_path: Path
) -> None:
    wanted = with_data(ask("raise"))
    made = make(wanted)
    assert isinstance(made, Made)
    assert made.environment["host"] == host.about().host
    outcome = host.outcome_of(wanted.task, made)
    assert outcome.task is wanted.task
    assert outcome.record.status == "error"
    assert "the matrix is not what it seemed" in outcome.record.reason
    assert str(tmp_path / "there") not in str(outcome.record)
    assert not made.starved
    assert (tmp_path / "there" / "prepared").is_dir()
    assert not (tmp_path / "here").exists()


def test_other_data_than_the_clients_are_refused(ask: Callable[..., Asked]) -> None:
    wanted = ask("finish")
    made = make(replace(wanted, task=replace(wanted.task, fingerprint="another")))
    assert isinstance(made, Refused)
    assert made.what == "data"
    assert made.why.startswith("its data are others than the client's (")


def test_a_machine_without_room_or_memory_refuses(ask: Callable[..., Asked], monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = with_data(ask("finish", data_bytes=1 << 60))
    made = make(wanted)
    assert isinstance(made, Refused)
    assert made.what == "memory"
    assert "of memory free, and the data and their kernel values take 1.2 EB" in made.why
    monkeypatch.setattr(host.shutil, "disk_usage", lambda _path: (0, 0, 10))
    made = make(replace(wanted, data_bytes=1000))
    assert isinstance(made, Refused)
    assert (made.what, "has room for 10 bytes, and the data take 1.0 kB" in made.why) == ("data", True)


def test_nothing_goes_on_for_a_client_that_is_gone(ask: Callable[..., Asked]) -> None:
    began = time.monotonic()
    with pytest.raises(host.Unwanted):
        make(with_data(ask("sleep-always")), lambda: time.monotonic() < began + 3)
    assert time.monotonic() - began < 60


def test_a_slot_is_waited_for_as_long_as_the_run_is_wanted() -> None:
    slots, order = host._Slots(), list[str]()

    def second() -> None:
        with slots.taken(1, lambda: True):
            order.append("second")

    with slots.taken(1, lambda: True):
        waiting = threading.Thread(target=second)
        waiting.start()
        with pytest.raises(host.Unwanted), slots.taken(1, lambda: False):
            pass
        with slots.taken(2, lambda: False):
            order.append("another slot")
        order.append("first")
    waiting.join(timeout=30)
    assert order[-1] == "second" or order == ["second", "another slot", "first"]


def test_versions_are_those_of_code_too() -> None:
    assert set(host.versions()) == {"mpu-bench", "numba", "Python"}
    assert ", code " in host.versions()["mpu-bench"]
