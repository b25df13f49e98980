"""Rows so long that no external solver can train on them."""

import numpy as np
import pytest

from mpu_bench import solvers
from mpu_bench.errors import DataError
from mpu_bench.kernels import Gaussian, Linear, Polynomial
from oracles import toys

CASES = [
    ("liblinear", Linear(), 1e170, "row 1 is not finite"),
    ("sgd", Linear(), 1e170, "row 1 is not finite"),
    ("libsvm", Gaussian(1.0), 1e170, "scale the features down"),
    ("libsvm", Polynomial(1.0, 1.0, 3), 1e120, "scale the features down"),
    ("nystroem", Gaussian(1.0), 1e170, "scale the features down"),
]


@pytest.mark.parametrize(("name", "kernel", "scale", "words"), CASES)
def test_rows_that_are_too_long_are_refused(name, kernel, scale, words):
    values = scale * (1.0 + np.random.default_rng(0).random((20, 3)))
    problem = toys.problem(values, np.arange(20, dtype=np.int32) % 2, "dense64")
    with pytest.raises(DataError, match=words):
        solvers.load(name)().start(problem, kernel, 0)
