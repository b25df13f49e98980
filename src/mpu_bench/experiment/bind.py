"""From what a config says to what a solver takes, once the data and the results of other runs are there."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from mpu_bench import solvers
from mpu_bench.config.choices import KernelChoice
from mpu_bench.core.problem import Problem, StreamedProblem
from mpu_bench.core.rows import Dense, Ones, Rows, take
from mpu_bench.core.solver import Solver
from mpu_bench.experiment.run import Run
from mpu_bench.kernels import Kernel
from mpu_bench.quantities import Record
from mpu_bench.scaled import Divisor, Scaled
from mpu_bench.solvers.multiclass import Multiclass
from mpu_bench.solvers.plugins.importing import APART

_WARM_UP_ROWS = 12  # of each class


def with_results_of_others(run: Run, results: Mapping[str, Record]) -> tuple[Run, list[str]]:
    """Return a run with what it takes from the results of those that it needs, and a note on each.

    Parameters
    ----------
    run : Run
    results : mapping
        Rows of ``nu`` and ``seconds``, as far as the run needs them.
    """
    notes = []
    if (known := results.get("nu")) is not None:
        run = replace(run, solver=replace(run.solver, parameters={**run.solver.parameters, "nu": known.nu}))
        notes.append(f"nu {known.nu:.6g} derived in {known.train_seconds:.3g} s, not counted")
    stop = run.settings.stop
    if (known := results.get("seconds")) is not None and (share := stop.seconds_of) is not None:
        theirs = known.train_seconds or 0.0
        seconds = min(share.factor * theirs, stop.seconds or math.inf)
        stop = stop.model_copy(update={"seconds": seconds, "seconds_of": None})
        run = replace(run, settings=replace(run.settings, stop=stop))
        notes.append(f"{share.factor:g} of the {theirs:.4g} s of {share.solver}")
    return run, notes


def build_solver(name: str, parameters: Mapping[str, Any], n: int) -> Solver:
    """Return a solver with the parameters of a run; one may be given as a multiple of 1 / n.

    With ``multiclass`` among them, n is that of all classes together; ``class_weight`` and ``score_threshold`` are the
    problem's.

    Raises
    ------
    ConfigError
        If a parameter is outside its range, or does not suit this number of examples.
    """
    numbers: dict[str, Any] = {
        key: value.resolve(lambda _n: n) if isinstance(value, Scaled) else value for key, value in parameters.items()
    }
    reduction, *_ = (numbers.pop(key, None) for key in APART)
    solver = solvers.load(name)(**numbers)
    solver.check_size(n)
    return solver if reduction is None else Multiclass(solver, reduction)


def build_kernel(choice: KernelChoice, problem: Problem) -> Kernel:
    """Return the kernel of a run; a width or scale may depend on the training rows."""

    def divisor(by: Divisor) -> float:
        if by == "d":
            return problem.features
        if isinstance(problem, StreamedProblem):
            return problem.mean_squared_distance
        return mean_squared_distance(problem.train, problem.features)

    return choice.build(lambda width: float(width.resolve(divisor) if isinstance(width, Scaled) else width))


def mean_squared_distance(rows: Rows, features: int) -> float:
    """Return the mean of ||x - x'||^2 over all pairs of rows: twice the sum of the variances of the columns."""
    if isinstance(rows, Dense):
        return float(2 * np.sum(np.var(rows.values, axis=0, dtype=np.float64)))
    n = len(rows.starts) - 1
    weights = np.ones(len(rows.indices)) if isinstance(rows, Ones) else rows.values.astype(np.float64)
    mean = np.bincount(rows.indices, weights=weights, minlength=features) / n
    zeros = n - np.bincount(rows.indices, minlength=features)
    return float(2 * (np.sum((weights - mean[rows.indices]) ** 2) + np.sum(zeros * mean**2)) / n)


def warm_up_problem(problem: Problem) -> Problem:
    """Return a few rows of each class of a problem: the same types, small enough to compile on.

    The sample of a stream may lack classes; its labels are then made up.
    """
    classes = range(len(problem.classes))
    chosen = np.sort(np.concatenate([np.flatnonzero(problem.labels == label)[:_WARM_UP_ROWS] for label in classes]))
    labels = problem.labels[chosen]
    if isinstance(problem, StreamedProblem):
        labels = np.arange(len(chosen), dtype=np.int32) % np.int32(len(problem.classes))
    chosen_test = np.arange(min(problem.n_test, _WARM_UP_ROWS))
    return Problem(
        name=problem.name,
        train=take(problem.train, chosen),
        labels=labels,
        test=take(problem.test, chosen_test),
        test_labels=problem.test_labels[chosen_test],
        features=problem.features,
        classes=problem.classes,
        fingerprint="warm-up",
        weights=None if problem.weights is None else problem.weights[chosen],
    )
