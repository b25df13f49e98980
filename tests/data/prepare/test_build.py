"""What is built from source files: the right rows and storage, in bounded memory, held to the card's counts."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from tests.datasets_of_user import SVMLIGHT, TABLE

from mpu_bench.core.rows import Dense, Ones, Sparse
from mpu_bench.data.cards import catalog
from mpu_bench.data.download.fetch import fetch
from mpu_bench.data.prepare.load import load_problem
from mpu_bench.data.readers import blocks
from mpu_bench.errors import DataError


def test_sparse_rows(world):
    problem = world.load()
    assert isinstance(problem.train, Sparse)
    assert problem.train.values.tolist() == [1, 2.5, -1]
    assert problem.train.indices.tolist() == [0, 2, 1]
    assert problem.train.starts.tolist() == [0, 2, 2, 3]
    assert problem.labels.tolist() == [1, 0, 1]
    assert (problem.n, problem.n_test, problem.features, problem.classes) == (3, 0, 4, ("-1", "+1"))
    assert [array.dtype for array in problem.train] == [np.float32, np.uint32, np.uint32]
    assert all(type(array) is np.ndarray for array in (*problem.train, problem.labels, problem.test_labels))


def test_storage_follows_the_values(world):
    world.offer("+1 1:1 3:1\n-1\n+1 2:1\n")
    assert isinstance(world.load().train, Ones)
    world.offer("+1 1:2 2:2 3:1\n-1\n+1 1:2 2:1 3:2\n", "many")
    problem = world.load(SVMLIGHT.replace("points", "many"), name="many")
    assert isinstance(problem.train, Dense)  # 6 of 12 values are stored
    assert problem.train.values.tolist() == [[2, 2, 1, 0], [0, 0, 0, 0], [2, 1, 2, 0]]
    for storage, kind in (("sparse", Sparse), ("dense", Dense)):
        assert isinstance(world.load(options={"storage": storage}).train, kind)


def test_rows_that_are_not_ones_cannot_be_stored_as_such(world):
    with pytest.raises(DataError, match="storage: 'ones', but some values are not 1"):
        world.load(options={"storage": "ones"})
    assert world.left() == []


def test_dense_text_may_be_stored_sparse(world, numbers):
    values, _ = numbers
    problem = world.load(TABLE, {"storage": "sparse"}, "table")
    assert isinstance(problem.train, Sparse)
    assert problem.train.starts.tolist() == list(range(0, 81, 2))
    assert np.array_equal(problem.train.values, values[:, :2].astype(np.float32).ravel())


@pytest.mark.parametrize(
    ("expected", "said"),
    [
        ("train: {rows: 4}", "the training part has 3 rows, expected 4"),
        ("train: {rows: 3, classes: {'-1': 2, '+1': 1}}", "has 1 rows of class '-1', expected 2"),
        ("test: {rows: 1}", "the test part has 0 rows, expected 1"),
    ],
)
def test_a_wrong_count_is_refused(world, expected, said):
    with pytest.raises(DataError) as caught:
        world.load(f"{SVMLIGHT}expect:\n  {expected}\n")
    assert "dataset 'points' (datasets/points.yaml): " in str(caught.value)
    assert said in str(caught.value)
    assert world.left() == []


def test_an_empty_file_is_refused(world):
    world.offer("# nothing\n\n")
    with pytest.raises(DataError, match="the training part has no rows"):
        world.load()


def test_memory_stays_bounded(world, monkeypatch):
    """Reading takes some multiple of a block, however long the file is."""
    line = " ".join(f"{column}:{column}.25" for column in range(1, 40))
    world.offer("".join(f"{'+-'[i % 2]}1 {line}\n" for i in range(16_000)))
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 1 << 17)
    text = SVMLIGHT.replace("features: 4", "features: 40\nstorage: sparse")
    card = world.card(text.replace(", storage", ""))
    fetch(*card.remote_files, world.home)
    size = (world.mirror / "points").stat().st_size
    tracemalloc.start()
    load_problem(card, world.home)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert size > 5_000_000
    assert peak < 3_500_000


def test_generated_and_embedded_data_need_no_file(world):
    board = load_problem(catalog.card("checkerboard", {"rows": 70_000, "test_rows": 10}), world.home)
    assert (board.n, board.n_test, board.features) == (70_000, 10, 2)
    assert np.allclose(board.train.values.mean(axis=0), 0, atol=1e-5)
    assert np.allclose(board.train.values.std(axis=0), 1, atol=1e-5)
    digits = load_problem(catalog.card("digits"), world.home)
    assert (digits.n, digits.n_test, digits.features) == (1347, 450, 64)
    assert digits.train.values.max() == 1
