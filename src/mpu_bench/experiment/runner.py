"""An experiment from its plan to its store: existing results are kept, missing ones are run.

`ChosenRuns` are the runs that a command or a program requests.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mpu_bench import files
from mpu_bench.config.choices import Experiment
from mpu_bench.config.read import Config, Say, read_config
from mpu_bench.config.schema import File
from mpu_bench.data.download.cache import DataDirectory
from mpu_bench.data.download.progress import SILENT, Progress
from mpu_bench.experiment import disturbance, environment, machine_code, plan, shared_matrix
from mpu_bench.experiment.bind import with_results_of_others
from mpu_bench.experiment.estimates import Estimates
from mpu_bench.experiment.facts import check_config, facts_of
from mpu_bench.experiment.messages import News, Task
from mpu_bench.experiment.optima import OptimaCache
from mpu_bench.experiment.options import ReproduceOptions, RunOptions
from mpu_bench.experiment.plan import (
    INDISPENSABLE,
    OPTIMUM_SOLVERS,
    Plan,
    PlannedRun,
    filter_already_run,
    keep_unavailable,
    marks_of,
    needs_of,
    order,
    prepare_data,
    with_needed,
)
from mpu_bench.experiment.pool import Outcome, Pool
from mpu_bench.experiment.run import Run
from mpu_bench.experiment.tuning import select_best
from mpu_bench.quantities import FINISHED, Record, RunStatus
from mpu_bench.results.machines import located, machine_of
from mpu_bench.results.provenance import MadeFrom, Needs
from mpu_bench.results.saved_models import model_file
from mpu_bench.results.store import MATRICES, Store, folder_lock, refuse_kept
from mpu_bench.texts import counted

#: what of a result is taken
_TAKEN = {"optimum": "dual_objective", "nu": "nu", "seconds": "train_seconds"}
_WITH_VALUES = (*FINISHED, RunStatus.PROVISIONAL)


@dataclass(frozen=True)
class Todo:
    """The runs of an experiment that are about to be executed.

    Attributes
    ----------
    plan : sequence of Run
        All its runs.
    runs : sequence of Run
        Those that are executed now.
    finished : int
        How many of the chosen runs have a result.
    seconds : sequence of float or None
        About how long each run takes, where that is known.
    """

    plan: Sequence[Run]
    runs: Sequence[Run]
    finished: int
    seconds: Sequence[float | None]


@dataclass
class Listener:
    """What a caller may receive while an experiment runs; every function may be replaced."""

    progress: Progress = SILENT
    planned: Callable[[Todo], None] = lambda _todo: None
    news: Callable[[Run, News], None] = lambda _run, _news: None
    finished: Callable[[Run, Record], None] = lambda _run, _record: None


@dataclass(frozen=True)
class ChosenRuns:
    """An experiment, its whole plan, the runs of it to execute, and how.

    Attributes
    ----------
    experiment : Experiment
    plan : Plan
        All its runs: those of the tables.
    runs : sequence of Run
        Those of it to execute now; the runs that they need are executed as well.
    options : RunOptions or ReproduceOptions
    load : float
        That of the machine before there were workers, as `disturbance.load_of_others` returns it.
    """

    experiment: Experiment
    plan: Plan
    runs: Sequence[Run]
    options: RunOptions | ReproduceOptions
    load: float = math.nan

    @property
    def folder(self) -> Path:
        """Where the results go."""
        return self.options.folder / self.experiment.name

    @property
    def indices(self) -> Collection[int] | None:
        """The indices of the runs in the plan; None where they are the whole plan."""
        if len(self.runs) == len(self.plan):
            return None
        chosen = set(map(id, self.runs))
        return {index for index, run in enumerate(self.plan) if id(run) in chosen}

    def make(self, pool: Pool, listener: Listener, say: Say) -> bool:
        """Execute the runs that have no result yet; return whether every one has a valid result.

        ``say`` reports why seconds may not be compared.
        """
        threads, jobs = self.experiment.threads, self.options.jobs
        pool.use_threads(threads)
        if busy := disturbance.warning(self.load, jobs * threads):
            say(busy)
        if jobs > 1:
            say(f"{jobs} parallel runs share this machine: do not compare their seconds with those of single runs")
        return execute(self, pool, listener)


def execute(chosen: ChosenRuns, pool: Pool, listener: Listener) -> bool:
    """Execute the chosen runs that have no result yet, and store each as soon as it is finished.

    Returns
    -------
    bool
        Whether every chosen run has a valid result.

    Raises
    ------
    StoreError
        If the folder cannot be used, holds results of another config, or another process is running into it.
    """
    experiment, runs, home, folder = chosen.experiment, chosen.plan, chosen.options.home, chosen.folder
    refuse_kept(folder)
    with folder_lock(folder), Store(folder, create=True) as store:
        check_config(experiment, store)
        if store.is_bare():
            pool.get_ready()  # while the runs are planned
        prepared = prepare_data(
            runs, chosen.runs, home=home, pool=pool, limits=experiment.limits, progress=listener.progress
        )
        planned = [keep_unavailable(planned_run, runs, store) for planned_run in prepared]
        marks = marks_of(experiment, runs)
        pairs = {
            planned_run.run.dataset.label: planned_run.description.pairs
            for planned_run in planned
            if planned_run.description
        }
        store.save_plan(
            [replace(planned_run.record(), **mark._asdict()) for planned_run, mark in zip(planned, marks, strict=True)],
            facts_of(experiment, folder) | {"pairs": pairs},
        )
        needs = needs_of(planned, runs)
        selected = set(map(id, chosen.runs))
        wanted = with_needed((planned_run.run_id for planned_run in planned if id(planned_run.run) in selected), needs)
        done = set() if chosen.options.force else store.finished(needs)
        saved_to = model_files(chosen, planned)
        if again := without_model(saved_to, done, store):
            listener.progress.note(f"re-run, because they have no saved model: {counted(len(again), 'run')}")
        missing = filter_already_run(planned, wanted, done - again)
        todo = [planned_run.run for planned_run in missing]
        seconds: list[float | None] = []
        if missing:
            estimates = Estimates(experiment, runs, store.records(earlier=True))
            seconds = [estimates.expected(run).total_seconds for run in todo]
        listener.planned(Todo(runs, todo, len(wanted) - len(missing), seconds))
        if missing:
            pool.get_ready()  # while the machine is described
            codes = {planned_run.code: planned_run.run for planned_run in missing if planned_run.is_settled(needs)}
            machine_code.compile_ahead(codes, home, limits=experiment.limits, pool=pool, progress=listener.progress)
            groups = _groups(experiment, planned, done, store)
            matrices = folder.absolute() / MATRICES
            shared_matrix.remove(matrices)  # of a session that was killed
            session = _Session(
                experiment,
                home,
                store=store,
                pool=pool,
                listener=listener,
                needs=needs,
                model_files=saved_to,
                groups=groups,
                matrices=matrices,
            )
            try:
                session.make(missing)
            finally:
                shared_matrix.remove(matrices)
        return wanted <= store.finished(needs)


def model_files(chosen: ChosenRuns, planned: Sequence[PlannedRun]) -> dict[str, list[Path]]:
    """Return where the models of the chosen runs are saved, by the keys of the runs; trials and optima have none.

    Runs of the same data by two names have one key, and a file by each name.
    """
    paths: dict[str, list[Path]] = {}
    selected = set(map(id, chosen.runs)) if chosen.options.save_models else set()
    for planned_run in planned:
        is_saved = (
            planned_run.run.trial is None and planned_run.run_id and planned_run.run.solver.name not in OPTIMUM_SOLVERS
        )
        if is_saved and id(planned_run.run) in selected:
            paths.setdefault(planned_run.run_id, []).append(model_file(chosen.folder.absolute(), planned_run.record()))
    return paths


def _groups(
    experiment: Experiment, planned: Sequence[PlannedRun], done: Collection[str], store: Store
) -> dict[str, tuple[str, str]]:
    """Return, by the keys of the runs whose seconds are compared, the group that belongs on one machine.

    That is its name, and the host that has run some of it before.
    """
    if not experiment.is_timed:
        return {}
    hosts = {machine["id"]: machine.get("host", "") for machine in store.environments()}
    names, before = {}, dict[str, str]()
    for planned_run in planned:
        run = planned_run.run
        if run.solver.name not in OPTIMUM_SOLVERS:
            names[planned_run.run_id] = f"{run.dataset.label} {run.dataset.split} {run.seed}"
            if any(hosts.values()) and planned_run.run_id in done and (row := store.row(planned_run.run_id)):
                before.setdefault(names[planned_run.run_id], hosts.get(row.machine, ""))
    return {key: (name, before.get(name, "")) for key, name in names.items()}


def without_model(model_files: Mapping[str, Sequence[Path]], done: Collection[str], store: Store) -> set[str]:
    """Return the keys of runs that are done and whose model is not there, though it can be saved."""
    lacking = {key for key, paths in model_files.items() if key in done and not all(map(files.is_file, paths))}
    return {key for key in lacking if not (row := store.row(key)) or not row.unsavable}


@dataclass(frozen=True)
class _Started:
    """A run under way: what was planned, and what its row says besides its outcome.

    ``lacking`` lists the results that it needs and does without.
    """

    planned: PlannedRun
    made_from: MadeFrom
    columns: Mapping[str, Any] = field(default_factory=dict)
    notes: Sequence[str] = ()
    lacking: Sequence[str] = ()


@dataclass
class _Session:
    """One invocation: where runs are executed and where their results go."""

    experiment: Experiment
    home: DataDirectory
    store: Store
    pool: Pool
    listener: Listener
    needs: Needs
    model_files: Mapping[str, Sequence[Path]]
    groups: Mapping[str, tuple[str, str]]
    matrices: Path
    _started: dict[str, _Started] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._machine = environment.describe(self.experiment.threads, self.experiment.kernel_memory)
        stored = located(self.store.records(earlier=True), self.store.environments())
        here = machine_of(self._machine)  # whatever its versions, on which no probe depends
        probes = [run.probe_seconds for run in stored if run.made_on == here is not None and run.probe_seconds]
        self._fastest_probe = min(probes, default=math.inf)
        self._cache = OptimaCache(self.home.folder, self.listener.progress.note)
        kinds = ("optimum", "nu")
        self._sources = {key for needed in self.needs.values() for key in needed.values()}
        self._optima = {needed[kind] for needed in self.needs.values() for kind in kinds if kind in needed}

    def make(self, missing: Sequence[PlannedRun]) -> None:
        """Execute runs, each as soon as the results that it needs exist, otherwise in the order of the plan."""
        indices = {planned_run.run_id: index for index, planned_run in enumerate(missing)}
        sorter = order(indices, self.needs)
        sorter.prepare()
        ready: list[int] = []
        try:
            while sorter.is_active():
                for key in sorter.get_ready():
                    heapq.heappush(ready, indices[key])
                outcomes: list[Outcome | None] = []
                try:
                    if not ready or not self.pool.has_room:
                        outcome = self.pool.next_outcome(
                            lambda task, news: self.listener.news(self._started[task.run_id].planned.run, news)
                        )
                        outcomes.append(outcome)
                        if outcome.environment is None:  # of this machine, and for workers that start later
                            self._fastest_probe = min(self._fastest_probe, outcome.record.probe_seconds or math.inf)
                        if outcome.task.run_id in self._optima and outcome.record.is_finished:
                            made_on = outcome.environment or self._machine
                            self._cache.save(outcome.task.run_id, (outcome.record, outcome.checkpoints, made_on))
                    # while that is saved the next one runs, unless one that comes before it waits for what is saved
                    awaited = any(outcome and outcome.task.run_id in self._sources for outcome in outcomes)
                    if ready and self.pool.has_room and not awaited:
                        outcomes.append(self._begin(missing[heapq.heappop(ready)]))
                finally:  # whatever interrupts the next one
                    for outcome in filter(None, outcomes):
                        self._save(outcome)
                        sorter.done(outcome.task.run_id)
        except BaseException:
            self.pool.close()  # what is under way belongs to nobody now
            raise

    def _begin(self, planned: PlannedRun) -> Outcome | None:
        """Hand a run to the pool, unless what comes of it is known: then return that."""
        stored = {kind: self.store.row(key) for kind, key in self.needs[planned.run_id].items()}
        rows = {kind: row for kind, row in stored.items() if row is not None}
        results = {
            kind: row
            for kind, row in rows.items()
            if kind in _TAKEN and row.status in _WITH_VALUES and row.value(_TAKEN[kind]) is not None
        }
        tuned = select_best(planned.run, rows)
        run, notes = with_results_of_others(tuned.run, results)
        optimum = results.get("optimum", Record())
        group, host = self.groups.get(planned.run_id, ("", ""))
        task = Task(
            planned.run_id,
            run,
            home=self.home,
            limits=self.experiment.limits,
            optimum=optimum.dual_objective,
            optimum_gap=optimum.gap or 0.0,
            fastest_probe=self._fastest_probe,
            model_files=self.model_files.get(planned.run_id, ()),
            fingerprint=(planned.description and planned.description.fingerprint) or "",
            group=group,
            host=host,
            matrices=self.matrices if self.experiment.kernel_matrix == "shared" else None,
            code=planned.code,
        )
        failure = tuned.failure or _missing_result(planned.run, rows, results)
        made_from = self.store.made_from(self.needs[planned.run_id])
        if known := self._known_outcome(planned, failure, task):
            self._started[planned.run_id] = _Started(planned, made_from)
            return known
        self._started[planned.run_id] = _Started(
            planned,
            made_from,
            columns=tuned.columns,
            notes=[*tuned.notes, *notes],
            lacking=[*_lacking(rows, results), *tuned.notes],
        )
        self.pool.submit(task)
        return None

    def _known_outcome(self, planned: PlannedRun, failure: str, task: Task) -> Outcome | None:
        if planned.unavailable:
            return Outcome(task, Record(status=RunStatus.UNAVAILABLE, reason=planned.unavailable), [])
        if failure:
            return Outcome(task, Record(status=RunStatus.ERROR, reason=failure), [])
        cached = self._cache.load(planned.run_id) if planned.run_id in self._optima else None
        return None if cached is None else Outcome(task, *cached)

    def _save(self, outcome: Outcome) -> None:
        started = self._started.pop(outcome.task.run_id)
        measured = outcome.record
        if started.lacking and measured.is_finished:
            measured = replace(measured, status=RunStatus.PROVISIONAL)
        reasons = [measured.reason, *started.lacking, *started.notes]
        record = replace(started.planned.record(), **{**measured.known(), **started.columns})
        record = replace(record, reason="; ".join(dict.fromkeys(filter(None, reasons))))
        stored = self.store.save(record, outcome.checkpoints, outcome.environment or self._machine, started.made_from)
        self.listener.finished(started.planned.run, stored)


def _lacking(rows: Mapping[str, Record], results: Mapping[str, Record]) -> list[str]:
    """Return which results a run does without, or takes though they are provisional, and why."""
    lacking = []
    for kind, taken in _TAKEN.items():
        if (row := rows.get(kind)) is None or (row.is_finished and kind in results):
            continue
        why = f"it has no {taken}" if row.is_finished else f"{row.status}: {row.reason}"
        lacking.append(f"{'made from' if kind in results else 'made without'} the {kind} of {row.solver}, {why}")
    return lacking


def _missing_result(run: Run, rows: Mapping[str, Record], results: Mapping[str, Record]) -> str:
    """Return the missing result without which a run cannot be executed; empty if none is missing."""
    kinds = (*INDISPENSABLE, *(["optimum"] if run.settings.stop.suboptimality is not None else []))
    missing = [kind for kind in kinds if kind in rows and kind not in results]
    return f"needs {_TAKEN[missing[0]]} of {rows[missing[0]].solver}, which failed" if missing else ""


def choose(config: Config, options: RunOptions, say: Say, load: float = math.nan) -> ChosenRuns:
    """Read a config and choose runs of it.

    Parameters
    ----------
    config : Path or mapping
        As `read_config` takes it.
    options : RunOptions
    say : function
        Called with which plugins are run, and with what users should read of their files.
    load : float
        See `ChosenRuns`.

    Raises
    ------
    ConfigError
    """
    keys = {name: value for name, value in vars(options).items() if name in File.model_fields}
    experiment = read_config(config, profile=options.profile, settings=list(options.settings), say=say, **keys)
    for line in dict.fromkeys(line for dataset in experiment.datasets for line in dataset.remarks):
        say(line)
    runs = plan.plan(experiment)
    return ChosenRuns(experiment, runs, plan.only(runs, list(options.only)), options=options, load=load)


@contextmanager
def opened(
    config: Config, options: RunOptions, say: Say, pool: Pool | None = None
) -> Iterator[tuple[ChosenRuns, Pool]]:
    """Yield the chosen runs of a config and the pool that executes them, which the context closes.

    Parameters
    ----------
    config, options, say
        As `choose` takes them.
    pool : Pool or None
        By default what the options name.
    """
    load = disturbance.load_of_others() if options.cluster is None else math.nan  # while there are no workers yet
    with pool or options.pool(say, options.threads or 1) as workers:
        yield choose(config, options, say, load), workers
