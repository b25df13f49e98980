"""Classifiers for tests: how they are made, and what they learn from."""

from __future__ import annotations

import re
from inspect import cleandoc
from typing import Any

import numpy as np
from numpy.typing import NDArray

import mpu_bench
from mpu_bench import estimators
from mpu_bench.estimators.online import OnlineClassifier

ALL = list(estimators.__all__)
#: class -> the solvers that it may use
SOLVERS = {name: each[1:] for name, each in estimators.MODULES.items()} | {
    name: (each,) for name, each in estimators.wrapped_solvers().items()
}
ONLINE = [name for name in ALL if issubclass(getattr(mpu_bench, name), OnlineClassifier)]

#: further forms of the classes that learn row by row
FORMS = [
    *((name, {}) for name in ONLINE if name != "ProjectronClassifier"),
    ("ProjectronClassifier", {"eta": 0.3}),
    ("ProjectronClassifier", {"eta": 0.3, "kernel": "linear"}),
    ("BudgetPerceptronClassifier", {"removal": "oldest"}),
    ("BudgetPerceptronClassifier", {"removal": "random"}),
    ("BudgetedPegasosClassifier", {"maintenance": "random"}),
    ("BudgetedPegasosClassifier", {"maintenance": "projection"}),
    ("BudgetedPegasosClassifier", {"budget": None}),
]


def documented(kind: Any) -> list[str]:
    """Return the parameters that a docstring of numpy's style names, sorted."""
    section = re.search(r"(?ms)^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n-+$|\Z)", cleandoc(kind.__doc__))
    assert section, f"{kind.__name__} has no section Parameters"
    heads = [line.partition(" : ")[0] for line in section[1].splitlines() if line and not line[0].isspace()]
    return sorted(filter(None, re.split(r",\s*", ",".join(heads))))


def made(name: str, **parameters: Any) -> Any:
    """Return a classifier with a seed, and with few vectors where there is a budget."""
    kind = getattr(mpu_bench, name)
    given = {"random_state": 0} | parameters
    if name == "BudgetedPegasosClassifier":  # whose default is another with `fit` than with `partial_fit`
        given.setdefault("regularization", 1e-3)
    if name == "FOGDClassifier":
        given.setdefault("pairs", 50)
    if issubclass(kind, OnlineClassifier):  # whose default is of the first rows with `partial_fit`
        given.setdefault("gamma", "auto")
    if issubclass(kind, OnlineClassifier) and "budget" in kind().get_params() and "eta" not in kind().get_params():
        given.setdefault("budget", 9)
    return kind(**given)


def blobs(classes: int, n: int = 120, d: int = 5, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return points around the centres of classes that overlap a little."""
    random = np.random.default_rng(seed)
    y = random.integers(0, classes, n)
    y[:classes] = np.arange(classes)
    return random.normal(size=(n, d)) + 2.5 * random.normal(size=(classes, d))[y], y
