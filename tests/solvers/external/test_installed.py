"""A peer whose package is not installed says so; it is described and listed all the same."""

import importlib.util

import pytest

from mpu_bench import solvers
from mpu_bench.errors import ConfigError
from mpu_bench.kernels import Linear
from oracles import toys

REASONS = {
    "onedal-svc": "scikit-learn-intelex is not installed: pip install '.[peers]' in mpu-bench's source folder",
    "snapml-svm": "snapml is not installed: pip install '.[peers]' in mpu-bench's source folder",
}


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """Be a Python where neither package is."""
    find = importlib.util.find_spec
    missing = {"sklearnex", "snapml"}
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: None if name in missing else find(name, *more))


@pytest.mark.parametrize("name", REASONS)
def test_what_is_missing_is_told_before_training(name):
    assert solvers.not_installed(name) == REASONS[name]
    with pytest.raises(ConfigError, match="is not installed: pip install") as told:
        solvers.load(name)().start(toys.problem(*toys.binary(), "ones"), Linear(), 0)
    assert str(told.value) == f"{name}: {REASONS[name]}"


def test_all_others_lack_nothing():
    assert {name for name in solvers.OWN if solvers.not_installed(name)} == set(REASONS)
