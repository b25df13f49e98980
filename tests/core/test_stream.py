from dataclasses import fields, replace

import numpy as np
import pytest

from mpu_bench.core.problem import Problem, StreamedProblem
from mpu_bench.core.rows import Dense
from mpu_bench.core.stream import Stream
from mpu_bench.errors import ConfigError, DataError
from mpu_bench.kernels import Gaussian, Linear, Polynomial
from mpu_bench.kernels.precision import precision_for
from mpu_bench.solvers.linear.dcd import DCD
from mpu_bench.solvers.online.bpa_s import BPAS
from mpu_bench.solvers.online.perceptron import Perceptron
from mpu_bench.solvers.online.projectron import Projectron
from oracles import toys


def streamed(n, block_rows):
    whole = toys.problem(*toys.real(n), "dense")
    blocks = range(0, n, block_rows)

    def make(number):
        part = slice(blocks[number], blocks[number] + block_rows)
        return Dense(whole.train.values[part]), whole.labels[part]

    rows, labels = make(0)
    values = {field.name: getattr(whole, field.name) for field in fields(Problem)} | {"train": rows, "labels": labels}
    counts = tuple(np.bincount(whole.labels).tolist())
    more = {"counts": counts, "mean_squared_distance": 1.0}
    return whole, StreamedProblem(**values, length=n, block_rows=block_rows, make=make, **more)


@pytest.mark.parametrize("block_rows", [7, 20, 60, 100])
def test_every_pass_presents_every_example_once_in_a_new_order(block_rows):
    whole, problem = streamed(60, block_rows)
    assert problem.n == 60
    stream, passes = Stream(problem, 3), []
    for p in range(3):
        seen = []
        for k in range(60):
            chunk, position = stream.at(60 * p + k)
            i = chunk.order[position]
            np.testing.assert_array_equal(chunk.rows.dense[i], whole.train.values[chunk.first + i])
            assert chunk.labels[i] == whole.labels[chunk.first + i]
            seen.append(int(chunk.first + i))
        assert sorted(seen) == list(range(60))
        passes.append(seen)
    assert passes[0] != passes[1] != passes[2]


def test_the_order_is_a_function_of_the_seed():
    _, problem = streamed(60, 20)
    orders = [Stream(problem, seed).at(0)[0].order.tolist() for seed in (1, 1, 2)]
    assert orders[0] == orders[1] != orders[2]


def damaged(problem, number, row, value=None, label=None):
    """Damage a row of a block."""
    make = problem.make

    def make_damaged(asked):
        rows, labels = make(asked)
        rows, labels = Dense(rows.values.copy()), labels.copy()
        if asked == number and value is not None:
            rows.values[row, 3] = value
        if asked == number and label is not None:
            labels[row] = label
        return rows, labels

    return replace(problem, make=make_damaged)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_number_that_is_not_finite_is_refused_with_its_row(value):
    _, problem = streamed(60, 20)
    stream = Stream(damaged(problem, 1, 4, value), 0)
    with pytest.raises(DataError, match="toy: training example 25 holds a number that is not finite"):
        stream.at(59)


def test_a_label_beyond_the_classes_is_refused_with_its_row():
    _, problem = streamed(60, 20)
    with pytest.raises(DataError, match="toy: training example 41 is of class 2, counted from 0; there are 2"):
        Stream(damaged(problem, 2, 0, label=2), 0).at(59)


def test_batch_solvers_refuse_a_stream():
    _, problem = streamed(1200, 500)
    with pytest.raises(DataError) as caught:
        DCD().start(problem, Linear(), 0)
    said = "toy is a stream of 1,200 examples; dcd needs them all in memory: remove stream: true, or choose an online"
    assert said in str(caught.value)


def test_a_stream_of_one_class_is_refused():
    _, problem = streamed(60, 20)
    problem = replace(problem, counts=(0, 60))
    with pytest.raises(DataError, match="toy: all training examples are of class 'class 1'; two classes are needed"):
        Perceptron().start(problem, Linear(), 0)


def test_the_precision_is_that_of_all_blocks():
    _, problem = streamed(60, 20)
    assert precision_for(problem, Gaussian(0.5), "single") == "single"
    far = replace(
        problem, make=lambda number: (Dense(problem.train.values + np.float32(1000 * number)), problem.labels)
    )
    assert precision_for(far, Gaussian(0.5), "single") == "double"


def test_what_a_solver_asks_of_rows_is_asked_of_all_blocks():
    _, problem = streamed(60, 20)
    ones = problem.train.values * 0 + np.float32(0.5 / np.sqrt(problem.features))

    def make(number):
        return Dense(2 * ones if number < 2 else 3 * ones), problem.labels

    lengthened = replace(problem, train=Dense(2 * ones), make=make)
    with pytest.raises(ConfigError, match=r"^bpa-s: K\(x, x\) is 2.25 to 2.25 on toy; it must be 1: take a gaussian"):
        BPAS().start(lengthened, Linear(), 0)
    assert Projectron(eta=0.5).start(lengthened, Polynomial(1.0, 0.0, 2), 0).sparseness.largest == pytest.approx(
        2.25**2
    )
