import numpy as np

from mpu_bench.core.exp import exp_double, exp_single, expm1_double


def test_single_precision_exp():
    x = np.linspace(-87.33, 0.0, 200_001).astype(np.float32)
    error = np.array([exp_single(each) for each in x]) / np.exp(x.astype(float)) - 1
    assert np.abs(error).max() < 1.2e-7
    assert exp_single(np.float32(0)) == 1.0
    for below in (-87.4, -104.0, -1e30, -np.inf):
        assert exp_single(np.float32(below)) == 0.0


def test_double_precision_exp():
    x = np.linspace(-708.0, 0.0, 100_001)
    error = np.array([exp_double(each) for each in x]) / np.exp(x) - 1
    assert np.abs(error).max() < 1e-15
    assert exp_double(0.0) == 1.0
    assert exp_double(-709.0) == exp_double(-np.inf) == 0.0


def test_exp_less_one_is_precise_for_the_smallest_numbers():
    x = -np.geomspace(1e-300, 700.0, 100_001)
    error = np.array([expm1_double(each) for each in x]) / np.expm1(x) - 1
    assert np.abs(error).max() < 1e-15
