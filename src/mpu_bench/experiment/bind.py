"""Turn what a config says into what a solver takes, once the data are there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mpu_bench import solvers
from mpu_bench.config.schema import OVER_EXAMPLES, KernelChoice
from mpu_bench.core.kernels import Kernel
from mpu_bench.core.problem import Problem, StreamedProblem
from mpu_bench.core.rows import Dense, Ones, Rows, take
from mpu_bench.core.solver import Solver
from mpu_bench.solvers.multiclass import Multiclass

_TOY_ROWS = 12


def solver(name: str, parameters: Mapping[str, Any], n: int) -> Solver:
    """Make a solver with the parameters of a run; one may be given as a multiple of 1 / n.

    With ``multiclass`` among them, n is that of all classes together.

    Raises
    ------
    ConfigError
        If a parameter is outside its range, or does not suit so many examples.
    """
    settled = {
        key: value[OVER_EXAMPLES] / n if isinstance(value, Mapping) else value for key, value in parameters.items()
    }
    reduction = settled.pop("multiclass", None)
    made = solvers.load(name)(**settled)
    made.check_size(n)
    return made if reduction is None else Multiclass(made, reduction)


def kernel(choice: KernelChoice, problem: Problem) -> Kernel:
    """Make the kernel of a run; a width or scale may depend on the training rows."""
    return choice.made(lambda given: _scale(given, problem))


def _scale(given: Any, problem: Problem) -> float:
    """Settle a number of a kernel that may be given as a multiple of 1 / d or 1 / (mean squared distance)."""
    if not isinstance(given, Mapping):
        return float(given)
    rule, factor = next(iter(given.items()))
    return float(factor / (problem.features if rule == "over-features" else _mean_squared_distance_of(problem)))


def _mean_squared_distance_of(problem: Problem) -> float:
    if isinstance(problem, StreamedProblem):
        return problem.mean_squared_distance
    return mean_squared_distance(problem.train, problem.features)


def mean_squared_distance(rows: Rows, features: int) -> float:
    """Give the mean of ||x - x'||^2 over all pairs of rows: 2 (mean ||x||^2 - ||mean x||^2)."""
    if isinstance(rows, Dense):
        values = rows.values.astype(np.float64)
        return float(2 * (np.mean(np.sum(values**2, axis=1)) - np.sum(np.mean(values, axis=0) ** 2)))
    n = len(rows.starts) - 1
    weights = np.ones(len(rows.indices)) if isinstance(rows, Ones) else rows.values.astype(np.float64)
    mean = np.bincount(rows.indices, weights=weights, minlength=features) / n
    return float(2 * (np.sum(weights**2) / n - np.sum(mean**2)))


def toy(problem: Problem) -> Problem:
    """Cut a few rows of each class out of a problem: the same types, small enough to compile on.

    The sample of a stream may lack classes; its labels are then made up.
    """
    chosen = _few_of_each(problem.labels, len(problem.classes))
    labels = problem.labels[chosen]
    if isinstance(problem, StreamedProblem):
        labels = np.arange(len(chosen), dtype=np.int32) % np.int32(len(problem.classes))
    chosen_test = np.arange(min(problem.n_test, _TOY_ROWS))
    return Problem(
        name=problem.name,
        train=take(problem.train, chosen),
        labels=labels,
        test=take(problem.test, chosen_test),
        test_labels=problem.test_labels[chosen_test],
        features=problem.features,
        classes=problem.classes,
        fingerprint="toy",
    )


def _few_of_each(labels: np.ndarray[Any, Any], classes: int) -> np.ndarray[Any, Any]:
    found = [np.flatnonzero(labels == index)[:_TOY_ROWS] for index in range(classes)]
    return np.sort(np.concatenate(found))
