"""Which variables are left aside, and that they come back as they were."""

import numpy as np
import pytest

from mpu_bench.core.counters import KERNEL_COMPUTED, KERNEL_EVALUATIONS, new_counters
from mpu_bench.kernels import Linear
from mpu_bench.kernels import matrix as kernel_matrix
from mpu_bench.solvers.batch.shrinking import (
    coefficients,
    new_active_rows,
    new_variables,
    reconstruct_gradient,
    shrink,
    slot_of_active,
    update_bounds,
)
from oracles import toys

SIGNS = np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0])


@pytest.fixture
def matrix():
    return toys.real(n=6)[0]


@pytest.fixture
def held(matrix):
    return kernel_matrix.build(toys.KINDS["dense"](matrix), 7, Linear(), precision="double")


@pytest.fixture
def variables(matrix, held):
    """Return the first two betas free and the third at C = 1."""
    variables = new_variables(SIGNS, held.diagonal, 1.0)
    variables.beta[:3] = 0.5, -0.5, 1.0
    variables.minus_y_grad[:] = SIGNS - matrix @ matrix.T @ variables.beta
    for i in range(6):
        update_bounds(variables, i)
    return variables


def test_at_zero_all_may_go_one_way():
    variables = new_variables(SIGNS, np.ones(6), 2.0)
    np.testing.assert_array_equal(variables.lower, [0, -2, 0, -2, 0, -2])
    np.testing.assert_array_equal(variables.upper, [2, 0, 2, 0, 2, 0])
    np.testing.assert_array_equal(variables.up == 0, SIGNS > 0)
    np.testing.assert_array_equal(variables.low == 0, SIGNS < 0)


@pytest.fixture
def rows(held):
    return new_active_rows(held)


def test_only_those_that_cannot_change_are_left_aside(variables, rows):
    variables.minus_y_grad[:] = 0.0, 0.1, 5.0, 5.0, -5.0, -5.0  # the third and fourth wish to rise, the others to fall
    shrink(variables, rows, 0.2, -0.2)
    assert variables.active_size[0] == 3
    # at its upper bound the third may not rise, nor the fourth; the fifth may not fall; the sixth may and stays
    np.testing.assert_array_equal(variables.examples, [0, 1, 5, 2, 3, 4])
    np.testing.assert_array_equal(variables.minus_y_grad, [0.0, 0.1, -5.0, 5.0, 5.0, -5.0])
    np.testing.assert_array_equal(variables.upper, [1, 0, 0, 1, 0, 1])


def test_shrinking_that_is_not_worth_it_is_left(variables, rows):
    variables.minus_y_grad[:] = 0.0, 0.1, 5.0, 0.0, 0.0, 0.0
    shrink(variables, rows, 0.2, -0.2)
    assert variables.active_size[0] == 6
    np.testing.assert_array_equal(variables.examples, np.arange(6))


def test_a_row_of_the_active_is_gathered_once_and_anew_after_shrinking(matrix, held, variables, rows):
    row, counters = matrix @ matrix.T, new_counters()
    shrink(variables, rows, -np.inf, np.inf)  # all that are at a bound
    for left in (2, 1):
        variables.active_size[0] = left
        for i in range(left):
            slots = {slot_of_active(held, rows, variables, i, counters) for _ in range(3)}
            assert len(slots) == 1
            part = rows.kept[slots.pop() * left :][:left]
            np.testing.assert_allclose(part, row[variables.examples[i]][variables.examples[:left]], rtol=1e-12)
        variables.active_size[0] = 6
        variables.beta[0], variables.minus_y_grad[0] = 1.0, 5.0  # one more is at a bound
        update_bounds(variables, 0)
        shrink(variables, rows, 0.2, -0.2)
    assert counters[KERNEL_EVALUATIONS] == 6 * 3 * 3
    assert counters[KERNEL_COMPUTED] == 6 * 2  # the matrix keeps them


def test_the_gradient_is_reconstructed_from_what_has_changed(matrix, held, variables, rows):
    shrink(variables, rows, -np.inf, np.inf)  # all that are at a bound
    assert variables.active_size[0] == 2
    row, active = matrix @ matrix.T, variables.examples[:2]
    variables.beta[0] += 0.25
    variables.minus_y_grad[:2] -= 0.25 * row[active[0]][active]
    beta = np.array([0.75, -0.5, 1.0, 0.0, 0.0, 0.0])
    np.testing.assert_array_equal(coefficients(variables, 1.0), beta)
    counters = new_counters()
    reconstruct_gradient(held, variables, counters)
    assert variables.active_size[0] == 6
    assert counters[KERNEL_EVALUATIONS] == 6  # the row of the one that has changed
    np.testing.assert_array_equal(variables.examples, np.arange(6))
    np.testing.assert_array_equal(variables.beta, beta)
    np.testing.assert_allclose(variables.minus_y_grad, SIGNS - row @ beta, rtol=1e-12)
