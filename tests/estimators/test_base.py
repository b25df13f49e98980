"""What every classifier must hold to; a class added to `estimators.MODULES` is covered without a new test."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.estimator_checks import check_estimator, estimator_checks_generator

import mpu_bench
from classifiers import ALL, FORMS, SOLVERS, blobs, made
from mpu_bench import estimators, solvers
from mpu_bench.core.models import FourierModel
from mpu_bench.errors import DataError
from mpu_bench.estimators.inputs import rows_of
from mpu_bench.estimators.mixins import KernelClassifier, WeightedClassifier

#: what runs are judged by, and peers
_NO_CLASS = {
    "optimum",
    "kernel-optimum",
    "liblinear",
    "libsvm",
    "sgd",
    "snapml-svm",
    "onedal-svc",
    "nystroem",
}


#: checks that rows with a weight of k are as k rows, to 1e-7, which no solution to a default's tolerance is, nor SVC's
_TO_A_TOLERANCE = {
    f"check_sample_weight_equivalence_on_{rows}_data": "solved to a tolerance; see the test of weights below"
    for rows in ("dense", "sparse")
}

#: enough for a solution that is exact but for rounding
_EXACTLY = {
    "DCDClassifier": {"tol": 1e-10},
    "SMOClassifier": {"tol": 1e-10, "gamma": 0.2, "multi_class": "ovr"},
    "SDCAClassifier": {"max_iter": 3000, "gamma": 0.2},
    "RandomFourierClassifier": {"tol": 1e-10, "gamma": 0.2, "pairs": 20},
    "MPUClassifier": {"tol": 1e-10, "accuracy": 1e-11},
    "SVMPerfClassifier": {"tol": 1e-9},
    "CoreVectorClassifier": {"tol": 1e-9, "sampling": "all", "gamma": 0.2, "multi_class": "ovr"},
    "FrankWolfeClassifier": {"tol": 1e-9, "sampling": "all", "gamma": 0.2, "multi_class": "ovr"},
}


def test_every_system_is_of_one_class() -> None:
    used = [solver for name in ALL for solver in SOLVERS[name]]
    assert set(ALL) <= set(dir(mpu_bench))
    own = {name for name, target in solvers.SOLVERS.items() if target.startswith("mpu_bench.")}  # not of plugins
    assert sorted(used) == sorted(own - _NO_CLASS)


def test_scikit_learn_accepts_it(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what its own checks warn of
        model = getattr(mpu_bench, name)()
        expected = dict(_TO_A_TOLERANCE) if isinstance(model, WeightedClassifier) else {}
        if name == "PegasosClassifier":
            expected["check_class_weight_classifiers"] = "its passes are too few steps for weights of 1,000"
        check_estimator(model, expected_failed_checks=expected)


@pytest.mark.parametrize("exact", ["DCDClassifier", "SMOClassifier", "RandomFourierClassifier"])
def test_solved_exactly_scikit_learn_accepts_its_weights(exact: str) -> None:
    model = getattr(mpu_bench, exact)(**_EXACTLY[exact])
    checks = [check for _, check in estimator_checks_generator(model) if check.func.__name__ in _TO_A_TOLERANCE]
    assert len(checks) == len(_TO_A_TOLERANCE)
    for check in checks:
        check(clone(model))


@pytest.mark.parametrize("classes", [2, 3])
def test_dense_and_sparse_rows_of_strings_and_numbers(name: str, classes: int) -> None:
    X, y = blobs(classes)
    words = np.array(["zero", "one", "two"])[y]
    dense, sparse = made(name).fit(X, words), made(name).fit(scipy.sparse.csr_matrix(X), words)
    assert list(dense.classes_) == sorted(set(words))
    assert dense.score(X, words) > 0.8
    scores = dense.decision_function(X)
    assert scores.shape == ((len(X),) if classes == 2 else (len(X), classes))
    np.testing.assert_allclose(scores, sparse.decision_function(scipy.sparse.csr_matrix(X)), rtol=1e-3, atol=1e-3)
    chosen = (scores > 0).astype(int) if classes == 2 else scores.argmax(axis=1)
    np.testing.assert_array_equal(dense.predict(X), dense.classes_[chosen])
    assert dense.n_iter_ >= 1
    assert dense.kernel_evaluations_ >= 0


def test_scores_are_those_of_the_attributes(name: str) -> None:
    X, y = blobs(2)
    model = made(name).fit(X, y)
    if hasattr(model, "coef_"):
        expected = X @ model.coef_[0] + model.intercept_[0]
    elif hasattr(model, "dual_coef_"):
        distances = np.square(X[:, np.newaxis] - model.support_vectors_).sum(axis=2)
        gamma = model.model_.kernel.gamma
        expected = np.exp(-gamma * distances) @ model.dual_coef_[0] + model.intercept_[0]
    else:
        assert isinstance(model.model_, FourierModel)
        return
    np.testing.assert_allclose(model.decision_function(X), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_that_may_not_be_written_are_neither_copied_nor_written_nor_compiled_for(
    name: str, dtype: type, tmp_path: Path
) -> None:
    from mpu_bench.core.clock import COMPILER

    X, y = blobs(2)
    X = np.ascontiguousarray(X, dtype)
    expected = made(name).fit(X, y).decision_function(X)
    X.tofile(tmp_path / "rows")
    mapped = np.memmap(tmp_path / "rows", dtype, "r", shape=X.shape)
    frozen = X.copy()
    frozen.flags.writeable = False
    compiled = COMPILER.seconds
    for rows in (mapped, frozen):
        np.testing.assert_array_equal(made(name).fit(rows, y).decision_function(rows), expected)
    assert COMPILER.seconds == compiled
    np.testing.assert_array_equal(frozen, X)
    np.testing.assert_array_equal(np.fromfile(tmp_path / "rows", dtype).reshape(X.shape), X)


def test_it_is_cloned_kept_searched_and_calibrated(name: str, tmp_path: Path) -> None:
    X, y = blobs(2)
    model = made(name).fit(X, y)
    scores = model.decision_function(X)
    np.testing.assert_array_equal(clone(model).fit(X, y).decision_function(X), scores)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).decision_function(X), scores)
    joblib.dump(model, tmp_path / "model")
    np.testing.assert_array_equal(joblib.load(tmp_path / "model").decision_function(X), scores)
    pipeline = make_pipeline(StandardScaler(), made(name))
    assert GridSearchCV(pipeline, {}, cv=2).fit(X, y).best_score_ > 0.8
    probabilities = CalibratedClassifierCV(made(name), cv=2).fit(X, y).predict_proba(X)
    assert probabilities.shape == (len(X), 2)
    assert probabilities[np.arange(len(X)), y].mean() > 0.7


def test_a_seed_decides_everything(name: str) -> None:
    X, y = blobs(2)
    first, again = (made(name, random_state=np.random.RandomState(3)).fit(X, y).decision_function(X) for _ in range(2))
    np.testing.assert_array_equal(first, again)


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"max_seconds": 0}, "max_seconds is 0; it must be above 0, or None"),
    ({"random_state": -1}, "random_state is -1; it must be a whole number from 0 on, a RandomState or None"),
    ({"kernel": "rfb"}, "kernel is 'rfb'; it must be one of 'linear', 'poly', 'rbf'"),
    ({"kernel": "rbf", "gamma": "scaled"}, "gamma is 'scaled'; it must be 'scale', 'auto' or a number above 0"),
    ({"kernel": "rbf", "gamma": -1.0}, "gamma is -1.0; it must be above 0"),
    ({"kernel": "poly", "degree": 1001}, "degree is 1001; it must be less than or equal to 1000"),
    ({"kernel": "poly", "coef0": np.nan}, "coef0 is nan; it must be a finite number"),
    ({"kernel": "poly", "coef0": -np.inf}, "coef0 is -inf; it must be a finite number"),
]
#: a classifier with each of the mistakes that its parameters allow
MISTAKEN = [
    (name, parameters, words)
    for name in ALL
    for parameters, words in MISTAKES
    if parameters.keys() <= made(name).get_params().keys()
]


def test_as_many_classifiers_as_before_are_tried() -> None:
    with_kernels = [name for name in ALL if issubclass(getattr(mpu_bench, name), KernelClassifier)]
    assert len(ALL) >= 18
    assert len(with_kernels) >= 15
    assert len(MISTAKEN) == 2 * len(ALL) + (len(MISTAKES) - 2) * len(with_kernels)


@pytest.mark.parametrize(("name", "parameters", "words"), MISTAKEN, ids=str)
def test_a_mistake_is_one_message(name: str, parameters: dict[str, Any], words: str) -> None:
    X, y = blobs(2, n=20)
    with pytest.raises(ValueError, match=words.replace("(", "[(]")):
        made(name, **parameters).fit(X, y)


@pytest.mark.parametrize("value", ["a", -1, 0, float("nan"), 0.5])
def test_a_wrong_value_of_any_parameter_is_told_by_its_own_name(name: str, value: Any) -> None:
    X, y = blobs(2, n=20)
    for parameter in made(name).get_params().keys() - {"random_state", "sampling", "verbose"}:
        model = made(name, **{parameter: value})
        if "max_iter" in model.get_params() and parameter != "max_iter":
            model.set_params(max_iter=1)
        elif parameter != "max_seconds":
            model.set_params(max_seconds=1e-9)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            refused = _refusal(model, X, y)
        assert refused.startswith(f"{parameter} is {value!r}; it must be ") or (not refused and value != "a")


def _refusal(model: Any, X: Any, y: Any) -> str:
    try:
        model.fit(X, y)
    except ValueError as fault:
        return str(fault)
    return ""


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    ("name", "further"),
    [*((name, {}) for name in _EXACTLY), ("MPUClassifier", {"multi_class": "ovo"})],
    ids=str,
)
def test_a_weight_is_as_so_many_rows(name: str, further: dict[str, Any], classes: int) -> None:
    X, y = blobs(classes, n=60)
    weights, exactly = np.random.default_rng(1).integers(0, 4, len(X)), _EXACTLY[name] | further
    repeated = made(name, **exactly).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    of_classes = {label: label + 1.0 for label in range(classes)}
    for rows in (X, scipy.sparse.csr_array(X)):
        weighted = made(name, **exactly).fit(rows, y, sample_weight=weights)
        np.testing.assert_allclose(
            weighted.decision_function(rows), repeated.decision_function(X), rtol=1e-4, atol=1e-4
        )
    by_class = made(name, **exactly, class_weight=of_classes).fit(X, y)
    by_row = made(name, **exactly).fit(X, y, sample_weight=y + 1.0)
    np.testing.assert_array_equal(by_class.decision_function(X), by_row.decision_function(X))
    balanced = made(name, **exactly, class_weight="balanced").fit(X, y)
    by_row = made(name, **exactly).fit(X, y, sample_weight=compute_sample_weight("balanced", y))
    np.testing.assert_array_equal(balanced.decision_function(X), by_row.decision_function(X))
    if classes == 2:
        assert by_row.dual_gap_ < 1e-6
    with pytest.raises(ValueError, match="all rows of class 0 have weight 0"):
        made(name).fit(X, y, sample_weight=(y == 1).astype(float))
    with pytest.raises(ValueError, match="Negative values"):
        made(name).fit(X, y, sample_weight=-weights)


def test_kernels_have_scikit_learns_words() -> None:
    X, y = blobs(2)
    assert issubclass(mpu_bench.SMOClassifier, KernelClassifier)
    from sklearn.svm import SVC

    for parameters in (
        {"kernel": "rbf"}, {"kernel": "rbf", "gamma": "auto"}, {"kernel": "rbf", "gamma": 0.3},
        {"kernel": "poly", "gamma": 0.5, "degree": 2, "coef0": 1.0}, {"kernel": "linear"},
    ):  # fmt: skip
        ours = mpu_bench.SMOClassifier(tol=1e-6, **parameters).fit(X, y)
        theirs = SVC(tol=1e-6, **parameters).fit(X, y)
        np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=1e-3, atol=1e-3)


def test_it_stops_when_its_seconds_are_over() -> None:
    X, y = blobs(2, n=2000)
    with pytest.warns(ConvergenceWarning, match="max_seconds"):
        made("SDCAClassifier", max_iter=10**9, max_seconds=0.2).fit(X, y)


def test_nothing_heavy_is_imported_before_it_is_asked_for() -> None:
    code = (
        "import sys, mpu_bench; assert 'SMOClassifier' in dir(mpu_bench); "
        "assert not {'numba', 'numpy', 'sklearn', 'scipy'} & set(sys.modules); mpu_bench.SMOClassifier; "
        "assert 'sklearn' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="no attribute 'NoClassifier'"):
        _ = mpu_bench.NoClassifier
    with pytest.raises(AttributeError, match="no attribute 'anything'"):
        _ = estimators.anything


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_max_iter_is_of_each_machine(multi_class: str) -> None:
    X, y = load_iris(return_X_y=True)
    scores = set()
    for shift in range(3):  # which machine is not separable, and comes first
        model = mpu_bench.MPUClassifier(margin="hard", max_iter=50, multi_class=multi_class, random_state=0)
        with pytest.warns(ConvergenceWarning, match="was stopped by max_iter = 50, before its own end; take a larger"):
            model.fit(X, (y + shift) % 3)
        assert model.coef_.shape == (3, 4)
        assert model.n_iter_ == 50
        scores.add(model.score(X, (y + shift) % 3))
    assert min(scores) > 0.9


def test_machines_that_did_not_begin_are_told() -> None:
    X, y = load_iris(return_X_y=True)
    model = mpu_bench.MarginPerceptronClassifier(max_iter=10**9, max_seconds=1e-9, random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"max_seconds = 1e-09, .*; 2 of its binary subproblems did not begin"):
        model.fit(X, (y + 2) % 3)


@pytest.mark.parametrize(
    ("weight", "message"),
    [(-1.0, "finite and at least 0"), (np.nan, "finite and"), (np.inf, "finite and"), (0.0, "all rows of class 0")],
)
def test_a_class_weight_that_is_none_is_refused(weight: float, message: str) -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=message):
        mpu_bench.SMOClassifier(class_weight={0: weight}).fit(X, y)


@pytest.mark.parametrize("weight", [np.ones(2), [1.0, 1.0], "equal"], ids=str)
def test_a_class_weight_of_another_kind_is_refused(weight: Any) -> None:
    X, y = blobs(2)
    with pytest.raises(ValueError, match=r"class_weight is .*; it must be 'balanced', a dict or None"):
        estimators.DCDClassifier(class_weight=weight).fit(X, y)


def test_weights_whose_sum_is_not_finite_are_refused() -> None:
    X, y = blobs(2)
    with pytest.raises(ValueError, match="the weights of the rows, times those of their classes, are too large"):
        estimators.DCDClassifier().fit(X, y, sample_weight=np.full(len(y), 1e308))


@pytest.mark.parametrize("index", [-1, 5, 1000])
def test_a_sparse_matrix_whose_index_names_no_column_is_refused(index: int) -> None:
    X, y = blobs(2)
    model, broken = estimators.DCDClassifier().fit(scipy.sparse.csr_matrix(X), y), scipy.sparse.csr_matrix(X)
    broken.indices[0] = index
    for call in (lambda: model.fit(broken, y), lambda: model.predict(broken)):
        with pytest.raises(ValueError, match=r"X is no valid sparse matrix: .*; build it again"):
            call()


def test_a_fit_that_ends_by_its_gap_is_told_of_its_gap() -> None:
    X, y = blobs(2)
    with pytest.warns(ConvergenceWarning, match="take a larger max_iter or gap, or take a smaller C"):
        estimators.DCDClassifier(gap=1e-30, max_iter=3).fit(X, y)


def test_a_budget_that_is_too_small_to_merge_is_told_by_its_name() -> None:
    X, y = blobs(2)
    with pytest.raises(ValueError, match=r"^budget is 1; it must be at least 2 for maintenance: merging"):
        estimators.BudgetedPegasosClassifier(budget=1).fit(X, y)


def test_a_star_brings_every_classifier() -> None:
    names: dict[str, Any] = {}
    exec("from mpu_bench import *", names)
    assert set(ALL) <= names.keys()
    assert names["load"] is mpu_bench.load


@pytest.mark.parametrize(("name", "parameters"), FORMS, ids=str)
def test_a_fit_that_is_refused_leaves_what_was_fitted(name: str, parameters: dict[str, Any]) -> None:
    X, y = blobs(2)
    model = made(name, **parameters).fit(X, y)
    scores, labels = model.decision_function(X), model.predict(X)
    for rows, wanted in ((X, np.full(len(y), "a")), (X[:, :1], np.where(y == 1, "a", "b")), (X * np.nan, y)):
        with pytest.raises(ValueError, match=r"one class only|NaN|max_seconds"):
            model.set_params(max_seconds=-1.0).fit(rows, wanted)
        np.testing.assert_array_equal(model.decision_function(X), scores)
        np.testing.assert_array_equal(model.predict(X), labels)


def test_truth_values_of_numpy_are_taken() -> None:
    X, y = blobs(2)
    assert estimators.SMOClassifier(fit_intercept=np.True_).fit(X, y).intercept_ != 0
    with pytest.raises(ValueError, match="fit_intercept is 'yes'; it must be True or False"):
        estimators.SMOClassifier(fit_intercept="yes").fit(X, y)


@pytest.mark.parametrize("kind", [estimators.PegasosClassifier, estimators.SMOClassifier])
def test_each_machine_of_a_pair_is_that_of_its_two_classes_alone(kind: Any) -> None:
    X, y = blobs(3)
    parameters = {"C": 0.5, "kernel": "linear", "multi_class": "ovo", "random_state": 0}
    weights = kind(**parameters).fit(X, y).coef_
    for place, (first, second) in enumerate([(0, 1), (0, 2), (1, 2)]):
        chosen = (y == first) | (y == second)
        np.testing.assert_allclose(weights[place], kind(**parameters).fit(X[chosen], y[chosen]).coef_[0], rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [("SMOClassifier", "bias", "fit_intercept"), ("ForgetronClassifier", "vectors", "budget")],
)
def test_a_parameter_by_its_old_name_is_told_the_new_one(name: str, old: str, new: str) -> None:
    with pytest.raises(TypeError, match=f"^{name}: '{old}' is called '{new}' now$"):
        getattr(mpu_bench, name)(**{old: 3})


def test_a_score_that_is_not_finite_is_no_label(tmp_path: Path) -> None:
    """As of the model that is saved."""
    X, y = blobs(2)
    model = mpu_bench.SMOClassifier(kernel="poly", coef0=1.0).fit(X, y)
    model.save(tmp_path / "model.mpu")
    X[3] = 1e120
    for each in (model, mpu_bench.load(tmp_path / "model.mpu")):
        for method in (each.predict, each.decision_function):
            with pytest.raises(Exception, match=r"^row 4: its score is not finite; a value lies far beyond"):
                method(X)


@pytest.mark.parametrize("classes", [2, 3])
def test_a_model_without_intercepts_has_a_zero_for_each_score(name: str, classes: int) -> None:
    X, y = blobs(classes)
    model = made(name).fit(X, y)
    machines = 1 if classes == 2 else 3  # pairs or classes
    assert model.intercept_.shape == (machines,)


@pytest.mark.parametrize("weight", [0.0, 2.0])
def test_balanced_classes_count_rows_by_their_weights(weight: float) -> None:
    """A row without weight is left out, and one of weight 2 is as two."""
    X, y = blobs(3)
    weights = np.where((y == 1) & (np.arange(len(y)) % 2 == 0), weight, 1.0)
    rows = np.repeat(np.arange(len(y)), weights.astype(int))
    for name in ("DCDClassifier", "SMOClassifier"):
        weighted = made(name, **_EXACTLY[name], class_weight="balanced").fit(X, y, sample_weight=weights)
        repeated = made(name, **_EXACTLY[name], class_weight="balanced").fit(X[rows], y[rows])
        np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), rtol=1e-4, atol=1e-4)


@pytest.mark.filterwarnings("ignore:.* so far from the origin")
def test_the_width_by_scale_is_the_same_of_dense_and_sparse_rows() -> None:
    X, y = blobs(2)
    X = 1e-3 * X + 1e6
    X[::2] = 0.0
    X[:, 1] = 1e6
    for part in (X, X[1::2]):
        both = part, scipy.sparse.csr_matrix(part)
        kernels = [mpu_bench.ForgetronClassifier().fit(rows, y[: len(part)]).model_.kernel for rows in both]
        assert kernels[0].gamma == pytest.approx(kernels[1].gamma, rel=1e-6)


def test_columns_that_32_bits_do_not_number_are_refused() -> None:
    X = scipy.sparse.csr_array((np.ones(2), np.array([2**32 + 1, 1]), np.array([0, 1, 2])), shape=(2, 2**33))
    with pytest.raises(
        ValueError, match=r"^X has 2 rows, 8,589,934,592 columns and 2 non-zeros; at most 4,294,967,295"
    ):
        rows_of(X)


def test_entries_at_one_index_that_add_up_to_infinity_are_refused_as_infinity_is(tmp_path: Path) -> None:
    X, y = blobs(2)
    values, columns, starts = np.array([1e308, 1e308, 1.0]), np.array([0, 0, 1]), np.array([0, 2, 3])
    twice = scipy.sparse.csr_array((values, columns, starts), shape=(2, X.shape[1]))
    model = made("SMOClassifier").fit(X, y)
    model.save(tmp_path / "model.mpu")
    words = "a row contains a value that is not a finite number"
    with pytest.raises(ValueError, match=words):
        model.predict(twice)
    with pytest.raises(DataError, match=words):
        mpu_bench.load(tmp_path / "model.mpu").predict(twice)
    with pytest.raises(ValueError, match=words):
        made("SMOClassifier").fit(twice, [0, 1])
