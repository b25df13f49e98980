"""The same problem as LIBSVM's, solved as well."""

import numpy as np
import pytest

from mpu_bench import solvers
from mpu_bench.core.counters import KERNEL_EVALUATIONS, PRESENTED, UPDATES
from mpu_bench.core.solver import Status
from mpu_bench.errors import ConfigError
from mpu_bench.kernels import Gaussian, Linear, Polynomial
from mpu_bench.solvers.multiclass import Multiclass
from oracles import kernel_svm, toys
from oracles.toys import train

MISSING = solvers.not_installed("onedal-svc")
pytestmark = pytest.mark.skipif(bool(MISSING), reason=MISSING)
KERNELS = [Linear(), Gaussian(0.25), Polynomial(0.5, 1.0, 3)]
NAMES = ("onedal-svc", "libsvm")


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("C", [0.1, 10.0])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_it_comes_to_the_optimum_of_libsvm(kernel, C, kind):
    matrix, labels = toys.real(n=90)
    problem = toys.problem(matrix, labels, kind)
    peers = [solvers.load(name)(C=C, tolerance=1e-6) for name in NAMES]
    (state, status), (reference, _) = (train(peer, problem, kernel) for peer in peers)
    assert status == Status.DONE
    model, expected = peers[0].model(state), peers[1].model(reference)
    np.testing.assert_allclose(model.scores(problem.test), expected.scores(problem.test), atol=1e-3)
    gram = kernel_svm.gram(kernel, matrix)
    clipped = problem.signs() * np.clip(problem.signs() * state.coefficients, 0, C)
    np.testing.assert_allclose(clipped, state.coefficients, atol=1e-9 * C)
    primal, dual = kernel_svm.certificate(gram, problem.signs(), clipped, state.bias, C)
    assert primal == pytest.approx(dual, rel=1e-4)
    assert peers[0].measures(state).objective == pytest.approx(peers[1].measures(reference).objective, rel=1e-4)


def test_working_sets_and_the_rows_of_their_kernel_values_are_counted():
    state, _ = train(solvers.load("onedal-svc")(), toys.problem(*toys.real(n=90), "dense"), KERNELS[1])
    assert state.counters[PRESENTED] >= 1
    assert state.counters[KERNEL_EVALUATIONS] == 64 * 90 * state.counters[PRESENTED]
    assert state.counters[UPDATES] == 0  # nobody knows how often SMO changes a pair within a working set


def test_several_classes_are_voted_on_as_with_libsvm():
    problem = toys.three_classes()
    voted = []
    for name in NAMES:
        solver = Multiclass(solvers.load(name)(tolerance=1e-6), "one-against-one")
        state, _ = train(solver, problem, KERNELS[1])
        voted.append(solver.model(state).labels(problem.test))
    np.testing.assert_array_equal(*voted)


def test_a_kernel_that_it_lacks_is_refused():
    with pytest.raises(ConfigError, match="wants a scale and a degree above 0 and no normalize"):
        train(solvers.load("onedal-svc")(), toys.problem(*toys.real(), "dense"), Polynomial(1.0, 1.0, 2, True))
