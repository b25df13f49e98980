"""What a solver answers is believed only as far as it is what was asked for."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from mpu_bench.core import answers
from mpu_bench.core.counters import new_counters
from mpu_bench.core.models import FourierModel, KernelModel, LinearModel
from mpu_bench.core.rows import Dense, Ones, Sparse
from mpu_bench.core.solver import Measures, Status, Until
from mpu_bench.core.voting import MulticlassModel, SharedExpansions
from mpu_bench.errors import SolverError
from mpu_bench.kernels import Gaussian, Linear, Polynomial

ROWS = Dense(np.eye(3, dtype=np.float32))


def solver(**methods):
    return SimpleNamespace(name="odd", **{name: lambda *_, answer=answer: answer for name, answer in methods.items()})


def problem(classes: int) -> SimpleNamespace:
    return SimpleNamespace(features=3, classes=("a", "b", "c", "d")[:classes])


class Silent:
    def __repr__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize("status", [17, None, True, "DONE", 1, np.int64(0), Silent()])
def test_a_status_is_a_status(status) -> None:
    with pytest.raises(SolverError, match=r"odd: advance\(\) returns .*; it must return a Status"):
        answers.advance(solver(advance=status), None, Until())


def test_each_status_passes() -> None:
    assert [answers.advance(solver(advance=each), None, Until()) for each in Status] == list(Status)


@pytest.mark.parametrize(
    "counters",
    [None, [0] * 6, np.zeros(5, np.int64), np.zeros((6, 1), np.int64), np.zeros(6), np.zeros(6, np.int32), "abcdef"],
)
def test_counters_are_six_integers(counters) -> None:
    with pytest.raises(SolverError, match="counters are"):
        answers.counts(solver(), SimpleNamespace(counters=counters))


def test_a_state_has_counters() -> None:
    with pytest.raises(SolverError, match="counters are None"):
        answers.counts(solver(), None)


def test_counters_never_fall() -> None:
    counters = new_counters()
    counters[2] = 5
    assert answers.counts(solver(), SimpleNamespace(counters=counters)) == (0, 0, 5, 0, 0, 0)
    with pytest.raises(SolverError, match="counter 'updates' is 5 after 6"):
        answers.counts(solver(), SimpleNamespace(counters=counters), (0, 0, 6, 0, 0, 0))
    counters[0] = -1
    with pytest.raises(SolverError, match="counter 'presented' is -1 after 0"):
        answers.counts(solver(), SimpleNamespace(counters=counters))


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (np.float32(1.5), 1.5),
        (Decimal("1.5"), 1.5),
        (Fraction(3, 2), 1.5),
        (np.array(1.5), 1.5),
        (np.int64(3), 3.0),
        (10**30, 1e30),
        (10**400, math.inf),
        (-(10**400), -math.inf),
        (np.longdouble(2), 2.0),
        (None, None),
    ],
)
def test_whatever_is_a_number_becomes_a_float(given, kept) -> None:
    found = answers.measures(solver(measures=Measures(objective=given)), None).objective
    assert found == kept
    assert type(found) in (float, type(None))


@pytest.mark.parametrize(
    "given", ["hello", "1.5", 1j, True, np.array([1.5]), [1.0], np.ma.masked, Silent(), np.bool_(1)]
)
def test_whatever_is_no_number_is_named(given) -> None:
    with pytest.raises(SolverError, match=r"odd: measures\(\) gives objective .*, which is not a number"):
        answers.measures(solver(measures=Measures(objective=given)), None)


@pytest.mark.parametrize("measures", [None, {"objective": 1.0}, (1.0,), 1.0])
def test_measures_are_measures(measures) -> None:
    with pytest.raises(SolverError, match=r"measures\(\) returns .*; it must return Measures of mpu_bench.solver"):
        answers.measures(solver(measures=measures), None)


def test_a_note_is_plain_text() -> None:
    assert answers.note(solver(note="a\x1b[31m\ud800"), None) == "a\\x1b[31m\\ud800"
    assert len(answers.note(solver(note="x" * 20_000_000), None)) <= 10_000
    with pytest.raises(SolverError, match=r"note\(\) returns None"):
        answers.note(solver(note=None), None)


@pytest.mark.parametrize("model", [None, 1, SimpleNamespace(linear=True, scores=1)])
def test_a_model_is_a_model(model) -> None:
    with pytest.raises(SolverError, match=r"model\(\) returns .* without .*; return a model, such as LinearModel"):
        answers.model(solver(model=model), None)


PAIRS = np.array([[0, 1], [0, 2], [1, 2]], np.int32)


class Lying(np.ndarray):
    shape = property(lambda _self: (1, 3))


def unsigned(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.uint32)


def kernel_model(vectors=ROWS, kernel=Gaussian(1.0), **changed):  # noqa: B008
    rows = 3 if vectors is ROWS else 2
    return replace(KernelModel(vectors, np.zeros((rows, 1)), kernel, 3), **changed)


def vote(pairs=PAIRS, classes=3, **changed):
    """Return a vote of three expansions over the same two vectors."""
    starts, machines = np.array([0, 2, 3]), np.arange(3, dtype=np.int32)
    machines = SharedExpansions(Dense(np.eye(3)[:2]), starts, machines, np.ones(3), np.zeros(3), Gaussian(1.0), 3)
    return MulticlassModel(replace(machines, **changed), pairs, classes)


ONE, TWO = unsigned(0, 1, 2), np.ones(2, np.float32)


@pytest.mark.parametrize(
    ("model", "classes", "words"),
    [
        (LinearModel(np.zeros((1, 4))), 2, "weights is an array of float64, shape (1, 4); it must be an array of"),
        (LinearModel(np.zeros((1, 2))), 2, "float64, shape (1, 3), for 3 features, 2 classes"),
        (LinearModel(np.zeros(3)), 2, "weights is an array of float64, shape (3,)"),
        (LinearModel(np.zeros((3, 3))), 2, "shape (1, 3)"),
        (LinearModel(np.zeros((1, 3))), 3, "shape (3, 3), for 3 features, 3 classes"),
        (LinearModel(np.zeros((1, 3), int)), 2, "weights is an array of int64"),
        (LinearModel([[0.0, 0.0, 0.0]]), 2, "weights is [[0.0, 0.0, 0.0]]"),
        (FourierModel(np.zeros((1, 9)), np.zeros((5, 3))), 2, "shape (1, 10), for 5 frequencies"),
        (FourierModel(np.zeros((1, 10)), np.zeros((5, 2))), 2, "frequencies is an array of float64, shape (5, 2)"),
        (FourierModel(np.zeros((1, 10)), None), 2, "frequencies is None"),
        (MulticlassModel(LinearModel(np.zeros((3, 4))), PAIRS, 3), 3, "machines.weights is an array of"),
        (KernelModel(ROWS, np.zeros((2, 1)), Linear(), 3), 2, "shape (3, 1), for 3 vectors, 2 classes"),
        (KernelModel(ROWS, np.zeros(3), Linear(), 3), 2, "coefficients is an array of float64, shape (3,)"),
        (KernelModel(ROWS, np.zeros((3, 1)), Linear(), 2), 2, "features is 2; there are 3"),
        (
            LinearModel(np.zeros((1, 2)).view(Lying)),
            2,
            "weights is a Lying, a subclass of ndarray; it must be an array",
        ),
        (kernel_model(Dense(np.ones((2, 2)))), 2, "vectors.values is an array of float64, shape (2, 2); it must be"),
        (kernel_model(Dense(np.ones((2, 4)))), 2, "shape (2, 3), for 3 features"),
        (kernel_model(Dense(np.ones((2, 3), int))), 2, "vectors.values is an array of int64"),
        (kernel_model(Dense(np.ones((2, 3), ">f8"))), 2, "vectors.values is an array of >f8"),
        (kernel_model(Dense([[1.0] * 3])), 2, "vectors.values is [[1.0, 1.0, 1.0]]"),
        (kernel_model(np.ones((2, 3))), 2, "vectors is an array of float64, shape (2, 3); it must be Dense, Sparse or"),
        (kernel_model(Sparse(TWO, unsigned(0, 3), ONE)), 2, "vectors.indices holds 3; it must be from 0 to 2"),
        (kernel_model(Ones(unsigned(0, 100_000), ONE)), 2, "vectors.indices holds 100000; it must be from 0 to 2"),
        (kernel_model(Ones(np.array([0, -1]), ONE)), 2, "vectors.indices is an array of int64"),
        (kernel_model(Ones(unsigned(0, 1), unsigned(0, 9, 2))), 2, "vectors.starts is [0, 9, 2]; it must begin with 0"),
        (kernel_model(Ones(unsigned(0, 1), unsigned(1, 1, 2))), 2, "vectors.starts is [1, 1, 2]; it must begin with 0"),
        (kernel_model(Ones(unsigned(0, 1), unsigned(0, 1, 9))), 2, "vectors.indices is an array of uint32, shape (2,)"),
        (kernel_model(Ones(unsigned(), unsigned())), 2, "vectors.starts is an array of uint32, shape (0,)"),
        (kernel_model(Sparse(TWO[:1], unsigned(0, 1), ONE)), 2, "vectors.values is an array of float32, shape (1,)"),
        (kernel_model(bias=np.arange(5.0)), 2, "bias is an array of float64, shape (5,); it must be a number"),
        (kernel_model(kernel=None), 2, "kernel is None; it must be a kernel, such as Gaussian(gamma=1.0)"),
        (
            kernel_model(kernel=Gaussian(-1e6)),
            2,
            "kernel is Gaussian(gamma=-1000000.0); gamma must be greater than or eq",
        ),
        (kernel_model(kernel=Gaussian("1")), 2, "gamma must be a valid number"),
        (kernel_model(kernel=Polynomial(1.0, math.inf, 2)), 2, "offset must be a finite number"),
        (kernel_model(kernel=Polynomial(1.0, 1.0, 10**9)), 2, "degree must be less than or equal to 1000"),
        (kernel_model(kernel=Polynomial(1.0, 1.0, 1.5)), 2, "degree must be a valid integer"),
        (vote(classes=10**6), 3, "classes is 1000000; there are 3"),
        (vote(PAIRS + np.int32(9)), 3, "pairs is [[9, 10], [9, 11], [10, 11]]; it must hold classes from 0 to 2"),
        (vote(PAIRS - np.int32(7)), 3, "pairs is [[-7, -6]"),
        (vote(PAIRS[:, ::-1] - np.int32(1)), 3, "pairs is [[0, -1]"),
        (vote(PAIRS[:0]), 3, "pairs is []"),
        (vote(PAIRS[:2]), 3, "machines.biases is an array of float64, shape (3,); it must be an array of float64"),
        (vote(PAIRS.tolist()), 3, "pairs is [[0, 1], [0, 2], [1, 2]]; it must be an array of int32, shape (3, 2)"),
        (vote(vectors=Dense(np.ones((2, 4)))), 3, "machines.vectors.values is an array of float64, shape (2, 4)"),
        (vote(machines=np.array([0, 1, 50_000], np.int32)), 3, "machines.machines holds 50000; it must be from 0 to 2"),
        (vote(machines=np.array([0, -1, 2], np.int32)), 3, "machines.machines holds -1"),
        (vote(starts=np.array([0, 10**7, 3])), 3, "machines.starts is [0, 10000000, 3]; it must begin with 0"),
        (vote(starts=np.array([0, 1, 2])), 3, "machines.coefficients is an array of float64, shape (3,)"),
        (MulticlassModel(kernel_model(), PAIRS, 3), 3, "machines is KernelModel("),
    ],
)
def test_arrays_of_a_model_fit_the_problem(model, classes, words) -> None:
    with pytest.raises(SolverError, match=re.escape(words)):
        answers.model(solver(model=model), None, problem(classes))


class Shifted(LinearModel):
    def scores(self, rows):
        return LinearModel(self.weights[:, :-1]).scores(rows) + self.weights[:, -1]


@pytest.mark.parametrize(
    ("model", "classes"),
    [
        (LinearModel(np.zeros((1, 3))), 2),
        (LinearModel(np.zeros((2, 3), np.float32)), 2),
        (LinearModel(np.zeros((4, 3))), 4),
        (Shifted(np.zeros((1, 4))), 2),  # what its weights are is its own business
        (FourierModel(np.zeros((1, 10)), np.zeros((5, 3))), 2),
        (MulticlassModel(LinearModel(np.zeros((3, 3))), PAIRS, 3), 3),
        (MulticlassModel(FourierModel(np.zeros((3, 10)), np.zeros((5, 3))), PAIRS, 3), 3),
        (KernelModel(ROWS, np.zeros((3, 3)), Linear(), 3), 3),
        (kernel_model(Sparse(TWO, unsigned(0, 2), ONE)), 2),
        (kernel_model(Ones(unsigned(), unsigned(0, 0, 0))), 2),
        (vote(), 3),
    ],
)
def test_a_model_that_fits_passes(model, classes) -> None:
    assert answers.model(solver(model=model), None, problem(classes)) is model


@pytest.mark.parametrize("vectors", [None, -1, 1.5, math.nan, 2**64, "many"])
def test_support_vectors_are_a_count(vectors) -> None:
    with pytest.raises(SolverError, match="support_vectors"):
        answers.vectors(solver(), SimpleNamespace(linear=False, support_vectors=vectors))


class Foreign:
    linear, support_vectors = True, 0

    def __init__(self, scores, labels) -> None:
        self.scores, self.labels = (lambda _rows: scores), (lambda _rows: labels)


@pytest.mark.parametrize(
    "labels",
    [None, np.zeros(2, int), np.zeros((3, 1), int), np.zeros(3), np.full(3, 2), np.full(3, -1), ["a"] * 3],
)
def test_predictions_are_classes_of_every_row(labels) -> None:
    with pytest.raises(SolverError, match=r"model\(\)\.labels\(\)"):
        answers.predict(solver(), Foreign(np.zeros(3), labels), ROWS, 2)


@pytest.mark.parametrize("scores", [None, np.zeros(2), np.zeros((3, 1, 1)), ["a"] * 3, np.zeros(3, complex), 0.0])
def test_scores_are_numbers_of_every_row(scores) -> None:
    with pytest.raises(SolverError, match=r"model\(\)\.scores\(\)"):
        answers.predict(solver(), Foreign(scores, np.zeros(3, int)), ROWS, 2)


@pytest.mark.parametrize(("columns", "classes"), [(3, 2), (0, 2), (1, 3), (2, 3), (4, 3)])
def test_scores_are_one_for_each_class(columns, classes) -> None:
    with pytest.raises(SolverError, match=rf"shape \(3, {columns}\); it must return .* for {classes} classes"):
        answers.predict(solver(), Foreign(np.zeros((3, columns)), np.zeros(3, int)), ROWS, classes)


def test_a_foreign_model_is_asked_for_its_own_labels() -> None:
    found = answers.predict(solver(), Foreign(np.zeros(3), np.array([1, 0, 1], np.uint8)), ROWS, 2)
    assert found is not None
    assert (found.tolist(), found.dtype) == ([1, 0, 1], np.int32)
    assert answers.predict(solver(), Foreign(np.array([0, np.nan, 1]), np.zeros(3, int)), ROWS, 2) is None


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_a_model_that_is_not_finite(number) -> None:
    coefficients = np.array([[1.0], [number], [0.0]])
    assert not answers.is_finite(LinearModel(coefficients.T))
    assert not answers.is_finite(KernelModel(ROWS, coefficients, Linear(), 3))
    assert not answers.is_finite(KernelModel(ROWS, np.ones((3, 1)), Linear(), 3, bias=number))
    assert answers.is_finite(KernelModel(ROWS, np.ones((3, 1)), Linear(), 3, bias=1.0))
    assert answers.predict(solver(), LinearModel(np.full((1, 3), 1e308) * [[1, 1, 1]]), ROWS, 2) is not None
