from __future__ import annotations

import gc
import pickle
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("river")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # what river's own imports warn of
    from river import checks
    from river.datasets import Phishing

from classifiers import ONLINE, blobs
from mpu_bench import river
from mpu_bench.core.rows import Dense

ALL = [getattr(river, name.removesuffix("Classifier")) for name in ONLINE]


@pytest.fixture(scope="module", autouse=True)
def _what_is_there_is_not_looked_through() -> Iterator[None]:
    """Let the many collections of garbage that river's checks ask for look at their own objects alone."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(params=ALL, ids=lambda kind: kind.__name__)
def kind(request: pytest.FixtureRequest) -> Any:
    return request.param


def as_mapping(row: Any) -> dict[str, float]:
    return {f"x{j}": float(value) for j, value in enumerate(row)}


def test_river_accepts_it(kind: Any) -> None:
    for check in checks.yield_checks(kind(seed=1)):
        check(kind(seed=1))


@pytest.mark.parametrize("classes", [2, 3])
def test_it_learns_as_partial_fit_does(kind: Any, classes: int) -> None:
    X, y = blobs(classes, n=80)
    one_by_one = kind(classes=range(classes), n_features=X.shape[1], seed=5)
    at_once = kind.learner(gamma=0.1, random_state=5).partial_fit(X, y, classes=range(classes))
    assert one_by_one.predict_one(as_mapping(X[0])) is None
    for row, label in zip(X, y, strict=True):
        one_by_one.learn_one(as_mapping(row), label)
    model = one_by_one._solver.model(one_by_one._learner._state)
    np.testing.assert_array_equal(model.scores(Dense(X)), at_once.model_.scores(Dense(X)))
    np.testing.assert_array_equal([one_by_one.predict_one(as_mapping(row)) for row in X], at_once.predict(X))


def test_memory_does_not_grow_with_the_stream() -> None:
    for kind in (river.Forgetron, river.BudgetPerceptron, river.BudgetedPegasos):
        model = kind(budget=10)
        sizes = []
        for number, (x, y) in enumerate(Phishing()):
            model.learn_one(x, y)
            if number in (100, 1000):
                sizes.append(len(pickle.dumps(model)))
        assert sizes[1] <= sizes[0] + 200  # integers that have grown


@pytest.mark.parametrize("hashing", [False, True])
def test_words_numbers_and_names_never_seen(hashing: bool) -> None:
    model = river.Perceptron(classes=["ham", "spam"], hashing=hashing, kernel="linear")
    for _ in range(20):
        model.learn_one({"from": "friend", "length": 3, "urgent": False}, "ham")
        model.learn_one({"from": "nobody", "length": 1, "urgent": True}, "spam")
    assert model.predict_one({"from": "friend", "length": 3, "never seen": 9}) == "ham"
    assert model.predict_one({"from": "nobody", "length": 1, "urgent": True}) == "spam"


@pytest.mark.parametrize(
    ("parameters", "x", "y", "words"),
    [
        ({}, {"a": 1}, "c", "the label 'c' is not in classes: .False, True.; give all labels"),
        ({}, {"a": float("nan")}, True, "the feature 'a' is nan; it must be finite"),
        ({}, {"a": None}, True, "the feature 'a' is None; it must be a number or a string"),
        ({"gamma": -1.0}, {"a": 1}, True, "gamma is -1.0; it must be above 0"),
        ({"kernel": "rfb"}, {"a": 1}, True, "kernel is 'rfb'; it must be one of"),
    ],
)
def test_a_mistake_is_one_message(parameters: dict[str, Any], x: dict[str, Any], y: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        river.Forgetron(**parameters).learn_one(x, y)


def test_what_is_refused_takes_no_column() -> None:
    model = river.Perceptron(classes=["a", "b"], n_features=2)
    for x, y in (({"w": 1.0}, "typo"), ({"w": 1.0, "x": float("nan")}, "a")):
        with pytest.raises(ValueError, match=r"classes|finite"):
            model.learn_one(x, y)
    model.learn_one({"y": 1.0, "z": -1.0}, "a")
    assert model.predict_one({"y": 1.0, "z": -1.0}) in {"a", "b"}


def test_features_beyond_the_columns_are_ignored_with_one_warning() -> None:
    models = [river.Perceptron(classes=["a", "b"], n_features=2) for _ in range(2)]
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        for i in range(20):
            models[0].learn_one({"u": i % 2, "v": i % 3, "w": i, f"z late {i}": 1.0}, "ab"[i % 2])
            models[1].learn_one({"u": i % 2, "v": i % 3}, "ab"[i % 2])
    (message,) = [str(each.message) for each in warned]
    assert "'w' and all new ones are ignored, since the 2 columns are in use" in message
    for x in ({"u": 1, "v": 2, "w": 9}, {"u": 0, "v": 1}):
        assert models[0].predict_one(x) == models[1].predict_one(x)


def test_short_streams_are_learned() -> None:
    """By the default regularization, with which the last examples do not decide alone."""
    first, second = {"red": 1.0, "x": -1.0}, {"blue": 1.0, "x": 1.0}
    for kind in (river.Forgetron, river.BudgetedPegasos):
        model = kind(classes=["a", "b"])
        for _ in range(30):
            model.learn_one(first, "a")
            model.learn_one(second, "b")
        assert (model.predict_one(first), model.predict_one(second)) == ("a", "b")


@pytest.mark.parametrize(
    ("name", "value"),
    [("classes", frozenset("a")), ("classes", "ab"), ("classes", ["a"]), ("classes", ["a", "a"]), ("n_features", 2.5),
     ("n_features", 0)],
    ids=str,
)  # fmt: skip
def test_wrong_parameters_are_refused(kind: Any, name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"{name} is "):
        kind(**{name: value})
