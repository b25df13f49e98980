"""Every layout of examples by column has the same inner products."""

import numpy as np
import pytest

from mpu_bench.core.rows import Sparse
from mpu_bench.core.vector_store import (
    COLUMNS,
    CSC,
    QUANTISED,
    add_columns,
    choose_layout,
    list_columns,
    part_length,
    part_of_inner_products,
)
from oracles import toys
from oracles.layouts import LAYOUTS


def inner_products(store, i, out):
    """Compute the inner products of example i with all, part by part."""
    listed, length = list_columns(store, i), part_length(store, len(out))
    for first in range(0, len(out), length):
        part_of_inner_products(store, i, listed, first, out[first : first + length])


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_inner_products_agree_with_numpy(layout, precision):
    make, kind, chosen = LAYOUTS[layout]
    matrix, labels = make()
    store = choose_layout(toys.problem(matrix, labels, kind).train, matrix.shape[1], np.dtype(precision))
    if precision is np.float32:
        assert store.layout == chosen
    else:
        assert store.layout != QUANTISED
    expected, out = matrix @ matrix.T, np.empty(len(matrix), precision)
    for i in range(len(matrix)):
        inner_products(store, np.uint32(i), out)
        tolerance = 1e-12 if precision is np.float64 else 1e-5
        np.testing.assert_allclose(out, expected[i], rtol=tolerance, atol=tolerance)


def test_more_examples_than_are_summed_at_once():
    random = np.random.default_rng(0)
    for matrix in (random.normal(size=(9000, 3)), random.integers(0, 4, size=(9000, 3)) / 8.0):
        rows = toys.KINDS["dense"](matrix)
        store, out = choose_layout(rows, 3, np.dtype(np.float32)), np.empty(9000, np.float32)
        inner_products(store, np.uint32(8500), out)
        np.testing.assert_allclose(out, rows.values @ rows.values[8500], rtol=1e-5, atol=1e-5)


def test_four_columns_are_added_from_any_example_on():
    columns, sums = np.arange(60.0).reshape(6, 10), np.ones(3)
    indices, values = np.array([0, 5, 1, 2, 4], np.uint32), np.array([9.0, 1.0, 2.0, 0.5, 3.0])
    add_columns(columns, indices, values, 1, 6, sums)
    np.testing.assert_array_equal(sums, 1 + values[1:] @ columns[indices[1:], 6:9])


def test_multiples_of_a_quantum_above_255_are_not_quantised():
    matrix = np.array([[1.0, 0.0, 256.0], [2.0, 3.0, 255.0]])
    for largest, expected in ((256.0, COLUMNS), (255.0, QUANTISED)):
        rows = toys.KINDS["dense"](np.minimum(matrix, largest))
        assert choose_layout(rows, 3, np.dtype(np.float32)).layout == expected
    negative = toys.KINDS["dense"](-matrix)
    assert choose_layout(negative, 3, np.dtype(np.float32)).layout == COLUMNS


def test_sparse_rows_too_large_to_be_spread_out_stay_sparse(monkeypatch):
    matrix, labels = toys.real()
    rows = toys.problem(matrix, labels, "sparse").train
    assert isinstance(rows, Sparse)
    monkeypatch.setattr("mpu_bench.core.vector_store._SPREAD_OUT_BYTES", 60 * 7 * 4 - 1)
    assert choose_layout(rows, 7, np.dtype(np.float32)).layout == CSC
