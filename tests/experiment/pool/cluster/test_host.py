"""What a worker of a cluster does with a run."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from mpu_bench.config.read import read_config
from mpu_bench.data.cards import catalog
from mpu_bench.data.download.cache import DataDirectory
from mpu_bench.data.prepare.load import describe, load_problem, prepared_folder
from mpu_bench.errors import StoreError
from mpu_bench.experiment import plan
from mpu_bench.experiment.messages import Task
from mpu_bench.experiment.pool import Outcome
from mpu_bench.experiment.pool.cluster import host
from mpu_bench.experiment.pool.cluster.host import Refused, Request
from mpu_bench.quantities import RunStatus
from mpu_bench.solvers.plugins.importing import read_plugin

PLUGIN = Path(__file__).parents[3] / "plugins" / "misbehaving.py"


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Request]:
    """Return a run of a plugin as a client asks for it; the worker's data directory is another than the client's."""
    monkeypatch.setenv("MPU_BENCH_DATA", str(tmp_path / "there"))
    path = tmp_path / "tried.yaml"

    def made(how: str, **more: Any) -> Request:
        path.write_text(
            f"name: tried\ndataset: {{checkerboard: {{rows: 300, test_rows: 50}}}}\nplugins: [{PLUGIN}]\n"
            f"solvers:\n  - misbehaving: {{how: {how}}}\n",
            encoding="utf-8",
        )
        (run,) = plan.plan(read_config(path))
        task = Task("id", run, DataDirectory(tmp_path / "here", offline=True))
        return Request("topic", task, read_plugin(PLUGIN), **more)

    return made


def make(wanted: Request, is_wanted: Callable[[], bool] = lambda: True) -> Outcome | Refused:
    """Make a run in this thread, as Dask's task does."""
    told: list[object] = []
    try:
        return host.make_here(wanted, told.append, is_wanted)
    finally:
        host._slot.pool.close()


def fingerprint(wanted: Request) -> str:
    dataset = wanted.task.run.dataset
    return describe(catalog.card(dataset.name, dataset.options), wanted.task.home).fingerprint or ""


def with_data(wanted: Request) -> Request:
    return replace(wanted, task=replace(wanted.task, fingerprint=fingerprint(wanted)))


def test_a_run_is_made_and_its_plugin_is_named_as_the_client_knows_it(
    ask: Callable[..., Request], tmp_path: Path
) -> None:
    wanted = with_data(ask("raise"))
    made = make(wanted)
    assert isinstance(made, Outcome)
    assert made.environment is not None
    assert made.environment["host"] == host.about().host
    assert made.record.status == "error"
    assert "the matrix is not what it seemed" in made.record.reason
    assert str(tmp_path / "there") not in str(made.record)
    assert (tmp_path / "there" / "prepared").is_dir()
    assert not (tmp_path / "here").exists()


def test_other_data_than_the_clients_are_refused(ask: Callable[..., Request]) -> None:
    wanted = ask("finish")
    made = make(replace(wanted, task=replace(wanted.task, fingerprint="another")))
    assert isinstance(made, Refused)
    assert made.status == RunStatus.UNAVAILABLE
    assert made.why.startswith("its data are others than the client's (")


def test_a_full_disk_is_that_of_a_machine(ask: Callable[..., Request], monkeypatch: pytest.MonkeyPatch) -> None:
    def full(**_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("mpu_bench.experiment.pool.cluster.host.tempfile.TemporaryDirectory", full)
    made = make(ask("finish"))
    assert made == Refused(RunStatus.ERROR, "OSError: [Errno 28] No space left on device")


def test_nothing_goes_on_for_a_client_that_is_gone(ask: Callable[..., Request]) -> None:
    began = time.monotonic()
    with pytest.raises(host.Unwanted):
        make(with_data(ask("sleep-always")), lambda: time.monotonic() < began + 3)
    assert time.monotonic() - began < 60


def test_what_a_run_needs_stays_for_the_next_and_is_ended_when_nobody_has_needed_it(
    ask: Callable[..., Request], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "_IDLE_SECONDS", 1.0)
    before = set(psutil.Process().children(recursive=True))
    host.make_here(with_data(ask("raise")), lambda _news: None, lambda: True)
    left = set(psutil.Process().children(recursive=True)) - before
    assert left
    assert not psutil.wait_procs(left, timeout=30)[1]


def test_prepared_data_arrive_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPU_BENCH_DATA", str(tmp_path / "there"))
    card = catalog.card("checkerboard", {"rows": 300, "test_rows": 50})
    here, there = (DataDirectory(tmp_path / name, offline=True) for name in ("here", "there"))
    ours, folder = load_problem(card, here), prepared_folder(card, here)
    meta = (folder / "meta.json").read_bytes()
    coming = host.expect(folder.name, "one", meta)
    for path in folder.iterdir():
        content = path.read_bytes()
        for start in range(0, len(content), 500):
            host.receive(coming, path.name, start, content[start : start + 500])
    host.arrived(folder.name, coming)
    theirs = load_problem(card, there)
    assert theirs.fingerprint == ours.fingerprint
    for array, same in zip(theirs.train, ours.train, strict=True):
        np.testing.assert_array_equal(array, same)
    assert not host.expect(folder.name, "one", meta)  # it is here
    # of other content: it is sent again
    host.arrived(folder.name, host.expect(folder.name, "one", b"{}"))


def test_two_clients_that_send_data_of_one_name_at_once_share_no_piece(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MPU_BENCH_DATA", str(tmp_path))
    one, other = (host.expect("digits", client, b"{}") for client in ("one", "other"))
    for coming, start, piece in ((one, 0, b"aa"), (other, 0, b"bb"), (one, 2, b"aa"), (other, 2, b"bb")):
        host.receive(coming, "train-values.npy", start, piece)
    for coming, content in ((one, b"aaaa"), (other, b"bbbb")):
        host.arrived("digits", coming)
        (folder,) = (path for path in (tmp_path / "prepared").iterdir() if path.name == "digits")
        assert (folder / "train-values.npy").read_bytes() == content


def test_what_a_client_that_is_gone_has_sent_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPU_BENCH_DATA", str(tmp_path))
    for client in ("gone", "there"):
        host.receive(host.expect("digits", client, b"{}"), "train-values.npy", 0, b"a")
    left = tmp_path / "prepared" / ".digits.gone.coming"
    for path in (left / "train-values.npy", left):
        os.utime(path, (1.0, 1.0))
    host.expect("digits", "one", b"{}")
    assert {path.name for path in (tmp_path / "prepared").iterdir()} == {".digits.there.coming", ".digits.one.coming"}


def test_data_that_cannot_be_written_are_one_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPU_BENCH_DATA", str(tmp_path / "there"))
    (tmp_path / "there").write_text("a file where the folder should be", encoding="utf-8")
    with pytest.raises(StoreError, match="cannot be written"):
        host.expect("digits", "one", b"{}")
    with pytest.raises(StoreError, match="cannot be written"):
        host.arrived("digits", ".digits.one.coming")


def test_no_piece_leaves_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPU_BENCH_DATA", str(tmp_path / "there"))
    assert host.expect("../../x", "../one", b"") == ".x.one.coming"
    host.receive("../../.x.one.coming", "../../secret.npy", 0, b"a")
    (found,) = tmp_path.rglob("secret.npy")
    assert found.parent == tmp_path / "there" / "prepared" / ".x.one.coming"


def test_versions_are_those_of_code_too() -> None:
    assert set(host.versions()) == {"mpu-bench", "numba", "Python"}
    assert ", code " in host.versions()["mpu-bench"]
