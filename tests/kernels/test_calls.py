"""Jitted code calls any kernel by address: the values are the same, and a solver is compiled once for all kernels."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba.core.errors import TypingError
from numpy.typing import DTypeLike, NDArray

from mpu_bench.core.jit import jit
from mpu_bench.core.rows import Dense
from mpu_bench.kernels import Gaussian, Kernel, Linear, Polynomial, Precomputed, value, values
from mpu_bench.kernels.matrix import build, kernel_diagonal

KERNELS = (
    Gaussian(0.3),
    Linear(),
    Polynomial(0.5, 1.0, 3),
    Polynomial(0.5, 1.0, 3, normalize=True),
    Precomputed.of(np.add.outer(np.arange(5.0), np.arange(5.0))),
    Precomputed.of(np.ones((5, 5), np.float32), 0.5),
)


@jit
def _value(kernel, dot, a2, b2):
    return value(kernel, dot, a2, b2)


@jit
def _values(kernel, products, norms, norm):
    values(kernel, products, norms, norm)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_a_value_is_that_of_plain_python(kernel: Kernel) -> None:
    assert _value(kernel, 1.5, 4.0, 9.0) == pytest.approx(value(kernel, 1.5, 4.0, 9.0), rel=1e-15)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_values_are_those_of_plain_python(kernel: Kernel, dtype: DTypeLike) -> None:
    norms = np.arange(5).astype(dtype) ** 2
    jitted = np.linspace(-1.0, 3.0, 5).astype(dtype)
    expected = [value(kernel, float(dot), float(norm), 4.0) for dot, norm in zip(jitted, norms, strict=True)]
    _values(kernel, jitted, norms, 4.0)
    np.testing.assert_allclose(jitted, expected, rtol=2e-6 if dtype == np.float32 else 1e-14)


COMPILE_ALL = """
import numba.core.event
from tests.kernels.test_calls import KERNELS
from mpu_bench.kernels.calls import compiled
compiles = numba.core.event.RecordingListener()
numba.core.event.register("numba:compile", compiles)
for kernel in KERNELS:
    compiled(kernel)
print(len(compiles.buffer))
"""


def test_another_process_finds_what_is_compiled_of_a_kernel(tmp_path: Path) -> None:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-c", COMPILE_ALL]
    first, second = (
        int(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)
        for _ in range(2)
    )
    assert first > 0
    assert second == 0


def test_another_kernel_compiles_nothing_of_its_callers() -> None:
    for kernel in KERNELS:
        _value(kernel, 1.5, 4.0, 9.0)
        kernel_diagonal(kernel, np.ones(3))
    assert len(_value.from_python.signatures) == 1
    assert len(kernel_diagonal.from_python.signatures) == 1


@pytest.mark.parametrize("matrix", [np.zeros((5, 5)), np.zeros((5, 5), order="F"), np.zeros((10, 15))[::2, ::3]])
def test_a_matrix_is_read_where_it_lies(matrix: NDArray[np.float64]) -> None:
    kernel = Precomputed.of(matrix)
    matrix[1, 2] = 100.0
    assert _value(kernel, 0.0, 1.0, 4.0) == 100.0


class _Number(NamedTuple):
    x: float


class _WithoutValues(_Number, Kernel):
    __slots__ = ()

    name = "without values"
    positive_semidefinite = True

    def bound(self, squared_norms: Any) -> Any:
        return squared_norms

    def growth(self, squared_norm: float) -> float:
        return 1.0


def test_a_kernel_without_values_is_an_error_of_the_caller() -> None:
    with pytest.raises(TypingError, match="nothing is registered for"):
        kernel_diagonal(_WithoutValues(1.0), np.ones(3))
    with pytest.raises(TypingError, match="nothing is registered for"):
        build(Dense(np.ones((3, 1), np.float32)), 1, _WithoutValues(1.0))
