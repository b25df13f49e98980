"""Tuning: which of the values of a config's ``tune:`` is chosen, and the parts of the training rows that try them.

Every value is tried per dataset, solver (or tuner) with its parameters, and budget, with ``repeats`` seeds of tuning's
own; not once per repeat of the config. The value with the smallest mean error is chosen; of several as small, up to the
rounding of a mean, the first. A tuning run is a run like any other, with a row of its own: it is kept, resumed and
reused as such, and ends by the config's ``stop:`` and ``limits:``, but for the rules that refer to another run
(``suboptimality``, ``seconds_of``).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpu_bench.config.choices import ValidationSplit
from mpu_bench.core.problem import Problem
from mpu_bench.core.rng import rng, shuffle
from mpu_bench.core.rows import take
from mpu_bench.errors import DataError
from mpu_bench.experiment.run import Run, trial_name
from mpu_bench.quantities import Record, RunStatus
from mpu_bench.scaled import short

_COLUMNS = {"error": "test_error", "online_error": "online_error"}  # of a tuning run's row, by metric

Rows = Mapping[str, Record]  # by `trial_name`


@dataclass(frozen=True)
class TunedRun:
    """A run with the values that tuning chose, columns of its row, notes; or why none could be chosen."""

    run: Run
    columns: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    failure: str = ""


def select_best(run: Run, results: Rows) -> TunedRun:
    """Choose by the rows of the tuning runs, whatever has become of them; values of which one failed are left out.

    Parameters
    ----------
    run : Run
    results : mapping
        Rows as `Store.row` returns them, by `trial_name`.
    """
    tuning = run.solver.tuning
    if tuning is None:
        return TunedRun(run)
    rows = [
        [results.get(trial_name(number, part), Record()) for part in range(len(tuning.trials))]
        for number in range(len(tuning.candidates))
    ]
    errors = [_mean(parts, _COLUMNS[tuning.metric]) for parts in rows]
    failures = [_failure(parts) for parts, error in zip(rows, errors, strict=True) if error == math.inf]
    if len(failures) == len(errors):
        return TunedRun(run, failure=f"no value of {', '.join(tuning.names)} could be tried: {failures[0]}")
    smallest = min(errors)
    best = next(
        value
        for value, error in zip(tuning.candidates, errors, strict=True)
        if math.isclose(error, smallest, rel_tol=1e-12)  # means are rounded
    )
    every = {row.run_id: row for parts in rows for row in parts}.values()  # a value that is listed twice is tried once
    columns = {
        "chosen": ", ".join(f"{name}={short(value)}" for name, value in best.values.items()),
        "tune_seconds": sum(row.train_seconds or 0.0 for row in every),
        "tune_kernel_evaluations": sum(row.kernel_evaluations or 0 for row in every),
    }
    notes = (f"{len(failures)} of {len(errors)} values tried failed: {failures[0]}",) if failures else ()
    solver = replace(run.solver, parameters=best.parameters, kernel=best.kernel, tuning=None)
    return TunedRun(replace(run, solver=solver), columns, notes)


def _mean(rows: list[Record], column: str) -> float:
    """Return the mean error over the parts, infinity where one is missing."""
    errors = [error for row in rows if row.is_finished and (error := row.value(column)) is not None]
    return statistics.fmean(errors) if len(errors) == len(rows) else math.inf


def _failure(rows: list[Record]) -> str:
    failed = [row for row in rows if not row.is_finished]
    is_there = failed and failed[0].status is not RunStatus.NOT_RUN
    return f"{failed[0].status}: {failed[0].reason}" if is_there else "it has no error"


_SEED = 0


def holdout(problem: Problem, trial: ValidationSplit) -> Problem:
    """Return the problem of a trial: what is held out of the training rows stands for its test rows.

    Every class is divided by itself, in an order drawn with seed 0. Of a stream the sample that is at hand is divided.

    Raises
    ------
    DataError
        If a class would be missing among the rows held out, or among the others.
    """
    if trial.on_test_set:
        return problem
    held_out = np.zeros(len(problem.labels), bool)
    for label in np.unique(problem.labels):
        members = np.flatnonzero(problem.labels == label).astype(np.uint32)
        shuffle(rng(_SEED, f"tuning {label}"), members, len(members))
        chosen = _held_out(members, trial)
        if not 0 < len(chosen) < len(members):
            raise DataError(
                f"{problem.name}: class '{problem.classes[label]}' has {len(members)} training "
                f"example{'' if len(members) == 1 else 's'}, too few for {trial}: it would be missing there or among "
                "the others; leave the class out of the data, or divide otherwise"
            )
        held_out[chosen] = True
    inside, outside = np.flatnonzero(~held_out), np.flatnonzero(held_out)
    return Problem(
        name=problem.name,
        train=take(problem.train, inside),
        labels=problem.labels[inside],
        test=take(problem.train, outside),
        test_labels=problem.labels[outside],
        features=problem.features,
        classes=problem.classes,
        fingerprint=f"{problem.fingerprint} {trial}",
    )


def _held_out(members: NDArray[np.uint32], trial: ValidationSplit) -> NDArray[np.uint32]:
    if trial.holdout is not None:
        return members[: round(trial.holdout * len(members))]
    return members[trial.fold :: trial.folds]
