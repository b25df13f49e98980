from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from mpu_bench.config.choices import KernelChoice
from mpu_bench.core.problem import Problem
from mpu_bench.core.rows import Dense, Ones, Sparse, count
from mpu_bench.errors import ConfigError
from mpu_bench.experiment import bind
from mpu_bench.kernels import Gaussian, Linear, Polynomial
from mpu_bench.scaled import Scaled


def rows_of(values: np.ndarray, kind: str):
    if kind == "dense":
        return Dense(values.astype(np.float32))
    matrix = scipy.sparse.csr_matrix(values)
    index = (matrix.indices.astype(np.uint32), matrix.indptr.astype(np.uint32))
    return Ones(*index) if kind == "ones" else Sparse(matrix.data.astype(np.float32), *index)


def problem_of(rows, labels: np.ndarray, features: int, classes: int = 2) -> Problem:
    names = tuple(str(index) for index in range(classes))
    return Problem("toy", rows, labels.astype(np.int32), rows, labels.astype(np.int32), features, names, "toy")


@pytest.mark.parametrize("kind", ["dense", "sparse", "ones"])
@given(seed=st.integers(0, 1000))
def test_mean_squared_distance_is_that_over_all_pairs(kind: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    values = (random.random((9, 4)) < 0.5).astype(float)
    if kind != "ones":
        values *= random.normal(size=values.shape)
    distances = [np.sum((a - b) ** 2) for a in values for b in values]
    assert bind.mean_squared_distance(rows_of(values, kind), 4) == pytest.approx(np.mean(distances), abs=1e-6)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_distances_do_not_depend_on_the_origin(kind: str) -> None:
    values = np.random.default_rng(0).integers(0, 8, (50, 4)) + 2.0**24 - 8
    distances = [np.sum((a - b) ** 2) for a in values for b in values]
    assert bind.mean_squared_distance(rows_of(values, kind), 4) == pytest.approx(np.mean(distances), rel=1e-12)


def test_kernels_by_the_data() -> None:
    values = np.eye(4)
    problem = problem_of(rows_of(values, "dense"), np.arange(4) % 2, 4)
    made = [
        (KernelChoice(), Linear()),
        (KernelChoice("gaussian", {"gamma": 0.5}), Gaussian(0.5)),
        (KernelChoice("gaussian", {"sigma2": 10.0}), Gaussian(0.05)),
        (KernelChoice("gaussian", {"gamma": Scaled(4, "d")}), Gaussian(1.0)),
        (KernelChoice("gaussian", {"gamma": Scaled(3, "mean-squared-distance")}), Gaussian(2.0)),
        (KernelChoice("polynomial", {"degree": 5, "scale": 1.0, "offset": 1.0}), Polynomial(1.0, 1.0, 5)),
        (
            KernelChoice("polynomial", {"degree": 2, "scale": Scaled(3, "mean-squared-distance"), "offset": 0.0}),
            Polynomial(2.0, 0.0, 2),
        ),
        (
            KernelChoice("polynomial", {"normalize": True, "degree": 2, "scale": 1.0, "offset": 1.0}),
            Polynomial(1.0, 1.0, 2, True),
        ),
        (KernelChoice("linear", {"normalize": True}), Polynomial(1.0, 0.0, 1, True)),
        (KernelChoice("gaussian", {"normalize": True, "gamma": 2.0}), Gaussian(2.0)),
    ]
    for choice, kernel in made:
        assert bind.build_kernel(choice, problem) == pytest.approx(kernel)


def test_a_parameter_may_be_a_multiple_of_one_over_n() -> None:
    assert bind.build_solver("dcd", {"C": Scaled(2.0, "n"), "tolerance": 0.1}, 50).C == 0.04


@pytest.mark.parametrize("multiclass", [{}, {"multiclass": "one-against-one"}])
def test_a_sample_of_more_examples_than_there_are_is_refused(multiclass: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match=r"fw: sampling is 59, but there are only 50 .* set sampling: all"):
        bind.build_solver("fw", multiclass, 50)
    assert bind.build_solver("fw", {"sampling": "all"} | multiclass, 50)


def test_weights_of_classes_are_the_problems() -> None:
    assert bind.build_solver("dcd", {"C": 2.0, "class_weight": "balanced"}, 50).C == 2.0
    problem = problem_of(rows_of(np.ones((100, 4)), "dense"), np.arange(100) % 2, 4).weighted({"1": 3.0})
    small = bind.warm_up_problem(problem)
    assert small.weights is not None
    np.testing.assert_array_equal(small.weights, np.where(small.labels == 1, 3.0, 1.0))


@pytest.mark.parametrize("kind", ["dense", "sparse", "ones"])
def test_a_warm_up_problem_has_the_types_and_classes_of_the_problem(kind: str) -> None:
    labels = np.array([0] * 500 + [1] * 3 + [2] * 40)
    problem = problem_of(rows_of(np.ones((543, 4)), kind), labels, 4, classes=3)
    small = bind.warm_up_problem(problem)
    assert type(small.train) is type(problem.train)
    assert [array.dtype for array in small.train] == [array.dtype for array in problem.train]
    assert set(small.labels) == {0, 1, 2}
    assert count(small.train) == len(small.labels) < 100
    assert dataclasses.replace(small, fingerprint="x").features == 4
