"""An experiment from its plan to its store: what is there is kept, what is missing is run."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import filelock

from mpu_bench import resources
from mpu_bench.config.schema import Experiment
from mpu_bench.data.cards import catalog
from mpu_bench.data.download.fetch import Home
from mpu_bench.data.download.progress import Progress, Silent
from mpu_bench.data.prepare.load import Description, describe, load_problem
from mpu_bench.errors import DataError, FetchError, StoreError
from mpu_bench.experiment import environment
from mpu_bench.experiment.identity import run_id
from mpu_bench.experiment.plan import REFERENCES, settled, sources
from mpu_bench.experiment.pool.local import Outcome, Pool
from mpu_bench.experiment.run import Run
from mpu_bench.experiment.tuning import choose, trials_of
from mpu_bench.experiment.worker import Task
from mpu_bench.quantities import FINISHED
from mpu_bench.results.store import Store

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
            "split": self.run.split or None,
            "n": known.n if known else None,
            "d": known.d if known else None,
            "n_test": known.n_test if known else None,
            "classes": len(known.classes) if known and known.classes else None,
            "solver": self.run.solver,
            "parameters": json.dumps(dict(self.run.parameters)),
            "kernel": str(self.run.kernel),
            "budget_vectors": self.run.vectors,
            "trial": None if self.run.trial is None else str(self.run.trial),
            "tuned": None if self.run.tuning is None else str(self.run.tuning),
            "seed": self.run.seed,
            "run_id": self.run_id,
        }


Sources = Mapping[str, Planned]  # by what is taken from their results

#: what of a result is taken
_TAKEN = {"optimum": "dual_objective", "nu": "nu", "seconds": "train_seconds"}
_SETTLING = ("nu", "seconds")  #: without which a run cannot be done
_LEVELS = 2  #: a run needs another's seconds, and that one its optimum


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


def prepare_data(runs: Sequence[Run], chosen: Sequence[Run], home: Home, progress: Progress) -> list[Planned]:
    """Fetch and prepare the data of the chosen runs; a dataset that cannot be had becomes a reason."""
    found: dict[Dataset, Description | str] = {}
    needed = _datasets(chosen)
    for key, (name, options) in _datasets(runs).items():
        if key not in needed:
            found[key] = _describe(name, options, home)
            continue
        try:
            card = catalog.card(name, options)
            described = describe(card, home)
            if described.state != "prepared":
                load_problem(card, home, progress)
                described = describe(card, home)
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
        return describe(catalog.card(name, options), home)
    except (DataError, FetchError) as fault:
        return str(fault)


def _with_ids(runs: Sequence[Run], found: Mapping[Dataset, Description | str]) -> list[Planned]:
    return [_planned(run, found[_key(run)], runs) for run in runs]


def _planned(run: Run, found: Description | str, runs: Sequence[Run]) -> Planned:
    fingerprint = _absent(run) if isinstance(found, str) else found.fingerprint
    key = None if fingerprint is None else _run_id(run, fingerprint, runs)
    return Planned(run, None, key, found) if isinstance(found, str) else Planned(run, found, key)


def _absent(run: Run) -> str:
    """Stand in for the fingerprint of data that cannot be had."""
    return f"unavailable: {' '.join(_key(run))}"


def _run_id(run: Run, fingerprint: str, runs: Sequence[Run]) -> str:
    """Make the key of a run; one that is settled by other results depends on theirs, but for the optimum."""
    needed = sources(run, runs)
    settling = [needed[kind] for kind in _SETTLING if kind in needed]
    return run_id(run, fingerprint, [run_id(each, fingerprint) for each in (*settling, *trials_of(run).values())])


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
        planned = [_as_before(each, runs, store) for each in prepare_data(runs, chosen, home, listener.progress)]
        store.save_plan([each.record() for each in planned], _facts(experiment, planned))
        wanted = set(map(id, chosen))
        mine = [each for each in planned if id(each.run) in wanted]
        needed = {each.run_id: _sources(each, planned) for each in planned}
        for _ in range(_LEVELS):
            mine = [*(source for each in mine for source in needed[each.run_id].values()), *mine]
        finished = set() if force else store.finished()
        missing = _first_of_each([each for each in mine if each.run_id not in finished])
        listener.planned(missing, len({each.run_id for each in mine}) - len(missing))
        session = _Session(experiment, home, store, pool, listener)
        while missing:
            waiting = {each.run_id for each in missing}
            ready = [each for each in missing if not waiting & {s.run_id for s in needed[each.run_id].values()}]
            session.do(ready, needed)
            missing = [each for each in missing if each not in ready]
        return {each.run_id for each in mine} <= store.finished()


def _as_before(planned: Planned, runs: Sequence[Run], store: Store) -> Planned:
    """Let a run whose data could not be had before, and were not asked for now, stay unavailable."""
    if planned.description is None or not planned.description.missing:
        return planned
    key = _run_id(planned.run, _absent(planned.run), runs)
    row = store.row(key)
    return planned if row is None else Planned(planned.run, None, key, row["reason"])


def _sources(planned: Planned, others: Sequence[Planned]) -> Sources:
    """Find those whose results a run needs."""
    found = sources(planned.run, [each.run for each in others])
    return {kind: next(each for each in others if each.run is source) for kind, source in found.items()}


@dataclass
class _Session:
    """One invocation: where runs are done and where their results go."""

    experiment: Experiment
    home: Home
    store: Store
    pool: Pool
    listener: Listener
    machine: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        self.machine = environment.describe(self.experiment.threads, self.experiment.kernel_memory)

    def do(self, missing: Sequence[Planned], needed: Mapping[str | None, Sources]) -> None:
        """Do runs and keep each as soon as it is finished; a known optimum is recalled instead."""
        tasks = {}
        for each in missing:
            results = self._results(needed[each.run_id])
            choice = choose(each.run, self._rows(needed[each.run_id]))
            run, remarks = settled(choice.run, results)
            task = Task(run, self.home, results["optimum"]["dual_objective"] if "optimum" in results else None)
            if each.unavailable:
                self._keep(each, Outcome(task, {"status": "unavailable", "reason": each.unavailable}, []))
            elif missed := choice.fault or _missed(each.run, needed[each.run_id], results):
                self._keep(each, Outcome(task, {"status": "error", "reason": missed}, []))
            elif (known := self._recall(each)) is not None:
                self._keep(each, Outcome(task, *known))
            else:
                tasks[id(task)] = (each, task, [*choice.remarks, *remarks], choice.columns)

        def told(task: Task, kind: str, content: Any) -> None:
            self.listener.message(tasks[id(task)][0].run, kind, content)

        for outcome in self.pool.run([task for _, task, *_ in tasks.values()], self.experiment.limits, told):
            each, _, remarks, columns = tasks[id(outcome.task)]
            self._keep(each, outcome, remarks, columns)
            self._remember(each, outcome)

    def _keep(
        self,
        planned: Planned,
        outcome: Outcome,
        remarks: Sequence[str] = (),
        columns: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        record = planned.record() | {name: value for name, value in outcome.record.items() if value is not None}
        record |= columns
        record["reason"] = "; ".join(filter(None, [record["reason"], *remarks]))
        self.store.save(record, outcome.checkpoints, self.machine)
        self.listener.finished(planned.run, record)

    def _results(self, needed: Sources) -> dict[str, dict[str, Any]]:
        """Look up what other runs found; left out are those that failed, and trials."""
        known = {kind: row for kind, row in self._rows(needed).items() if kind in _TAKEN and row["status"] in FINISHED}
        return {kind: row for kind, row in known.items() if row[_TAKEN[kind]] is not None}

    def _rows(self, needed: Sources) -> dict[str, dict[str, Any]]:
        """Look up what became of other runs."""
        rows = {kind: self.store.row(each.run_id or "") for kind, each in needed.items()}
        return {kind: row for kind, row in rows.items() if row is not None}

    def _recall(self, planned: Planned) -> tuple[dict[str, Any], list[dict[str, Any]]] | None:
        """Read the optimum of an earlier experiment; optima are kept beside the prepared data."""
        try:
            kept = json.loads(self._kept(planned).read_text(encoding="utf-8"))
            return kept["record"], kept["checkpoints"]
        except (OSError, ValueError, KeyError):
            return None

    def _remember(self, planned: Planned, outcome: Outcome) -> None:
        if planned.run.solver not in REFERENCES or outcome.record["status"] not in FINISHED:
            return
        path = self._kept(planned)
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"record": outcome.record, "checkpoints": outcome.checkpoints})
        partial = path.with_suffix(f".{os.getpid()}.part")
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)

    def _kept(self, planned: Planned) -> Path:
        return self.home.folder / "references" / f"{planned.run_id}.json"


def _missed(run: Run, needed: Sources, results: Mapping[str, Any]) -> str:
    """Say which result it is that a run cannot be done without, if there is one."""
    kinds = (*_SETTLING, *(["optimum"] if run.stop.deviation is not None else []))
    lost = [kind for kind in kinds if kind in needed and kind not in results]
    return f"{needed[lost[0]].run.solver} failed, whose {_TAKEN[lost[0]]} it needs" if lost else ""


def _facts(experiment: Experiment, planned: Sequence[Planned]) -> dict[str, Any]:
    source = Path(experiment.source)
    is_shipped = source.parent == resources.folder("configs")
    return {
        "name": experiment.name,
        "config": source.stem if is_shipped else experiment.source,
        "options": list(experiment.options),
        "description": experiment.description,
        "paper": experiment.paper,
        "published": experiment.published,
        "judging": experiment.judging.model_dump(mode="json", by_alias=True, exclude_unset=True),
        "pairs": {each.run.label: each.description.pairs for each in planned if each.description},
    }


def _first_of_each(planned: Sequence[Planned]) -> list[Planned]:
    """Leave out runs whose result is that of an earlier one (the same data under two labels)."""
    return list({each.run_id: each for each in reversed(planned)}.values())[::-1]


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
