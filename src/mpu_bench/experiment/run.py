"""A run: one solver on one dataset with one seed; the key of its result, and what it is called among others.

Equal keys mean that a result may be reused. What the code does is in the key by versions that are raised by hand when a
result would come out otherwise, so that comments, names and moves make no result stale: `SHARED_VERSION` here, and
``version`` of each solver. Of a solver from a user file, where nobody keeps a version, the code of that
file is in the key; of one from an installed package, the version of that.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from mpu_bench import solvers
from mpu_bench.config.choices import DatasetChoice, SolverChoice, ValidationSplit
from mpu_bench.config.schema import Checkpoints, Stop
from mpu_bench.quantities import Record
from mpu_bench.scaled import short, to_json

#: of what every run shares: how it is traced, timed and evaluated, and what solvers stand on (core/)
SHARED_VERSION = 1


@dataclass(frozen=True)
class RunSettings:
    """The settings of a run that do not depend on its solver and its data.

    Attributes
    ----------
    stop : Stop
        What ends it besides the solver's own rule.
    checkpoints : Checkpoints
        When its model is evaluated.
    threads : int
    kernel_memory : int or None
        Bytes for kernel values that are kept; None: half of what is free, shared by the runs at a time.
    timed_on_shared_rows : bool
        Whether seconds end runs that share kernel rows: such a run gets further than one with rows of its own.
    """

    stop: Stop = field(default_factory=Stop)
    checkpoints: Checkpoints = field(default_factory=Checkpoints)
    threads: int = 1
    kernel_memory: int | None = None
    timed_on_shared_rows: bool = False


@dataclass(frozen=True)
class Run:
    """One solver on one dataset with one seed.

    Attributes
    ----------
    experiment : str
        The experiment's name.
    dataset : DatasetChoice
    solver : SolverChoice
        With its parameters and its kernel; what is tuned before the run is not among them.
    settings : RunSettings
    seed : int
    trial : ValidationSplit or None
        The rows it is on, if it only tries values for other runs.
    """

    experiment: str
    dataset: DatasetChoice
    solver: SolverChoice
    settings: RunSettings
    seed: int
    trial: ValidationSplit | None = None

    def __str__(self) -> str:
        return " ".join([self.data_name, self.solver.name, *self.described.values()])

    @property
    def data_name(self) -> str:
        """What its dataset is called, with its split if there are several."""
        return f"{self.dataset.label}-{self.dataset.split}" if self.dataset.split else self.dataset.label

    @property
    def described(self) -> dict[str, str]:
        """What there is to say of it besides its dataset and its solver: each parameter, the kernel, the seed, ..."""
        solver, kernel = self.solver, self.solver.kernel
        words = {name: f"{name}={short(value)}" for name, value in solver.parameters.items()}
        if kernel.name != "linear":
            words["kernel"] = str(kernel)
        words["seed"] = f"seed={self.seed}"
        if solver.tuning is not None:
            words["tuned"] = f"tuned: {', '.join(solver.tuning.names)}"
        if self.trial is not None:
            words["trial"] = f"tuning run: {self.trial}"
        return words


def record_of(run: Run) -> Record:
    """Return what is known of a run before its data are there."""
    solver = run.solver
    trials = solver.tuning.trials if solver.tuning else [run.trial] if run.trial else []
    return Record(
        experiment=run.experiment,
        dataset=run.dataset.label,
        split=run.dataset.split or None,
        solver=solver.name,
        parameters=json.dumps(dict(solver.parameters), default=to_json),
        kernel=str(solver.kernel),
        budget_vectors=solver.vectors,
        trial=None if run.trial is None else str(run.trial),
        tuned=None if solver.tuning is None else str(solver.tuning),
        tuned_on_test=int(any(trial.on_test_set for trial in trials)),
        seed=run.seed,
    )


class Names:
    """Names for runs: the dataset, the solver, and what differs between its runs.

    Parameters
    ----------
    runs : iterable of Run
        Those that stand together, such as a plan.
    """

    def __init__(self, runs: Iterable[Run]) -> None:
        self._runs: Counter[str] = Counter()
        self._with: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        for run in runs:
            self._runs[run.solver.name] += 1
            for name, words in run.described.items():
                self._with[run.solver.name, name][words] += 1

    def of(self, run: Run) -> str:
        """Return the name of one of the runs."""
        solver = run.solver.name
        shared = self._runs[solver]
        differing = [words for name, words in run.described.items() if self._with[solver, name][words] != shared]
        return " ".join([run.data_name, solver, *differing])


def trial_name(candidate: int, part: int) -> str:
    """Return the name, among the runs that a tuned run needs, of the one that tries a value on a part of the rows."""
    return f"trial {candidate}.{part}"


def run_id(run: Run, fingerprint: str, needed: Sequence[str] = ()) -> str:
    """Return the key of a run's result.

    It depends on the solver, its version and parameters, the kernel, the stopping rules, the checkpoints, the seed, the
    threads, the content of the data, and the keys of results that are ``needed`` before the run; not on names, order,
    other runs, or limits. What is at its default is left out, so that a new parameter or setting changes no key.

    Parameters
    ----------
    run : Run
    fingerprint : str
        Of the data.
    needed : sequence of str
    """
    from mpu_bench.kernels import KERNELS

    choice, settings = run.solver, run.settings
    solver = solvers.load(choice.name)
    of_solver = {field.name: field.default for field in fields(solver)}
    options = KERNELS[choice.kernel.name].options
    of_kernel = {name: field.default for name, field in options.model_fields.items()}
    content = {
        "solver": choice.name,
        "versions": _versions(choice.name, choice.parameters),
        "parameters": _without_defaults(choice.parameters, of_solver),
        "kernel": [choice.kernel.name, _without_defaults(choice.kernel.parameters, of_kernel)],
        "data": fingerprint,
        "seed": run.seed,
        "stop": settings.stop.model_dump(exclude_defaults=True),
        "checkpoints": settings.checkpoints.model_dump(exclude_defaults=True),
        "threads": settings.threads,
        "timed on shared rows": settings.timed_on_shared_rows,
        "needed": list(needed),
        "tuned by": choice.tuning and choice.tuning.metric,
        "trial": run.trial and str(run.trial),
    }
    text = json.dumps({name: value for name, value in content.items() if value}, sort_keys=True, default=to_json)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def settings_id(run: Run, seconds_of: Run | None = None) -> str:
    """Return the same for all runs that differ in nothing but their seed, whether their data are there or not.

    Parameters
    ----------
    run : Run
    seconds_of : Run or None
        The run that says how many seconds this one gets.
    """
    needed = [repr(run.solver.tuning), "" if seconds_of is None else settings_id(seconds_of)]
    return run_id(replace(run, seed=0), " ".join(run.dataset.key), needed)


def _without_defaults(values: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name not in defaults or value != defaults[name]}


def _versions(name: str, parameters: Mapping[str, Any]) -> list[int | str]:
    from mpu_bench.solvers.multiclass import Multiclass

    several = [Multiclass.version] if "multiclass" in parameters else []
    return [SHARED_VERSION, solvers.load(name).version_for(parameters), *several, *solvers.code_of(name)]
