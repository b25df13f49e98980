import numpy as np
import pytest

from mpu_bench.core.gram import kernel_diagonal, kernel_row
from mpu_bench.core.kernels import Gaussian, Linear, Polynomial
from mpu_bench.core.rows import squared_norms
from references import toys

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
