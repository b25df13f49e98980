"""What a process does before a fit: what is to be compiled is, in few seconds whatever the setting."""

from __future__ import annotations

import pickle
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from mpu_bench.core.clock import GETTING_READY
from mpu_bench.core.models import labels_of
from mpu_bench.selection.candidates import Candidate, Kind
from mpu_bench.selection.schedule import Fit
from mpu_bench.selection.worker import Evaluation, _compile, _scores, _validated, answer, model_path


@dataclass
class Classifier:
    """Keeps how many rows it was trained on."""

    rows: list[int] = field(default_factory=list)

    def fit(self, X: Any, _y: Any) -> Classifier:
        self.rows.append(len(X))
        return self

    def predict(self, X: Any) -> Any:
        return np.zeros(len(X))


@dataclass(frozen=True)
class Recorded(Candidate):
    """A candidate that keeps the seconds that its classifier is told."""

    told: list[Any] = field(default_factory=list)
    classified: Classifier = field(default_factory=Classifier)

    def build(self, setting: Mapping[str, Any], seed: int, seconds: float | None = None) -> Any:
        self.told.append(seconds)
        return self.classified


class Few:
    """Stands for data."""

    seed = 0

    class problem:  # noqa: N801
        classes = ("a", "b")

    def training(self, rows: int) -> Any:
        return np.zeros((rows, 2)), np.zeros(rows)


class Folds(Few):
    """Two folds, of which both are trained on before all rows are."""

    metric, threshold, folds, is_cross_validated = "accuracy", False, 2, True

    def splits(self, rows: int) -> Any:
        return [(np.arange(5), np.arange(5, 10)), (np.arange(5, 10), np.arange(5))]

    def part(self, chosen: Any) -> Any:
        return np.zeros((len(chosen), 2)), chosen.astype(np.int32) % 2

    def training(self, rows: int) -> Any:
        return self.part(np.arange(rows))


class Unconverged(Classifier):
    """A classifier that does not converge in some of its fits, which take long."""

    class_prior_ = None

    def __init__(self, slow: list[bool]) -> None:
        self.slow = slow

    def fit(self, _X: Any, _y: Any) -> Unconverged:
        if self.slow and self.slow.pop(0):
            time.sleep(0.3)
            warnings.warn("not converged", ConvergenceWarning, stacklevel=1)
        return self

    def decision_function(self, X: Any) -> Any:
        return np.zeros(len(X))


def test_what_a_reference_imports_is_none_of_its_seconds(tmp_path: Path) -> None:
    @dataclass(frozen=True)
    class Imports(Recorded):
        def build(self, setting: Mapping[str, Any], seed: int, seconds: float | None = None) -> Any:
            if not self.told:
                time.sleep(1.0)
            return super().build(setting, seed, seconds)

    fit = Fit(Imports("a", "reference", "X", {}, {"C": (1.0,)}, 1, classified=Unconverged([])), {"C": 1.0}, 10, 60.0)
    data: Any = Folds()
    assert answer(fit, lambda: data, tmp_path, set(), lambda: None).spent < 1.0


@pytest.mark.parametrize(("slow", "is_cut"), [([True, True, False], False), ([False, False, True], True)])
def test_training_was_ended_where_that_of_the_model_that_is_kept_was(
    tmp_path: Path, slow: list[bool], is_cut: bool
) -> None:
    fit = Fit(Recorded("a", "linear", "X", {}, {"C": (1.0,)}, 1, classified=Unconverged(slow)), {"C": 1.0}, 10, 0.2)
    data: Any = Folds()
    assert answer(fit, lambda: data, tmp_path, {"X"}, lambda: None).is_cut is is_cut


@pytest.mark.parametrize(("kind", "trained"), [("linear", [60]), ("reference", [])])
def test_the_warm_up_is_short_whatever_the_seconds_of_the_fit(kind: Kind, trained: list[int]) -> None:
    """A setting that does not converge on all rows may not do so on few; peers could not be ended, nor are compiled."""
    candidate = Recorded("a", kind, "X", {}, {"C": (1.0,)}, 1)
    data: Any = Few()
    warm = set[str]()
    for _ in range(2):
        _compile(Fit(candidate, {"C": 1.0}, 1000, 600.0), data, warm)
    assert max(candidate.told, default=0.0) <= 0.2
    assert candidate.classified.rows == trained


class Ranks:
    """Stands for a classifier that was trained on some classes of many."""

    def __init__(self, classes: list[int], scores: list[Any]) -> None:
        self.classes_, self.scores = np.array(classes), np.array(scores, float)

    def decision_function(self, _X: Any) -> Any:
        return self.scores


@pytest.mark.parametrize(
    ("model", "classes", "labels"),
    [
        (Ranks([0, 1], [-1.0, 2.0]), 2, [0, 1]),
        (Ranks([0, 2], [-1.0, 2.0]), 3, [0, 2]),
        (Ranks([1, 2, 3], [[0, 1, 2], [2, 1, 0]]), 4, [3, 1]),
    ],
)
def test_a_class_that_a_fold_lacks_is_never_predicted(model: Ranks, classes: int, labels: list[int]) -> None:
    scores = _scores(model, np.zeros((2, 1)), classes)
    assert scores.shape == (2, 1 if classes == 2 else classes)
    assert labels_of(scores).tolist() == labels


def test_where_a_metric_does_not_exist_it_says_so(tmp_path: Path) -> None:
    class OfOneClass(Few):
        metric, threshold, folds, is_cross_validated = "auc", False, 1, False

        def splits(self, rows: int) -> Any:
            return [(np.arange(rows), np.arange(5))]

        def part(self, chosen: Any) -> Any:
            return np.zeros((len(chosen), 2)), np.zeros(len(chosen), np.int32)

    class Zeros(Classifier):
        def decision_function(self, X: Any) -> Any:
            return np.zeros(len(X))

    data: Any = OfOneClass()
    fit = Fit(Recorded("a", "linear", "X", {}, {"C": (1.0,)}, 1, classified=Zeros()), {"C": 1.0}, 10, 60.0)
    found = answer(fit, lambda: data, tmp_path, {"X"}, lambda: None)
    assert found.reason == "DataError: AUC does not exist on the rows that choose, which are of one class"


class GetsReady(Classifier):
    """A classifier that spends more on getting ready than its fit takes."""

    class_prior_ = None

    def fit(self, X: Any, y: Any) -> Classifier:
        GETTING_READY.used = GETTING_READY.used._replace(seconds=GETTING_READY.seconds + 100)
        return super().fit(X, y)

    def decision_function(self, X: Any) -> Any:
        return np.zeros(len(X))


def test_getting_ready_within_a_fit_is_none_of_its_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Halves(Few):
        metric, threshold, folds, is_cross_validated = "accuracy", False, 1, False

        def splits(self, rows: int) -> Any:
            return [(np.arange(rows), np.arange(4))]

        def part(self, chosen: Any) -> Any:
            return np.zeros((len(chosen), 2)), chosen.astype(np.int32) % 2

    monkeypatch.setattr(GETTING_READY, "used", GETTING_READY.used)
    data: Any = Halves()
    fit = Fit(Recorded("a", "linear", "X", {}, {"C": (1.0,)}, 1, classified=GetsReady()), {"C": 1.0}, 10, 60.0)
    found = answer(fit, lambda: data, tmp_path, {"X"}, lambda: None)
    assert (found.reason, found.error) == ("", 0.5)
    assert max(found.seconds, found.spent) < 0


class Far(Classifier):
    class_prior_ = None

    def decision_function(self, X: Any) -> Any:
        return 1e60 * np.tile([-1.0, 1.0], len(X) // 2)


def test_scores_beyond_single_precision_are_finite(tmp_path: Path) -> None:
    class Twenty(Few):
        metric, test = "f1", (np.zeros((20, 2)), np.tile([0, 1], 10).astype(np.int32))

    model_path(tmp_path, 1).write_bytes(pickle.dumps(Far()))
    data: Any = Twenty()
    found = answer(Evaluation("a", 1, 60.0), lambda: data, tmp_path, set(), lambda: None)
    assert (found.reason, found.metrics["f1"]) == ("", 1.0)
    assert np.isfinite(np.frombuffer(found.scores, np.float32)).all()


def test_a_fold_without_a_class_makes_no_constant_better() -> None:
    class Folds(Few):
        metric, threshold, folds = "balanced-accuracy", False, 5

    data: Any = Folds()
    held = [(np.array([0, 0, 0, positive]), np.full((4, 1), -1.0)) for positive in (1, 0, 0, 0, 0)]
    assert _validated(data, held * 3, None)["error"] == 0.5
