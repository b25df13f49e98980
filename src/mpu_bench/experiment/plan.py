"""The plan of an experiment: its list of runs, and the key under which each result is kept."""

from __future__ import annotations

import ast
import hashlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from mpu_bench import solvers
from mpu_bench.errors import ConfigError, nearest
from mpu_bench.schema import Checkpoints, DatasetChoice, Experiment, KernelChoice, SolverChoice, Stop, short

FILTERS = ("solver", "dataset", "kernel", "seed", "budget")


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

    def __str__(self) -> str:
        parameters = " ".join(f"{name}={short(value)}" for name, value in self.parameters.items())
        kernel = "" if self.kernel.name == "linear" else f" {self.kernel}"
        return f"{self.label} {self.solver} {parameters}{kernel} seed={self.seed}"


def plan(experiment: Experiment) -> list[Run]:
    """Write out every run, dataset by dataset so that each is loaded once; reference optima come first."""
    runs = []
    for dataset in experiment.datasets:
        chosen = [solver for solver in experiment.solvers if solver.only_for in (None, dataset.label)]
        mine = [_run(experiment, dataset, solver, seed) for solver in chosen for seed in experiment.seeds]
        runs += _references(mine) + mine if experiment.reference else mine
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
        stop=experiment.stop,
        checkpoints=experiment.checkpoints,
        threads=experiment.threads,
        plugins=experiment.plugins,
    )


REFERENCE = "reference"


def _references(runs: Sequence[Run]) -> list[Run]:
    """Plan the optimum of every linear L1-SVM that the runs of one dataset minimise."""
    compared = {json.dumps(run.parameters["C"]): run for run in runs if _is_l1_svm(run)}
    alike: dict[str, Any] = {"seed": 0, "stop": Stop(), "checkpoints": Checkpoints(), "threads": 1, "plugins": ()}
    return [
        replace(run, solver=REFERENCE, parameters=_defaults(REFERENCE) | {"C": run.parameters["C"]}, **alike)
        for run in compared.values()
    ]


def _is_l1_svm(run: Run) -> bool:
    soft = run.parameters.get("margin", "soft") == "soft"
    return solvers.load(run.solver).l1_svm and soft and run.kernel.name == "linear" and run.solver != REFERENCE


def _defaults(solver: str) -> dict[str, Any]:
    return {field.name: field.default for field in fields(solvers.load(solver))}


def reference_of(run: Run, runs: Sequence[Run]) -> Run | None:
    """Find the run whose result is the optimum that this run's objective is set against."""
    if not _is_l1_svm(run):
        return None
    for other in runs:
        same_data = (other.dataset, other.options) == (run.dataset, run.options)
        if other.solver == REFERENCE and same_data and other.parameters["C"] == run.parameters["C"]:
            return other
    return None


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
        "kernel": run.kernel.name,
        "seed": run.seed,
        "budget": run.vectors,
    }
    return str(values[key])


def run_id(run: Run, fingerprint: str) -> str:
    """Make the key of a run's result: equal keys mean that the result may be reused.

    It depends on the solver, its parameters and its source, the kernel, the stopping rules, the seed, the threads
    and the content of the data; not on names, order, other runs, or limits.
    """
    content = {
        "solver": run.solver,
        "parameters": dict(run.parameters),
        "kernel": [run.kernel.name, dict(run.kernel.parameters)],
        "seed": run.seed,
        "stop": run.stop.model_dump(exclude_none=True),
        "checkpoints": run.checkpoints.model_dump(),
        "threads": run.threads,
        "data": fingerprint,
        "code": code_version(run.solver),
    }
    text = json.dumps(content, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@cache
def code_version(solver: str) -> str:
    """Hash the meaning of every source file of this project that a solver's module imports, directly or not.

    Comments, docstrings and layout do not count: only what changes a result may make results stale. The file
    that clocks and evaluates a run, trace.py, counts too.
    """
    files = {*_imported_files(solvers.load(solver).__module__), Path(__file__).with_name("trace.py")}
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
