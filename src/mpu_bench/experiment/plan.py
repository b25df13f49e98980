"""The plan of an experiment: its list of runs, and the key under which each result is kept."""

from __future__ import annotations

import ast
import hashlib
import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from mpu_bench import solvers
from mpu_bench.config.schema import (
    FROM_REGULARIZATION,
    OVER_EXAMPLES,
    Checkpoints,
    DatasetChoice,
    Experiment,
    KernelChoice,
    SolverChoice,
    Stop,
    Trial,
    Tuning,
    short,
)
from mpu_bench.errors import ConfigError, nearest
from mpu_bench.experiment.tuning import trials_of

FILTERS = ("solver", "dataset", "split", "kernel", "seed", "budget")


@dataclass(frozen=True)
class Run:
    """One solver on one dataset with one seed.

    Attributes
    ----------
    experiment : str
    dataset : str
        The card's name.
    options : mapping
        What overrides the card.
    label : str
        The dataset's name in tables.
    solver : str
    parameters : mapping
        One value for each parameter.
    kernel : KernelChoice
    vectors : int or None
        The budget, for solvers that live on one.
    seed : int
    stop : Stop
    checkpoints : Checkpoints
    threads : int
    plugins : tuple of Path
        Files that define solvers of the user's own.
    split : str
        Which split of the classes it is, of a sweep over them.
    kernel_memory : int or None
        Bytes for kernel values that are kept; None: half of what is free.
    tuning : Tuning or None
        What is tuned before; it is not among the parameters, nor among those of the kernel.
    trial : Trial or None
        Which rows it is on, if it only tries values for others.
    """

    experiment: str
    dataset: str
    options: Mapping[str, Any]
    label: str
    solver: str
    parameters: Mapping[str, Any]
    kernel: KernelChoice
    vectors: int | None
    seed: int
    stop: Stop
    checkpoints: Checkpoints
    threads: int
    plugins: tuple[Path, ...] = ()
    split: str = ""
    kernel_memory: int | None = None
    tuning: Tuning | None = None
    trial: Trial | None = None

    def __str__(self) -> str:
        parameters = " ".join(f"{name}={short(value)}" for name, value in self.parameters.items())
        kernel = "" if self.kernel.name == "linear" else f" {self.kernel}"
        data = f"{self.label}-{self.split}" if self.split else self.label
        tuned = "" if self.tuning is None else f" tuned: {', '.join(self.tuning.names)}"
        trial = "" if self.trial is None else f" trial: {self.trial}"
        return f"{data} {self.solver} {parameters}{kernel} seed={self.seed}{tuned}{trial}"


def plan(experiment: Experiment) -> list[Run]:
    """Write out every run, dataset by dataset so that each is loaded once; trials and reference optima come first."""
    runs: list[Run] = []
    for dataset in experiment.datasets:
        chosen = [solver for solver in experiment.solvers if solver.only_for in (None, dataset.label)]
        mine = [_run(experiment, dataset, solver, seed) for solver in chosen for seed in experiment.seeds]
        first = [run for run in mine if run.seed == experiment.seeds[0]]
        trials = [trial for run in first for trial in trials_of(run).values()]
        optima = [optimum_of(run) if experiment.reference else None for run in mine]
        for reference in (*trials, *optima, *map(nu_of, mine)):
            if reference is not None and reference not in runs:
                runs.append(reference)
        runs += mine
    return runs


def _run(experiment: Experiment, dataset: DatasetChoice, solver: SolverChoice, seed: int) -> Run:
    return Run(
        experiment=experiment.name,
        dataset=dataset.name,
        options=dataset.options,
        label=dataset.label,
        solver=solver.name,
        parameters=solver.parameters,
        kernel=solver.kernel,
        vectors=solver.vectors,
        seed=seed,
        stop=_stop(experiment.stop, solver.name),
        checkpoints=experiment.checkpoints,
        threads=experiment.threads,
        plugins=experiment.plugins,
        split=dataset.split,
        kernel_memory=_kernel_memory(experiment),
        tuning=solver.tuning,
    )


def _kernel_memory(experiment: Experiment) -> int | None:
    """Give what the config says; where it says only what a run may take at all, half of that."""
    if experiment.kernel_memory is None and experiment.limits.memory is not None:
        return experiment.limits.memory // 2
    return experiment.kernel_memory


def _stop(stop: Stop, solver: str) -> Stop:
    """Leave out a rule that says how long the others may take by this solver."""
    itself = stop.seconds_of is not None and stop.seconds_of.solver == solver
    return stop.model_copy(update={"seconds_of": None}) if itself else stop


REFERENCE, KERNEL_REFERENCE = REFERENCES = ("optimum", "kernel-optimum")


def optimum_of(run: Run) -> Run | None:
    """Make the run whose result is the optimum that this run's objective is set against."""
    if run.solver in REFERENCES or run.tuning is not None or run.trial is not None:
        return None
    linear = run.kernel.name == "linear" and not run.kernel.parameters.get("normalize")
    optimum = solvers.load(run.solver).optimum_solver(run.parameters, linear)
    return None if optimum is None else _reference(run, optimum[0], optimum[1] | _reduction(run))


def _reduction(run: Run) -> dict[str, Any]:
    return {name: value for name, value in run.parameters.items() if name == "multiclass"}


def nu_of(run: Run) -> Run | None:
    """Make the run whose result is the nu of ``nu: {from-regularization: ...}``."""
    nu = run.parameters.get("nu")
    if not isinstance(nu, Mapping):
        return None
    parameters = _weight({"regularization": nu[FROM_REGULARIZATION]}) | {"bias": run.parameters.get("bias", False)}
    return _reference(run, KERNEL_REFERENCE, parameters)


def _weight(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Give the parameters C or regularization; k/n of the latter as C = 1/k, so that equal problems are solved once.

    Not for several machines: n is that of all examples, and C = 1/(lambda m) for the m of a machine.
    """
    regularization = parameters.get("regularization")
    if isinstance(regularization, Mapping) and "multiclass" not in parameters:
        return {"C": 1.0 / regularization[OVER_EXAMPLES]}
    if regularization is not None:
        return {"regularization": regularization}
    return {"C": 1.0 if parameters.get("C") is None else parameters["C"]}


def _reference(run: Run, solver: str, parameters: dict[str, Any]) -> Run:
    defaults = {field.name: field.default for field in fields(solvers.load(solver))}
    alike: dict[str, Any] = {"vectors": None, "seed": 0, "threads": 1, "plugins": ()}
    return replace(
        run, solver=solver, parameters=defaults | parameters, stop=Stop(), checkpoints=Checkpoints(), **alike
    )


def sources(run: Run, runs: Sequence[Run]) -> dict[str, Run]:
    """Find the runs whose results this one needs: its ``optimum``, its ``nu``, the ``seconds`` it gets a part of.

    And the trials by which it is tuned, under the names that `tuning.trials_of` gives them.
    """
    found = {"optimum": _same(optimum_of(run), runs), "nu": _same(nu_of(run), runs)}
    if run.stop.seconds_of is not None:
        found["seconds"] = _same_but_for_parameters(run, run.stop.seconds_of.solver, runs)
    found |= {name: _same(trial, runs) for name, trial in trials_of(run).items()}
    return {kind: source for kind, source in found.items() if source is not None}


def _same(wanted: Run | None, runs: Sequence[Run]) -> Run | None:
    """Find a run on the same data, whatever they are called."""
    if wanted is None:
        return None
    alike = (each for each in runs if each.trial == wanted.trial and each.parameters == wanted.parameters)
    return next((each for each in alike if replace(each, label=wanted.label) == wanted), None)


def _same_but_for_parameters(run: Run, solver: str, runs: Sequence[Run]) -> Run | None:
    own: dict[str, Any] = {"solver": solver, "parameters": {}, "vectors": None, "stop": Stop(), "tuning": None}
    alike = (each for each in runs if each.solver == solver)
    return next((each for each in alike if replace(each, **own) == replace(run, **own)), None)


def settled(run: Run, results: Mapping[str, Mapping[str, Any]]) -> tuple[Run, list[str]]:
    """Put into a run what the results of its `sources` say; gives a remark on each, too."""
    remarks = []
    if "nu" in results:
        nu, seconds = results["nu"]["nu"], results["nu"]["train_seconds"]
        run = replace(run, parameters={**run.parameters, "nu": nu})
        remarks.append(f"nu {nu:.6g} derived in {seconds:.3g} s, not counted")
    if "seconds" in results and (share := run.stop.seconds_of) is not None:
        theirs = results["seconds"]["train_seconds"]
        seconds = min(share.factor * theirs, run.stop.seconds or math.inf)
        run = replace(run, stop=run.stop.model_copy(update={"seconds": seconds, "seconds_of": None}))
        remarks.append(f"{share.factor:g} of the {theirs:.4g} s of {share.solver}")
    return run, remarks


def only(runs: Sequence[Run], filters: Sequence[str]) -> list[Run]:
    """Keep the runs that match every filter, such as ``solver=mpu`` or ``dataset=adult,web``.

    Raises
    ------
    ConfigError
        If a filter is not of that form, or leaves nothing.
    """
    kept = list(runs)
    for each in filters:
        key, equals, values = each.partition("=")
        if not equals or key not in FILTERS:
            raise ConfigError(f"--only {each}: must be written key=value with a key of {', '.join(FILTERS)}")
        wanted = values.split(",")
        known = {_filtered(run, key) for run in runs}
        for value in wanted:
            if value not in known:
                raise ConfigError(f"--only {each}: no run has {key} '{value}': {nearest(value, known)}")
        kept = [run for run in kept if _filtered(run, key) in wanted]
    if not kept:
        raise ConfigError(f"--only {' --only '.join(filters)}: no run is left")
    return kept


def _filtered(run: Run, key: str) -> str:
    values = {
        "solver": run.solver,
        "dataset": run.label,
        "split": run.split,
        "kernel": run.kernel.name,
        "seed": run.seed,
        "budget": run.vectors,
    }
    return str(values[key])


def run_id(run: Run, fingerprint: str, needed: Sequence[str] = ()) -> str:
    """Make the key of a run's result: equal keys mean that the result may be reused.

    It depends on the solver, its parameters and its source, the kernel, the stopping rules, the seed, the threads,
    the content of the data, and the keys of results that are ``needed`` to settle it; not on names, order, other
    runs, or limits.
    """
    content: dict[str, Any] = {
        "solver": run.solver,
        "parameters": dict(run.parameters),
        "kernel": [run.kernel.name, dict(run.kernel.parameters)],
        "seed": run.seed,
        "stop": run.stop.model_dump(exclude_none=True),
        "checkpoints": run.checkpoints.model_dump(),
        "threads": run.threads,
        "data": fingerprint,
        "code": code_version(run.solver, "multiclass" in run.parameters),
    }
    if needed:
        content["needed"] = list(needed)
    if run.tuning is not None:
        content["tuned by"] = run.tuning.metric
    if run.trial is not None:
        content["trial"] = str(run.trial)
    text = json.dumps(content, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@cache
def code_version(solver: str, several: bool = False) -> str:
    """Hash the meaning of every source file of this project that a solver's module imports, directly or not.

    ``several``: whether it is made to tell several classes apart.

    Comments, docstrings and layout do not count: only what changes a result may make results stale. The file
    that clocks and evaluates a run, trace.py, counts too.
    """
    files = {*_imported_files(solvers.load(solver).__module__), Path(__file__).with_name("trace.py")}
    if several:
        files |= set(_imported_files("mpu_bench.solvers.multiclass"))
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(_meaning(path).encode())
    return digest.hexdigest()[:16]


def _imported_files(module: str) -> Iterator[Path]:
    waiting, seen = [module], {module}
    while waiting:
        path = _source(waiting.pop())
        if path is None:
            continue
        yield path
        for name in _imports(path):
            if name.startswith("mpu_bench") and name not in seen:
                seen.add(name)
                waiting.append(name)


def _source(module: str) -> Path | None:
    if module in sys.modules:
        origin = sys.modules[module].__file__
        return Path(origin) if origin else None
    try:
        spec = find_spec(module)
    except ModuleNotFoundError:  # the last part names an object, not a module
        return None
    return Path(spec.origin) if spec is not None and spec.origin else None


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _meaning(path: Path) -> str:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node, clean=False):
            node.body = node.body[1:]
    return ast.dump(tree)
