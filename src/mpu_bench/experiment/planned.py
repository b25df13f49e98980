"""The runs of a plan with the keys of their results: what each needs of others, and which are to be made.

The key of a result depends on the content of the data: without them, a run has none.
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import Any

from mpu_bench import solvers
from mpu_bench.config.schema import Limits
from mpu_bench.data.cards import catalog
from mpu_bench.data.download.cache import DataDirectory
from mpu_bench.data.download.progress import Progress
from mpu_bench.data.prepare.load import Description, describe
from mpu_bench.errors import UserError
from mpu_bench.experiment import machine_code
from mpu_bench.experiment.plan import Plan
from mpu_bench.experiment.pool import Pool
from mpu_bench.experiment.run import Run, run_id
from mpu_bench.experiment.tuning import tuning_runs
from mpu_bench.quantities import Record
from mpu_bench.results.naming import problem_of
from mpu_bench.results.provenance import Needs
from mpu_bench.results.store import Store
from mpu_bench.scaled import to_json

Dataset = tuple[str, str]  # the card's name and its options, as text

INDISPENSABLE = ("nu", "seconds")  #: results without which a run cannot be made, and on which its key depends


@dataclass(frozen=True)
class PlannedRun:
    """A run of the plan, with the key of its result.

    ``run_id`` is empty while the data are not there: the key depends on their content. ``unavailable`` says why
    they cannot be had, or what the solver lacks here.
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
        """Return whether its parameters are known before any other run is made."""
        return self.run.solver.tuning is None and needs[self.run_id].keys().isdisjoint(INDISPENSABLE)

    def record(self) -> Record:
        """Return what is known of it before running."""
        run, solver, known = self.run, self.run.solver, self.description
        trials = solver.tuning.trials if solver.tuning else [run.trial] if run.trial else []
        return Record(
            experiment=run.experiment,
            dataset=run.dataset.label,
            split=run.dataset.split or None,
            n=known.n if known else None,
            d=known.d if known else None,
            n_test=known.n_test if known else None,
            classes=len(known.classes) if known and known.classes else None,
            solver=solver.name,
            parameters=json.dumps(dict(solver.parameters), default=to_json),
            kernel=str(solver.kernel),
            budget_vectors=solver.vectors,
            trial=None if run.trial is None else str(run.trial),
            tuned=None if solver.tuning is None else str(solver.tuning),
            tuned_on_test=int(any(trial.on_test_set for trial in trials)),
            problem=problem_of(solver.name, solver.parameters),
            maximised=int(solvers.load(solver.name).is_maximised),
            seed=run.seed,
            run_id=self.run_id or None,
        )


def inspect(runs: Plan, home: DataDirectory) -> list[PlannedRun]:
    """Return what is there for each run, without fetching, preparing or loading anything."""
    found = {key: _describe(*named, home) for key, named in _datasets(runs).items()}
    return [_with_id(run, found[_dataset(run)], runs) for run in runs]


def prepare_data(
    runs: Plan, chosen: Sequence[Run], home: DataDirectory, pool: Pool, limits: Limits, progress: Progress
) -> list[PlannedRun]:
    """Fetch and prepare the data of the chosen runs that can be made; a dataset that cannot be had becomes a reason."""
    needed = _datasets([run for run in chosen if not solvers.not_installed(run.solver.name)])
    descriptions: dict[Dataset, Description | str] = {}
    for key, named in _datasets(runs).items():
        described = _describe(*named, home)
        if key in needed and isinstance(described, Description) and described.state != "prepared":
            described = pool.prepare(*named, home, limits, progress) or _describe(*named, home)
        descriptions[key] = described
    return [_with_id(run, descriptions[_dataset(run)], runs) for run in runs]


def _datasets(runs: Sequence[Run]) -> dict[Dataset, tuple[str, Mapping[str, Any]]]:
    return {_dataset(run): (run.dataset.name, run.dataset.options) for run in runs}


def _dataset(run: Run) -> Dataset:
    return run.dataset.name, json.dumps(dict(run.dataset.options), sort_keys=True)


def _describe(name: str, options: Mapping[str, Any], home: DataDirectory) -> Description | str:
    """Return what is known of a dataset, or why it cannot be had; its trouble is that of no other."""
    try:
        return describe(catalog.card(name, options), home)
    except UserError as fault:
        return str(fault)
    except Exception as fault:
        traceback.print_exc()
        return f"dataset {name}: {type(fault).__name__}: {fault}"


def _with_id(run: Run, described: Description | str, plan: Plan) -> PlannedRun:
    if isinstance(described, str):
        return PlannedRun(run, None, settled_run_id(run, placeholder_fingerprint(run), plan), described)
    missing = solvers.not_installed(run.solver.name)
    fingerprint = described.fingerprint or (placeholder_fingerprint(run) if missing else "")
    return PlannedRun(run, described, settled_run_id(run, fingerprint, plan) if fingerprint else "", missing)


def placeholder_fingerprint(run: Run) -> str:
    """Return what stands for the fingerprint of data that cannot be had."""
    return f"unavailable: {' '.join(_dataset(run))}"


def settled_run_id(run: Run, fingerprint: str, plan: Plan) -> str:
    """Return the key of a run; where results of others settle it, it depends on their keys, but for the optimum."""
    needed = plan.needed(run)
    settling = [*(needed[kind] for kind in INDISPENSABLE if kind in needed), *tuning_runs(run).values()]
    return run_id(run, fingerprint, [run_id(each, fingerprint) for each in settling])


def keep_unavailable(planned: PlannedRun, plan: Plan, store: Store) -> PlannedRun:
    """Keep a run marked unavailable if its data are not requested this time."""
    if planned.unavailable or planned.description is None or not planned.description.missing:
        return planned
    key = settled_run_id(planned.run, placeholder_fingerprint(planned.run), plan)
    row = store.row(key)
    return planned if row is None else PlannedRun(planned.run, None, key, row.reason)


def needs_of(planned: Sequence[PlannedRun], plan: Plan) -> dict[str, dict[str, str]]:
    """Return, for every run that has a key, the keys of the runs whose results it needs."""
    keys = {id(each.run): each.run_id for each in planned}
    return {
        each.run_id: {kind: keys[id(source)] for kind, source in plan.needed(each.run).items()}
        for each in planned
        if each.run_id
    }


def with_needed(chosen: Iterable[str], needs: Needs) -> set[str]:
    """Return the keys of the chosen runs and of all that they need, directly or through others."""
    keys: set[str] = set()
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
    for each in planned:
        if each.run_id in wanted and each.run_id not in done:
            missing.setdefault(each.run_id, each)
    return list(missing.values())


def order(keys: Collection[str], needs: Needs) -> TopologicalSorter[str]:
    """Return the order in which runs can be made: each after those of them that it needs."""
    return TopologicalSorter({key: [each for each in needs[key].values() if each in keys] for key in keys})
