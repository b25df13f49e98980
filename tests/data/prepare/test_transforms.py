"""The steps of a preparation: split, scale, drop columns, multiply, normalise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.ndimage import gaussian_filter
from tests.datasets_of_user import SVMLIGHT, TABLE

from mpu_bench.data.prepare.load import preprocessing_of
from mpu_bench.data.prepare.transforms import is_constant
from mpu_bench.errors import DataError


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


@pytest.mark.parametrize("scale", ["standard", "unit-interval", "symmetric"])
@pytest.mark.parametrize("constant", ["0.1", "14.62", "1e-30"])
def test_a_column_that_never_changes_becomes_0(world, constant, scale):
    world.offer("".join(f"{constant},{i},{i % 3},{'abc'[i % 3]}\n" for i in range(40)), "table")
    problem = world.load(TABLE, {"split": {"train": 30}, "scale": scale}, "table")
    assert not problem.train.values[:, 0].any()
    assert not problem.test.values[:, 0].any()


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


def test_columns_are_brought_to_minus_one_to_one(world, numbers):
    values, _ = numbers
    problem = world.load(TABLE, {"split": {"train": 30}, "scale": "symmetric"}, "table")
    low, high = values[:30].min(axis=0), values[:30].max(axis=0)
    wanted = 2 * (values - low) / np.where(high > low, high - low, 1) - 1
    assert np.allclose(problem.train.values[:, :2], wanted[:30, :2], atol=1e-5)
    assert np.allclose(problem.test.values[:, :2], wanted[30:, :2], atol=1e-5)
    assert not problem.train.values[:, 2].any()
    assert problem.train.values[:, :2].min() == -1
    assert problem.train.values[:, :2].max() == 1


SMOOTHED = TABLE + "smooth: {rows: 1, columns: 3, deviation: 0.5, outside: -1}\n"


def test_images_are_smoothed_by_a_gaussian(world, numbers):
    values, _ = numbers
    problem = world.load(SMOOTHED, {"split": {"train": 30}}, "table")
    weights = np.exp(-2 * np.arange(-2, 3) ** 2.0)
    weights /= weights.sum()
    padded = np.pad(values, ((0, 0), (2, 2)), constant_values=-1)
    wanted = sum(weights[k] * padded[:, k : k + 3] for k in range(5))
    wanted = np.sum([w * np.where(k == 2, wanted, -1) for k, w in enumerate(weights)], axis=0)  # one row of pixels
    assert np.allclose(problem.train.values, wanted[:30], atol=1e-5)
    assert preprocessing_of(world.card(SMOOTHED, {"split": {"train": 30}}, "table"), world.home) is None


def test_columns_are_dropped_once_images_are_smoothed(world, numbers):
    dropped = world.load(SMOOTHED, {"drop_columns": "zero"}, "table")
    assert dropped.train.values.shape == (40, 3)  # the last is zero before


def test_images_of_which_the_file_leaves_out_what_is_zero_are_smoothed_whole(world):
    world.offer("+1 1:4 2:1\n-1 3:2 4:1\n")
    more = "storage: dense\nsmooth: {rows: 1, columns: 4, deviation: 0.5}\n"
    smoothed = world.load(SVMLIGHT + more).train.values
    wanted = gaussian_filter([[4.0, 1, 0, 0], [0, 0, 2, 1]], (0, 0.5), mode="constant")
    at_the_edge = gaussian_filter([[[1.0]]], (0, 0.5, 0), mode="constant")  # above and below is nothing
    assert np.allclose(smoothed, wanted * at_the_edge.item(), atol=1e-6)


@pytest.mark.parametrize("wrong", ["storage: sparse", "features: 4"])
def test_only_dense_images_are_smoothed(world, numbers, wrong):
    key = wrong.partition(":")[0]
    text = "\n".join(wrong if line.startswith(key) else line for line in SMOOTHED.splitlines())
    with pytest.raises(DataError, match=r"smooth: needs 'storage: dense' and as many 'features'"):
        world.card(text, {"split": {"train": 30}}, "table")


@given(st.floats(-1e307, 1e307), st.integers(1, 3))
def test_a_constant_is_one_at_any_scale_and_what_varies_is_none(number: float, ulps: int) -> None:
    other = number
    for _ in range(ulps):
        other = np.nextafter(other, np.inf)
    assert is_constant(number, number)
    assert is_constant(number, other)
    if 1e-300 < abs(number) < 1e300:
        assert not is_constant(min(number, number * 1.001), max(number, number * 1.001))
