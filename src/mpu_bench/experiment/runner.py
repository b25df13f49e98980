"""An experiment from its plan to its store: what is there is kept, what is missing is run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import filelock

from mpu_bench.data import catalog, prepare
from mpu_bench.data.fetch import Home
from mpu_bench.data.prepare import Description
from mpu_bench.data.progress import Progress, Silent
from mpu_bench.errors import DataError, FetchError, StoreError
from mpu_bench.experiment import environment
from mpu_bench.experiment.local import Outcome, Pool
from mpu_bench.experiment.plan import Run, run_id
from mpu_bench.experiment.store import FINISHED, Store
from mpu_bench.experiment.worker import Task
from mpu_bench.schema import Experiment

Dataset = tuple[str, str]  # the card's name and its options, as text


@dataclass(frozen=True)
class Planned:
    """A run of the plan, with the key of its result.

    ``run_id`` is None while the data are not there: the key depends on their content. ``unavailable`` says why
    they cannot be had.
    """

    run: Run
    description: Description | None
    run_id: str | None
    unavailable: str = ""

    def record(self) -> dict[str, Any]:
        """Give the columns of the final row that are known before running."""
        known = self.description
        return {
            "experiment": self.run.experiment,
            "dataset": self.run.label,
            "n": known.n if known else None,
            "d": known.d if known else None,
            "n_test": known.n_test if known else None,
            "classes": len(known.classes) if known and known.classes else None,
            "solver": self.run.solver,
            "parameters": json.dumps(dict(self.run.parameters)),
            "kernel": str(self.run.kernel),
            "budget_vectors": self.run.vectors,
            "seed": self.run.seed,
            "run_id": self.run_id,
        }


@dataclass
class Listener:
    """What a caller may be told while an experiment runs; every method may be replaced."""

    progress: Progress = field(default_factory=Silent)
    planned: Callable[[Sequence[Planned], int], None] = lambda _missing, _kept: None
    message: Callable[[Run, str, Any], None] = lambda _run, _kind, _content: None
    finished: Callable[[Run, Mapping[str, Any]], None] = lambda _run, _record: None


def look(runs: Sequence[Run], home: Home) -> list[Planned]:
    """Find out what is there for each run, without fetching, preparing or loading anything."""
    return _with_ids(runs, {key: _describe(*key_run, home) for key, key_run in _datasets(runs).items()})


def prepare_data(runs: Sequence[Run], home: Home, progress: Progress) -> list[Planned]:
    """Fetch and prepare the data of all runs; a dataset that cannot be had becomes a reason."""
    found: dict[Dataset, Description | str] = {}
    for key, (name, options) in _datasets(runs).items():
        try:
            card = catalog.card(name, options)
            described = prepare.describe(card, home)
            if described.state != "prepared":
                prepare.load(card, home, progress)
                described = prepare.describe(card, home)
            found[key] = described
        except (DataError, FetchError) as fault:
            found[key] = str(fault)
    return _with_ids(runs, found)


def _datasets(runs: Sequence[Run]) -> dict[Dataset, tuple[str, Mapping[str, Any]]]:
    return {_key(run): (run.dataset, run.options) for run in runs}


def _key(run: Run) -> Dataset:
    return run.dataset, json.dumps(dict(run.options), sort_keys=True)


def _describe(name: str, options: Mapping[str, Any], home: Home) -> Description | str:
    try:
        return prepare.describe(catalog.card(name, options), home)
    except (DataError, FetchError) as fault:
        return str(fault)


def _with_ids(runs: Sequence[Run], found: Mapping[Dataset, Description | str]) -> list[Planned]:
    return [_planned(run, found[_key(run)]) for run in runs]


def _planned(run: Run, found: Description | str) -> Planned:
    if isinstance(found, str):
        return Planned(run, None, run_id(run, "unavailable"), found)
    return Planned(run, found, None if found.fingerprint is None else run_id(run, found.fingerprint))


def execute(
    experiment: Experiment,
    runs: Sequence[Run],
    chosen: Sequence[Run],
    home: Home,
    folder: Path,
    pool: Pool,
    listener: Listener,
    force: bool = False,
) -> bool:
    """Do the chosen runs that have no result yet, and keep each as soon as it is finished.

    Parameters
    ----------
    experiment : Experiment
    runs : sequence of Run
        The whole plan: what the tables are made of.
    chosen : sequence of Run
        Those of it to do now.
    home : Home
    folder : Path
        ``results/<name>``.
    pool : Pool
    listener : Listener
    force : bool
        Do runs again that have a result.

    Returns
    -------
    bool
        Whether every chosen run has a result.

    Raises
    ------
    StoreError
        If the folder cannot be used, or another process is running into it.
    """
    with _alone_in(folder), Store(folder, create=True) as store:
        planned = prepare_data(runs, home, listener.progress)
        store.save_plan([each.record() for each in planned], _facts(experiment))
        wanted = set(map(id, chosen))
        mine = [each for each in planned if id(each.run) in wanted]
        finished = set() if force else store.finished()
        missing = _first_of_each([each for each in mine if each.run_id not in finished])
        listener.planned(missing, len(mine) - len(missing))
        machine = environment.describe(experiment.threads)
        for each, outcome in _outcomes(missing, home, experiment, pool, listener):
            record = each.record() | {k: v for k, v in outcome.record.items() if v is not None}
            store.save(record, outcome.checkpoints, machine)
            listener.finished(each.run, record)
        return {each.run_id for each in mine} <= store.finished()


def _facts(experiment: Experiment) -> dict[str, Any]:
    return {
        "name": experiment.name,
        "config": experiment.source,
        "description": experiment.description,
        "published": experiment.published,
    }


def _first_of_each(planned: Sequence[Planned]) -> list[Planned]:
    """Leave out runs whose result is that of an earlier one (the same data under two labels)."""
    return list({each.run_id: each for each in reversed(planned)}.values())[::-1]


def _outcomes(
    missing: Sequence[Planned], home: Home, experiment: Experiment, pool: Pool, listener: Listener
) -> Iterator[tuple[Planned, Outcome]]:
    tasks = {}
    for each in missing:
        task = Task(each.run, home)
        if each.unavailable:
            yield each, Outcome(task, {"status": "unavailable", "reason": each.unavailable}, [])
        else:
            tasks[id(task)] = (each, task)

    def told(task: Task, kind: str, content: Any) -> None:
        listener.message(task.run, kind, content)

    for outcome in pool.run([task for _, task in tasks.values()], experiment.limits, told):
        yield tasks[id(outcome.task)][0], outcome


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Keep a second process from running into the same folder."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = filelock.FileLock(folder / ".lock")
        with lock.acquire(blocking=False):
            yield
    except filelock.Timeout:
        raise StoreError(
            f"{folder}: another mpu-bench is running into this folder; wait for it, or choose another with --results"
        ) from None
    except OSError as fault:
        raise StoreError(f"{folder}: cannot be written: {fault.strerror}; choose another with --results") from None


def succeeded(record: Mapping[str, Any]) -> bool:
    """Tell whether a row is a result."""
    return record["status"] in FINISHED
