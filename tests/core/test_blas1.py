import numpy as np
import pytest

from mpu_bench.core.numeric import axpy, dot


@pytest.mark.parametrize("m", [0, 1, 7, 100])
def test_only_the_first_elements_take_part(m):
    random = np.random.default_rng(m)
    x, y = random.normal(size=(2, 100))
    assert dot(x, y, m) == pytest.approx(x[:m] @ y[:m])
    expected = y + np.where(np.arange(100) < m, 2.5 * x, 0.0)
    axpy(2.5, x, y, m)
    np.testing.assert_allclose(y, expected)
