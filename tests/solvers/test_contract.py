"""What every solver must hold to; a solver added to SOLVERS is covered without a new test."""

import os
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from mpu_bench import solvers
from mpu_bench.core.solver import KINDS_OF_KERNELS
from mpu_bench.errors import ConfigError, UserError
from mpu_bench.kernels import Gaussian, Linear, Polynomial
from mpu_bench.solvers.contract import checks
from mpu_bench.solvers.contract.checks import run
from mpu_bench.solvers.multiclass import Multiclass
from oracles import toys


def _made():
    """Return the solver and the kernel of every variant, or what it needs that is not installed."""
    made = {}
    for name, variant in sorted(toys.variants().items()):
        try:
            made[name] = solvers.not_installed(variant.name) or toys.of_variant(name)
        except ModuleNotFoundError as missing:
            made[name] = f"{name} needs {missing.name}"
    return made


MADE = _made()
#: they train a linear model on features of a kernel, and ask for none of its values
FEATURES = {"fogd", "rff"}


def is_alone(solver, kernel):
    """Return whether a solver is one, and not a reduction of several classes to machines of another."""
    return not isinstance(solver, Multiclass)


def is_sliceable(solver, kernel):
    return solver.sliceable


def asks_for_kernel_values(solver, kernel):
    return not isinstance(kernel, Linear) and solver.name not in FEATURES


def separates_any_classes(solver, kernel):
    return is_alone(solver, kernel) and solver.classes == "any"


def minimises_the_svm(solver, kernel):
    """Return whether the objective is that of the SVM with a kernel, of one machine or of several."""
    two_classes = getattr(solver, "solver", solver)
    optimum = two_classes.optimum_solver(vars(two_classes), linear=False)
    return optimum is not None and optimum[0] == "kernel-optimum"


#: a trait that not every solver has -> how many variants have it at least, those of optional packages not counted
TRAITS = {
    is_alone: 38,
    is_sliceable: 36,
    asks_for_kernel_values: 30,
    separates_any_classes: 15,
    minimises_the_svm: 7,
}


def variants(has=lambda solver, kernel: True):
    """Return the variants with a trait as parameters; those that are not installed are skipped in words."""
    return [
        pytest.param(name, marks=pytest.mark.skip(reason=made)) if isinstance(made, str) else name
        for name, made in MADE.items()
        if isinstance(made, str) or has(*made)
    ]


def those_that(trait):
    """Try the solvers to which a test applies."""
    return pytest.mark.parametrize("trained", variants(trait), indirect=True)


@pytest.fixture(params=variants())
def trained(request):
    return MADE[request.param]


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


def holds(answer):
    """Demand that a promise applies to what it is asked of; one that is broken is raised by itself."""
    assert answer is None or answer.startswith("it holds"), answer


@pytest.mark.parametrize("trait", TRAITS, ids=lambda trait: trait.__name__)
def test_as_many_solvers_as_before_are_tried(trait):
    assert sum(not isinstance(made, str) and trait(*made) for made in MADE.values()) >= TRAITS[trait]


def test_is_described(solver):
    assert solver.name in solvers.SOLVERS
    assert type(solver).__doc__
    assert sys.modules[type(solver).__module__].__doc__
    assert solver.kernels in KINDS_OF_KERNELS
    assert solver.classes in {"two", "any"}


@those_that(is_alone)
def test_says_of_which_problem_its_objective_is(solver, kernel):
    state, _ = run(solver, kernel, toys.problem(*toys.binary(agree=True), "dense"))
    parameters = {field.name: getattr(solver, field.name) for field in fields(solver)}
    assert bool(solver.objective_of(parameters)) == (solver.measures(state).objective is not None)


def test_is_a_function_of_the_seed(solver, kernel, problem):
    holds(checks.is_a_function_of_the_seed(solver, kernel, problem))


@those_that(is_sliceable)
def test_slices_equal_one_long_advance(solver, kernel, problem):
    holds(checks.slices_equal_one_long_advance(solver, kernel, problem))


@those_that(asks_for_kernel_values)
def test_slices_by_kernel_evaluations_equal_one_long_advance(solver, kernel, problem):
    holds(checks.slices_by_evaluations_equal_one_long_advance(solver, kernel, problem))


def test_it_ends_and_once_done_nothing_changes(solver, kernel, problem):
    assert solver.ends
    if solver.name == "pegasos":
        solver = replace(solver, iterations=10_000)  # in place of a million
    holds(checks.nothing_changes_once_done(solver, kernel, problem))


def test_model_and_measures_leave_the_state_alone(solver, kernel, problem):
    holds(checks.model_and_measures_change_nothing(solver, kernel, problem))


@those_that(minimises_the_svm)
def test_objective_and_nu_are_those_of_the_model(solver, kernel, problem):
    """From the model alone, in double; C = 1/(lambda n)."""
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


def test_test_rows_change_nothing(solver, kernel):
    holds(checks.test_rows_change_nothing(solver, kernel, toys.problem(*toys.binary(agree=True), "dense")))


def test_the_model_is_not_a_view_of_the_state(solver, kernel):
    holds(checks.model_is_no_view_of_the_state(solver, kernel))


def test_counters_are_sane(solver, kernel, problem):
    holds(checks.counters_are_sane(solver, kernel, problem))


def test_the_problem_stays_as_it_is(solver, kernel, problem):
    holds(checks.leaves_the_problem_alone(solver, kernel, problem))


@those_that(separates_any_classes)
def test_as_many_classes_are_separated_as_it_says(solver, kernel):
    holds(checks.separates_three_classes(solver, kernel))


def test_all_kinds_of_rows_agree(solver, kernel):
    holds(checks.all_kinds_of_rows_agree(solver, kernel))


def test_single_precision_rows_agree_with_double(solver, kernel):
    holds(checks.single_and_double_rows_agree(solver, kernel))


def test_meaningless_problems_are_refused(solver, kernel):
    holds(checks.refuses_meaningless_problems(solver, kernel))


def test_weights_of_examples_have_a_place_or_are_refused(solver, kernel):
    problem = toys.problem(*toys.binary(agree=True), "dense64")  # as classifiers have them: less is compiled
    weighted = replace(problem, weights=np.ones(problem.n))
    if not solver.weighted or getattr(solver, "margin", "") == "hard":
        with pytest.raises(UserError, match=r"does not support weights of examples|no losses to weigh"):
            solver.start(weighted, kernel, 0)
        return
    plain, same = run(solver, kernel, problem)[0], run(solver, kernel, weighted)[0]
    np.testing.assert_allclose(
        solver.model(same).scores(problem.test), solver.model(plain).scores(problem.test), rtol=1e-9
    )
    doubled = run(solver, kernel, replace(problem, weights=np.full(problem.n, 2.0)))[0]
    losses, before = solver.measures(doubled).objective, solver.measures(plain).objective
    assert losses < before if solver.name in {"cvm", "fw", "mfw"} else losses > before  # of balls the squared radius


def test_kernels_and_classes_a_solver_cannot_use_are_refused(solver, kernel):
    holds(checks.refuses_other_kernels_and_classes(solver, kernel))


TAKEN = {
    "linear": [Linear()],
    "gaussian": [Gaussian(0.5)],
    "constant-diagonal": [Gaussian(0.5), Polynomial(1.0, 1.0, 2, True)],
    "any": [Linear(), Gaussian(0.5), Polynomial(1.0, 1.0, 2), Polynomial(1.0, 1.0, 2, True)],
}


@those_that(is_alone)
def test_the_kernels_it_is_said_to_train_with_are_taken(solver):
    problem = toys.problem(*toys.binary(agree=True), "ones")
    for kernel in TAKEN[solver.kernels]:
        if getattr(solver, "maintenance", "") == "merging" and not isinstance(kernel, Gaussian):
            with pytest.raises(ConfigError, match="maintenance: merging needs a Gaussian kernel"):
                solver.check(problem, kernel)
        elif solver.name not in {"libsvm", "onedal-svc"} or not getattr(kernel, "normalize", False):  # they lack it
            solver.check(problem, kernel)


@those_that(is_alone)
def test_parameters_outside_their_range_are_refused(solver):
    holds(checks.refuses_parameters_out_of_range(solver))


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
