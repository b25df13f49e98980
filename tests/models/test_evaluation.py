"""Errors by class, and counts of what is predicted for what."""

from __future__ import annotations

import numpy as np
import pytest

from mpu_bench.models import evaluation
from mpu_bench.models.evaluation import Confusion


def test_errors_by_class() -> None:
    labels = np.array([0] * 8 + [1] * 2, np.int32)
    always_no, half = np.zeros(10, np.int32), np.array([1] + [0] * 8 + [1], np.int32)
    assert evaluation.errors_by_class(always_no, labels, 2) == pytest.approx(
        {"constant_error": 0.2, "balanced_error": 0.5, "positives_found": 0.0}
    )
    assert evaluation.errors_by_class(half, labels, 2) == pytest.approx(
        {"constant_error": 0.2, "balanced_error": (1 / 8 + 1 / 2) / 2, "positives_found": 0.5}
    )


def test_errors_by_class_where_classes_are_several_or_missing() -> None:
    labels = np.array([0, 0, 3, 3], np.int32)  # of five classes
    several = evaluation.errors_by_class(np.array([0, 1, 3, 3], np.int32), labels, 5)
    assert several == {"constant_error": 0.5, "balanced_error": 0.25, "positives_found": None}
    no_positive = evaluation.errors_by_class(np.array([0, 1], np.int32), np.array([0, 0], np.int32), 2)
    assert no_positive == {"constant_error": 0.0, "balanced_error": 0.5, "positives_found": None}
    assert set(evaluation.errors_by_class(None, labels[:0], 2).values()) == {None}


def test_a_confusion_is_counted_piece_by_piece() -> None:
    confusion = Confusion.of(2)
    confusion.add(np.array([0, 1], np.int32), np.array([0, 0], np.int32))
    confusion.add_scores(np.array([1, 1], np.int32), np.array([[0.5], [-1.0]]))
    assert confusion.counts.tolist() == [[1, 0], [2, 1]]
    assert confusion.error == pytest.approx(0.5)
    assert confusion.by_class() == pytest.approx(
        {"constant_error": 0.25, "balanced_error": 1 / 3, "positives_found": 1 / 3}
    )
