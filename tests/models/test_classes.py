"""The classes of a model: which labels mean which of them."""

from __future__ import annotations

import numpy as np
import pytest

from mpu_bench.errors import DataError
from mpu_bench.models.classes import Classes


def test_labels_that_are_one_number_and_two_texts_are_told_apart() -> None:
    classes = Classes.of(np.array(["1", "01", "a", " a"]))
    assert classes.indices(["01", "1", " a", "a"]).tolist() == [1, 0, 3, 2]
    with pytest.raises(DataError, match=r"label '1\.0' is none"):
        classes.indices(["1.0"])
    assert Classes.of(np.array([2**53, 2**53 + 1])).indices([2**53 + 1, 2**53]).tolist() == [1, 0]
