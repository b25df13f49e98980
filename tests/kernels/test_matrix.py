import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpu_bench.core.counters import KERNEL_COMPUTED, KERNEL_EVALUATIONS, new_counters
from mpu_bench.core.rows import Dense, squared_norms
from mpu_bench.errors import DataError
from mpu_bench.kernels import Gaussian, Linear, Polynomial
from mpu_bench.kernels import matrix as kernel_matrix
from mpu_bench.kernels.matrix import kernel_diagonal
from oracles import toys
from oracles.layouts import LAYOUTS

EXPECTED = {
    Linear(): lambda a, b: a @ b.T,
    Gaussian(0.25): lambda a, b: np.exp(-0.25 * ((a[:, None] - b) ** 2).sum(axis=2)),
    Polynomial(0.5, 1.0, 3): lambda a, b: (0.5 * (a @ b.T) + 1.0) ** 3,
}


KINDS = dict(zip(EXPECTED, ["sparse", "ones", "dense"], strict=True))


@pytest.mark.parametrize(("kernel", "kind"), KINDS.items(), ids=str)
def test_the_diagonal_agrees_with_numpy(kernel, kind):
    matrix, labels = toys.binary() if kind == "ones" else toys.real()
    norms, expected = squared_norms(toys.problem(matrix, labels, kind).train), EXPECTED[kernel](matrix, matrix)
    np.testing.assert_allclose(kernel_diagonal(kernel, norms), np.diag(expected), rtol=1e-12)


@pytest.mark.parametrize(
    ("kernel", "precision"),
    [
        (kernel, precision)
        for kernel in EXPECTED
        for precision in ("single", "fixed", "double")
        if precision != "fixed" or isinstance(kernel, Gaussian)  # values of at most 1
    ],
    ids=str,
)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_has_the_kernel_matrix(layout, kernel, precision):
    make, kind, _ = LAYOUTS[layout]
    matrix, labels = make()
    rows, expected = toys.problem(matrix, labels, kind).train, EXPECTED[kernel](matrix, matrix)
    held, counters = kernel_matrix.build(rows, matrix.shape[1], kernel, precision=precision), new_counters()
    found = np.array([row_of(held, i, counters) for i in range(len(matrix))])
    assert found.dtype == {"single": np.float32, "fixed": np.int32, "double": np.float64}[precision]
    tolerance = {"single": 2e-6 * np.abs(expected).max(), "fixed": 1.001 * 2.0**-31, "double": 1e-12}[precision]
    found = found * held.unit
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)
    np.testing.assert_allclose(held.diagonal * held.unit, np.diag(expected), rtol=1e-6)
    if isinstance(kernel, Gaussian):
        assert (held.diagonal * held.unit == 1.0).all()
        assert (np.diag(found) == 1.0).all()
        assert found.max() <= 1.0
    coefficients = np.linspace(-1, 1, len(matrix))
    found = np.zeros(len(matrix))
    kernel_matrix.add_rows(kernel_matrix.copy_without_rows(held), coefficients * held.unit, found, new_counters())
    np.testing.assert_allclose(found, coefficients @ expected, atol=len(matrix) * tolerance)


def row_of(held, i, counters):
    return held.kept[kernel_matrix.row_slot(held, np.uint32(i), counters)]


@given(st.integers(2, 9), st.lists(st.integers(0, 59), max_size=60))
def test_rows_are_those_asked_for_whatever_is_kept(slots, asked):
    """Values and counts, and that two rows can be used together."""
    matrix, labels = toys.real()
    n = len(matrix)
    held = kernel_matrix.build(toys.problem(matrix, labels, "dense").train, 7, Linear(), memory=slots * n * 4)
    expected, counters, computed = matrix @ matrix.T, new_counters(), 0
    before, row_before, kept = 0, row_of(held, 0, new_counters()), [0]
    for times, i in enumerate(asked, 1):
        computed += i not in kept
        kept = [*(each for each in kept if each != i), i][-slots:]
        row = row_of(held, i, counters)
        np.testing.assert_allclose(row, expected[i], rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(row_before, expected[before], rtol=1e-5, atol=1e-5)
        assert counters[KERNEL_EVALUATIONS] == n * times
        assert counters[KERNEL_COMPUTED] == n * computed
        before, row_before = i, row


def test_few_slots_are_open_at_first():
    """Of 20 rows of 16 MiB there is room for, four are kept until one comes back that had to leave, and then six."""
    n = 1 << 22
    held, counters = kernel_matrix.build(Dense(np.ones((n, 1), np.float32)), 1, Linear(), memory=20 * n * 4), []
    for i in (0, 1, 2, 3, 4, 0, 5, 1, 2, 3, 4, 0, 5):
        asked = new_counters()
        row_of(held, i, asked)
        counters.append(asked[KERNEL_COMPUTED] // n)
    assert counters == [1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0]


def test_memory_that_the_system_refuses_is_halved():
    rows = Dense(np.ones((300_000, 1), np.float32))  # all rows would be 360 GB
    held, counters = kernel_matrix.build(rows, 1, Linear(), memory=2**42), new_counters()
    assert 2 <= len(held.kept) <= 300_000
    assert (row_of(held, 299_999, counters) == 1).all()


def test_a_copy_keeps_no_rows_and_leaves_those_kept():
    matrix, labels = toys.real()
    held, counters = kernel_matrix.build(toys.problem(matrix, labels, "dense").train, 7, Linear()), new_counters()
    row_of(held, 5, counters)
    copy = kernel_matrix.copy_without_rows(held)
    assert copy.kept.shape == (2, 60)
    for i in (5, 7):
        asked = new_counters()
        np.testing.assert_allclose(row_of(copy, i, asked), matrix @ matrix[i], rtol=1e-5, atol=1e-5)
        assert asked[KERNEL_COMPUTED] == 60
    row_of(held, 5, counters)
    assert counters[KERNEL_COMPUTED] == 60


def test_the_allowance_is_that_set_or_a_gigabyte_or_half_of_the_free_memory(monkeypatch):
    rows = toys.problem(*toys.real(), "dense").train
    with monkeypatch.context() as patched:
        patched.setattr(kernel_matrix.PROVISION, "memory", 5 * 60 * 4 + 3)
        assert kernel_matrix.build(rows, 7, Linear()).kept.shape == (5, 60)
        patched.setattr(kernel_matrix.PROVISION, "memory", 0)  # never less than a pair
        assert kernel_matrix.build(rows, 7, Linear()).kept.shape == (2, 60)
    assert kernel_matrix.Provision().allowance() == 1000 * 2**20
    assert 0 < kernel_matrix.Provision(memory=None).allowance() < 2**46
    assert kernel_matrix.build(rows, 7, Linear()).kept.shape == (60, 60)
    assert kernel_matrix.build(Dense(rows.values[:1]), 7, Linear()).kept.shape == (1, 1)


def test_a_kernel_that_overflows_is_refused():
    rows = Dense(np.array([[3e4, 4e4], [1.0, 2.0]], np.float32))
    with pytest.raises(DataError, match=r"largest \|\|x\|\| is 5e\+04.*scale the features down"):
        kernel_matrix.build(rows, 2, Polynomial(1.0, 1.0, 5))
    kernel_matrix.build(rows, 2, Polynomial(1.0, 1.0, 4))
    kernel_matrix.build(rows, 2, Polynomial(1.0, 1.0, 5, normalize=True))
    kernel_matrix.build(rows, 2, Polynomial(1.0, 1.0, 5), precision="double")
    with pytest.raises(DataError, match="largest"):
        kernel_matrix.build(Dense(np.array([[np.inf, 0.0]])), 2, Gaussian(1.0))
    with pytest.raises(DataError, match="largest"):
        kernel_matrix.build(Dense(np.array([[1e25, 0.0]])), 2, Gaussian(1.0), precision="single")
    assert kernel_matrix.build(Dense(np.array([[1e25, 0.0]])), 2, Gaussian(1.0)).kept.dtype == np.float64


@pytest.mark.parametrize("value", [1e20, 3e19])
def test_inner_products_too_large_for_single_precision_are_refused_whatever_the_scale(value):
    rows = Dense(np.full((3, 2), value, np.float32))
    with pytest.raises(DataError, match="with which inner products or values of the kernel Polynomial"):
        kernel_matrix.build(rows, 2, Polynomial(1e-41, 0.0, 3), precision="single")
    assert (
        kernel_matrix.build(rows, 2, Polynomial(1e-41, 0.0, 3)).kept.dtype == np.float64
    )  # such a scale is none in single


@pytest.mark.parametrize("scale", [1e-160, 1e-200])
def test_rows_whose_squares_vanish_are_refused_where_they_count(scale):
    rows = Dense(np.full((2, 2), scale))
    with pytest.raises(DataError, match="too small for floating point; scale the features up"):
        kernel_matrix.checked_norms(rows, Linear(), np.dtype(np.float64))
    for others, kernel in ((rows, Gaussian(1.0)), (Dense(np.zeros((2, 2))), Linear())):
        assert kernel_matrix.checked_norms(others, kernel, np.dtype(np.float64)).max() <= scale
