"""The problem of a tuning run: a part of the training rows is held out and stands for the test rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mpu_bench.config.choices import ValidationSplit
from mpu_bench.core.problem import Problem
from mpu_bench.core.rng import rng, shuffle
from mpu_bench.core.rows import take
from mpu_bench.errors import DataError

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


def _held_out(members: NDArray[np.uint32], trial: ValidationSplit) -> NDArray[np.uint32]:
    if trial.holdout is not None:
        return members[: round(trial.holdout * len(members))]
    return members[trial.fold :: trial.folds]
