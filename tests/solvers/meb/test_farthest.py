from dataclasses import replace

import numpy as np
import pytest

from mpu_bench import solvers
from mpu_bench.core.counters import KERNEL_EVALUATIONS, PRESENTED
from mpu_bench.core.solver import Status
from oracles import toys
from oracles.meb import trained, weights


@pytest.mark.parametrize("name", ["cvm", "fw", "mfw"])
def test_a_sample_of_all_points_is_the_exact_search(name):
    problem = toys.problem(*toys.real(n=70), "dense")
    solver = solvers.load(name)(C=2.0, sampling="all")
    exact, _ = trained(solver, problem, presented=500)
    sampled, _ = trained(replace(solver, sampling=70), problem, presented=500)
    np.testing.assert_array_equal(weights(exact), weights(sampled))
    assert exact.ball == sampled.ball


def test_a_sample_larger_than_the_data_is_all_points():
    problem, solver = toys.problem(*toys.real(n=40), "dense"), solvers.load("mfw")(sampling="all")
    exact, _ = trained(solver, problem, presented=50)
    sampled, _ = trained(replace(solver, sampling=59), problem, presented=50)
    np.testing.assert_array_equal(weights(exact), weights(sampled))


def test_the_history_changes_nothing_but_the_work(monkeypatch):
    """Responses brought up to date step by step are those computed anew."""
    problem = toys.problem(*toys.real(n=300, seed=2), "dense")
    for name in ("fw", "mfw"):
        solver = solvers.load(name)(C=2.0, sampling=30, cache_mb=0.0)
        state, _ = trained(solver, problem, presented=600)
        assert state.history.first[0] > 0  # more steps than it has room for
        with monkeypatch.context() as patch:
            patch.setattr(type(solver), "keeps_history", False)
            plain, _ = trained(solver, problem, presented=600)
        assert len(plain.history.changes) == 0
        np.testing.assert_allclose(weights(state), weights(plain), rtol=1e-5, atol=1e-8)
        assert state.counters[KERNEL_EVALUATIONS] == plain.counters[KERNEL_EVALUATIONS]


def test_a_stop_that_is_confirmed_is_nearer_the_optimum():
    """Where one sample is believed the ball may be left early; asking all points, never."""
    problem = toys.problem(*toys.real(n=300), "dense")
    solver = solvers.load("mfw")(C=2.0, eps=1e-3, sampling=3)
    presented = []
    for confirm in (0, 4, "all"):
        state, status = trained(replace(solver, confirm=confirm), problem)
        assert status == Status.DONE
        presented.append(int(state.counters[PRESENTED]))
    assert presented[0] < presented[1] < presented[2]
    assert replace(solver, confirm="all").measures(state).gap <= 2e-3 + 1e-6
