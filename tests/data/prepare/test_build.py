"""What is built from source files: the right rows and storage, in bounded memory, held to the card's counts."""

from __future__ import annotations

import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest
from tests.datasets_of_user import SVMLIGHT, TABLE

from mpu_bench.core.rows import Dense, Ones, Sparse
from mpu_bench.data.cards import catalog
from mpu_bench.data.download.fetch import fetch
from mpu_bench.data.prepare import room
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
        ("train: {rows: 3, classes: {'-1': 2, '+1': 1}}", "has 1 row of class '-1', expected 2"),
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


SEPARABLE = """\
title: A made one
kind: generated
content: separable
classes: [minus, plus]
storage: dense
rows: 100
test_rows: 10
features: 20
margin: 0.1
options: [rows, features, stream, test_rows]
"""
DIGITS = """\
title: Digits
kind: embedded
content: digits
classes: ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]
features: 64
"""


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        (SVMLIGHT.replace("features: 4", "features: 2147483646"), {"storage": "dense"}, "a dense row of 2,147,483,646"),
        (SEPARABLE, {"features": 1.0e9}, "making 1,024 rows of 1,000,000,000 columns would need 32.8 TB of memory"),
        (SEPARABLE, {"rows": 10**10}, "10,000,000,010 dense rows of 20 columns would need 800.0 GB on the disk"),
        (SEPARABLE, {"rows": 1e10, "stream": True, "test_rows": 1e10}, "10,000,000,000 dense rows of 20 columns would"),
        (
            f"{SVMLIGHT}expect: {{total: {{rows: {10**14}}}}}",
            {"split": {"train": 9}},
            "splitting 100,000,000,000,000 rows",
        ),
        (TABLE.replace("rows: 40", f"rows: {10**14}"), {}, "100,000,000,000,000 dense rows of 3 columns would need"),
        (DIGITS.replace('"9"', '"9", ten'), {}, "classes: 'digits' has 10, not 11"),
        (DIGITS.replace(', "9"', ""), {}, "classes: 'digits' has 10, not 9"),
        (DIGITS.replace("64", "63"), {}, "features: 'digits' has 64, not 63"),
    ],
)
def test_what_this_machine_has_no_room_for_is_refused(world, numbers, monkeypatch, text, options, said):
    monkeypatch.setattr(room.psutil, "virtual_memory", lambda: SimpleNamespace(total=8 * 10**9))
    monkeypatch.setattr(room.shutil, "disk_usage", lambda _path: SimpleNamespace(free=10**9))
    with pytest.raises(DataError) as caught:
        world.load(text, options, "table" if text.startswith("title: A table") else "points")
    assert said in str(caught.value)
    assert world.left() == []


def test_a_part_without_columns_is_refused(world):
    world.offer("+1 1:0\n-1\n")
    with pytest.raises(DataError, match="drop_columns: every column of the training part is zero; none is left"):
        world.load(options={"storage": "dense", "drop_columns": "zero"})


def test_dense_rows_of_very_many_columns_are_made_piece_by_piece(world):
    features = 100_000
    world.offer("".join(f"{'+-'[row % 2]}1 {row + 1}:1\n" for row in range(50)))
    text = SVMLIGHT.replace("features: 4", f"features: {features}")
    tracemalloc.start()
    try:
        problem = world.load(text, {"storage": "dense"})
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert problem.train.values.shape == (50, features)
    assert problem.train.values.sum() == 50
    assert peak < 8 * 50 * features
