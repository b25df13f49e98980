import numpy as np
import pytest

from mpu_bench.core.rows import Dense, Sparse, any_rows
from mpu_bench.core.vectors import kernel_values, new_vectors, padded, put, quantum_of, rows_of, stored_kernel_values
from mpu_bench.kernels import Linear
from oracles import toys


def quantised(quantum, seed=0):
    """Return multiples of the quantum, most of them zero."""
    random = np.random.default_rng(seed)
    matrix = (random.integers(0, 256, (150, 20)) * (random.random((150, 20)) < 0.4)).astype(float)
    matrix[0, :2] = 1, 255
    return (matrix * quantum).astype(np.float32).astype(float)


@pytest.mark.parametrize("quantum", [1.0, 1 / 255, 1 / 256, 0.1])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_quantised_vectors_are_those_in_single_precision(kind, quantum):
    matrix = quantised(quantum)
    rows = toys.KINDS[kind](matrix)
    assert quantum_of(rows) == pytest.approx(quantum, rel=1e-6)
    vectors, plain = new_vectors(20, padded(130), quantum=quantum_of(rows)), new_vectors(20, padded(130))
    assert vectors.columns.dtype == np.uint8
    for slot, i in enumerate([*range(130), 140, 149]):
        for each in (vectors, plain):
            put(each, slot if slot < 130 else slot - 100, any_rows(rows), np.uint32(i))
    kept, expected = (rows_of(each, np.arange(130)).values for each in (vectors, plain))
    np.testing.assert_allclose(kept, expected, rtol=1e-6)
    out, expected = np.zeros(padded(130), np.float32), np.zeros(padded(130), np.float32)
    for function, chosen in ((kernel_values, (any_rows(rows), np.uint32(7))), (stored_kernel_values, (40,))):
        function(vectors, Linear(), *chosen, out)
        function(plain, Linear(), *chosen, expected)
        np.testing.assert_allclose(out[:130], expected[:130], rtol=1e-5)


def test_what_has_no_quantum():
    matrix = quantised(1 / 255)
    for wrong in (-1 / 255, 0.4 / 255, 256 / 255):
        matrix[3, 3] = wrong
        assert quantum_of(Dense(matrix.astype(np.float32))) == 0.0
    assert quantum_of(Dense(np.zeros((3, 3), np.float32))) == 0.0
    assert quantum_of(Dense(np.ones((3, 3)))) == 0.0  # doubles may be anything
    empty = Sparse(np.zeros(0, np.float32), np.zeros(0, np.uint32), np.zeros(3, np.uint32))
    assert quantum_of(empty) == 0.0
    assert quantum_of(toys.KINDS["ones"](np.eye(3))) == 1.0
    assert new_vectors(3, 64, "double", 1.0).columns.dtype == np.float64
