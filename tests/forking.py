"""A classifier that forks, and one that may take long, for tests of the processes in which they are tried."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.svm import SVC

from mpu_bench.selection.candidates import Candidate


@dataclass(frozen=True)
class Forking(Candidate):
    """A candidate whose classifier lets a process of its own, which leaves the session, take memory."""

    note: str = ""  #: the file in which that process writes its number
    floats: int = 0  #: that it takes

    def build(self, setting: Mapping[str, Any], seed: int, seconds: float) -> Any:
        return self

    def fit(self, X: Any, y: Any) -> Forking:
        if os.fork() == 0:
            os.setsid()
            Path(self.note).write_text(str(os.getpid()), encoding="utf-8")
            taken = np.ones(self.floats)
            time.sleep(600 * taken.min(initial=1.0))
        time.sleep(600)
        return self


@dataclass(frozen=True)
class Slow(Candidate):
    """A candidate that takes as long as its C asks for, and has no end that could be set."""

    def build(self, setting: Mapping[str, Any], seed: int, seconds: float) -> Any:
        return SVC(**setting)
