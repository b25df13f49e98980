"""The largest memory of a run, whatever earlier runs in the same process have left behind.

It is that of a process that has done nothing yet, the problem, and what training takes besides: code that was compiled
before, or pages of the data that another run has read, change nothing.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpu_bench.core import buffers
from mpu_bench.core.problem import Problem
from mpu_bench.guard import system

_PAGE_BYTES = 4096


class PeakMemory:
    """Measures one run after the other; made in a process that has made no run yet."""

    def __init__(self) -> None:
        self._of_process = self._before = _resident()
        self._of_problem = 0

    def begin(self, problem: Problem) -> None:
        """Measure from now on: what is free goes back to the system, and the problem is in memory already.

        So do buffers of earlier runs, on which neither the memory of a run nor its system seconds may depend.
        """
        gc.collect()
        buffers.release()
        if sys.platform == "linux":
            with suppress(AttributeError):  # a C library without it
                ctypes.CDLL(None).malloc_trim(0)
        arrays = [*problem.train, problem.labels, *problem.test, problem.test_labels]
        self._of_problem = sum(map(_read, {id(array): array for array in arrays}.values()))  # a stream's parts are one
        system.forget_peak()
        self._before = _resident()

    def mebibytes(self) -> float:
        """Return the largest memory since `begin`, in MiB."""
        return (self._of_process + self._of_problem + max(0, self.resident_bytes() - self._before)) / 2**20

    def resident_bytes(self) -> int:
        """Return the largest memory of the process since `begin`, with all that was there before."""
        return system.peak_bytes(os.getpid())


def _resident() -> int:
    return system.resident_bytes([os.getpid()])


def _read(array: NDArray[Any]) -> int:
    """Read something of every page, so that it is in memory; return the bytes."""
    if array.flags.c_contiguous:
        np.add.reduce(array.reshape(-1).view(np.uint8)[::_PAGE_BYTES])
    return array.nbytes
