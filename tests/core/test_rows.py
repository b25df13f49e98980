import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from numba.core.errors import TypingError

from mpu_bench.core.rows import Ones, add, count, dot, squared_norm, squared_norms, take, to_scipy
from oracles import toys


@njit
def compiled(rows, i, scale, w):
    before = dot(rows, i, w)
    add(rows, i, scale, w)
    return before, squared_norm(rows, i), count(rows)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 100), i=st.integers(0, 19), scale=st.floats(-10, 10))
@pytest.mark.parametrize("kind", ["dense", "sparse", "ones"])
@pytest.mark.parametrize("function", [compiled, compiled.py_func], ids=["compiled", "plain"])
def test_operations_agree_with_numpy(function, kind, seed, i, scale):
    matrix, _ = (toys.binary if kind == "ones" else toys.real)(n=20, seed=seed)
    rows = toys.KINDS[kind](matrix)
    w = np.random.default_rng(seed).normal(size=matrix.shape[1])
    changed = w.copy()
    product, norm, number = function(rows, np.uint32(i), scale, changed)
    assert product == pytest.approx(matrix[i] @ w, abs=1e-12)
    assert norm == pytest.approx((matrix[i] ** 2).sum())
    assert number == 20
    np.testing.assert_allclose(changed, w + scale * matrix[i], atol=1e-12)


@pytest.mark.parametrize("kind", ["dense", "sparse", "ones"])
def test_squared_norms(kind):
    matrix, _ = toys.binary()
    np.testing.assert_array_equal(squared_norms(toys.KINDS[kind](matrix)), matrix.sum(axis=1))


@settings(max_examples=30, deadline=None)
@given(chosen=st.lists(st.integers(0, 59)))
@pytest.mark.parametrize("kind", ["dense", "sparse", "ones"])
def test_take_copies_rows_in_the_order_given(kind, chosen):
    matrix, _ = toys.binary()
    rows = toys.KINDS[kind](matrix)
    taken = take(rows, np.array(chosen, np.int64))
    assert type(taken) is type(rows)
    assert [array.dtype for array in taken] == [array.dtype for array in rows]
    assert not any(np.shares_memory(new, old) for new, old in zip(taken, rows, strict=True))
    found = to_scipy(taken, matrix.shape[1])
    found = found.toarray() if scipy.sparse.issparse(found) else found
    np.testing.assert_array_equal(found, matrix[chosen])


@pytest.mark.parametrize("kind", ["dense", "sparse", "ones"])
def test_to_scipy_gives_doubles_as_the_peers_want_them(kind):
    matrix, _ = toys.binary()
    found = to_scipy(toys.KINDS[kind](matrix), matrix.shape[1])
    assert found.dtype == np.float64
    assert found.shape == matrix.shape
    if kind != "dense":
        assert found.indices.dtype == found.indptr.dtype == np.int32
        assert found.has_sorted_indices


def test_the_wrong_kind_of_rows_is_a_clear_error():
    matrix = np.zeros((2, 2))
    with pytest.raises(TypeError, match="dot: nothing is registered for ndarray; there are Dense, Sparse, Ones"):
        dot(matrix, np.uint32(0), matrix[0])
    with pytest.raises(TypingError, match="dot: nothing is registered for array"):
        compiled(matrix, np.uint32(0), 1.0, matrix[0])


def test_the_wrong_number_of_arguments_is_a_clear_error():
    rows = Ones(np.zeros(1, np.uint32), np.array([0, 1], np.uint32))
    with pytest.raises(TypeError, match="dot takes"):
        dot(rows, np.uint32(0))
    with pytest.raises(TypingError, match="dot takes"):
        njit(lambda rows: dot(rows, np.uint32(0)))(rows)


def test_columns_beyond_32_bits_with_a_sign_are_kept():
    rows = Ones(np.array([3_000_000_000], np.uint32), np.array([0, 1], np.uint32))
    assert to_scipy(rows, 4_000_000_000).indices.tolist() == [3_000_000_000]
