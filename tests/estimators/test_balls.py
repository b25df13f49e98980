"""The classifiers of balls end near the optimum of the SVM that was asked for, or say that they did not."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning

from mpu_bench import CoreVectorClassifier, FrankWolfeClassifier
from mpu_bench.kernels import Gaussian, Linear
from oracles import kernel_svm, meb

X, CLASSES = load_wine(return_X_y=True)
X, LABELS = X[CLASSES < 2], CLASSES[CLASSES < 2]


def of_optimum(classifier):
    """Return R of a classifier's weights, by the least R."""
    kernel = Linear() if classifier.kernel == "linear" else Gaussian(1 / (X.shape[1] * X.var()))
    alphas = np.abs(classifier.dual_coef_[0])
    signs = np.sign(classifier.dual_coef_[0])
    R = alphas @ meb.products(kernel, np.asarray(classifier.support_vectors_), signs, classifier.C) @ alphas
    return R / alphas.sum() ** 2 / meb.least_square(meb.products(kernel, X, 2.0 * LABELS - 1, classifier.C), 1e-6)[1]


@pytest.mark.parametrize(
    ("classifier", "near"),
    [
        (CoreVectorClassifier(random_state=0), True),
        (CoreVectorClassifier(100.0, tol=1e-6, random_state=0), True),
        (FrankWolfeClassifier(random_state=0), True),
        (FrankWolfeClassifier(100.0, modified=False, random_state=0, max_iter=500), False),
        (FrankWolfeClassifier(kernel="linear", random_state=0, max_iter=5000), False),
    ],
    ids=str,
)
def test_columns_that_are_not_scaled_end_near_the_optimum_or_with_a_warning(classifier, near):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", ConvergenceWarning)
        classifier.fit(X, LABELS)
    assert (not told) == near
    assert 1 - 1e-6 <= of_optimum(classifier) <= 1 + classifier.dual_gap_
    if near:
        assert classifier.dual_gap_ <= classifier.tol
    else:
        assert "its gap is" in str(told[0].message)
        assert "scale the features" in str(told[0].message)


@pytest.mark.parametrize("classifier", [CoreVectorClassifier, FrankWolfeClassifier])
def test_a_tolerance_is_above_zero(classifier):
    with pytest.raises(ValueError, match=r"tol is 0.0; it must be above 0"):
        classifier(tol=0.0).fit(X, LABELS)
    with pytest.warns(ConvergenceWarning, match="max_iter = 3"):
        classifier(tol=1e-9, max_iter=3).fit(X, LABELS)


@pytest.mark.parametrize("classes", [2, 3])
def test_scores_are_those_of_the_model_however_far_from_the_origin(classes):
    rows, labels = load_wine(return_X_y=True)
    rows = (rows - rows.mean(axis=0))[labels < classes, 6:] / 8 + 2.0**27  # exact to 2^-25
    labels = labels[labels < classes]
    model = CoreVectorClassifier(gamma=1.0, random_state=0).fit(rows, labels)
    near = CoreVectorClassifier(gamma=1.0, random_state=0).fit(rows - 2.0**27, labels)
    np.testing.assert_allclose(model.decision_function(rows), near.decision_function(rows - 2.0**27), atol=0.02)
    np.testing.assert_array_equal(model.predict(rows[::3]), model.predict(rows)[::3])


@pytest.mark.parametrize("C", [0.1, 100.0])
@pytest.mark.parametrize("classifier", [CoreVectorClassifier, FrankWolfeClassifier])
def test_the_objective_of_its_own_scores_is_as_near_the_optimum_as_it_says(classifier, C):
    rows, signs = (X - X.mean(axis=0)) / X.std(axis=0), 2.0 * LABELS - 1
    model = classifier(C, gamma=0.1, random_state=0).fit(rows, LABELS)
    losses = np.maximum(0.0, 1 - signs * model.decision_function(rows))
    support, coefficients = np.asarray(model.support_vectors_), model.dual_coef_[0]
    squares = coefficients @ kernel_svm.values(Gaussian(0.1), support, support) @ coefficients
    objective = squares + model.intercept_[0] ** 2 + C * losses @ losses
    optimum = 1 / meb.least_square(meb.products(Gaussian(0.1), rows, signs, C), 1e-8)[1]
    assert -1e-6 <= objective / optimum - 1 <= model.dual_gap_ + 1e-5 <= 1e-3 + 1e-5
