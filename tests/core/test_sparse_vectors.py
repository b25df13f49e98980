"""Vectors that are kept sparse have the kernel values of those that are kept by columns."""

import numpy as np
import pytest

from mpu_bench.core.rows import Dense, any_rows
from mpu_bench.core.vectors import (
    drop,
    has_free_entries,
    keeps_sparse,
    kernel_values,
    new_vectors,
    padded,
    put,
    put_between,
    rows_of,
    stored_kernel_values,
    with_free_entries,
)
from mpu_bench.kernels import Gaussian
from oracles import toys

D, SLOTS, KERNEL = 50, 10, Gaussian(0.1)


def rows(kind="sparse", n=40):
    random = np.random.default_rng(0)
    matrix = random.normal(size=(n, D)).astype(np.float32) * (random.random((n, D)) < 0.1)
    return toys.KINDS[kind]((matrix != 0) if kind == "ones" else matrix)


def both(precision, common):
    return [new_vectors(D, padded(SLOTS), precision), new_vectors(D, padded(SLOTS), precision, 0.0, True, common)]


def dense_of(vectors):
    found, m = rows_of(vectors, np.arange(vectors.size[0])), int(vectors.size[0])
    if isinstance(found, Dense):
        return found.values
    matrix = np.zeros((m, D))
    matrix[np.repeat(np.arange(m), np.diff(found.starts.astype(int))), found.indices] = found.values
    return matrix


def same(plain, sparse):
    """Hold them to the same vectors, norms and kernel values."""
    m = int(plain.size[0])
    assert sparse.size[0] == m
    np.testing.assert_allclose(dense_of(sparse), dense_of(plain), rtol=1e-6)
    np.testing.assert_allclose(sparse.squared_norms[:m], plain.squared_norms[:m], rtol=1e-6)
    out, expected = np.zeros_like(plain.squared_norms), np.zeros_like(plain.squared_norms)
    for function, arguments in (
        (kernel_values, (KERNEL, any_rows(rows()), np.uint32(39))),
        (stored_kernel_values, (KERNEL, m - 1)),
    ):
        function(plain, *arguments, expected)
        function(sparse, *arguments, out)
        np.testing.assert_allclose(out[:m], expected[:m], rtol=1e-5, atol=1e-6)
        assert np.isfinite(out).all()


@pytest.mark.parametrize("kind", ["sparse", "ones"])
@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("share", [0.3, 0.999, 1.0])
def test_they_are_those_kept_by_columns(kind, precision, share):
    """Whatever is put, overwritten, merged and dropped, and however often entries are made free."""
    plain, sparse = both(precision, np.arange(0, D, 3))
    given, random, renewed = any_rows(rows(kind)), np.random.default_rng(1), 0
    for i in range(40):
        if not has_free_entries(sparse, D, 1):
            sparse, renewed = with_free_entries(sparse, D), renewed + 1
        slot = i if i < SLOTS else int(random.integers(plain.size[0] + (plain.size[0] < SLOTS)))
        action = random.integers(4) if i > SLOTS else 0
        for each in (plain, sparse):
            put(each, slot, given, np.uint32(i))
            if action == 1:
                put_between(each, 1, 0, share)
            elif action == 2:
                drop(each, 0)
        same(plain, sparse)
    assert renewed == 1  # blocks are used again


def test_wide_rows_with_few_values_are_kept_sparse():
    assert keeps_sparse(rows("ones"), 1_000_000)
    assert not keeps_sparse(rows("ones"), D)
    assert not keeps_sparse(rows("ones")._replace(indices=np.zeros(40 * 20_000, np.uint32)), 20_000)
    assert not keeps_sparse(rows("dense"), 1_000_000)
