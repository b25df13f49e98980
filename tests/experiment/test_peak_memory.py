"""The memory of a run does not depend on what its process has done before."""

import sys

import numpy as np
import pytest

from mpu_bench.core.problem import Problem
from mpu_bench.core.rows import Dense
from mpu_bench.experiment.peak_memory import PeakMemory

MIB = 2**20


def problem(rows: int) -> Problem:
    values = np.ones((rows, 1024), np.float32)
    labels = np.zeros(rows, np.int32)
    return Problem("ones", Dense(values), labels, Dense(values[:1]), labels[:1], 1024, ("a", "b"), "fingerprint")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the peak of a while")
def test_what_was_before_does_not_count() -> None:
    peak, small = PeakMemory(), problem(256)
    found, resident = [], []
    for left_behind in (0, 64, 128):
        kept = np.ones(left_behind * MIB // 8)  # as compiled code is, or a cache
        peak.begin(small)
        taken = np.ones(32 * MIB // 8)
        found.append(peak.mebibytes())
        resident.append(peak.resident_bytes() / MIB)
        del taken, kept
    assert found == pytest.approx([found[0]] * 3, abs=4)
    assert resident[2] - resident[0] > 64  # which is what would have been counted


def test_the_problem_and_what_training_takes_count() -> None:
    peak = PeakMemory()
    peak.begin(problem(256))
    without = peak.mebibytes()
    peak.begin(problem(256 * 64))
    assert peak.mebibytes() - without == pytest.approx(63, abs=4)
