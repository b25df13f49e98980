import numpy as np
import pytest

from mpu_bench import solvers
from mpu_bench.core.kernels import Linear, Polynomial
from mpu_bench.core.solver import Status, Until
from mpu_bench.core.vectors import new_vectors
from mpu_bench.errors import DataError
from mpu_bench.solvers.online.hypothesis import Hypothesis, functions_for, with_doubled_capacity
from oracles import toys


@pytest.mark.parametrize(
    ("name", "parameters", "scale"),
    [
        ("perceptron", {}, 1e4),
        ("perceptron-oldest", {"vectors": 5}, 1e4),
        ("bpegasos", {"vectors": 5, "maintenance": "smallest"}, 1e4),
        ("pegasos-multiclass", {}, 1e4),
    ],
)
def test_kernel_values_that_overflow_are_refused(name, parameters, scale):
    matrix, labels = toys.real()
    problem, solver = toys.problem(matrix * scale, labels, "dense"), solvers.load(name)(**parameters)
    state = solver.start(problem, Polynomial(1.0, 1.0, 9), 0)
    with pytest.raises(DataError, match="a score is not finite: values of the kernel Polynomial"):
        solver.advance(state, Until())
    state = solver.start(problem, Polynomial(1.0, 1.0, 9, True), 0)
    assert solver.advance(state, Until()) == Status.DONE


@pytest.mark.parametrize("maintenance", ["projection", "smallest", "random"])
@pytest.mark.parametrize("kernel", [Linear(), Polynomial(1.0, 0.0, 2)], ids=str)
def test_rows_of_zeros_have_no_kernel_value_above_zero_and_do_no_harm(maintenance, kernel):
    matrix, labels = toys.real()
    matrix[::4] = 0.0
    problem = toys.problem(matrix, labels, "dense")
    solver = solvers.load("bpegasos")(vectors=5, maintenance=maintenance, passes=3)
    state = solver.start(problem, kernel, 0)
    assert solver.advance(state, Until()) == Status.DONE
    assert np.isfinite(solver.model(state).coefficients).all()
    if maintenance == "projection":
        state = solver.start(problem, kernel, 0)
        state.maintenance.scalars.residual_limit = -1.0  # the inverse is computed anew
        assert solver.advance(state, Until()) == Status.DONE
        assert state.maintenance.scalars.renewals[0] > 0


def test_more_slots_keep_what_is_there():
    random = np.random.default_rng(0)
    f = Hypothesis(new_vectors(3, 4), random.normal(size=(2, 4)), np.ones(4, np.float32), np.ones(2))
    f.vectors.columns[:] = random.normal(size=(3, 4))
    larger = with_doubled_capacity(f)
    assert larger.vectors.columns.shape == (3, 8)
    assert larger.kernel_row.shape == larger.vectors.squared_norms.shape == (8,)
    np.testing.assert_array_equal(larger.vectors.columns[:, :4], f.vectors.columns)
    np.testing.assert_array_equal(larger.coefficients, np.hstack([f.coefficients, np.zeros((2, 4))]))


def test_two_classes_need_one_function():
    assert [functions_for(classes) for classes in (2, 3, 10)] == [1, 3, 10]
