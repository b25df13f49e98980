"""Prepared data: right, bounded in memory, whole or not there, made once, and made again when they must be."""

from __future__ import annotations

import errno
import gzip
import json
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from mpu_bench.core.rows import Dense, Ones, Sparse
from mpu_bench.data.cards import catalog
from mpu_bench.data.download.cache import Home
from mpu_bench.data.prepare import build, load, npy
from mpu_bench.data.prepare.load import clean_prepared, describe, load_problem, prepared_folder
from mpu_bench.data.readers import blocks
from mpu_bench.errors import DataError, FetchError

SVMLIGHT = """\
title: Points
kind: svmlight
files:
  points: {by_hand: make it}
train: points
classes: ["-1", "+1"]
features: 4
options: [positive, storage, split, multiply_by, unit_rows, scale, drop_columns]
"""
TABLE = """\
title: A table
kind: delimited
files:
  table: {by_hand: make it}
train: table
columns: {label: 4}
classes: [a, b, c]
features: 3
storage: dense
expect:
  total: {rows: 40}
options: [positive, storage, split, multiply_by, divide_by, unit_rows, scale, drop_columns]
"""
POINTS = "+1 1:1 3:2.5\n-1\n+1 2:-1\n"


class World:
    """A working folder with cards of the user's, a mirror folder, and a data home."""

    def __init__(self, folder: Path) -> None:
        self.mirror = folder / "mirror"
        self.home = Home(folder / "home", (str(self.mirror),), offline=True)
        self.cards = folder / "datasets"
        for made in (self.mirror, self.cards):
            made.mkdir()

    def card(self, text=SVMLIGHT, options=None, name="points"):
        (self.cards / f"{name}.yaml").write_text(text)
        return catalog.card(name, options)

    def offer(self, content, name="points"):
        (self.mirror / name).write_bytes(content.encode() if isinstance(content, str) else content)

    def load(self, text=SVMLIGHT, options=None, name="points"):
        return load_problem(self.card(text, options, name), self.home)

    def left(self):
        """List what is in the folder of prepared data, hidden or not."""
        place = self.home.folder / "prepared"
        return sorted(path.name for path in place.iterdir()) if place.is_dir() else []


@pytest.fixture
def world(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    world = World(tmp_path)
    world.offer(POINTS)
    return world


@pytest.fixture
def numbers(world):
    """Offer a table of 40 rows with three numbers, and give them and their labels."""
    random = np.random.default_rng(3)
    values = random.normal(size=(40, 3)).round(3) * [1, 10, 0] + [0, 100, 0]
    labels = random.integers(0, 3, 40)
    rows = [",".join([*map(str, row), "abc"[label]]) for row, label in zip(values, labels, strict=True)]
    world.offer("\n".join(rows), "table")
    return values, labels


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


def test_the_second_load_reads_no_raw_file(world):
    first = world.load()
    (world.home.folder / "files" / "points").unlink()
    (world.mirror / "points").unlink()
    second = world.load()
    assert np.array_equal(first.train.values, second.train.values)
    assert first.fingerprint == second.fingerprint


def test_a_change_of_a_loaded_array_stays_in_the_process(world):
    problem = world.load()
    problem.train.values[:] = 7
    problem.labels[:] = 0
    again = world.load()
    assert again.train.values.tolist() == [1, 2.5, -1]
    assert again.labels.tolist() == [1, 0, 1]


def test_two_class_problems_share_the_arrays(world, numbers):
    whole = world.load(TABLE, name="table")
    one = world.load(TABLE, {"positive": ["c", "a"]}, name="table")
    assert len(world.left()) == 1
    assert one.classes == ("rest", "a+c")
    assert np.array_equal(one.labels, np.isin(whole.labels, [0, 2]))
    assert len({problem.fingerprint for problem in (whole, one, world.load(TABLE, {"positive": "b"}, "table"))}) == 3
    assert one.fingerprint == world.load(TABLE, {"positive": ["a", "c"]}, name="table").fingerprint


def test_the_fingerprint_is_of_content_and_preparation(world, tmp_path):
    plain = world.load().fingerprint
    assert world.load(options={"multiply_by": 2.0}).fingerprint != plain
    other = Home(tmp_path / "other", world.home.mirrors, offline=True)
    world.offer(gzip.compress(POINTS.encode()))
    assert load_problem(world.card(), other).fingerprint == plain
    third = Home(tmp_path / "third", world.home.mirrors, offline=True)
    world.offer(POINTS + "+1 1:1\n")
    assert load_problem(world.card(), third).fingerprint != plain


def test_describe(world):
    card = world.card(SVMLIGHT + "expect:\n  train: {rows: 3}\n")
    before = describe(card, world.home)
    assert (before.state, before.fingerprint, before.n, before.d, before.n_test) == ("missing", None, 3, 4, 0)
    assert [file.name for file in before.missing] == ["points"]
    problem = load_problem(card, world.home)
    after = describe(card, world.home)
    assert (after.state, after.fingerprint, after.n, after.missing) == ("prepared", problem.fingerprint, 3, ())
    assert after.nbytes == sum(path.stat().st_size for path in after.folder.glob("*.npy"))
    assert describe(world.card(options={"multiply_by": 2.0}), world.home).state == "fetched"


def test_describe_knows_the_fingerprint_of_known_content(shared_home, world):
    card = catalog.card("adult")
    described = describe(card, world.home)
    assert described.state == "missing"
    assert described.fingerprint is not None
    assert describe(catalog.card("digits"), world.home).state == "embedded"
    generated = describe(catalog.card("waveform", {"rows": 10}), world.home)
    assert (generated.state, generated.n, generated.n_test, generated.d) == ("generated", 10, 20000, 21)


def test_clean_removes_all_options_but_not_what_was_put_there_by_hand(world):
    world.load()
    world.load(options={"multiply_by": 2.0})
    (world.home.folder / "prepared" / "points-of-others-0123456789ab").mkdir()
    assert clean_prepared(world.card(), world.home) > 0
    assert world.left() == ["points-of-others-0123456789ab"]
    assert (world.home.folder / "files" / "points").exists()
    web = SVMLIGHT.replace("by_hand: make it", "urls: http://localhost/points")
    world.load(web)
    assert clean_prepared(world.card(web), world.home) > len(POINTS)
    assert not (world.home.folder / "files" / "points").exists()


# ------------------------------------------------------------------ damage and interruption


def _cut(place):
    path = place / "train-values.npy"
    path.write_bytes(path.read_bytes()[:-2])


def _flip(place):
    path = place / "train-columns.npy"
    content = bytearray(path.read_bytes())
    content[-1] ^= 255
    path.write_bytes(content)


def _lose(place):
    (place / "train-starts.npy").unlink()


def _garble(place):
    (place / "meta.json").write_text("{")


def _empty(place):
    (place / "meta.json").write_text("[]")


@pytest.mark.parametrize("damage", [_cut, _flip, _lose, _garble, _empty])
def test_damage_is_repaired(world, damage):
    fingerprint = world.load().fingerprint
    damage(prepared_folder(world.card(), world.home))
    again = world.load()
    assert again.train.indices.tolist() == [0, 2, 1]
    assert again.fingerprint == fingerprint
    assert len(world.left()) == 1


def test_another_content_that_the_user_accepts_is_prepared_anew(world):
    before = world.load()
    (world.home.folder / "files" / "points").write_text("+1 4:9\n")
    with pytest.raises(FetchError, match="accept"):
        load_problem(world.card(options={"multiply_by": 2.0}), world.home)
    (world.home.folder / "files" / "points.lock.json").unlink()
    load_problem(world.card(options={"multiply_by": 2.0}), world.home)
    after = world.load()
    assert after.train.indices.tolist() == [3]
    assert after.fingerprint != before.fingerprint


def test_what_an_interrupted_preparation_left_is_removed(world):
    name = prepared_folder(world.card(), world.home).name
    left = world.home.folder / "prepared" / f".{name}.12345"
    left.mkdir(parents=True)
    (left / "train-values.npy").write_bytes(b"half")
    world.load()
    assert world.left() == [name]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_leaves_nothing(world, monkeypatch, number):
    card = world.card()

    def full(self, array):
        raise OSError(number, os.strerror(number), str(self.path))

    monkeypatch.setattr(npy.ArrayFile, "append", full)
    with pytest.raises(FetchError, match=r"disk is full.*MPU_BENCH_DATA"):
        world.load()
    assert world.left() == []
    monkeypatch.undo()
    assert load_problem(card, world.home).n == 3


def test_a_stop_by_the_user_leaves_nothing(world, monkeypatch):
    def stop(*_arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(build, "_check", stop)
    with pytest.raises(KeyboardInterrupt):
        world.load()
    assert world.left() == []


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


def test_two_processes_prepare_once(world, tmp_path):
    world.card()
    code = (
        "import sys, time; from pathlib import Path; from mpu_bench.data import build, catalog, home, prepare\n"
        "made = build.build\n"
        "def slowly(*arguments):\n"
        "    open('made', 'a').write('once '); time.sleep(0.5); return made(*arguments)\n"
        "build.build = slowly\n"
        f"there = home.Home(Path('home'), ({str(world.mirror)!r},), True)\n"
        "print(prepare.load(catalog.card('points'), there).fingerprint)\n"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    said = [process.communicate(timeout=120)[0] for process in started]
    assert said[0] == said[1] != ""
    assert (tmp_path / "made").read_text() == "once "
    assert len(world.left()) == 1


def test_memory_stays_bounded(world, monkeypatch):
    """Reading takes some multiple of a block, however long the file is."""
    line = " ".join(f"{column}:{column}.25" for column in range(1, 40))
    world.offer("".join(f"{'+-'[i % 2]}1 {line}\n" for i in range(16_000)))
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 1 << 17)
    text = SVMLIGHT.replace("features: 4", "features: 40\nstorage: sparse")
    card = world.card(text.replace(", storage", ""))
    load._fetch(card, world.home, load._SILENT)
    size = (world.mirror / "points").stat().st_size
    tracemalloc.start()
    load_problem(card, world.home)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert size > 5_000_000
    assert peak < 3_500_000


# ------------------------------------------------------------------ steps


def test_a_split_by_position_and_by_seed(world, numbers):
    values, labels = numbers
    first = world.load(TABLE, {"split": {"train": 30}}, "table")
    assert np.array_equal(first.train.values, values[:30].astype(np.float32))
    assert np.array_equal(first.test_labels, labels[30:])
    drawn = [world.load(TABLE, {"split": {"test": 0.26, "seed": seed}}, "table") for seed in (0, 1)]
    assert [(problem.n, problem.n_test) for problem in drawn] == [(29, 11)] * 2
    assert drawn[0].fingerprint != drawn[1].fingerprint
    assert not np.array_equal(drawn[0].train.values, drawn[1].train.values)
    for problem in drawn:
        together = np.concatenate([problem.train.values, problem.test.values])
        assert np.array_equal(np.sort(together, axis=0), np.sort(values.astype(np.float32), axis=0))
        in_file = [tuple(row) for row in values.astype(np.float32).tolist()]
        places = [in_file.index(tuple(row)) for row in problem.train.values.tolist()]
        assert places == sorted(places)  # the order of the file is kept


def test_columns_are_standardised_by_the_training_part(world, numbers):
    values, _ = numbers
    problem = world.load(TABLE, {"split": {"train": 30}, "scale": "standard"}, "table")
    width = np.where(values[:30].std(axis=0) > 0, values[:30].std(axis=0), 1)
    scaled = (values.astype(np.float32) - values[:30].mean(axis=0)) / width
    assert np.allclose(problem.train.values, scaled[:30], atol=1e-5)
    assert np.allclose(problem.test.values, scaled[30:], atol=1e-5)
    assert not problem.train.values[:, 2].any()  # a column that never changes


def test_all_values_standardised_together(world, numbers):
    values, _ = numbers
    problem = world.load(TABLE, {"split": {"train": 30}, "scale": "standard-overall"}, "table")
    assert np.allclose(problem.train.values, (values[:30] - values[:30].mean()) / values[:30].std(), atol=1e-5)


def test_columns_are_brought_to_the_unit_interval(world, numbers):
    values, _ = numbers
    problem = world.load(TABLE, {"split": {"train": 30}, "scale": "unit-interval"}, "table")
    low, high = values[:30].min(axis=0), values[:30].max(axis=0)
    assert np.allclose(
        problem.test.values[:, :2], ((values[30:] - low) / np.where(high > low, high - low, 1))[:, :2], atol=1e-5
    )
    assert problem.train.values.min() == 0
    assert problem.train.values.max() == 1


def test_zero_columns_are_dropped(world, numbers):
    for which in ("zero", "trailing-zero"):
        assert world.load(TABLE, {"drop_columns": which}, "table").train.values.shape == (40, 2)
    world.offer("1,0,0,0,a\n1,0,2,0,b\n3,1,0,1,a\n", "gaps")
    text = TABLE.replace("table", "gaps").replace("label: 4", "label: 5").replace("features: 3", "features: 4")
    text = text.replace("rows: 40", "rows: 3")
    chosen = {"split": {"train": 2}}
    dropped = world.load(text, {**chosen, "drop_columns": "zero"}, "gaps")
    assert dropped.train.values.tolist() == [[1, 0], [1, 2]]
    assert dropped.test.values.tolist() == [[3, 0]]
    assert dropped.features == 2
    assert world.load(text, {**chosen, "drop_columns": "trailing-zero"}, "gaps").train.values.shape == (2, 3)
    with pytest.raises(DataError, match="2 columns are left instead of the 3 expected"):
        world.load(text + "kept_features: 3\n", {**chosen, "drop_columns": "zero"}, "gaps")


def test_values_are_multiplied_and_divided_before_rounding(world, numbers):
    values, _ = numbers
    assert np.array_equal(
        world.load(TABLE, {"multiply_by": 0.001}, "table").train.values, (values * 0.001).astype(np.float32)
    )
    assert np.array_equal(
        world.load(TABLE, {"divide_by": 255}, "table").train.values, (values / 255).astype(np.float32)
    )


def test_rows_of_unit_length(world, numbers):
    dense = world.load(TABLE, {"unit_rows": True}, "table")
    assert np.allclose(np.linalg.norm(dense.train.values, axis=1), 1)
    sparse = world.load(options={"unit_rows": True})
    assert np.allclose(sparse.train.values, [1 / np.sqrt(7.25), 2.5 / np.sqrt(7.25), -1])


def test_dense_text_may_be_stored_sparse(world, numbers):
    values, _ = numbers
    problem = world.load(TABLE, {"storage": "sparse"}, "table")
    assert isinstance(problem.train, Sparse)
    assert problem.train.starts.tolist() == list(range(0, 81, 2))
    assert np.array_equal(problem.train.values, values[:, :2].astype(np.float32).ravel())


@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_values_beyond_float32_are_refused_with_their_row(world, storage):
    world.offer("1,0,2,a\n" * 30 + "1,1e39,2,a\n" * 10, "table")
    with pytest.raises(DataError, match=r"row 31 of the train part holds a value .* too large for float32"):
        world.load(TABLE, {"storage": storage}, name="table")
    assert world.left() == []


def test_the_meta_file_tells_where_the_data_came_from(world):
    world.load()
    meta = json.loads((prepared_folder(world.card(), world.home) / "meta.json").read_text())
    assert meta["counts"] == {"train": [1, 2], "test": [0, 0]}
    assert list(meta["content"]) == ["points"]
    assert meta["origins"]["points"].endswith("points")


def test_generated_and_embedded_data_need_no_file(world):
    board = load_problem(catalog.card("checkerboard", {"rows": 70_000, "test_rows": 10}), world.home)
    assert (board.n, board.n_test, board.features) == (70_000, 10, 2)
    assert np.allclose(board.train.values.mean(axis=0), 0, atol=1e-5)
    assert np.allclose(board.train.values.std(axis=0), 1, atol=1e-5)
    digits = load_problem(catalog.card("digits"), world.home)
    assert (digits.n, digits.n_test, digits.features) == (1347, 450, 64)
    assert digits.train.values.max() == 1
