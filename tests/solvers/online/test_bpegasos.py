import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mpu_bench import solvers
from mpu_bench.core.counters import KERNEL_COMPUTED, KERNEL_EVALUATIONS, PRESENTED, STEPS, UPDATES
from mpu_bench.core.rng import randint, rng
from mpu_bench.core.solver import Until
from mpu_bench.core.stream import Stream
from mpu_bench.errors import UserError
from mpu_bench.kernels import Gaussian, Linear
from oracles import bpegasos, toys

BPegasos = solvers.load("bpegasos")
GAMMA, BUDGET, LAMBDA = 0.3, 8, 0.01
ROWS_PER_REMOVAL = {"random": 1, "smallest": 1, "projection": 1, "merging": 3}


def gaussian(a, b):
    return np.exp(-GAMMA * ((a[:, None] - b[None]) ** 2).sum(axis=2))


def toy(classes):
    matrix, labels = toys.real(150)
    if classes > 2:
        labels = np.abs(matrix[:, :classes] + 0.1 * np.arange(classes)).argmax(axis=1).astype(np.int32)
        labels[:classes] = np.arange(classes)
    return matrix, labels, toys.problem(matrix, labels, "sparse")


def run(problem, until=None, seed=1, **parameters):
    solver = BPegasos(**{"vectors": BUDGET, "regularization": LAMBDA, "precision": "double"} | parameters)
    state = solver.start(problem, Gaussian(GAMMA), seed)
    solver.advance(state, until or Until())
    return solver, state


def order_of(problem, seed=1):
    return list(Stream(problem, seed).at(0)[0].order)


def reference(matrix, labels, problem, maintenance, budget=BUDGET):
    drawn = rng(1, "vectors dropped")
    rules = {
        "random": lambda w, _age: w.remove_by_last(int(randint(drawn, np.uint32(len(w.alpha))))),
        "smallest": bpegasos.drop_smallest,
        "projection": bpegasos.project_smallest,
        "merging": bpegasos.merge_smallest(GAMMA),
        "published": bpegasos.merge_smallest(GAMMA, bpegasos.published_place),
    }
    return bpegasos.train((matrix, labels), order_of(problem), gaussian, budget, LAMBDA, rules[maintenance])


def as_scores(scores):
    """Give f_1 - f_0 where there are two classes: that is the one score the project keeps."""
    return scores[:, 1:] - scores[:, :1] if scores.shape[1] == 2 else scores


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("maintenance", ["random", "smallest", "projection", "merging"])
def test_is_the_plain_algorithm(maintenance, classes):
    matrix, labels, problem = toy(classes)
    solver, state = run(problem, maintenance=maintenance)
    w, steps, asked, _ = reference(matrix, labels, problem, maintenance)
    np.testing.assert_allclose(
        solver.model(state).scores(problem.test), as_scores(w.scores(matrix)), rtol=1e-6, atol=1e-7
    )
    assert state.w.scalars[0].squared_norm == pytest.approx(w.squared_norm(), rel=1e-8)
    assert state.counters[PRESENTED] == len(labels)
    assert (state.counters[[STEPS, UPDATES]] == steps).all()
    removals = steps - BUDGET
    assert state.counters[KERNEL_EVALUATIONS] == asked + ROWS_PER_REMOVAL[maintenance] * (BUDGET + 1) * removals
    assert state.counters[KERNEL_COMPUTED] <= state.counters[KERNEL_EVALUATIONS]
    assert solver.model(state).support_vectors == BUDGET


@pytest.mark.parametrize("maintenance", ["projection", "merging"])
def test_the_average_takes_part_in_the_maintenance(maintenance):
    """With a budget that is never reached it is the plain average; on a small one it stays near."""
    matrix, labels, problem = toy(2)
    *_, total = reference(matrix, labels, problem, "random", budget=len(labels))
    plain = as_scores(total)[:, 0] / len(labels)
    solver, state = run(problem, maintenance=maintenance, average=True, vectors=len(labels))
    np.testing.assert_allclose(solver.model(state).scores(problem.test)[:, 0], plain, rtol=1e-8, atol=1e-8)
    solver, state = run(problem, maintenance=maintenance, average=True, vectors=40)
    assert np.corrcoef(solver.model(state).scores(problem.test)[:, 0], plain)[0, 1] > 0.9


@pytest.mark.parametrize("regularization", [LAMBDA, 1.0])
@pytest.mark.parametrize("seed", range(5))
def test_equal_rows_of_both_classes_merge_to_that_row(regularization, seed):
    """Their coefficients all but cancel, or do: what the average has of them stays where they are."""
    labels = np.append([0, 1], np.random.default_rng(seed).integers(0, 2, 60)).astype(np.int32)
    problem = toys.problem(np.tile([2.0, 0.0, 1.0], (62, 1)), labels, "dense")
    parameters = {"regularization": regularization, "average": True, "precision": "double"}
    scores = []
    for solver in (BPegasos(vectors=2, **parameters), solvers.load("pegasos-multiclass")(**parameters)):
        model = solver.model(toys.train(solver, problem, Gaussian(GAMMA), seed)[0])
        np.testing.assert_allclose(model.vectors.values, problem.train.values[: len(model.coefficients)], rtol=1e-9)
        scores.append(model.scores(problem.test)[0, 0])
    assert scores[0] == pytest.approx(scores[1], rel=1e-9, abs=1e-9)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    maintenance=st.sampled_from(["smallest", "projection", "merging"]),
    budget=st.integers(2, 12),
    regularization=st.floats(1e-8, 1.0),
    seed=st.integers(0, 2**16),
    presented=st.integers(1, 300),
)
def test_norm_and_budget_hold_at_any_time(maintenance, budget, regularization, seed, presented):
    _, _, problem = toy(4)
    parameters = {"maintenance": maintenance, "vectors": budget, "regularization": regularization, "passes": 2}
    solver, state = run(problem, Until(presented=presented), seed, **parameters)
    model = solver.model(state)
    assert len(model.coefficients) <= budget
    gram = gaussian(model.vectors.values, model.vectors.values)
    squared_norm = float(np.sum(model.coefficients * (gram @ model.coefficients)))
    assert state.w.scalars[0].squared_norm == pytest.approx(squared_norm, rel=1e-6, abs=1e-9 / regularization)
    assert squared_norm <= (1 + 1e-6) / regularization
    np.testing.assert_allclose(model.coefficients.sum(axis=1), 0, atol=1e-9 * np.abs(model.coefficients).max())


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"vectors": 1}, "vectors is 1; it must be at least 2 for maintenance: merging"),
        ({"vectors": 0, "maintenance": "random"}, "vectors is 0"),
        ({"regularization": 0.0}, "regularization is 0.0"),
        ({"regularization": float("nan")}, "regularization is nan"),
        ({"maintenance": "random", "average": True}, "use merging or projection"),
    ],
)
def test_bad_parameters_are_refused(parameters, message):
    with pytest.raises(UserError, match=message):
        BPegasos(**parameters)


def test_merging_wants_a_gaussian_kernel():
    _, _, problem = toy(2)
    with pytest.raises(UserError, match="merging needs a Gaussian kernel"):
        BPegasos().start(problem, Linear(), 0)


@pytest.mark.parametrize("classes", [2, 4])
def test_merging_by_the_published_equation_is_the_plain_algorithm(classes):
    matrix, labels, problem = toy(classes)
    solver, state = run(problem, partner="published")
    w, steps, _, _ = reference(matrix, labels, problem, "published")
    assert state.counters[STEPS] == steps
    scores = solver.model(state).scores(problem.train)
    assert np.allclose(scores, as_scores(w.scores(matrix)), rtol=1e-5, atol=1e-6)


def test_only_merging_has_a_partner():
    with pytest.raises(UserError, match="partner: published is for maintenance: merging, not smallest"):
        BPegasos(partner="published", maintenance="smallest")
