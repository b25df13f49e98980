from itertools import combinations

import numpy as np
import pytest
import scipy.sparse

from mpu_bench.core.models import FourierModel, KernelModel, LinearModel
from mpu_bench.core.rows import take, to_scipy
from mpu_bench.core.voting import MulticlassModel, combined
from mpu_bench.errors import SolverError
from mpu_bench.kernels import Gaussian
from oracles import toys
from oracles.voting import votes

PAIRS = np.array(list(combinations(range(3), 2)), np.int32)


def test_votes_ties_and_zero_scores():
    for scores, label in [
        ([0.5, -0.1, 0.2], 1),  # one vote each; the sums are -0.4, 0.7 and -0.3
        ([0.0, 0.0, 0.0], 0),
        ([0.1, 0.1, 0.1], 2),
        ([0.1, 0.1, 0.0], 1),
    ]:
        model = MulticlassModel(LinearModel(np.array([scores]).T), PAIRS, 3)
        rows = toys.KINDS["dense64"](np.ones((1, 1)))
        assert model.labels(rows)[0] == label
        assert votes([scores], PAIRS, 3) == [label]


@pytest.mark.parametrize("kind", ["dense", "sparse", "ones"])
def test_equal_vectors_become_one_and_batches_change_nothing(monkeypatch, kind):
    problem = toys.three_classes(kind)
    random = np.random.default_rng(1)
    choices = [random.choice(problem.n, 30, replace=False) for _ in range(3)]
    models = [
        KernelModel(
            take(problem.train, chosen), random.normal(size=(30, 1)), Gaussian(0.25), problem.features, float(k)
        )
        for k, chosen in enumerate(choices)
    ]
    model = combined(models, PAIRS, 3)
    apart = np.hstack([each.scores(problem.test) for each in models])
    np.testing.assert_allclose(model.machines.scores(problem.test), apart, atol=1e-5)
    matrix = to_scipy(problem.train, problem.features)
    matrix = matrix.toarray() if scipy.sparse.issparse(matrix) else matrix
    assert model.support_vectors == len({row.tobytes() for row in matrix[np.concatenate(choices)]})
    scores = model.scores(problem.test)
    monkeypatch.setattr("mpu_bench.core.voting._SCORES_AT_ONCE", 20)
    np.testing.assert_array_equal(model.scores(problem.test), scores)


@pytest.mark.parametrize("frequencies", [None, np.ones((2, 7))], ids=["linear", "fourier"])
def test_linear_machines_vote_without_vectors(frequencies):
    problem = toys.three_classes()
    weights = np.random.default_rng(2).normal(size=(3, 1, 7 if frequencies is None else 4))
    models = [LinearModel(w) if frequencies is None else FourierModel(w, frequencies) for w in weights]
    model = combined(models, PAIRS, 3)
    apart = np.hstack([each.scores(problem.test) for each in models])
    assert model.linear
    assert model.support_vectors == 0
    np.testing.assert_allclose(model.machines.scores(problem.test), apart)
    np.testing.assert_array_equal(model.labels(problem.test), votes(apart, PAIRS, 3))


@pytest.mark.parametrize("kind", ["bias", "frequencies", "kernel", "scores", "foreign"])
def test_machines_that_share_no_vote_are_refused(kind):
    problem = toys.three_classes()
    weights = np.ones((1, problem.features))
    rows = take(problem.train, np.arange(2))

    def expansion(gamma=0.25, scores=1):
        return KernelModel(rows, np.ones((2, scores)), Gaussian(gamma), problem.features)

    models = {
        "bias": [LinearModel(weights, bias=float(k)) for k in range(3)],
        "frequencies": [FourierModel(np.ones((1, 4)), np.full((2, problem.features), float(k))) for k in range(3)],
        "kernel": [expansion(0.25), expansion(0.5), expansion(0.25)],
        "scores": [expansion(scores=2)] * 3,
        "foreign": [object()] * 3,
    }
    with pytest.raises(SolverError, match="one score each"):
        combined(models[kind], PAIRS, 3)
