"""Rows that are far from the origin for their distances are told apart all the same."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

import mpu_bench
from mpu_bench.core.models import KernelModel
from mpu_bench.core.rows import Dense
from mpu_bench.errors import DataError
from mpu_bench.kernels import Gaussian, Linear, Polynomial
from mpu_bench.kernels.precision import centred, is_single_enough, is_single_enough_for_scores, precision_of_rows
from oracles import toys

RANDOM = np.random.default_rng(0)
NEAR = RANDOM.standard_normal((300, 3))
LABELS = (NEAR[:, 0] * NEAR[:, 1] > 0).astype(int)
FAR = NEAR + 1000.0

GAUSSIAN = (
    "BudgetPerceptronClassifier", "BudgetedPegasosClassifier", "CoreVectorClassifier", "ForgetronClassifier",
    "FrankWolfeClassifier", "MPUClassifier", "PegasosClassifier", "PerceptronClassifier", "ProjectronClassifier",
    "RandomFourierClassifier", "SBPClassifier", "SDCAClassifier", "SMOClassifier",
)  # fmt: skip


def test_single_precision_is_enough_near_the_origin_and_where_nothing_is_subtracted():
    assert is_single_enough(Dense(NEAR.astype(np.float32)), Gaussian(0.5))
    assert not is_single_enough(Dense(FAR.astype(np.float32)), Gaussian(0.5))
    assert is_single_enough(Dense(FAR.astype(np.float32)), Linear())


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(1.0, 1.0, 2), Polynomial(1.0, 1.0, 5, normalize=True)])
def test_scores_are_in_single_precision_where_kernel_values_are_of_ordinary_size(kernel):
    near, far = Dense(NEAR.astype(np.float32)), Dense(FAR.astype(np.float32))
    assert is_single_enough_for_scores(near, kernel, 10.0)
    assert is_single_enough_for_scores(far, kernel, 10.0) == getattr(kernel, "normalize", False)
    assert not is_single_enough_for_scores(near, kernel, 1e9)
    assert not is_single_enough_for_scores(near, kernel, np.nan)


@pytest.mark.parametrize(
    ("kernel", "scale"),
    [
        (Polynomial(1e-5, 0.0, 5), 1e-4),
        (Polynomial(1.0, 0.0, 5), 1e-4),
        (Linear(), 1e-20),
        (Gaussian(1e40), 1e-20),
        (Polynomial(1e-35, 1.0, 1), 1e15),
    ],
    ids=str,
)
def test_values_that_single_precision_loses_are_double(kernel, scale):
    """All that is tiny: values, squared norms, parameters."""
    rows = Dense((scale * NEAR[:40]).astype(np.float32))
    assert not is_single_enough(rows, kernel)
    assert not is_single_enough_for_scores(rows, kernel, 1.0)
    exact = KernelModel(rows, np.ones((40, 1)), kernel, 3).double_scores(rows)
    coefficients = np.full((40, 1), 1.0 / np.abs(exact).max())
    scores = KernelModel(rows, coefficients, kernel, 3).scores(rows)
    np.testing.assert_array_equal(scores > 0, exact > 0)
    np.testing.assert_allclose(scores, exact * coefficients[0], rtol=1e-12)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(1.0, 0.0, 5), Gaussian(np.inf)], ids=str)
def test_values_that_no_precision_holds_are_refused(kernel):
    for name in ("smo", "sdca", "sbp"):
        solver = toys.solver_named(name)
        with pytest.raises(DataError, match="scale the features"):
            solver.start(toys.problem(1e-155 * NEAR, LABELS.astype(np.int32), "dense64"), kernel, 0)


@pytest.mark.parametrize(
    ("kernel", "coefficient", "precision"),
    [
        (Linear(), 1.0, "single"),
        (Linear(), 1e4, "double"),
        (Linear(), None, "double"),
        (Gaussian(0.5), 1.0, "single"),
        (Gaussian(0.5), 1e6, "double"),
        (Gaussian(0.5), None, "single"),
        (Polynomial(1.0, 1.0, 3, normalize=True), None, "single"),
        (Polynomial(1.0, 0.0, 40), 1.0, "single"),  # is refused
    ],
    ids=str,
)
def test_one_rule_says_the_precision_of_kept_rows(kernel, coefficient, precision):
    problem = toys.problem(NEAR, LABELS.astype(np.int32), "dense")
    assert precision_of_rows(problem, kernel, coefficient) == precision


@pytest.mark.parametrize("name", ["smo", "sdca", "pegasos-kernel", "sbp"])
def test_no_row_of_a_matrix_in_single_precision_is_shared_where_double_is_needed(name):
    solver, far = toys.solver_named(name), 1e4 * NEAR
    for matrix, kernel in ((NEAR, Gaussian(0.5)), (far, Gaussian(0.5)), (far, Linear()), (far, Polynomial(1, 1, 2))):
        problem = toys.problem(matrix, LABELS.astype(np.int32), "dense")
        kept = solver.start(problem, kernel, 0).gram.kept
        assert solver.shares_kernel_rows(problem, kernel) == (kept.dtype == np.float32) == (matrix is NEAR)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("parameters", [{"kernel": "linear"}, {"kernel": "poly", "degree": 2, "gamma": 1e-3}], ids=str)
def test_scores_of_rows_far_from_the_origin_are_those_of_double_precision(parameters, classes, tmp_path):
    random = np.random.default_rng(0)
    far = (random.normal(size=(300, 10)) + 1000).astype(np.float32)
    wanted = np.digitize(far[:, 0] + 0.3 * random.normal(size=300), np.linspace(999, 1001, classes + 1)[1:-1])
    model = mpu_bench.SMOClassifier(C=1.0, **parameters).fit(far, wanted)
    exact = model.decision_function(far.astype(np.float64))
    np.testing.assert_allclose(model.decision_function(far), exact, rtol=1e-6, atol=1e-6)
    model.save(tmp_path / "far.mpu")
    np.testing.assert_allclose(mpu_bench.load(tmp_path / "far.mpu").decision_function(far), exact, rtol=1e-6, atol=1e-6)


def test_centred_rows_have_the_same_distances():
    rows = centred(Dense(FAR.astype(np.float32)), Gaussian(1.0)).values
    assert np.abs(rows.mean(axis=0)).max() < 1e-4
    assert np.allclose(rows[1:] - rows[:-1], NEAR[1:] - NEAR[:-1], atol=1e-3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", GAUSSIAN)
def test_a_classifier_learns_the_same_far_from_the_origin(name, dtype):
    classifier = getattr(mpu_bench, name)(gamma=0.5).set_params(random_state=0)
    if "kernel" in classifier.get_params():
        classifier.set_params(kernel="rbf")
    near, far = NEAR.astype(dtype), FAR.astype(dtype)
    answers = [clone(classifier).fit(rows, LABELS).predict(rows) for rows in (near, far)]
    assert np.mean(answers[0] == answers[1]) > 0.97


@pytest.mark.parametrize(
    ("name", "offset"), [("PerceptronClassifier", 1e7), ("SBPClassifier", 1e7), ("RandomFourierClassifier", 1e13)]
)
def test_rows_that_double_precision_does_not_tell_apart_are_told(name, offset):
    classifier = getattr(mpu_bench, name)(gamma=0.5).set_params(random_state=0)
    learned = [lambda rows: classifier.fit(rows, LABELS)]
    if hasattr(classifier, "partial_fit"):
        learned.append(lambda rows: classifier.partial_fit(rows, LABELS))
    for learn in learned:
        with pytest.warns(ConvergenceWarning, match=f"^{name}: .* center the features, as with StandardScaler"):
            learn(NEAR + offset)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            learn(FAR)


def test_the_certificate_far_from_the_origin_is_that_of_the_model():
    far = FAR.astype(np.float32)
    model = mpu_bench.SMOClassifier(gamma=0.5, C=10.0).fit(far, LABELS)
    peer = SVC(gamma=0.5, C=10.0, tol=1e-4).fit(FAR, LABELS)
    assert np.abs(model.decision_function(far) - peer.decision_function(FAR)).max() < 0.05


@pytest.mark.parametrize("name", ["CoreVectorClassifier", "FrankWolfeClassifier"])
def test_rows_that_no_kernel_value_can_be_computed_of_are_refused(name):
    rows = NEAR.copy()
    rows[7, 1] = 1e30
    with pytest.raises(ValueError, match=r"scale the features down$"):
        getattr(mpu_bench, name)(gamma=0.5).fit(rows, LABELS)
