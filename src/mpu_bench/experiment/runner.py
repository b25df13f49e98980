"""An experiment from its plan to its store: what is there is kept, what is missing is run."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

from mpu_bench import files
from mpu_bench.config.choices import Experiment
from mpu_bench.data.cards import catalog
from mpu_bench.data.download.cache import DataHome
from mpu_bench.data.download.progress import SILENT, Progress
from mpu_bench.data.prepare.load import Description, describe, load_problem
from mpu_bench.errors import DataError, FetchError, StoreError
from mpu_bench.experiment import environment
from mpu_bench.experiment.bind import with_results_of_others
from mpu_bench.experiment.facts import check_config, facts_of, marks_of
from mpu_bench.experiment.identity import run_id
from mpu_bench.experiment.messages import News, Phase, Task
from mpu_bench.experiment.plan import sources
from mpu_bench.experiment.pool import Outcome, Pool
from mpu_bench.experiment.run import Run
from mpu_bench.experiment.tuning import select_best, tuning_runs
from mpu_bench.quantities import FINISHED
from mpu_bench.results.problems import problem_of
from mpu_bench.results.store import Store
from mpu_bench.scaled import to_json

Dataset = tuple[str, str]  # the card's name and its options, as text


@dataclass(frozen=True)
class PlannedRun:
    """A run of the plan, with the key of its result.

    ``run_id`` is empty while the data are not there: the key depends on their content. ``unavailable`` says why
    they cannot be had.
    """

    run: Run
    description: Description | None
    run_id: str
    unavailable: str = ""

    def record(self) -> dict[str, Any]:
        """Return the columns of the final row that are known before running."""
        run, solver, known = self.run, self.run.solver, self.description
        return {
            "experiment": run.experiment,
            "dataset": run.dataset.label,
            "split": run.dataset.split or None,
            "n": known.n if known else None,
            "d": known.d if known else None,
            "n_test": known.n_test if known else None,
            "classes": len(known.classes) if known and known.classes else None,
            "solver": solver.name,
            "parameters": json.dumps(dict(solver.parameters), default=to_json),
            "kernel": str(solver.kernel),
            "budget_vectors": solver.vectors,
            "trial": None if run.trial is None else str(run.trial),
            "tuned": None if solver.tuning is None else str(solver.tuning),
            "problem": problem_of(solver.name, solver.parameters),
            "seed": run.seed,
            "run_id": self.run_id or None,
        }


#: for each key of a result, the keys of the results that it needs, by what is taken from them
Needs = Mapping[str, Mapping[str, str]]

#: what of a result is taken
_TAKEN = {"optimum": "dual_objective", "nu": "nu", "seconds": "train_seconds"}
_INDISPENSABLE = ("nu", "seconds")  #: without which a run cannot be made, and on which its key depends


@dataclass
class Listener:
    """What a caller may be told while an experiment runs; every function may be replaced."""

    progress: Progress = SILENT
    planned: Callable[[int, int], None] = lambda _missing, _kept: None
    news: Callable[[Run, News], None] = lambda _run, _news: None
    finished: Callable[[Run, Mapping[str, Any]], None] = lambda _run, _record: None


def inspect(runs: Sequence[Run], home: DataHome) -> list[PlannedRun]:
    """Return what is there for each run, without fetching, preparing or loading anything."""
    return _with_ids(runs, {key: _describe(*named, home) for key, named in _datasets(runs).items()})


def prepare_data(runs: Sequence[Run], chosen: Sequence[Run], home: DataHome, progress: Progress) -> list[PlannedRun]:
    """Fetch and prepare the data of the chosen runs; a dataset that cannot be had becomes a reason."""
    needed = _datasets(chosen)
    found = {
        key: _describe(*named, home, progress if key in needed else None) for key, named in _datasets(runs).items()
    }
    return _with_ids(runs, found)


def _datasets(runs: Sequence[Run]) -> dict[Dataset, tuple[str, Mapping[str, Any]]]:
    return {_dataset(run): (run.dataset.name, run.dataset.options) for run in runs}


def _dataset(run: Run) -> Dataset:
    return run.dataset.name, json.dumps(dict(run.dataset.options), sort_keys=True)


def _describe(
    name: str, options: Mapping[str, Any], home: DataHome, progress: Progress | None = None
) -> Description | str:
    """Return what is known of a dataset, or why it cannot be had; with ``progress``, prepare it first."""
    try:
        card = catalog.card(name, options)
        described = describe(card, home)
        if progress is None or described.state == "prepared":
            return described
        load_problem(card, home, progress)
        return describe(card, home)
    except (DataError, FetchError) as fault:
        return str(fault)


def _with_ids(runs: Sequence[Run], found: Mapping[Dataset, Description | str]) -> list[PlannedRun]:
    return [_with_id(run, found[_dataset(run)], runs) for run in runs]


def _with_id(run: Run, found: Description | str, runs: Sequence[Run]) -> PlannedRun:
    if isinstance(found, str):
        return PlannedRun(run, None, settled_run_id(run, placeholder_fingerprint(run), runs), found)
    return PlannedRun(run, found, settled_run_id(run, found.fingerprint, runs) if found.fingerprint else "")


def placeholder_fingerprint(run: Run) -> str:
    """Return what stands for the fingerprint of data that cannot be had."""
    return f"unavailable: {' '.join(_dataset(run))}"


def settled_run_id(run: Run, fingerprint: str, runs: Sequence[Run]) -> str:
    """Return the key of a run; where results of others settle it, it depends on their keys, but for the optimum."""
    needed = sources(run, runs)
    settling = [*(needed[kind] for kind in _INDISPENSABLE if kind in needed), *tuning_runs(run).values()]
    return run_id(run, fingerprint, [run_id(each, fingerprint) for each in settling])


def keep_unavailable(planned: PlannedRun, runs: Sequence[Run], store: Store) -> PlannedRun:
    """Keep a run marked unavailable if its data are not requested this time."""
    if planned.description is None or not planned.description.missing:
        return planned
    key = settled_run_id(planned.run, placeholder_fingerprint(planned.run), runs)
    row = store.row(key)
    return planned if row is None else PlannedRun(planned.run, None, key, row["reason"])


def needs_of(planned: Sequence[PlannedRun]) -> dict[str, dict[str, str]]:
    """Return, for every run that has a key, the keys of the runs whose results it needs."""
    keys = {id(each.run): each.run_id for each in planned}
    runs = [each.run for each in planned]
    return {
        each.run_id: {kind: keys[id(source)] for kind, source in sources(each.run, runs).items()}
        for each in planned
        if each.run_id
    }


def with_needed(chosen: Iterable[str], needs: Needs) -> set[str]:
    """Return the keys of the chosen runs and of all that they need, directly or through others."""
    found: set[str] = set()
    waiting = list(chosen)
    while waiting:
        if (key := waiting.pop()) not in found:
            found.add(key)
            waiting += needs[key].values()
    return found


def filter_already_run(
    planned: Iterable[PlannedRun], wanted: Collection[str], done: Collection[str]
) -> list[PlannedRun]:
    """Return the wanted runs that are not done; of those that have one result, the first."""
    missing: dict[str, PlannedRun] = {}
    for each in planned:
        if each.run_id in wanted and each.run_id not in done:
            missing.setdefault(each.run_id, each)
    return list(missing.values())


def order(keys: Collection[str], needs: Needs) -> TopologicalSorter[str]:
    """Return the order in which runs can be made: each after those of them that it needs."""
    return TopologicalSorter({key: [each for each in needs[key].values() if each in keys] for key in keys})


def execute(
    experiment: Experiment,
    runs: Sequence[Run],
    chosen: Sequence[Run],
    home: DataHome,
    folder: Path,
    pool: Pool,
    listener: Listener,
    force: bool = False,
) -> bool:
    """Make the chosen runs that have no result yet, and keep each as soon as it is finished.

    Parameters
    ----------
    experiment : Experiment
    runs : sequence of Run
        The whole plan: what the tables are made of.
    chosen : sequence of Run
        Those of it to make now; what they need of others is made as well.
    home : DataHome
    folder : Path
        ``results/<name>``.
    pool : Pool
    listener : Listener
    force : bool
        Make runs again that have a result.

    Returns
    -------
    bool
        Whether every chosen run has a result.

    Raises
    ------
    StoreError
        If the folder cannot be used, holds results of another config, or another process is running into it.
    """
    busy = StoreError(
        f"{folder}: another mpu-bench is running into this folder; wait for it, or choose another with --results"
    )
    with (
        files.process_lock(folder / ".lock", busy, lambda fault: _unwritable(folder, fault)),
        Store(folder, create=True) as store,
    ):
        check_config(experiment, store)
        planned = [keep_unavailable(each, runs, store) for each in prepare_data(runs, chosen, home, listener.progress)]
        marks = marks_of(experiment, runs)
        pairs = {each.run.dataset.label: each.description.pairs for each in planned if each.description}
        store.save_plan(
            [each.record() | mark for each, mark in zip(planned, marks, strict=True)],
            facts_of(experiment, folder) | {"pairs": pairs},
        )
        needs = needs_of(planned)
        selected = set(map(id, chosen))
        wanted = with_needed((each.run_id for each in planned if id(each.run) in selected), needs)
        missing = filter_already_run(planned, wanted, () if force else store.finished())
        listener.planned(len(missing), len(wanted) - len(missing))
        _Session(experiment, home, store, pool, listener, needs).make(missing)
        return wanted <= store.finished()


def _unwritable(folder: Path, fault: OSError) -> StoreError:
    return StoreError(f"{folder}: cannot be written: {fault.strerror}; choose another with --results")


@dataclass(frozen=True)
class _Started:
    """A run that is on its way to its row: what was planned, and what the row says of it besides its outcome."""

    planned: PlannedRun
    columns: Mapping[str, Any] = field(default_factory=dict)
    notes: Sequence[str] = ()


@dataclass
class _Session:
    """One invocation: where runs are made and where their results go."""

    experiment: Experiment
    home: DataHome
    store: Store
    pool: Pool
    listener: Listener
    needs: Needs
    _started: dict[str, _Started] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._machine = environment.describe(self.experiment.threads, self.experiment.kernel_memory)
        self._fastest_probe = self.store.fastest_probe(self._machine["id"])
        kinds = ("optimum", "nu")
        self._optima = {needed[kind] for needed in self.needs.values() for kind in kinds if kind in needed}

    def make(self, missing: Sequence[PlannedRun]) -> None:
        """Make runs, each as soon as what it needs is there, in the order of the plan where there is a choice."""
        places = {each.run_id: place for place, each in enumerate(missing)}
        sorter = order(places, self.needs)
        sorter.prepare()
        ready: list[str] = []
        try:
            while sorter.is_active():
                ready = sorted([*ready, *sorter.get_ready()], key=places.__getitem__)
                if ready and self.pool.has_room:
                    outcome = self._begin(missing[places[ready.pop(0)]])
                else:
                    outcome = self.pool.next_outcome(self._pass_on)
                    self._save_optimum(outcome)
                if outcome is not None:
                    self._save(outcome)
                    sorter.done(outcome.task.run_id)
        except BaseException:
            self.pool.close()  # what is under way belongs to nobody now
            raise

    def _begin(self, planned: PlannedRun) -> Outcome | None:
        """Hand a run to the pool, unless what comes of it is known: then return that."""
        rows = self._rows_needed(planned)
        results = {
            kind: row
            for kind, row in rows.items()
            if kind in _TAKEN and row["status"] in FINISHED and row[_TAKEN[kind]] is not None
        }
        tuned = select_best(planned.run, rows)
        run, notes = with_results_of_others(tuned.run, results)
        optimum = results["optimum"]["dual_objective"] if "optimum" in results else None
        task = Task(planned.run_id, run, self.home, self.experiment.limits, optimum, self._fastest_probe)
        fault = tuned.fault or _missing_result(planned.run, rows, results)
        if known := self._known_outcome(planned, fault, task):
            self._started[planned.run_id] = _Started(planned)
            return known
        self._started[planned.run_id] = _Started(planned, tuned.columns, [*tuned.notes, *notes])
        self.pool.submit(task)
        self._pass_on(task, Phase("starting"))
        return None

    def _rows_needed(self, planned: PlannedRun) -> dict[str, dict[str, Any]]:
        """Return what became of the runs that this one needs, as far as they have come."""
        rows = {kind: self.store.row(key) for kind, key in self.needs[planned.run_id].items()}
        return {kind: row for kind, row in rows.items() if row is not None}

    def _known_outcome(self, planned: PlannedRun, fault: str, task: Task) -> Outcome | None:
        if planned.unavailable:
            return Outcome(task, {"status": "unavailable", "reason": planned.unavailable}, [])
        if fault:
            return Outcome(task, {"status": "error", "reason": fault}, [])
        kept = self._load_optimum(planned.run_id)
        return None if kept is None else Outcome(task, *kept)

    def _pass_on(self, task: Task, news: News) -> None:
        self.listener.news(self._started[task.run_id].planned.run, news)

    def _save(self, outcome: Outcome) -> None:
        key = outcome.task.run_id
        started = self._started.pop(key)
        record = started.planned.record() | {name: value for name, value in outcome.record.items() if value is not None}
        record |= started.columns
        record["reason"] = "; ".join(filter(None, [record["reason"], *started.notes]))
        self.store.save(record, outcome.checkpoints, self._machine)
        self.listener.finished(started.planned.run, record)

    def _optimum_path(self, key: str) -> Path:
        return self.home.folder / "optima" / f"{key}.json"

    def _load_optimum(self, key: str) -> tuple[dict[str, Any], list[dict[str, Any]]] | None:
        """Read the optimum of an earlier experiment; optima are kept beside the prepared data."""
        if key not in self._optima:
            return None
        try:
            kept = json.loads(self._optimum_path(key).read_text(encoding="utf-8"))
            return kept["record"], kept["checkpoints"]
        except (OSError, ValueError, KeyError):
            return None

    def _save_optimum(self, outcome: Outcome) -> None:
        if outcome.task.run_id not in self._optima or outcome.record["status"] not in FINISHED:
            return
        path = self._optimum_path(outcome.task.run_id)
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write_text(path, json.dumps({"record": outcome.record, "checkpoints": outcome.checkpoints}))


def _missing_result(run: Run, rows: Mapping[str, Any], results: Mapping[str, Any]) -> str:
    """Return which result it is that a run cannot be made without, if there is one."""
    kinds = (*_INDISPENSABLE, *(["optimum"] if run.settings.stop.suboptimality is not None else []))
    missing = [kind for kind in kinds if kind in rows and kind not in results]
    return f"needs {_TAKEN[missing[0]]} of {rows[missing[0]]['solver']}, which failed" if missing else ""
