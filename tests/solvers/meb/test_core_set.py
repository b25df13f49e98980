from dataclasses import replace

import numpy as np
import pytest

from mpu_bench import solvers
from mpu_bench.core.counters import KERNEL_COMPUTED, KERNEL_EVALUATIONS, new_counters
from mpu_bench.core.rows import any_rows
from mpu_bench.kernels import Gaussian
from mpu_bench.solvers.meb.core_set import compact, row
from oracles import kernel_svm, toys
from oracles.meb import full_core_set, trained, weights


@pytest.mark.parametrize("name", ["cvm", "fw", "mfw"])
@pytest.mark.parametrize("cache_mb", [0.0, 0.1])
def test_rows_that_are_not_kept_change_nothing_but_the_work(name, cache_mb):
    problem = toys.problem(*toys.real(n=400, seed=1), "dense")
    solver = solvers.load(name)(C=2.0, sampling=30)
    whole, _ = trained(solver, problem, presented=400)
    state, _ = trained(replace(solver, cache_mb=cache_mb), problem, presented=400)
    np.testing.assert_allclose(weights(state), weights(whole), rtol=1e-6, atol=1e-9)
    assert state.counters[KERNEL_EVALUATIONS] == whole.counters[KERNEL_EVALUATIONS]
    assert state.core.kept.shape[0] < 400


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_a_row_is_computed_once_and_only_extended(kind):
    problem = toys.problem(*toys.real(n=30), kind)
    expected = kernel_svm.gram(Gaussian(0.25), toys.real(n=30)[0])
    dense = toys.problem(*toys.real(n=30), "dense")
    examples, core = full_core_set(dense, Gaussian(0.25), 2.0)
    examples, counters = examples._replace(rows=any_rows(problem.train)), new_counters()
    core.vectors.size[0] = 20
    for m in (20, 20, 30):
        core.vectors.size[0] = m
        np.testing.assert_allclose(row(core, examples, np.uint32(3), counters), expected[3, :m], rtol=1e-5)
        assert counters[KERNEL_COMPUTED] == m


def test_what_has_no_weight_leaves():
    problem = toys.problem(*toys.real(n=30), "dense")
    examples, core = full_core_set(problem, Gaussian(0.25), 2.0)
    row(core, examples, np.uint32(3), new_counters())
    core.coefficients[:25] = 0.0
    compact(core)
    assert core.vectors.size[0] == core.active[0] == 5
    np.testing.assert_array_equal(core.members[:5], np.arange(25, 30))
    np.testing.assert_array_equal(core.slots, [-1] * 25 + list(range(5)))
    np.testing.assert_array_equal(core.vectors.columns[:, :5].T, problem.train.values[25:])
    counters = new_counters()
    row(core, examples, np.uint32(3), counters)
    assert counters[KERNEL_COMPUTED] == 5  # no row was kept
