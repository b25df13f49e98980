"""Labels become class indices, however a number is written."""

from __future__ import annotations

import numpy as np

from mpu_bench.data.readers.labels import Labels


def test_labels_that_are_the_same_number_are_the_same_label():
    labels = Labels({"no": ("-1",), "yes": ("1",)})
    assert labels.of_texts(["-1", "-1.0", "+1", " 1.00", "2"]).tolist() == [0, 0, 1, 1, -1]
    assert labels.of_numbers(np.array([-1.0, 1.0, 2.0, np.nan])).tolist() == [0, 1, -1, -1]


def test_a_star_takes_every_other_label():
    labels = Labels({"normal": ("normal.",), "attack": ("*",)})
    assert labels.of_texts(["smurf.", "normal.", "neptune."]).tolist() == [1, 0, 1]
    assert Labels({"eight": ("8",), "rest": ("*",)}).of_numbers(np.array([3.0, 8.0])).tolist() == [1, 0]
