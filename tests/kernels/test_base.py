import numpy as np
import pytest
from numba import njit

from mpu_bench.kernels import Gaussian, Linear, Polynomial, value, values


def cosine(a, b, offset):
    """Give the cosine of (a, o) and (b, o), o^2 the offset."""
    a, b = np.append(a, np.sqrt(offset)), np.append(b, np.sqrt(offset))
    return a @ b / np.linalg.norm(a) / np.linalg.norm(b)


EXPECTED = {
    Linear(): lambda a, b: a @ b,
    Gaussian(0.3): lambda a, b: np.exp(-0.3 * ((a - b) ** 2).sum()),
    Polynomial(0.5, 1.0, 5): lambda a, b: (0.5 * (a @ b) + 1.0) ** 5,
    Polynomial(1.0, 0.0, 2): lambda a, b: (a @ b) ** 2,
    Polynomial(1.0, 1.0, 5, True): lambda a, b: cosine(a, b, 1.0) ** 5,
    Polynomial(2.0, 6.0, 2, True): lambda a, b: cosine(a, b, 3.0) ** 2,
    Polynomial(1.0, 0.0, 1, True): lambda a, b: cosine(a, b, 0.0),
}


@njit
def compiled(kernel, dot, a2, b2):
    return value(kernel, dot, a2, b2)


@njit
def compiled_values(kernel, products, norms, norm):
    values(kernel, products, norms, norm)


@pytest.mark.parametrize("kernel", EXPECTED, ids=str)
@pytest.mark.parametrize("function", [compiled, value], ids=["compiled", "plain"])
def test_values_agree_with_numpy(function, kernel):
    a, b = np.random.default_rng(0).normal(size=(2, 6))
    assert function(kernel, a @ b, a @ a, b @ b) == pytest.approx(EXPECTED[kernel](a, b))


@pytest.mark.parametrize(
    "kernel", [*EXPECTED, *(Polynomial(0.5, 1.0, degree) for degree in (1, 3, 4, 6, 7, 11))], ids=str
)
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 3e-6), (np.float64, 1e-13)])
def test_many_values_are_those_one_by_one(kernel, dtype, tolerance):
    a, rows = np.random.default_rng(1).normal(size=6), np.random.default_rng(2).normal(size=(700, 6))
    rows[3] = 0.0
    products, norms = rows @ a, (rows**2).sum(axis=1)
    expected = [value(kernel, dot, norm, a @ a) for dot, norm in zip(products, norms, strict=True)]
    many = products.astype(dtype)
    compiled_values(kernel, many, norms.astype(dtype), a @ a)
    np.testing.assert_allclose(many, expected, rtol=10 * tolerance, atol=tolerance * np.abs(expected).max())


def test_a_normalized_kernel_is_one_of_a_row_with_itself_and_zero_where_a_row_is():
    long = 1e19  # whose square single precision does not hold
    cosine = Polynomial(1.0, 0.0, 5, True)
    assert value(cosine, 0.3, 0.3, 0.3) == pytest.approx(1.0)
    many, norms = np.array([0, 0, 2 * long], np.float32), np.array([0, 1, long], np.float32)
    compiled_values(cosine, many, norms, 4 * long)
    np.testing.assert_allclose(many, [0, 0, 1], rtol=1e-6)
    compiled_values(cosine, many, norms, 0.0)
    assert (many == 0).all()
    assert value(cosine, 0.0, 0.0, 0.0) == value(cosine, 0.0, 0.0, 1.0) == 0.0


def test_a_gaussian_never_exceeds_one():
    a = np.full(3, 0.1)
    assert value(Gaussian(1e6), a @ a + 1e-9, a @ a, a @ a) == 1.0


def test_what_is_no_kernel_is_a_clear_error():
    with pytest.raises(
        TypeError, match=r"value: nothing is registered for float; there are .*Gaussian, Polynomial, Linear"
    ):
        value(1.0, 1.0, 1.0, 1.0)
