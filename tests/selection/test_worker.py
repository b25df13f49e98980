"""What a process does before a fit: what is to be compiled is, in few seconds whatever the setting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from mpu_bench.selection.candidates import Candidate, Kind
from mpu_bench.selection.schedule import Fit
from mpu_bench.selection.worker import _compiled


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

    told: list[float] = field(default_factory=list)
    classified: Classifier = field(default_factory=Classifier)

    def made(self, setting: Mapping[str, Any], seed: int, seconds: float) -> Any:
        self.told.append(seconds)
        return self.classified


class Few:
    """Stands for data."""

    seed = 0

    class problem:  # noqa: N801
        classes = ("a", "b")

    def training(self, rows: int) -> Any:
        return np.zeros((rows, 2)), np.zeros(rows)


@pytest.mark.parametrize(("kind", "trained"), [("linear", [60]), ("scikit-learn", [])])
def test_the_warm_up_is_short_whatever_the_seconds_of_the_fit(kind: Kind, trained: list[int]) -> None:
    """A setting that does not converge on all rows may not do so on few; peers could not be ended, nor are compiled."""
    candidate = Recorded("a", kind, "X", {}, {"C": (1.0,)}, 1)
    data: Any = Few()
    warm = set[str]()
    for _ in range(2):
        _compiled(Fit(candidate, {"C": 1.0}, 1000, 600.0), data, warm)
    assert max(candidate.told) <= 0.2
    assert candidate.classified.rows == trained
