"""The perceptron with margin against its two bounds."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mpu_bench import solvers
from mpu_bench.core.counters import UPDATES
from mpu_bench.core.solver import Status
from oracles import toys
from oracles.margin_perceptron import maximum, patterns_of
from oracles.toys import train

MarginPerceptron = solvers.load("margin-perceptron")
ROUNDING = 1e-9

few = settings(max_examples=30, deadline=None)
seeds = st.integers(0, 5)
margins = st.sampled_from([1e-3, 0.1, 0.5])
accuracies = st.sampled_from([0.9, 0.3, 1e-2, 1e-4])


@few
@given(accuracy=accuracies, margin=margins, data_seed=seeds, seed=seeds)
def test_reaches_its_fraction_within_its_updates(accuracy, margin, data_seed, seed):
    problem = toys.problem(*toys.separable(seed=data_seed, margin=margin), "dense64")
    best, largest = maximum(data_seed, margin)
    solver = MarginPerceptron(accuracy=accuracy)
    state, status = train(solver, problem, seed=seed)
    assert status == Status.DONE
    b = largest / accuracy
    patterns = patterns_of(problem.train.values, problem.labels)
    assert (patterns @ state.responses.a > b * (1 - 1e-12)).all()
    assert state.counters[UPDATES] == state.multiplicities.sum() <= (largest + 2 * b) / best**2
    measures = solver.measures(state)
    assert measures.update_bound >= (largest + 2 * b) / best**2 * (1 - ROUNDING)
    assert measures.margin_fraction_wanted == pytest.approx(1 / (2 + accuracy))
    assert measures.margin_fraction_wanted < measures.margin_fraction <= measures.margin / best * (1 + ROUNDING)
