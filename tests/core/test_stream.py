from dataclasses import fields

import numpy as np
import pytest

from mpu_bench.core.problem import Problem, StreamedProblem
from mpu_bench.core.rows import Dense
from mpu_bench.core.stream import Stream
from references import toys


def streamed(n, block_rows):
    whole = toys.problem(*toys.real(n), "dense")
    blocks = range(0, n, block_rows)

    def make(number):
        part = slice(blocks[number], blocks[number] + block_rows)
        return Dense(whole.train.values[part]), whole.labels[part]

    rows, labels = make(0)
    values = {field.name: getattr(whole, field.name) for field in fields(Problem)} | {"train": rows, "labels": labels}
    return whole, StreamedProblem(**values, length=n, block_rows=block_rows, make=make)


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
            np.testing.assert_array_equal(chunk.rows.values[i], whole.train.values[chunk.first + i])
            assert chunk.labels[i] == whole.labels[chunk.first + i]
            seen.append(int(chunk.first + i))
        assert sorted(seen) == list(range(60))
        passes.append(seen)
    assert passes[0] != passes[1] != passes[2]


def test_the_order_is_a_function_of_the_seed():
    _, problem = streamed(60, 20)
    orders = [Stream(problem, seed).at(0)[0].order.tolist() for seed in (1, 1, 2)]
    assert orders[0] == orders[1] != orders[2]
