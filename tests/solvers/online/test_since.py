"""BPA-S and FOGD against plain programs, choice by choice."""

import numpy as np
import pytest

import mpu_bench
from classifiers import documented
from mpu_bench import solvers
from mpu_bench.core.counters import INNER_PRODUCTS, KERNEL_EVALUATIONS, PRESENTED, STEPS, UPDATES
from mpu_bench.core.solver import Until
from mpu_bench.errors import ConfigError
from mpu_bench.kernels import Gaussian, Linear
from oracles import toys


def data(classes):
    draw = np.random.default_rng(classes)
    matrix = draw.normal(size=(300, 4))
    matrix[20:40] = matrix[:20]  # repeated
    return matrix, (np.argmax(matrix[:, :classes] + draw.normal(size=(300, classes)), axis=1)).astype(np.int32)


def presented_to(solver, problem, kernel):
    """Give the state after all examples, and their numbers in the order in which they came."""
    state = solver.start(problem, kernel, 3)
    order = state.stream.at(0)[0].order.copy()
    solver.advance(state, Until())
    return state, order


def bpa_s(matrix, signs, order, gamma, budget, C):
    """Give the coefficients by example, and how many steps there were: from the whole of f each time."""
    gram = np.exp(-gamma * ((matrix[:, None] - matrix) ** 2).sum(axis=2))
    slots, steps, asked = [], 0, 0
    for i in order:
        f, y = sum(a * gram[j, i] for j, a in slots), signs[i]
        asked += len(slots)
        if 1 - y * f <= 0:
            continue
        steps += 1
        tau = min(C, 1 - y * f)
        if len(slots) < budget:
            slots.append((i, y * tau))
            continue
        harms = []
        for j, a in slots:
            beta = a * gram[j, i] + y * tau
            squared = a * a * gram[j, j] + beta * beta * gram[i, i] - 2 * a * beta * gram[j, i]
            harms.append(squared / 2 + C * max(0, 1 - y * (f - a * gram[j, i] + beta * gram[i, i])))
        r = int(np.flatnonzero(np.array(harms) <= min(harms) * (1 + 1e-9))[0])
        slots[r] = (i, slots[r][1] * gram[slots[r][0], i] + y * tau)
    return slots, steps, asked


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("C", [0.3, 1.0])
def test_bpa_s_replaces_what_does_least_harm(classes, C):
    matrix, labels = data(classes)
    problem = toys.problem(matrix, labels, "dense64")
    solver = solvers.load("bpa-s")(vectors=12, C=C, precision="double")
    state, order = presented_to(solver, problem, Gaussian(0.2))
    model, first, steps, asked = solver.model(state), 0, 0, 0
    for c in range(1 if classes == 2 else classes):
        signs = np.where(labels == (1 if classes == 2 else c), 1.0, -1.0)
        slots, of_function, of_values = bpa_s(matrix, signs, order, 0.2, 12, C)
        part = slice(first, first := first + len(slots))
        np.testing.assert_array_equal(model.vectors.values[part], matrix[[i for i, _ in slots]])
        np.testing.assert_allclose(model.coefficients[part, c], [a for _, a in slots], rtol=1e-9)
        steps, asked = steps + of_function, asked + of_values
    counters = state.counters
    assert (counters[PRESENTED], counters[UPDATES], counters[KERNEL_EVALUATIONS]) == (300, steps, asked)
    assert steps > 100


def test_bpa_s_needs_vectors_of_length_one():
    problem = toys.problem(*data(2), "dense")
    with pytest.raises(ConfigError, match="take a gaussian kernel, or normalize: true"):
        solvers.load("bpa-s")(vectors=5).start(problem, Linear(), 0)


@pytest.mark.parametrize("classes", [2, 3])
def test_fogd_takes_gradient_steps_on_its_features(classes):
    matrix, labels = data(classes)
    problem = toys.problem(matrix, labels, "dense64")
    solver = solvers.load("fogd")(pairs=30, rate=0.05)
    state, order = presented_to(solver, problem, Gaussian(0.2))
    angles = matrix @ state.hypothesis.frequencies
    z = np.hstack([np.cos(angles), np.sin(angles)])
    w, steps = np.zeros((classes, 60)), 0
    for i in order:
        f, y = w @ z[i], labels[i]
        rival = int(np.argmax(np.where(np.arange(classes) == y, -np.inf, f)))
        if f[y] - f[rival] < 1:  # of two classes f_1 - f_0 is the one function, which changes once
            w[y] += (0.025 if classes == 2 else 0.05) * z[i]
            w[rival] -= (0.025 if classes == 2 else 0.05) * z[i]
            steps += 1
    expected = z @ (w[1:] - w[:1] if classes == 2 else w).T
    np.testing.assert_allclose(solver.model(state).scores(problem.train), expected, rtol=1e-9, atol=1e-9)
    assert (state.counters[STEPS], state.counters[INNER_PRODUCTS]) == (steps, 30 * 300)


def test_fogd_approaches_the_gaussian_kernel():
    frequencies = (
        solvers.load("fogd")(pairs=20_000)
        .start(toys.problem(*data(2), "dense"), Gaussian(0.2), 0)
        .hypothesis.frequencies
    )
    a, b = data(2)[0][:2]
    kernel = np.mean(np.cos((a - b) @ frequencies))  # z(a).z(b) / D
    assert kernel == pytest.approx(np.exp(-0.2 * np.sum((a - b) ** 2)), abs=0.02)


def test_more_features_leave_the_frequencies_of_the_first():
    matrix, labels = data(2)
    narrow, wide = (toys.problem(m, labels, "dense") for m in (matrix, np.hstack([matrix, np.zeros((300, 3))])))
    solver = solvers.load("fogd")(pairs=30)
    states = [presented_to(solver, problem, Gaussian(0.2))[0] for problem in (narrow, wide)]
    np.testing.assert_array_equal(states[0].hypothesis.frequencies, states[1].hypothesis.frequencies[:4])
    np.testing.assert_array_equal(states[0].hypothesis.weights, states[1].hypothesis.weights)


@pytest.mark.parametrize("name", ["BPASClassifier", "FOGDClassifier"])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_classifier_comes_by_itself(name, classes, tmp_path):
    matrix, labels = data(classes)
    kind = getattr(mpu_bench, name)
    assert kind in (getattr(mpu_bench, each) for each in mpu_bench.estimators.__all__)
    model = kind(gamma=0.2, max_iter=5, random_state=0).fit(matrix, labels)
    assert model.score(matrix, labels) > 0.6
    model.save(tmp_path / "model.mpu")
    np.testing.assert_array_equal(mpu_bench.load(tmp_path / "model.mpu").predict(matrix), model.predict(matrix))
    assert documented(kind) == sorted(model.get_params())


def test_bpa_s_refuses_later_rows_of_another_length():
    matrix, labels = data(2)
    unit = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
    classifier = mpu_bench.BPASClassifier(kernel="linear", budget=12).partial_fit(unit, labels, classes=[0, 1])
    before = classifier.decision_function(unit)
    with pytest.raises(ValueError, match=r"K\(x, x\) is .* it must be 1"):
        classifier.partial_fit(5 * matrix, labels)
    assert np.array_equal(classifier.decision_function(unit), before)
