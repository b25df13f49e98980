import numpy as np
import pytest

from model_examples import MODELS, raw_rows
from mpu_bench.core.models import KernelModel, LinearModel, labels_of, with_threshold
from mpu_bench.core.rows import Dense
from mpu_bench.errors import ConfigError
from mpu_bench.kernels import Gaussian, Linear, Polynomial, value
from oracles import toys


@pytest.mark.parametrize("classes", [1, 3])
@pytest.mark.parametrize("kind", ["dense", "sparse", "ones"])
def test_a_linear_model(kind, classes):
    matrix, _ = toys.binary()
    weights = np.random.default_rng(0).normal(size=(classes, matrix.shape[1]))
    model = LinearModel(weights)
    rows = toys.KINDS[kind](matrix)
    np.testing.assert_allclose(model.scores(rows), matrix @ weights.T, atol=1e-12)
    assert model.support_vectors == 0


@pytest.mark.parametrize("kind", ["dense", "sparse", "ones"])
def test_a_kernel_model(kind):
    matrix, _ = toys.binary()
    coefficients = np.random.default_rng(0).normal(size=(20, 3))
    coefficients[5] = 0.0
    kernel = Gaussian(0.25)
    model = KernelModel(toys.KINDS[kind](matrix[:20]), coefficients, kernel, matrix.shape[1])
    rows = toys.KINDS[kind](matrix)
    distances = ((matrix[:, None] - matrix[None, :20]) ** 2).sum(axis=2)
    np.testing.assert_allclose(model.scores(rows), np.exp(-0.25 * distances) @ coefficients, atol=5e-6)
    assert model.support_vectors == 19


@pytest.mark.parametrize(
    ("kernel", "rows", "vectors"),
    [
        (Linear(), "ones", "ones"),
        (Gaussian(0.25), "dense", "dense"),
        (Polynomial(0.5, 1.0, 3), "ones", "ones"),
        (Gaussian(0.05), "dense64", "sparse"),
    ],
)
@pytest.mark.parametrize("classes", [1, 3])
def test_scores_are_the_plain_sum(monkeypatch, kernel, rows, vectors, classes):
    """Some of the vectors at a time; 1e-6 of the sum of what is added up, and far better if a value is a double."""
    monkeypatch.setattr("mpu_bench.core.models._MAX_VECTORS", 7)
    monkeypatch.setattr("mpu_bench.core.models._MIN_VECTORS", 1)
    matrix, _ = toys.binary() if "ones" in (rows, vectors) else toys.real()
    coefficients = np.random.default_rng(0).normal(size=(25, classes))
    model = KernelModel(toys.KINDS[vectors](matrix[:25]), coefficients, kernel, matrix.shape[1], bias=0.5)
    norms = (matrix**2).sum(axis=1)
    pairs = [
        [value(kernel, a @ b, p, q) for b, q in zip(matrix, norms, strict=True)][:25]
        for a, p in zip(matrix, norms, strict=True)
    ]
    values = np.array(pairs)
    tolerance = 1e-13 if "dense64" in (rows, vectors) else 1e-6
    wrong = np.abs(model.scores(toys.KINDS[rows](matrix)) - values @ coefficients - 0.5)
    assert (wrong <= tolerance * (np.abs(values) @ np.abs(coefficients))).all()


def test_a_model_without_vectors_scores_zero():
    matrix, _ = toys.binary()
    model = KernelModel(toys.KINDS["ones"](matrix[:0]), np.zeros((0, 1)), Gaussian(0.25), matrix.shape[1])
    assert (model.scores(toys.KINDS["ones"](matrix)) == 0).all()


def test_labels():
    np.testing.assert_array_equal(labels_of(np.array([[-1.0], [0.0], [1.0]])), [0, 0, 1])
    np.testing.assert_array_equal(labels_of(np.array([[1.0, 3.0, 3.0], [0.0, -1.0, -2.0]])), [1, 0])


@pytest.mark.parametrize("kernel", [Gaussian(0.3), Polynomial(0.5, 1.0, 3), Linear()])
@pytest.mark.parametrize("kind", ["sparse", "ones"])
def test_very_many_columns_take_no_more_memory_than_those_used(kind, kernel):
    """Scores are the same to the bit as those of the columns that there are, of rows longer than the vectors, too."""
    rows, vectors = (toys.KINDS[kind](toys.binary(n, 40, seed)[0]) for n, seed in ((30, 1), (9, 2)))
    far = np.sort(np.random.default_rng(0).choice(2**32 - 1, 40, replace=False)).astype(np.uint32)
    coefficients = np.random.default_rng(1).normal(size=(9, 3))
    expected = KernelModel(vectors, coefficients, kernel, 40).scores(rows)
    spread = [each._replace(indices=far[each.indices]) for each in (rows, vectors)]
    assert np.array_equal(KernelModel(spread[1], coefficients, kernel, 2**32 - 1).scores(spread[0]), expected)
    empty = spread[1]._replace(indices=far[:0], starts=np.zeros(10, np.uint32), **_no_values(spread[1]))
    small = vectors._replace(indices=far[:0], starts=np.zeros(10, np.uint32), **_no_values(vectors))
    expected = KernelModel(small, coefficients, kernel, 40).scores(rows)
    assert np.array_equal(KernelModel(empty, coefficients, kernel, 2**32 - 1).scores(spread[0]), expected)


def _no_values(rows):
    return {"values": rows.values[:0]} if hasattr(rows, "values") else {}


@pytest.mark.parametrize("name", ["linear", "fourier", "dense gaussian"])
def test_above_a_threshold_a_row_is_of_the_second_class(name: str) -> None:
    model, rows = MODELS[name][0], Dense(raw_rows())
    scores = model.scores(rows)
    threshold = float(np.median(scores)) + 1e-9
    made = with_threshold(model, threshold)
    assert made.labels(rows).tolist() == (scores[:, 0] > threshold).astype(int).tolist()
    assert not with_threshold(model, np.inf).finite


def test_several_scores_have_no_threshold() -> None:
    with pytest.raises(ConfigError, match="score_threshold: a LinearModel"):
        with_threshold(MODELS["linear by class"][0], 0.1)
