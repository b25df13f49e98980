from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml

import mpu_bench
from classifiers import blobs
from mpu_bench.data.download.cache import DataHome
from mpu_bench.selection.repetition import config_of
from mpu_bench.selection.rows import Source


@pytest.mark.parametrize("weight", [None, "balanced"])
def test_the_config_names_solver_options_and_weights(tmp_path: Path, weight: str | None) -> None:
    X, y = blobs(2, n=40)
    chosen = mpu_bench.DCDClassifier(C=0.5, tol=0.01, class_weight=weight).fit(X, y)
    source = Source("digits", {"positive": ["8"]}, DataHome.from_options(tmp_path))
    text = config_of(chosen, source, "digits", {}, len(np.asarray(y)))
    content = yaml.safe_load(text)
    weights = {} if weight is None else {"class_weight": weight}
    assert content["solvers"] == [{"dcd": {"C": 0.5, "tolerance": 0.01, "stop": 0.0, **weights}}]
    assert content["dataset"] == {"digits": {"positive": ["8"], "augment": 1}}
