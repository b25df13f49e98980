"""The classes of a model: which labels mean which of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mpu_bench.errors import DataError
from mpu_bench.models.classes import Classes


def test_labels_that_are_one_number_and_two_texts_are_told_apart() -> None:
    classes = Classes.of(np.array(["1", "01", "a", " a"]))
    assert classes.indices(["01", "1", " a", "a"]).tolist() == [1, 0, 3, 2]
    with pytest.raises(DataError, match=r"label '1\.0' is none"):
        classes.indices(["1.0"])
    assert Classes.of(np.array([2**53, 2**53 + 1])).indices([2**53 + 1, 2**53]).tolist() == [1, 0]


def test_truth_values_are_numbers_where_the_labels_are() -> None:
    truths = [True, np.bool_(False), *pd.Series([True, False], dtype="boolean")]
    for labels in ([0.0, 1.0], [0, 1], np.array([0, 1], np.uint8), [False, True]):
        assert Classes.of(labels).indices(truths).tolist() == [1, 0, 1, 0]
    with pytest.raises(DataError, match="row 1: its label 'True' is none"):
        Classes.of(["0", "1"]).indices(truths)
    with pytest.raises(DataError, match="row 1: its label 'True' is none"):
        Classes.of([2, 3]).indices(truths)
