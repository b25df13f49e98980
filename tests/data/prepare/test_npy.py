"""Array files that grow: what numpy reads back, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest
from tests.datasets_of_user import TABLE

from mpu_bench.data.prepare.npy import ArrayFile, open_array
from mpu_bench.errors import DataError


@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_values_beyond_float32_are_refused_with_their_row(world, storage):
    world.offer("1,0,2,a\n" * 30 + "1,1e39,2,a\n" * 10, "table")
    with pytest.raises(DataError, match=r"row 31 of the train part holds a value .* too large for float32"):
        world.load(TABLE, {"storage": storage}, name="table")
    assert world.left() == []


@pytest.mark.parametrize("lengths", [[], [0], [3], [2, 0, 5]])
@pytest.mark.parametrize("width", [None, 4])
def test_a_file_that_grew_is_read_back(tmp_path, lengths, width):
    random = np.random.default_rng(0)
    arrays = [random.integers(0, 9, (length,) if width is None else (length, width)) for length in lengths]
    with ArrayFile(tmp_path / "a.npy", np.float32, width) as file:
        for array in arrays:
            file.append(array)
    whole = np.concatenate([np.empty((0,) if width is None else (0, width)), *arrays])
    for read in (np.load(tmp_path / "a.npy"), open_array(tmp_path / "a.npy")):
        assert read.dtype == np.float32
        assert np.array_equal(read, whole)
