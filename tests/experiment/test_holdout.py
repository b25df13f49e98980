"""Which rows are held out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mpu_bench.config.choices import ValidationSplit
from mpu_bench.errors import DataError
from mpu_bench.experiment import tuning as holdout
from oracles import toys


def many(n=200, classes=3):
    matrix, _ = toys.real(n=n)
    return toys.problem(matrix, np.sort(np.random.default_rng(0).integers(0, classes, n)).astype(np.int32), "dense")


def test_a_hold_out_keeps_the_shares_of_the_classes_and_never_a_test_row() -> None:
    problem = many()
    problem = replace(problem, test=toys.KINDS["dense"](np.full((3, 7), 9.0)))
    part = holdout.holdout(problem, ValidationSplit(holdout=0.3))
    counts, held = np.bincount(problem.labels), np.bincount(part.test_labels)
    np.testing.assert_array_equal(held, np.round(0.3 * counts))
    np.testing.assert_array_equal(np.bincount(part.labels), counts - held)
    assert (part.test.values != 9).all()
    both = np.concatenate([part.train.values, part.test.values])
    np.testing.assert_array_equal(np.sort(both, axis=0), np.sort(problem.train.values, axis=0))
    again = holdout.holdout(problem, ValidationSplit(holdout=0.3))
    np.testing.assert_array_equal(part.train.values, again.train.values)


def test_every_row_is_held_out_by_one_fold() -> None:
    problem = many()
    held = [holdout.holdout(problem, ValidationSplit(folds=4, fold=fold)).test.values for fold in range(4)]
    np.testing.assert_array_equal(np.sort(np.concatenate(held), axis=0), np.sort(problem.train.values, axis=0))


@pytest.mark.parametrize("trial", [ValidationSplit(holdout=0.3), ValidationSplit(folds=3)])
def test_a_class_that_would_be_missing_is_told(trial: ValidationSplit) -> None:
    problem = many()
    problem.labels[problem.labels == 2] = 1
    problem.labels[0] = 2
    with pytest.raises(DataError, match=f"class 'class 2' has 1 training example, too few for {trial}"):
        holdout.holdout(problem, trial)


def test_the_test_set_stands_for_itself() -> None:
    problem = many()
    assert holdout.holdout(problem, ValidationSplit(on_test_set=True)) is problem
