"""What every solver must hold to; a solver added to SOLVERS is covered without a new test."""

import os
import re
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import get_args, get_type_hints

import annotated_types
import numpy as np
import pytest

from mpu_bench import solvers
from mpu_bench.core.counters import INNER_PRODUCTS, KERNEL_COMPUTED, KERNEL_EVALUATIONS, PRESENTED, STEPS, UPDATES
from mpu_bench.core.kernels import Gaussian
from mpu_bench.core.models import LinearModel
from mpu_bench.core.rows import take
from mpu_bench.core.solver import Status, Until
from mpu_bench.errors import UserError
from mpu_bench.solvers.multiclass import Multiclass
from oracles import toys
from oracles.toys import more

ENOUGH = 2_000  #: presentations after which a comparison ends, done or not


@pytest.fixture(params=sorted(toys.variants()))
def trained(request):
    try:
        return toys.of_variant(request.param)
    except ModuleNotFoundError as missing:
        pytest.skip(f"{request.param} needs {missing.name}")


@pytest.fixture
def solver(trained):
    return trained[0]


@pytest.fixture
def kernel(trained):
    return trained[1]


@pytest.fixture(params=["dense", "sparse", "ones"])
def kind(request):
    return request.param


@pytest.fixture
def problem(kind):
    return toys.problem(*toys.binary(agree=True), kind)


def run(solver, kernel, problem, seed=3, presented=ENOUGH):
    state = solver.start(problem, kernel, seed)
    return state, solver.advance(state, more(state, presented=presented))


def assert_same(left, right):
    left, right = toys.arrays_of(left), toys.arrays_of(right)
    assert left.keys() == right.keys()
    for name in left:
        np.testing.assert_array_equal(left[name], right[name], err_msg=name, strict=True)


def test_is_described(solver):
    assert solver.name in solvers.SOLVERS
    assert type(solver).__doc__
    assert sys.modules[type(solver).__module__].__doc__
    assert solver.kernels in {"linear", "any"}
    assert solver.classes in {"two", "any"}


def test_says_of_which_problem_its_objective_is(solver, kernel):
    if isinstance(solver, Multiclass):
        pytest.skip("as the solver of its machines")
    state, _ = run(solver, kernel, toys.problem(*toys.binary(agree=True), "dense"))
    parameters = {field.name: getattr(solver, field.name) for field in fields(solver)}
    assert bool(solver.objective_of(parameters)) == (solver.measures(state).objective is not None)


def test_is_a_function_of_the_seed(solver, kernel, problem):
    first, _ = run(solver, kernel, problem)
    again, _ = run(solver, kernel, problem)
    assert_same(first, again)


def test_slices_equal_one_long_advance(solver, kernel, problem):
    if not solver.sliceable:
        pytest.skip("a peer runs to its end")
    whole, status = run(solver, kernel, problem)
    state = solver.start(problem, kernel, 3)
    sizes, left, sliced = np.random.default_rng(0), ENOUGH, Status.RUNNING
    while left and sliced == Status.RUNNING:
        size = min(left, int(sizes.choice([1, 2, 7, 60, 61, 131])))
        before = state.counters[PRESENTED]
        sliced = solver.advance(state, more(state, presented=size))
        used = state.counters[PRESENTED] - before
        assert used == size or (sliced == Status.DONE and used <= size)
        left -= size
    assert_same(whole, state)
    assert sliced == status


def test_slices_by_kernel_evaluations_equal_one_long_advance(solver, kernel, problem):
    whole, _ = run(solver, kernel, problem)
    if whole.counters[KERNEL_EVALUATIONS] == 0:
        pytest.skip("asks for no kernel values")
    state = solver.start(problem, kernel, 3)
    while state.counters[PRESENTED] < whole.counters[PRESENTED]:
        left = int(whole.counters[PRESENTED] - state.counters[PRESENTED])
        before = state.counters[KERNEL_EVALUATIONS]
        status = solver.advance(state, more(state, presented=left, kernel_evaluations=97))
        if status == Status.RUNNING and state.counters[PRESENTED] < whole.counters[PRESENTED]:
            assert state.counters[KERNEL_EVALUATIONS] - before >= 97
    assert_same(whole, state)


def test_once_done_nothing_changes(solver, kernel, problem):
    state, status = run(solver, kernel, problem, presented=1_000_000)
    if status != Status.DONE:
        pytest.skip("has no end of its own")
    before = toys.arrays_of(state)
    assert solver.advance(state, Until()) == Status.DONE
    for name, array in toys.arrays_of(state).items():
        np.testing.assert_array_equal(array, before[name], err_msg=name)


def test_model_and_measures_leave_the_state_alone(solver, kernel, problem):
    state = solver.start(problem, kernel, 3)
    for presented in (0, 50, ENOUGH):
        solver.advance(state, more(state, presented=presented))
        before = toys.arrays_of(state)
        scores = solver.model(state).scores(problem.test)
        measures = solver.measures(state)
        assert scores.shape[0] == problem.n_test
        assert np.isfinite(scores).all()
        if measures.gap is not None:
            assert measures.gap == pytest.approx(measures.objective / measures.dual_objective - 1)
            assert measures.objective >= measures.dual_objective * (1 - 1e-12)
        for name, array in toys.arrays_of(state).items():
            np.testing.assert_array_equal(array, before[name], err_msg=name)


def test_objective_and_nu_are_those_of_the_model(solver, kernel, problem):
    """From the model alone, in double; C = 1/(lambda n)."""
    two_classes = getattr(solver, "solver", solver)
    optimum = two_classes.optimum_solver(vars(two_classes), linear=False)
    if optimum is None or optimum[0] != "kernel-optimum":
        pytest.skip("minimises something else")
    state, _ = run(solver, kernel, problem)
    model, measures = solver.model(state), solver.measures(state)
    signs, scores = problem.signs(), model.scores(problem.train)[:, 0]
    squared = float(model.coefficients[:, 0] @ (model.scores(model.vectors)[:, 0] - model.bias))
    losses = np.maximum(0, 1 - signs * scores)
    solver = getattr(solver, "solver", solver)  # the one of two classes
    regularization = getattr(solver, "regularization", None)
    C = (solver.C or 1.0) if regularization is None else 1 / (regularization * problem.n)
    assert measures.objective == pytest.approx(squared / 2 + C * losses.sum(), rel=1e-4)
    assert measures.nu == pytest.approx(losses.mean() / np.sqrt(squared), rel=1e-4)


def test_the_model_is_not_a_view_of_the_state(solver, kernel):
    problem = toys.problem(*toys.binary(agree=True), "dense")
    state = solver.start(problem, kernel, 3)
    solver.advance(state, more(state, presented=20))
    model = solver.model(state)
    before = model.scores(problem.test)
    solver.advance(state, more(state, presented=ENOUGH))
    np.testing.assert_array_equal(model.scores(problem.test), before)


def test_counters_are_sane(solver, kernel, problem):
    state, _ = run(solver, kernel, problem)
    counters = state.counters
    assert counters.dtype == np.int64
    assert (counters >= 0).all()
    assert counters[PRESENTED] > 0
    assert counters[STEPS] <= counters[UPDATES]
    assert counters[KERNEL_COMPUTED] <= counters[KERNEL_EVALUATIONS]
    if isinstance(solver.model(state), LinearModel):
        assert counters[KERNEL_EVALUATIONS] == 0
        assert counters[INNER_PRODUCTS] >= counters[PRESENTED]
    else:
        assert counters[INNER_PRODUCTS] == 0
        assert counters[KERNEL_EVALUATIONS] > 0


def test_all_kinds_of_rows_agree(solver, kernel):
    scores = []
    for kind in ("dense", "sparse", "ones"):
        problem = toys.problem(*toys.binary(agree=True), kind)
        state, _ = run(solver, kernel, problem)
        scores.append(solver.model(state).scores(problem.test))
    np.testing.assert_allclose(scores[1], scores[0], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(scores[2], scores[0], rtol=1e-6, atol=1e-6)


def test_single_precision_rows_agree_with_double(solver, kernel):
    scores = []
    for kind in ("dense", "dense64"):
        problem = toys.problem(*toys.real(), kind)
        state, _ = run(solver, kernel, problem)
        scores.append(solver.model(state).scores(problem.test))
    np.testing.assert_allclose(scores[1], scores[0], rtol=1e-4, atol=1e-4)


def test_meaningless_problems_are_refused(solver, kernel):
    matrix, labels = toys.binary(agree=True)
    one_class = toys.problem(matrix, np.ones_like(labels), "ones")
    with pytest.raises(UserError, match="all training examples are of class 'class 1'"):
        solver.start(one_class, kernel, 0)
    empty = replace(one_class, train=take(one_class.train, np.arange(0)), labels=labels[:0])
    with pytest.raises(UserError, match="no training examples"):
        solver.start(empty, kernel, 0)


def test_weights_of_examples_have_a_place_or_are_refused(solver, kernel):
    problem = toys.problem(*toys.binary(agree=True), "dense")
    weighted = replace(problem, weights=np.ones(problem.n))
    if not solver.weighted:
        with pytest.raises(UserError, match="has no place for weights of examples"):
            solver.start(weighted, kernel, 0)
        return
    plain, same = run(solver, kernel, problem)[0], run(solver, kernel, weighted)[0]
    np.testing.assert_allclose(
        solver.model(same).scores(problem.test), solver.model(plain).scores(problem.test), rtol=1e-9
    )
    doubled = run(solver, kernel, replace(problem, weights=np.full(problem.n, 2.0)))[0]
    assert solver.measures(doubled).objective > solver.measures(plain).objective


def test_kernels_and_classes_a_solver_cannot_use_are_refused(solver, kernel):
    matrix, labels = toys.binary(agree=True)
    if solver.kernels == "linear":
        with pytest.raises(UserError, match="linear solver"):
            solver.start(toys.problem(matrix, labels, "ones"), Gaussian(1.0), 0)
    if solver.classes == "two":
        three = toys.problem(matrix, np.arange(len(labels), dtype=np.int32) % 3, "ones")
        with pytest.raises(UserError, match="3 classes"):
            solver.start(three, kernel, 0)


def bounds_of(hint):
    """Return the bounds of a type, and of the parts of a union."""
    return [*getattr(hint, "__metadata__", ()), *(bound for part in get_args(hint) for bound in bounds_of(part))]


def test_parameters_outside_their_range_are_refused(solver):
    refused = {
        annotated_types.Gt: lambda bound: bound.gt,
        annotated_types.Ge: lambda bound: bound.ge - 1,
        annotated_types.Lt: lambda bound: bound.lt,
        annotated_types.Le: lambda bound: bound.le + 1,
    }
    hints = get_type_hints(type(solver), include_extras=True)
    given = {field.name: getattr(solver, field.name) for field in fields(solver)}
    for name in given:
        for bound in bounds_of(hints[name]):
            if type(bound) in refused:
                with pytest.raises(UserError, match=re.escape(f"{solver.name}: {name} is")):
                    type(solver)(**(given | {name: refused[type(bound)](bound)}))


def test_compiled_and_plain_python_agree(tmp_path):
    """One process with NUMBA_DISABLE_JIT=1 runs the sliceable solvers; its scores are the compiled ones."""
    script = tmp_path / "plain.py"
    script.write_text(PLAIN)
    paths = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    plain = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert plain.returncode == 0, plain.stderr
    for line in plain.stdout.splitlines():
        name, scores = line.split("\t")
        solver, kernel = toys.of_variant(name)
        problem = toys.problem(*toys.binary(agree=True), "sparse")
        state, _ = run(solver, kernel, problem, presented=200)
        compiled = solver.model(state).scores(problem.test).ravel()
        np.testing.assert_allclose(np.array(scores.split(), float), compiled, rtol=1e-9, atol=1e-9, err_msg=name)


PLAIN = """
from oracles import toys
from oracles.toys import more

for name in sorted(toys.variants()):
    try:
        solver, kernel = toys.of_variant(name)
    except ModuleNotFoundError:
        continue
    if solver.sliceable:
        problem = toys.problem(*toys.binary(agree=True), "sparse")
        state = solver.start(problem, kernel, 3)
        solver.advance(state, more(state, presented=200))
        scores = solver.model(state).scores(problem.test).ravel()
        print(name, " ".join(repr(float(score)) for score in scores), sep="\t")
"""
