"""Rows that are far from the origin for their distances are told apart all the same."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.svm import SVC

import mpu_bench
from mpu_bench.core.kernels import Gaussian, Linear
from mpu_bench.core.precision import centred, is_single_enough
from mpu_bench.core.rows import Dense

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


def test_centred_rows_have_the_same_distances():
    rows = centred(Dense(FAR.astype(np.float32))).values
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


def test_the_certificate_far_from_the_origin_is_that_of_the_model():
    far = FAR.astype(np.float32)
    model = mpu_bench.SMOClassifier(gamma=0.5, C=10.0).fit(far, LABELS)
    peer = SVC(gamma=0.5, C=10.0, tol=1e-4).fit(FAR, LABELS)
    assert np.abs(model.decision_function(far) - peer.decision_function(FAR)).max() < 0.05


@pytest.mark.parametrize("name", ["CoreVectorClassifier", "FrankWolfeClassifier"])
def test_rows_that_no_kernel_value_can_be_computed_of_are_refused(name):
    rows = NEAR.copy()
    rows[7, 1] = 1e30
    with pytest.raises(ValueError, match=r"scale the features down \(a card's step for that is `scale`\)$"):
        getattr(mpu_bench, name)(gamma=0.5).fit(rows, LABELS)
