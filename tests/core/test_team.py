"""Threads that compute rows together: the same values to the bit, whoever comes late, and none that stays."""

import threading
import time

import numpy as np
import pytest

from mpu_bench.core.counters import KERNEL_COMPUTED, KERNEL_EVALUATIONS, new_counters
from mpu_bench.core.team import new_team, parts_are_done, take_part, wait, want, wanted
from mpu_bench.kernels import Gaussian
from mpu_bench.kernels import matrix as kernel_matrix
from oracles import toys

N = 9000  # more than two parts


def examples(layout):
    random = np.random.default_rng(0)
    if layout == "columns":
        return toys.KINDS["dense"](random.normal(size=(N, 3)))
    pixels = random.integers(0, 4, size=(N, 40)) * (random.random((N, 40)) < 0.3)
    return toys.KINDS["dense"](pixels / 8.0) if layout == "quantised" else toys.KINDS["ones"](1.0 * (pixels > 0))


def rows_asked_for(rows, features, asked, precision):
    """Return the rows, with few of them kept, and the counts."""
    held = kernel_matrix.build(rows, features, Gaussian(0.1), 8 * N * 4, precision)
    counters = new_counters()
    found = [held.kept[kernel_matrix.row_slot(held, np.uint32(i), counters)].copy() for i in asked]
    return np.array(found), counters, held


@pytest.mark.parametrize("layout", ["columns", "quantised", "bits"])
@pytest.mark.parametrize(("threads", "precision"), [(2, "single"), (5, "single"), (2, "fixed")])
def test_rows_are_bit_for_bit_those_of_one_thread(layout, threads, precision):
    rows, features = examples(layout), 3 if layout == "columns" else 40
    asked = np.random.default_rng(1).integers(0, N, 300)
    alone, counters, _ = rows_asked_for(rows, features, asked, precision)
    before = threading.active_count()
    with kernel_matrix.threads(threads):
        assert threading.active_count() == before + threads - 1
        together, counters_together, held = rows_asked_for(rows, features, asked, precision)
        assert held.team.helpers[0] == threads - 1
    assert threading.active_count() == before
    assert held.team.helpers[0] == 0
    np.testing.assert_array_equal(together, alone)
    np.testing.assert_array_equal(counters_together, counters)
    assert counters[KERNEL_EVALUATIONS] >= counters[KERNEL_COMPUTED] > 0
    i = np.uint32(asked[0])
    np.testing.assert_array_equal(held.kept[kernel_matrix.row_slot(held, i, counters)], alone[0])  # alone again


def test_the_matrix_built_last_is_helped():
    rows = examples("columns")
    with kernel_matrix.threads(2):
        first, second = (kernel_matrix.build(rows, 3, Gaussian(gamma), memory=8 * N * 4) for gamma in (0.1, 0.7))
        assert [matrix.team.helpers[0] for matrix in (first, second)] == [0, 1]
        copy = kernel_matrix.copy_without_rows(second)
        assert copy.team.helpers[0] == 0
        for i in range(60):  # in turns: none writes into the rows of another
            kept = [
                matrix.kept[kernel_matrix.row_slot(matrix, np.uint32(i), new_counters())]
                for matrix in (first, second, copy)
            ]
            np.testing.assert_array_equal(kept[1], kept[2])
            np.testing.assert_allclose(kept[0].astype(float) ** 7, kept[1], rtol=1e-4, atol=1e-6)
    with kernel_matrix.threads(1):
        assert kernel_matrix.build(rows, 3, Gaussian(0.1)).team.helpers[0] == 0


def test_who_sleeps_is_not_waited_for():
    rows = examples("columns")
    with kernel_matrix.threads(2):
        held = kernel_matrix.build(rows, 3, Gaussian(0.1), memory=8 * N * 4)
        time.sleep(0.02)  # the helper sleeps for longer than a row takes
        kept = held.kept[kernel_matrix.row_slot(held, np.uint32(5), new_counters())]
        assert kept[5] == 1.0
        assert (kept > 0.0).all()


def test_each_part_is_taken_once():
    team = new_team()
    assert take_part(team) == -1
    for times in range(1, 4):
        want(team, 7, times, 3, 512)
        assert wanted(team) == (7, times, 512, times)
        assert [take_part(team) for _ in range(5)] == [0, 512, 1024, -1, -1]
        parts_are_done(team, 2)
        parts_are_done(team, 1)
        wait(team)  # returns
