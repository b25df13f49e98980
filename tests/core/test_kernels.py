import numpy as np
import pytest
from numba import njit

from mpu_bench.core.kernels import Gaussian, Linear, Polynomial, value

EXPECTED = {
    Linear(): lambda a, b: a @ b,
    Gaussian(0.3): lambda a, b: np.exp(-0.3 * ((a - b) ** 2).sum()),
    Polynomial(0.5, 1.0, 5): lambda a, b: (0.5 * (a @ b) + 1.0) ** 5,
    Polynomial(1.0, 0.0, 2): lambda a, b: (a @ b) ** 2,
}


@njit
def compiled(kernel, dot, a2, b2):
    return value(kernel, dot, a2, b2)


@pytest.mark.parametrize("kernel", EXPECTED, ids=str)
@pytest.mark.parametrize("function", [compiled, value], ids=["compiled", "plain"])
def test_values_agree_with_numpy(function, kernel):
    a, b = np.random.default_rng(0).normal(size=(2, 6))
    assert function(kernel, a @ b, a @ a, b @ b) == pytest.approx(EXPECTED[kernel](a, b))


def test_a_gaussian_never_exceeds_one():
    a = np.full(3, 0.1)
    assert value(Gaussian(1e6), a @ a + 1e-9, a @ a, a @ a) == 1.0


def test_what_is_no_kernel_is_a_clear_error():
    with pytest.raises(TypeError, match="value: no implementation for float; there are Linear, Gaussian, Polynomial"):
        value(1.0, 1.0, 1.0, 1.0)
