"""The plan of an experiment: its list of runs, which of them need the results of others, and the keys of their results.

The key of a result depends on the content of the data: without them, a run has none.
"""

from __future__ import annotations

import traceback
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from graphlib import TopologicalSorter
from operator import attrgetter
from typing import Any, NamedTuple

from mpu_bench import solvers
from mpu_bench.config.choices import Experiment, SolverChoice
from mpu_bench.config.schema import Checkpoints, Limits, Stop
from mpu_bench.data.cards import catalog
from mpu_bench.data.download.cache import DataDirectory
from mpu_bench.data.download.progress import Progress
from mpu_bench.data.prepare.load import Description, describe
from mpu_bench.errors import ConfigError, UserError, nearest
from mpu_bench.experiment import machine_code
from mpu_bench.experiment.pool import Pool
from mpu_bench.experiment.run import Run, RunSettings, record_of, run_id, settings_id, trial_name
from mpu_bench.quantities import Record
from mpu_bench.results.naming import problem_of
from mpu_bench.results.provenance import Needs
from mpu_bench.results.store import Store
from mpu_bench.scaled import Derived, Scaled
from mpu_bench.solvers.batch.regularization import kernel_optimum
from mpu_bench.solvers.plugins.importing import OF_THE_PROBLEM

#: what runs may be chosen by -> where a run has it
FILTERS = {
    "solver": attrgetter("solver.name"),
    "dataset": attrgetter("dataset.label"),
    "split": attrgetter("dataset.split"),
    "kernel": attrgetter("solver.kernel.name"),
    "seed": attrgetter("seed"),
    "budget": attrgetter("solver.vectors"),
}
OPTIMUM_SOLVERS = ("optimum", "kernel-optimum")
_SELDOM = Checkpoints(first=1.0, per_decade=1)  # of runs that tune


def plan(experiment: Experiment) -> Plan:
    """Return every run, dataset by dataset so that each is loaded once; those that others need come first."""
    runs = Plan()
    for dataset in experiment.datasets:
        here = [
            replace(solver, only_for=None) for solver in experiment.solvers if solver.only_for in (None, dataset.label)
        ]
        of_dataset = [
            Run(experiment.name, dataset, solver=solver, settings=settings, seed=seed)
            for solver, settings in [(solver, _settings(experiment, solver)) for solver in here]
            for seed in experiment.seeds_on.get(dataset.label, experiment.seeds)
        ]
        tuning = [
            tuning_run
            for run in of_dataset
            if run.seed == experiment.seeds[0]
            for tuning_run in _tuning_runs(run).values()
        ]
        optima = map(optimum_of, of_dataset) if experiment.optimum else ()
        for run in filter(None, (*tuning, *optima, *map(nu_of, of_dataset), *of_dataset)):
            runs.add(run)
    return runs


class Mark(NamedTuple):
    """The columns of a run that say whether it is as the config says, and else what changed."""

    as_published: int
    overridden: str


def marks_of(experiment: Experiment, runs: Plan) -> list[Mark]:
    """Return the marks of the runs of a plan: whether their settings, seed aside, are among those of the config.

    Beside other runs no published number may stand.
    """
    if not experiment.overridden:
        return [Mark(1, "")] * len(runs)
    written = set(_settings_ids(plan(experiment.unchanged))) if experiment.unchanged is not None else set()
    return [Mark(1, "") if key in written else Mark(0, experiment.overridden) for key in _settings_ids(runs)]


def _settings_ids(runs: Plan) -> list[str]:
    """Return `settings_id` of every run, computed once for all seeds of a solver."""
    keys = [(id(run.dataset), id(run.solver), id(run.settings)) for run in runs]
    known = {key: settings_id(run, runs.of_seconds(run)) for key, run in dict(zip(keys, runs, strict=True)).items()}
    return [known[key] for key in keys]


def _settings(experiment: Experiment, solver: SolverChoice) -> RunSettings:
    stop = experiment.stop
    if stop.seconds_of is not None and stop.seconds_of.solver == solver.name:  # which says how long the others may take
        stop = stop.model_copy(update={"seconds_of": None})
    return RunSettings(
        stop,
        experiment.checkpoints,
        experiment.threads,
        kernel_memory=experiment.kernel_memory,
        timed_on_shared_rows=experiment.kernel_matrix == "shared" and experiment.stop.is_timed,
    )


def _tuning_runs(run: Run) -> dict[str, Run]:
    """Return the runs that try what is to be tuned for a run, by `run.trial_name`."""
    tuning = run.solver.tuning
    if tuning is None:
        return {}
    stop = run.settings.stop.model_copy(update={"suboptimality": None, "seconds_of": None})
    checkpoints = _SELDOM if stop.gap is None else run.settings.checkpoints
    settings = replace(run.settings, stop=stop, checkpoints=checkpoints)
    return {
        trial_name(number, part): replace(
            run,
            solver=SolverChoice(tuning.solver, candidate.tried, candidate.kernel, candidate.tried.get("vectors")),
            settings=settings,
            seed=trial.seed,
            trial=trial,
        )
        for number, candidate in enumerate(tuning.candidates)
        for part, trial in enumerate(tuning.trials)
    }


def optimum_of(run: Run) -> Run | None:
    """Return the run whose result is the optimum that this run's objective is set against."""
    name, parameters, kernel = run.solver.name, run.solver.parameters, run.solver.kernel
    if name in OPTIMUM_SOLVERS or run.solver.tuning is not None or run.trial is not None:
        return None
    optimum = solvers.load(name).optimum_solver(parameters, kernel.is_linear)
    if optimum is None:
        return None
    of_the_problem = {name: value for name, value in parameters.items() if name in OF_THE_PROBLEM}
    return _optimum_run(run, optimum[0], optimum[1] | of_the_problem)


def nu_of(run: Run) -> Run | None:
    """Return the run whose result is the nu of ``nu: {from-regularization: ...}``."""
    nu = run.solver.parameters.get("nu")
    if not isinstance(nu, Derived):
        return None

    bias = run.solver.parameters.get("bias", False)
    return _optimum_run(run, *kernel_optimum({"regularization": nu.regularization}, bias))


def _optimum_run(run: Run, solver: str, parameters: dict[str, Any]) -> Run:
    defaults = {field.name: field.default for field in fields(solvers.load(solver))}
    choice = SolverChoice(solver, defaults | parameters, run.solver.kernel)
    settings = RunSettings(kernel_memory=run.settings.kernel_memory)
    return replace(run, solver=choice, settings=settings, seed=0)


class Plan(list[Run]):
    """The runs of an experiment in their order, which finds those whose results another needs.

    Parameters
    ----------
    runs : iterable of Run
    """

    def __init__(self, runs: Iterable[Run] = ()) -> None:
        super().__init__()
        self._by_solver: dict[tuple[Any, ...], list[Run]] = {}
        self._by_parameters: dict[tuple[Any, ...], list[Run]] = {}
        for run in runs:
            self.add(run)

    def add(self, run: Run) -> None:
        """Add a run behind the others, unless it is there already: what a config lists twice is one run."""
        alike = self._by_parameters.setdefault(_parameters_key(run), [])
        if run not in alike:
            alike.append(run)
            self._by_solver.setdefault(_solver_key(run, run.solver.name), []).append(run)
            self.append(run)

    def needed(self, run: Run) -> dict[str, Run]:
        """Return the runs whose results a run needs: its ``optimum``, its ``nu``, the ``seconds`` it gets a part of.

        And the runs by which it is tuned, by `run.trial_name`.
        """
        sources = {
            "optimum": self._same(optimum_of(run)),
            "nu": self._same(nu_of(run)),
            "seconds": self.of_seconds(run),
        }
        sources |= {name: self._same(tuning_run) for name, tuning_run in _tuning_runs(run).items()}
        return {kind: source for kind, source in sources.items() if source is not None}

    def of_seconds(self, run: Run) -> Run | None:
        """Return the run that says how many seconds a run gets, if one does."""
        share = run.settings.stop.seconds_of
        if share is None:
            return None

        def problem(other: Run) -> tuple[Any, ...]:
            return other.dataset, other.trial, other.solver.kernel, replace(other.settings, stop=Stop())

        alike = self._by_solver.get(_solver_key(run, share.solver), ())
        return next((other for other in alike if problem(other) == problem(run)), None)

    def _same(self, wanted: Run | None) -> Run | None:
        """Find a run on the same data, whatever they are called."""
        if wanted is None:
            return None
        alike = self._by_parameters.get(_parameters_key(wanted), ())
        label = wanted.dataset.label
        return next((run for run in alike if replace(run, dataset=replace(run.dataset, label=label)) == wanted), None)


def _solver_key(run: Run, solver: str) -> tuple[Any, ...]:
    """Return what is equal for runs that may be of the same data, with that solver."""
    return solver, run.dataset.name, run.dataset.split, run.seed


def _parameters_key(run: Run) -> tuple[Any, ...]:
    """Return what is equal for equal runs, and for few others."""
    solver, kernel = run.solver, run.solver.kernel
    names = (*_solver_key(run, solver.name), kernel.name, str(run.trial))
    return *names, _hashable(solver.parameters), _hashable(kernel.parameters)


def _hashable(values: Mapping[str, Any]) -> frozenset[Any]:
    """Return the same for equal values; those that have no hash, such as lists of a plugin's, are left out."""
    return frozenset(item for item in values.items() if isinstance(item[1], int | float | str | Scaled | Derived))


def only(runs: Sequence[Run], filters: Sequence[str]) -> list[Run]:
    """Return the runs that match every filter, such as ``solver=mpu`` or ``dataset=adult,web``.

    Raises
    ------
    ConfigError
        If a filter is not of that form, or leaves nothing.
    """
    selected = list(runs)
    for condition in filters:
        key, equals, values = condition.partition("=")
        if not equals or key not in FILTERS:
            raise ConfigError(f"--only {condition}: must be KEY=VALUE, with KEY one of {', '.join(FILTERS)}")
        known = {str(FILTERS[key](run)) for run in runs}
        wanted = [values] if values in known else values.split(",")  # a label may hold a comma
        for value in wanted:
            if value not in known:
                raise ConfigError(
                    f"--only {condition}: no run has {key} '{value}': {nearest(value, known - {'None', ''})}"
                )
        selected = [run for run in selected if str(FILTERS[key](run)) in wanted]
    if not selected:
        keys = [condition.partition("=")[0] for condition in filters]
        twice = next((key for key in keys if keys.count(key) > 1), None)
        raise ConfigError(
            f"--only {' --only '.join(filters)}: no run matches all conditions"
            + (f"; to match either, give --only {twice}=A,B" if twice else "")
        )
    return selected


# ------------------------------------------------------------------ keys of results

INDISPENSABLE = ("nu", "seconds")  #: results without which a run cannot be executed, and on which its key depends


@dataclass(frozen=True)
class PlannedRun:
    """A run of the plan, with the key of its result.

    ``run_id`` is empty while the data are not there: the key depends on their content. ``unavailable`` says why
    they are missing, or what the solver lacks here.
    """

    run: Run
    description: Description | None
    run_id: str
    unavailable: str = ""

    @property
    def code(self) -> str:
        """The key of the machine code that it needs; empty while its data are not there."""
        return machine_code.code_of(self.run, self.description.storage) if self.description else ""

    def is_settled(self, needs: Needs) -> bool:
        """Return whether its parameters are known before any other run is executed."""
        return self.run.solver.tuning is None and needs[self.run_id].keys().isdisjoint(INDISPENSABLE)

    def record(self) -> Record:
        """Return what is known of it before running."""
        solver, known, trial = self.run.solver, self.description, self.run.trial
        tried = (
            [candidate.parameters for candidate in solver.tuning.candidates] if solver.tuning else [solver.parameters]
        )
        is_whole = known is not None and (trial is None or trial.on_test_set)  # else the run says how many are held out
        return replace(
            record_of(self.run),
            n=known.n if known and is_whole else None,
            d=known.d if known else None,
            n_test=known.n_test if known and is_whole else None,
            classes=len(known.classes) if known and known.classes else None,
            problem=" or ".join(dict.fromkeys(problem_of(solver.name, parameters) for parameters in tried)),
            maximised=int(solvers.load(solver.name).is_maximised),
            run_id=self.run_id or None,
        )


def inspect(runs: Plan, home: DataDirectory) -> list[PlannedRun]:
    """Return each run with its description and key, without fetching, preparing or loading anything."""
    descriptions = {key: _describe(*named, home) for key, named in _datasets(runs).items()}
    return [_with_id(run, descriptions[run.dataset.key], runs) for run in runs]


def prepare_data(
    runs: Plan, chosen: Sequence[Run], home: DataDirectory, pool: Pool, limits: Limits, progress: Progress
) -> list[PlannedRun]:
    """Fetch and prepare the data of the chosen runs that can be executed; an unavailable dataset becomes a reason."""
    needed = _datasets([run for run in chosen if not solvers.not_installed(run.solver.name)])
    descriptions: dict[tuple[str, str], Description | str] = {}
    for key, named in _datasets(runs).items():
        described = _describe(*named, home)
        if key in needed and isinstance(described, Description) and described.state != "prepared":
            described = pool.prepare(*named, home, limits, progress) or _describe(*named, home)
        descriptions[key] = described
    return [_with_id(run, descriptions[run.dataset.key], runs) for run in runs]


def _datasets(runs: Sequence[Run]) -> dict[tuple[str, str], tuple[str, Mapping[str, Any]]]:
    return {run.dataset.key: (run.dataset.name, run.dataset.options) for run in runs}


def _describe(name: str, options: Mapping[str, Any], home: DataDirectory) -> Description | str:
    """Return what is known of a dataset, or why it is unavailable; an error in one does not stop the others."""
    try:
        return describe(catalog.card(name, options), home)
    except UserError as error:
        return str(error)
    except Exception as error:
        traceback.print_exc()
        return f"dataset {name}: {type(error).__name__}: {error}"


def _with_id(run: Run, described: Description | str, plan: Plan) -> PlannedRun:
    if isinstance(described, str):
        return PlannedRun(run, None, settled_run_id(run, placeholder_fingerprint(run), plan), described)
    missing = solvers.not_installed(run.solver.name)
    fingerprint = described.fingerprint or (placeholder_fingerprint(run) if missing else "")
    return PlannedRun(run, described, settled_run_id(run, fingerprint, plan) if fingerprint else "", missing)


def placeholder_fingerprint(run: Run) -> str:
    """Return what replaces the fingerprint of unavailable data."""
    return f"unavailable: {' '.join(run.dataset.key)}"


def settled_run_id(run: Run, fingerprint: str, plan: Plan) -> str:
    """Return the key of a run; where results of others settle it, it depends on their keys, but for the optimum."""
    settling = [source for kind, source in plan.needed(run).items() if kind != "optimum"]
    return run_id(run, fingerprint, [run_id(source, fingerprint) for source in settling])


def keep_unavailable(planned: PlannedRun, plan: Plan, store: Store) -> PlannedRun:
    """Keep a run marked unavailable if its data are not requested this time."""
    if planned.unavailable or planned.description is None or not planned.description.missing:
        return planned
    key = settled_run_id(planned.run, placeholder_fingerprint(planned.run), plan)
    row = store.row(key)
    return planned if row is None else PlannedRun(planned.run, None, key, row.reason)


def needs_of(planned: Sequence[PlannedRun], plan: Plan) -> dict[str, dict[str, str]]:
    """Return, for every run that has a key, the keys of the runs whose results it needs; of an unavailable one none."""
    keys = {id(planned_run.run): planned_run.run_id for planned_run in planned}
    needed = [(run, {} if run.unavailable else plan.needed(run.run)) for run in planned if run.run_id]
    return {run.run_id: {kind: keys[id(source)] for kind, source in sources.items()} for run, sources in needed}


def with_needed(chosen: Iterable[Any], needs: Mapping[Any, Mapping[str, Any]]) -> set[Any]:
    """Return the keys of the chosen runs and of all that they need, directly or through others."""
    keys: set[Any] = set()
    waiting = list(chosen)
    while waiting:
        if (key := waiting.pop()) not in keys:
            keys.add(key)
            waiting += needs[key].values()
    return keys


def filter_already_run(
    planned: Iterable[PlannedRun], wanted: Collection[str], done: Collection[str]
) -> list[PlannedRun]:
    """Return the wanted runs that are not done; of those that have one result, the first."""
    missing: dict[str, PlannedRun] = {}
    for planned_run in planned:
        if planned_run.run_id in wanted and planned_run.run_id not in done:
            missing.setdefault(planned_run.run_id, planned_run)
    return list(missing.values())


def order(keys: Collection[str], needs: Needs) -> TopologicalSorter[str]:
    """Return the order in which runs can be executed: each after those of them that it needs."""
    return TopologicalSorter({key: [source for source in needs[key].values() if source in keys] for key in keys})
