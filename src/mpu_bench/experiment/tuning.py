"""Tuning: the runs that try the values of a config's ``tune:``, on parts of the training rows, and what is chosen.

Every value is tried per dataset, solver (or tuner) with its parameters, and budget, with ``repeats`` seeds of tuning's
own; not once per repeat of the config. The value with the smallest mean error is chosen; of several as small, the
first. A trial is a run like any other, with a row of its own: it is kept, resumed and reused as such, and ends by the
config's ``stop:`` and ``limits:``, but for the rules that refer to another run (``deviation``, ``seconds_of``).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mpu_bench.config.schema import Checkpoints, Trial, short
from mpu_bench.core.problem import Problem
from mpu_bench.core.rng import rng, shuffle
from mpu_bench.core.rows import take
from mpu_bench.errors import DataError
from mpu_bench.results.store import FINISHED

if TYPE_CHECKING:
    from mpu_bench.experiment.plan import Run

_COLUMNS = {"error": "test_error", "online_error": "online_error"}  # of a trial's row, by metric
_SEED = 0
_SELDOM = Checkpoints(first=1.0, per_decade=1)

Results = Mapping[str, Mapping[str, Any]]


def trials_of(run: Run) -> dict[str, Run]:
    """Make the runs that try what is to be tuned for a run, by name: value and part of the rows."""
    if run.tuning is None:
        return {}
    stop = run.stop.model_copy(update={"deviation": None, "seconds_of": None})
    alike: dict[str, Any] = {
        "solver": run.tuning.solver,
        "stop": stop,
        "checkpoints": _SELDOM if stop.gap is None else run.checkpoints,
        "tuning": None,
    }
    return {
        _name(number, place): replace(
            run,
            parameters=candidate.tried,
            vectors=candidate.tried.get("vectors"),
            kernel=candidate.kernel,
            trial=trial,
            seed=trial.seed,
            **alike,
        )
        for number, candidate in enumerate(run.tuning.candidates)
        for place, trial in enumerate(run.tuning.trials)
    }


def _name(candidate: int, part: int) -> str:
    return f"trial {candidate}.{part}"


@dataclass(frozen=True)
class Choice:
    """What came of tuning: the run with the values chosen, columns of its row, remarks; or why there is none."""

    run: Run
    columns: Mapping[str, Any] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    fault: str = ""


def choose(run: Run, results: Results) -> Choice:
    """Choose by the rows of the trials, whatever has become of them; values with a failed trial are left out.

    Parameters
    ----------
    run : Run
    results : mapping
        Rows as `Store.row` gives them, by the names of `trials_of`.
    """
    tuning = run.tuning
    if tuning is None:
        return Choice(run)
    rows = [
        [results.get(_name(number, part), {}) for part in range(len(tuning.trials))]
        for number in range(len(tuning.candidates))
    ]
    errors = [_mean(each, _COLUMNS[tuning.metric]) for each in rows]
    failures = [_failure(each) for each, error in zip(rows, errors, strict=True) if error == math.inf]
    if len(failures) == len(errors):
        return Choice(run, fault=f"no value of {', '.join(tuning.names)} could be tried: {failures[0]}")
    best = tuning.candidates[errors.index(min(errors))]
    every = [row for each in rows for row in each]
    columns = {
        "chosen": ", ".join(f"{name}={short(value)}" for name, value in best.values.items()),
        "tune_seconds": sum(row.get("train_seconds") or 0.0 for row in every),
        "tune_kernel_evaluations": sum(row.get("kernel_evaluations") or 0 for row in every),
    }
    remarks = (f"{len(failures)} of {len(errors)} values tried failed: {failures[0]}",) if failures else ()
    return Choice(replace(run, parameters=best.parameters, kernel=best.kernel, tuning=None), columns, remarks)


def _mean(rows: list[Mapping[str, Any]], column: str) -> float:
    """Give the mean error over the parts, infinity where one is missing."""
    errors = [row[column] for row in rows if row.get("status") in FINISHED and row[column] is not None]
    return statistics.fmean(errors) if len(errors) == len(rows) else math.inf


def _failure(rows: list[Mapping[str, Any]]) -> str:
    failed = [row for row in rows if row.get("status") not in FINISHED]
    return f"{failed[0]['status']}: {failed[0]['reason']}" if failed and failed[0] else "it has no error"


def part(problem: Problem, trial: Trial) -> Problem:
    """Give the problem of a trial: what is held out of the training rows stands for its test rows.

    Every class is divided by itself, in an order drawn with seed 0. Of a stream the sample that is at hand is divided.

    Raises
    ------
    DataError
        If a class would be missing among the rows held out, or among the others.
    """
    if trial.on_test_set:
        return problem
    held = np.zeros(len(problem.labels), bool)
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
        held[chosen] = True
    inside, outside = np.flatnonzero(~held), np.flatnonzero(held)
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


def _held_out(members: NDArray[np.uint32], trial: Trial) -> NDArray[np.uint32]:
    if trial.holdout is not None:
        return members[: round(trial.holdout * len(members))]
    return members[trial.fold :: trial.folds]
