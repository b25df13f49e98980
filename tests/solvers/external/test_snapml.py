"""Which problem Snap ML solves, held to a certified optimum."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mpu_bench import solvers
from mpu_bench.core.counters import PRESENTED
from mpu_bench.core.solver import Status
from mpu_bench.errors import DataError
from oracles import linear_svm, toys
from oracles.toys import train

MISSING = solvers.not_installed("snapml-svm")
pytestmark = pytest.mark.skipif(bool(MISSING), reason=MISSING)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_it_minimises_the_objective_of_dcd(C, kind):
    problem = toys.problem(*toys.real(n=200), kind)
    peer, own = solvers.load("snapml-svm")(C=C, tolerance=1e-10), solvers.load("dcd")(C=C, stop=1e-8)
    (state, status), (reference, _) = train(peer, problem), train(own, problem)
    assert status == Status.DONE
    assert peer.measures(state).objective == pytest.approx(own.measures(reference).objective, rel=1e-3)
    direction, expected = peer.model(state).weights[0], own.model(reference).weights[0]
    assert direction @ expected > 0.999 * np.linalg.norm(direction) * np.linalg.norm(expected)


def test_the_positive_class_is_the_second():
    problem = toys.problem(*toys.separable(), "dense")
    peer = solvers.load("snapml-svm")(C=100.0, tolerance=1e-8)
    state, _ = train(peer, problem)
    np.testing.assert_array_equal(peer.model(state).labels(problem.test), problem.test_labels)


def test_its_objective_is_that_of_its_weights():
    matrix, labels = toys.real()
    state, _ = train(peer := solvers.load("snapml-svm")(), toys.problem(matrix, labels, "sparse"))
    objective = linear_svm.primal(matrix, 2.0 * labels - 1, peer.model(state).weights[0], 1.0)
    assert peer.measures(state).objective == pytest.approx(objective, rel=1e-12)


def test_tells_when_its_cap_stopped_it():
    problem = toys.problem(*toys.real(), "dense")
    state, status = train(solvers.load("snapml-svm")(tolerance=1e-12, most_passes=3), problem)
    assert status == Status.RUNNING
    assert state.counters[PRESENTED] == 3 * problem.n


def test_no_seed_changes_its_result():
    problem, peer = toys.problem(*toys.real(), "dense"), solvers.load("snapml-svm")()
    weights = [train(peer, problem, seed=seed)[0].weights for seed in (0, 1, 2**40)]
    np.testing.assert_array_equal(weights[0], weights[1])
    np.testing.assert_array_equal(weights[0], weights[2])


def test_several_classes_are_refused():
    with pytest.raises(DataError, match="3 classes; snapml-svm separates two"):
        train(solvers.load("snapml-svm")(), toys.three_classes())


def test_other_computations_keep_their_subnormal_numbers():
    """In a process of its own, where nothing has loaded Snap ML before."""
    program = (
        "import numpy as np; from mpu_bench import solvers; from oracles import toys\n"
        "toys.train(solvers.load('snapml-svm')(), toys.problem(*toys.real(), 'dense'))\n"
        "assert np.all(np.full(9, 2.0**-1022) / np.float64(2) > 0)"
    )
    tests = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    subprocess.run([sys.executable, "-c", program], env=os.environ | {"PYTHONPATH": tests}, check=True)
