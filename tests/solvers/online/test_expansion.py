import numpy as np
import pytest

from mpu_bench.core.rows import Dense, any_rows
from mpu_bench.kernels import Gaussian
from mpu_bench.solvers.online.expansion import (
    add_to_average,
    insert,
    model_of,
    new_expansion,
    project_on_ball,
    remove,
    scale_by,
    smallest,
)
from oracles import toys

KERNEL = Gaussian(0.5)
ROWS = Dense(np.random.default_rng(0).normal(size=(4, 3)))


def gram_of(vectors):
    return np.exp(-0.5 * ((vectors[:, None] - vectors) ** 2).sum(axis=2))


def filled(classes, averaged=False):
    """Return an expansion of the four rows, each inserted at its true margin."""
    problem = toys.problem(ROWS.values, np.arange(4, dtype=np.int32) % classes, "dense64")
    w = new_expansion(problem, 10, "double", averaged)
    for i in range(4):
        scores, label = model_of(w, KERNEL, 1).scores(Dense(ROWS.values[[i]]))[0], i % 2
        margin = (scores[0] if label else -scores[0]) if classes == 2 else scores[label] - scores[1 - label]
        insert(w, KERNEL, any_rows(ROWS), np.uint32(i), label, 1 - label, 0.5 + i, margin)
    return w


def squared_norm_of(w, classes):
    model = model_of(w, KERNEL, 1)
    vectors, alpha = model.vectors, model.coefficients
    return np.sum(alpha * (gram_of(vectors.values) @ alpha)) * (0.5 if classes == 2 else 1.0)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_norm_is_carried_along(classes):
    w = filled(classes)
    assert w.scalars[0].squared_norm == pytest.approx(squared_norm_of(w, classes))
    for factor in (0.5, 1e-2, 1e-2):  # the scale is multiplied in where it is small
        scale_by(w, factor)
        assert w.scalars[0].squared_norm == pytest.approx(squared_norm_of(w, classes))
    project_on_ball(w, 1e12)
    assert squared_norm_of(w, classes) == pytest.approx(1e-12)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_average_is_that_of_the_hypotheses_counted(classes):
    w, alphas = filled(classes, averaged=True), []
    for factor in (0.5, 1e-2, 1e-2, 0.7):
        scale_by(w, factor)
        alphas.append(w.scalars[0].scale * w.f.coefficients[:, :4].T)
        add_to_average(w)
    np.testing.assert_allclose(model_of(w, KERNEL, 4).coefficients, sum(alphas) / 4, rtol=1e-12)


def test_the_last_vector_moves_to_where_one_is_removed():
    w = filled(3)
    w.norms[:4] = 2.0, 1.0, 1.0, 3.0
    assert smallest(w.norms, w.inserted_at, 4) == 1  # the older of two
    remove(w, 1)
    np.testing.assert_array_equal(model_of(w, KERNEL, 1).vectors.values, ROWS.values[[0, 3, 2]])
    assert w.norms[:4].tolist() == [2.0, 3.0, 1.0, 0.0]
    assert not w.f.coefficients[:, 3:].any()
