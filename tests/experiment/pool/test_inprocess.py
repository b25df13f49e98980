"""Runs in this process: the same records as in a worker, and an exception that can be looked at."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mpu_bench.config.read import read_config
from mpu_bench.config.schema import Limits
from mpu_bench.data.cards import catalog
from mpu_bench.data.download.cache import DataDirectory
from mpu_bench.data.download.progress import SILENT
from mpu_bench.data.prepare.load import describe, load_problem
from mpu_bench.data.user_files.adding import FileOptions, card_text, look
from mpu_bench.errors import ConfigError
from mpu_bench.experiment import plan, trace
from mpu_bench.experiment.messages import News, Phase, Task
from mpu_bench.experiment.pool import Outcome
from mpu_bench.experiment.pool.inprocess import InProcessPool
from mpu_bench.files import write_all
from mpu_bench.models.saved import SavedModel

PLUGIN = Path(__file__).parents[2] / "plugins" / "misbehaving.py"


@pytest.fixture
def faults() -> list[BaseException]:
    return []


@pytest.fixture
def pool(faults: list[BaseException]) -> Iterator[InProcessPool]:
    def at_error(fault: BaseException) -> None:
        faults.append(fault)
        if isinstance(fault, KeyboardInterrupt):
            raise fault

    with InProcessPool(1, at_error) as opened:
        yield opened


@pytest.fixture
def outcome(
    pool: InProcessPool, tmp_path: Path, shared_home: DataDirectory
) -> Callable[..., tuple[Outcome, list[News]]]:
    """Make the run of a solver that behaves in one way."""

    def run(solver: str) -> tuple[Outcome, list[News]]:
        (tmp_path / "tried.yaml").write_text(
            f"name: tried\ndataset: {{checkerboard: {{rows: 300, test_rows: 50}}}}\nplugins: [{PLUGIN}]\n"
            f"solvers: [{solver}]\nstop: {{passes: 5}}\n",
            encoding="utf-8",
        )
        (planned,) = plan.plan(read_config(tmp_path / "tried.yaml"))
        dataset = planned.dataset
        assert pool.prepare(dataset.name, dataset.options, shared_home, Limits(), SILENT) == ""
        assert pool.has_room
        pool.submit(Task("key", planned, shared_home))
        assert not pool.has_room
        news: list[News] = []
        return pool.next_outcome(lambda _task, each: news.append(each)), news

    return run


def test_a_run_has_its_record_and_its_checkpoints(outcome, faults: list[BaseException]) -> None:
    made, news = outcome("{misbehaving: {how: finish}}")
    assert made.record.status == "done"
    assert made.record.n == 300
    assert made.checkpoints
    assert Phase("importing") in news
    assert faults == []


def test_what_leaves_the_current_folder_is_led_back(outcome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """User datasets and the folder of models are found from there."""
    monkeypatch.chdir(tmp_path)
    made, _ = outcome("{misbehaving: {how: leave}}")
    assert made.record.status == "done"
    assert Path.cwd() == tmp_path


def test_an_exception_is_there_to_be_looked_at(outcome, faults: list[BaseException], capfd) -> None:
    made, _ = outcome("{misbehaving: {how: raise}}")
    assert made.record.status == "error"
    assert made.record.reason.startswith("ValueError: the matrix is not what it seemed (misbehaving.py, line ")
    assert made.record.traceback.endswith("ValueError: the matrix is not what it seemed")
    (fault,) = faults
    assert traceback.extract_tb(fault.__traceback__)[-1].filename == str(PLUGIN)
    assert "the matrix is not what it seemed" in capfd.readouterr().err


def test_what_the_caller_raises_passes(pool: InProcessPool, outcome, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool._executor, "_execute", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        outcome("dcd")
    assert pool.has_room
    with pytest.raises(LookupError):
        pool.next_outcome(lambda _task, _news: None)


def test_the_threads_of_this_process_are_those_it_has(pool: InProcessPool) -> None:
    pool.use_threads(1)
    with pytest.raises(ConfigError, match="give --threads 2"):
        pool.use_threads(2)


def test_data_that_have_changed_since_the_last_run_are_read_again(
    pool: InProcessPool, tmp_path: Path, shared_home: DataDirectory
) -> None:
    text = "name: tried\ndataset: {file: mine.csv}\nsolvers: [perceptron]\nkernel: linear\nstop: {passes: 2}\n"
    (tmp_path / "tried.yaml").write_text(text, encoding="utf-8")
    for shift in (0, 7):
        rows = "".join(f"{'yes' if i % 3 else 'no'},{(i * 37 + shift) % 11},{i % 5 + shift}\n" for i in range(60))
        (tmp_path / "mine.csv").write_text(f"y,a,b\n{rows}", encoding="utf-8")
        (planned,) = plan.plan(read_config(tmp_path / "tried.yaml"))
        dataset = planned.dataset
        assert pool.prepare(dataset.name, dataset.options, shared_home, Limits(), SILENT) == ""
        fingerprint = describe(catalog.card(dataset.name, dataset.options), shared_home).fingerprint
        assert fingerprint
        pool.submit(Task("key", planned, shared_home, fingerprint=fingerprint))
        assert pool.next_outcome(lambda _task, _news: None).record.status == "done"


@pytest.mark.parametrize("is_known", [True, False])
def test_the_last_problem_is_used_again(
    pool: InProcessPool, tmp_path: Path, shared_home: DataDirectory, monkeypatch: pytest.MonkeyPatch, is_known: bool
) -> None:
    text = (
        "name: tried\ndataset: {checkerboard: {rows: 100, test_rows: 50}}\nsolvers: [perceptron]\nstop: {passes: 2}\n"
    )
    (tmp_path / "tried.yaml").write_text(text, encoding="utf-8")
    (planned,) = plan.plan(read_config(tmp_path / "tried.yaml"))
    dataset, loaded = planned.dataset, []
    assert pool.prepare(dataset.name, dataset.options, shared_home, Limits(), SILENT) == ""
    fingerprint = describe(catalog.card(dataset.name, dataset.options), shared_home).fingerprint if is_known else ""
    problem = load_problem(catalog.card(dataset.name, dataset.options), shared_home)
    monkeypatch.setattr("mpu_bench.experiment.worker.load_problem", lambda *_: loaded.append(problem) or problem)
    for _ in range(3):
        pool.submit(Task("key", planned, shared_home, fingerprint=fingerprint or ""))
        assert pool.next_outcome(lambda _task, _news: None).record.status == "done"
    assert len(loaded) == 1


@pytest.mark.parametrize("gone", ["mine.csv", "datasets/carded.yaml", "memory"])
def test_a_model_whose_data_are_gone_once_it_is_trained_may_be_saved_another_time(
    gone: str, pool: InProcessPool, tmp_path: Path, shared_home: DataDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the run came to is kept."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("mpu_bench.data.cards.catalog._OWN", tmp_path / "datasets")
    Path("mine.csv").write_text("x,y\n" + "".join(f"{i},{'ab'[i % 2]}\n" for i in range(40)), encoding="utf-8")
    card = {**look(Path("mine.csv"), FileOptions()).card, "title": "carded"}
    write_all(tmp_path / "datasets", {"carded.yaml": card_text(card, tmp_path / "datasets", "none")})
    Path("tried.yaml").write_text("name: tried\ndataset: carded\nsolvers: [{dcd: {C: 1}}]\n", encoding="utf-8")
    (planned,) = plan.plan(read_config(Path("tried.yaml")))
    assert pool.prepare("carded", {}, shared_home, Limits(), SILENT) == ""
    train = trace.train

    def and_lose(*arguments: Any, **more: Any) -> trace.Trace:
        made = train(*arguments, **more)
        Path(gone).unlink(missing_ok=True)
        return made

    def fail(_model: SavedModel, _path: Path) -> None:
        raise MemoryError

    if gone == "memory":
        monkeypatch.setattr(SavedModel, "save", fail)

    pool.submit(Task("key", planned, shared_home, model_files=[tmp_path / "m.mpu"], fingerprint=""))
    monkeypatch.setattr(trace, "train", and_lose)
    record = pool.next_outcome(lambda _task, _news: None).record
    assert (record.status, record.unsavable) == ("done", None)
    assert "the model could not be written: " in record.reason
