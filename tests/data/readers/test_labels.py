"""Labels become class indices, however a number is written."""

from __future__ import annotations

import numpy as np

from mpu_bench.data.readers.blocks import Labels


def test_labels_that_are_the_same_number_are_the_same_label():
    labels = Labels({"no": ("-1",), "yes": ("1",)})
    assert labels.of_texts(["-1", "-1.0", "+1", " 1.00", "2"]).tolist() == [0, 0, 1, 1, -1]
    assert labels.of_numbers(np.array([-1.0, 1.0, 2.0, np.nan])).tolist() == [0, 1, -1, -1]


def test_a_class_to_the_letter_is_that_class():
    labels = Labels({"a": ("1",), "b": ("01",), "c": ("10000000000000000",), "d": ("10000000000000001",)})
    assert labels.of_texts(["01", "1", "10000000000000001", "10000000000000000"]).tolist() == [1, 0, 3, 2]
    assert labels.of_texts(["1.0", "10000000000000002"]).tolist() == [-1, -1]  # of either, and of none


def test_a_star_takes_every_other_label():
    labels = Labels({"normal": ("normal.",), "attack": ("*",)})
    assert labels.of_texts(["smurf.", "normal.", "neptune."]).tolist() == [1, 0, 1]
    assert labels.of_texts(["", "NA", "?"]).tolist() == [-1] * 3
    numbers = np.array([3.0, 8.0, np.nan])
    assert Labels({"eight": ("8",), "rest": ("*",)}).of_numbers(numbers).tolist() == [1, 0, -1]
    assert Labels({"unknown": ("?",), "rest": ("*",)}).of_texts(["?", "a"]).tolist() == [0, 1]
