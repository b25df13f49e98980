from collections import OrderedDict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpu_bench.core import gram, vector_store
from mpu_bench.core.counters import KERNEL_COMPUTED, KERNEL_EVALUATIONS, new_counters
from mpu_bench.core.gram import kernel_diagonal, kernel_row
from mpu_bench.core.kernels import Gaussian, Linear, Polynomial
from mpu_bench.core.rows import Dense, squared_norms
from mpu_bench.errors import DataError
from oracles import toys

EXPECTED = {
    Linear(): lambda a, b: a @ b.T,
    Gaussian(0.25): lambda a, b: np.exp(-0.25 * ((a[:, None] - b) ** 2).sum(axis=2)),
    Polynomial(0.5, 1.0, 3): lambda a, b: (0.5 * (a @ b.T) + 1.0) ** 3,
}


KINDS = dict(zip(EXPECTED, ["sparse", "ones", "dense"], strict=True))


@pytest.mark.parametrize(("kernel", "kind"), KINDS.items(), ids=str)
def test_rows_and_diagonal_agree_with_numpy(kernel, kind):
    matrix, labels = toys.binary() if kind == "ones" else toys.real()
    rows, expected = toys.problem(matrix, labels, kind).train, EXPECTED[kernel](matrix, matrix)
    norms, example, row = squared_norms(rows), np.zeros(matrix.shape[1]), np.zeros(len(matrix))
    for i in range(len(matrix)):
        kernel_row(kernel, rows, norms, np.uint32(i), example, row)
        np.testing.assert_allclose(row, expected[i], rtol=1e-12, atol=1e-12)
        assert not example.any()
    np.testing.assert_allclose(kernel_diagonal(kernel, norms), np.diag(expected), rtol=1e-12)


def pixels():
    matrix, labels = toys.binary()
    digits = np.random.default_rng(1).integers(1, 256, size=matrix.shape)
    return (matrix * digits / 255).astype(np.float32).astype(float), labels


def wide():
    """Give long rows with few values, none of them the same."""
    random = np.random.default_rng(2)
    matrix = random.normal(size=(60, 900)).astype(np.float32).astype(float)
    matrix[random.random(matrix.shape) > 0.01] = 0.0
    return matrix, np.arange(60, dtype=np.int32) % 2


FORMS = {
    "ones": (toys.binary, "ones", vector_store.BITS),
    "sparse ones": (toys.binary, "sparse", vector_store.BITS),
    "pixels": (pixels, "dense", vector_store.DIGITS),
    "sparse pixels": (pixels, "sparse", vector_store.DIGITS),
    "dense": (toys.real, "dense", vector_store.COLUMNS),
    "doubles": (toys.real, "dense64", vector_store.COLUMNS),
    "wide": (wide, "sparse", vector_store.LISTS),
}


@pytest.mark.parametrize("kernel", EXPECTED, ids=str)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("precision", ["single", "double"])
def test_every_form_gives_the_kernel_matrix(form, kernel, precision):
    make, kind, taken = FORMS[form]
    matrix, labels = make()
    rows, expected = toys.problem(matrix, labels, kind).train, EXPECTED[kernel](matrix, matrix)
    held, counters = gram.build(rows, matrix.shape[1], kernel, precision=precision), new_counters()
    if precision == "single":
        assert held.products.form == taken
    found = np.array([gram.row(held, i, counters) for i in range(len(matrix))])
    assert found.dtype == (np.float32 if precision == "single" else np.float64)
    tolerance = 1e-12 if precision == "double" else 2e-6 * np.abs(expected).max()
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)
    np.testing.assert_allclose(held.diagonal, np.diag(expected), rtol=1e-6)
    if isinstance(kernel, Gaussian):
        assert (held.diagonal == 1.0).all()
        assert (np.diag(found) == 1.0).all()
        assert found.max() <= 1.0
    coefficients = np.linspace(-1, 1, len(matrix))
    np.testing.assert_allclose(gram.expand(held, coefficients), coefficients @ expected, atol=len(matrix) * tolerance)


@given(st.integers(2, 9), st.lists(st.integers(0, 59), max_size=60))
def test_the_least_recently_used_row_leaves(room, asked):
    """Against a dictionary that keeps its order: values, counts, and that two rows can be used together."""
    matrix, labels = toys.real()
    n = len(matrix)
    held = gram.build(toys.problem(matrix, labels, "dense").train, 7, Linear(), memory=room * n * 4)
    expected, counters, computed = matrix @ matrix.T, new_counters(), 0
    kept: OrderedDict[int, None] = OrderedDict()
    before, place_before = 0, gram.row(held, 0, new_counters())
    kept[0] = None
    for times, i in enumerate(asked, 1):
        computed += i not in kept
        kept[i] = None
        kept.move_to_end(i)
        if len(kept) > room:
            kept.popitem(last=False)
        row = gram.row(held, i, counters)
        np.testing.assert_allclose(row, expected[i], rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(place_before, expected[before], rtol=1e-5, atol=1e-5)
        assert counters[KERNEL_EVALUATIONS] == n * times
        assert counters[KERNEL_COMPUTED] == n * computed
        before, place_before = i, row


@given(st.lists(st.integers(0, 9), max_size=60))
def test_the_room_grows_as_rows_are_computed_again(asked):
    matrix, labels = toys.real()
    n = len(matrix)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gram, "_FIRST", 2 * n * 4)
        held = gram.build(toys.problem(matrix, labels, "dense").train, 7, Linear(), memory=7 * n * 4)
    expected, counters, computed = matrix @ matrix.T, new_counters(), 0
    kept: list[int] = []
    seen, room = set(), 2
    for i in asked:
        if i in kept:
            kept.remove(i)
        else:
            computed += 1
            if i in seen:
                room = min(room + 2, 7)
            if len(kept) == room:
                kept.pop(0)
        kept.append(i)
        seen.add(i)
        np.testing.assert_allclose(gram.row(held, i, counters), expected[i], rtol=1e-5, atol=1e-5)
        assert counters[KERNEL_COMPUTED] == n * computed
        assert set(np.flatnonzero(held.places >= 0)) == set(kept)
    gram.fill(held, counters)
    assert (held.owners >= 0).all()


def test_room_that_the_system_refuses_is_halved():
    rows = Dense(np.ones((300_000, 1), np.float32))  # all rows would be 360 GB
    held, counters = gram.build(rows, 1, Linear(), memory=2**42), new_counters()
    assert 2 <= len(held.owners) <= 300_000
    assert (gram.row(held, 299_999, counters) == 1).all()


@pytest.mark.parametrize("form", ["dense", "ones"])
def test_rows_can_be_computed_ahead(form):
    make, kind, _ = FORMS[form]
    matrix, labels = make()
    n, counters = len(matrix), new_counters()
    held = gram.build(toys.problem(matrix, labels, kind).train, matrix.shape[1], Gaussian(0.25), memory=10 * n * 4)
    gram.row(held, 7, counters)
    gram.prefetch(held, np.array([3, 7, 3, 50]), counters)
    assert list(counters[[KERNEL_EVALUATIONS, KERNEL_COMPUTED]]) == [n, 3 * n]
    expected = EXPECTED[Gaussian(0.25)](matrix, matrix)
    for i in (3, 50, 7):
        np.testing.assert_allclose(gram.row(held, i, counters), expected[i], rtol=1e-5)
    assert list(counters[[KERNEL_EVALUATIONS, KERNEL_COMPUTED]]) == [4 * n, 3 * n]
    gram.fill(held, counters)
    assert counters[KERNEL_EVALUATIONS] == 4 * n
    assert (held.owners >= 0).all()


def test_the_allowance_is_that_set_or_half_of_the_free_memory():
    rows = toys.problem(*toys.real(), "dense").train
    try:
        gram.set_allowance(5 * 60 * 4 + 3)
        assert gram.build(rows, 7, Linear()).kept.shape == (5, 60)
        gram.set_allowance(0)  # never less than a pair
        assert gram.build(rows, 7, Linear()).kept.shape == (2, 60)
    finally:
        gram.set_allowance(None)
    assert 0 < gram.allowance() < 2**46
    assert gram.build(rows, 7, Linear()).kept.shape == (60, 60)
    assert gram.build(Dense(rows.values[:1]), 7, Linear()).kept.shape == (1, 1)


def test_a_kernel_that_overflows_is_refused():
    rows = Dense(np.array([[3e4, 4e4], [1.0, 2.0]], np.float32))
    with pytest.raises(DataError, match=r"largest \|\|x\|\| is 5e\+04.*scale the features down"):
        gram.build(rows, 2, Polynomial(1.0, 1.0, 5))
    gram.build(rows, 2, Polynomial(1.0, 1.0, 4))
    gram.build(rows, 2, Polynomial(1.0, 1.0, 5, normalize=True))
    gram.build(rows, 2, Polynomial(1.0, 1.0, 5), precision="double")
    with pytest.raises(DataError, match="largest"):
        gram.build(Dense(np.array([[np.inf, 0.0]])), 2, Gaussian(1.0))
    with pytest.raises(DataError, match="largest"):
        gram.build(Dense(np.array([[1e25, 0.0]])), 2, Gaussian(1.0))
