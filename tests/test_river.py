from __future__ import annotations

import gc
import pickle
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("river")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # what river's own imports warn of
    from river import (
        active,
        bandit,
        checks,
        drift,
        ensemble,
        evaluate,
        imblearn,
        linear_model,
        metrics,
        model_selection,
        multiclass,
        multioutput,
        preprocessing,
    )
    from river.datasets import ImageSegments, Phishing

from classifiers import ONLINE, blobs, documented
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


EVEN = {False: 0.5, True: 0.5}
#: what river puts around a classifier
WRAPPERS: dict[str, Callable[[Any], Any]] = {
    "drift detected": lambda model: drift.DriftRetrainingClassifier(model, drift.binary.DDM()),
    "bagging": lambda model: ensemble.BaggingClassifier(model, n_models=2, seed=1),
    "bagging, ADWIN": lambda model: ensemble.ADWINBaggingClassifier(model, n_models=2, seed=1),
    "bagging, leveraging": lambda model: ensemble.LeveragingBaggingClassifier(model, n_models=2, seed=1),
    "boosting": lambda model: ensemble.AdaBoostClassifier(model, n_models=2, seed=1),
    "boosting, ADWIN": lambda model: ensemble.ADWINBoostingClassifier(model, n_models=2, seed=1),
    "boosting, BOLE": lambda model: ensemble.BOLEClassifier(model, n_models=2, seed=1),
    "random patches": lambda model: ensemble.SRPClassifier(model, n_models=2, seed=1),
    "stacking": lambda model: ensemble.StackingClassifier(
        [model, linear_model.LogisticRegression()], linear_model.LogisticRegression()
    ),
    "stacking, last": lambda model: ensemble.StackingClassifier(
        [linear_model.LogisticRegression(), linear_model.PAClassifier()], model
    ),
    "voting": lambda model: ensemble.VotingClassifier(
        [model, linear_model.LogisticRegression()], use_probabilities=True
    ),
    "one against the rest": multiclass.OneVsRestClassifier,
    "one against one": multiclass.OneVsOneClassifier,
    "output codes": lambda model: multiclass.OutputCodeClassifier(model, code_size=4, seed=1),
    "undersampling": lambda model: imblearn.RandomUnderSampler(model, EVEN, seed=1),
    "oversampling": lambda model: imblearn.RandomOverSampler(model, EVEN, seed=1),
    "hard sampling": lambda model: imblearn.HardSamplingClassifier(model, size=30, p=0.1, seed=1),
    "halving": lambda model: model_selection.SuccessiveHalvingClassifier(
        [model, model.clone()], metrics.Accuracy(), budget=100, seed=1
    ),
    "bandit": lambda model: model_selection.BanditClassifier(
        [model, model.clone()], metrics.LogLoss(), bandit.EpsilonGreedy(0.1, seed=1)
    ),
    "active learning": lambda model: active.EntropySampler(model, seed=1),
}


@pytest.mark.parametrize("wrapped", WRAPPERS.values(), ids=WRAPPERS)
def test_it_works_in_what_river_puts_around_it(kind: Any, wrapped: Callable[[Any], Any]) -> None:
    model = wrapped(preprocessing.StandardScaler() | kind(seed=1))
    result = evaluate.progressive_val_score(Phishing().take(150), model, metrics.Accuracy())
    assert result.get() > 0.6


def test_after_a_drift_rivers_wrapper_begins_anew(kind: Any) -> None:
    """The labels change halfway: the detector finds it, and a fresh model is soon as good as the old one was."""
    X, y = blobs(2, n=1200)
    wrapper = drift.DriftRetrainingClassifier(kind(seed=1), drift.binary.DDM())
    right = []
    for i, (row, label) in enumerate(zip(X, y, strict=True)):
        truth = label if i < 600 else 1 - label
        right.append(wrapper.predict_one(as_mapping(row)) == truth)
        wrapper.learn_one(as_mapping(row), truth)
        if i == 599:
            before = wrapper.model
    assert np.mean(right[300:600]) > 0.8
    assert wrapper.model is not before, "no drift was found"
    assert np.mean(right[900:]) > np.mean(right[300:600]) - 0.05


@pytest.mark.parametrize("wrap", [multioutput.ClassifierChain, multioutput.ProbabilisticClassifierChain])
def test_it_works_in_chains(kind: Any, wrap: Any) -> None:
    model, right = wrap(kind(seed=1)), 0
    for x, y in Phishing().take(150):
        labels = {"phishing": y, "popular": x["is_popular"] > 0.5}
        right += model.predict_one(x).get("popular") == labels["popular"]
        model.learn_one(x, labels)
    assert right > 90


def test_a_pipeline_explains_what_it_predicts(kind: Any) -> None:
    model = preprocessing.StandardScaler() | kind(seed=1)
    for x, y in Phishing().take(20):
        model.learn_one(x, y)
    assert "True" in model.debug_one(x)


@pytest.mark.parametrize("classes", [2, 3])
def test_probabilities_are_those_of_partial_fit(kind: Any, classes: int) -> None:
    X, y = blobs(classes, n=80)
    model = kind(classes=range(classes), n_features=X.shape[1], seed=5)
    assert model.predict_proba_one(as_mapping(X[0])) == pytest.approx(dict.fromkeys(range(classes), 1 / classes))
    for row, label in zip(X, y, strict=True):
        model.learn_one(as_mapping(row), label)
    other = kind.learner(gamma=0.1, random_state=5, probability=True)
    other.partial_fit(X[:30], y[:30], classes=range(classes)).partial_fit(X[30:], y[30:])
    found = [[*model.predict_proba_one(as_mapping(row)).values()] for row in X]
    np.testing.assert_allclose(found, other.predict_proba(X), rtol=1e-9)


def test_probabilities_do_not_depend_on_who_asks_and_when(kind: Any) -> None:
    """Most of the later rows are learned without an update, which changes no label, but may change scores."""
    X, y = blobs(2, n=80)
    X += 2.0 * (2 * y[:, np.newaxis] - 1)
    asked, other = kind(classes=(0, 1), n_features=X.shape[1], seed=5), kind(classes=(0, 1), n_features=5, seed=5)
    for row, label in zip(X, y, strict=True):
        for model in (asked, other):
            model.learn_one(as_mapping(row), label)
        asked.predict_proba_one(as_mapping(row))
    assert asked.predict_proba_one(as_mapping(X[0])) == other.predict_proba_one(as_mapping(X[0]))


def test_probabilities_are_calibrated(kind: Any) -> None:
    """On two normal distributions that overlap, whose probabilities are known, with and without a change of labels."""
    random, model, expected, found = np.random.default_rng(0), kind(n_features=2, gamma=0.5, seed=1), [], []
    for i in range(3000):
        y, flipped = bool(random.integers(2)), i >= 1500
        x = {"a": random.normal() + 0.9 * (1 if y else -1), "b": random.normal()}
        if i % 1500 >= 700:
            expected.append(y ^ flipped)
            found.append(model.predict_proba_one(x)[True])
        model.learn_one(x, y ^ flipped)
    in_bin = np.minimum((np.array(found) * 5).astype(int), 4)
    for index in np.unique(in_bin):
        chosen = in_bin == index
        if chosen.sum() >= 50:
            assert np.mean(np.array(expected)[chosen]) == pytest.approx(np.mean(np.array(found)[chosen]), abs=0.15)
    assert np.mean((np.array(found) - expected) ** 2) < 0.26  # that of 0.5 for all is 0.25


def test_many_are_learned_and_predicted_as_one_by_one(kind: Any) -> None:
    data = [(x | {"kind": "abc"[i % 3]}, y) for i, (x, y) in enumerate(Phishing().take(60))]
    X, y = pd.DataFrame([x for x, _ in data], index=range(5, 65)), pd.Series([y for _, y in data], range(5, 65))
    one_by_one, many = kind(seed=1), kind(seed=1)
    assert many.predict_many(X).tolist() == [None] * 60
    for x, label in data:
        one_by_one.learn_one(x, label)
    many.learn_many(X.iloc[:40], y.iloc[:40])
    many.learn_many(X.iloc[40:], y.iloc[40:])
    labels, probabilities = many.predict_many(X), many.predict_proba_many(X)
    assert labels.index.equals(X.index)
    assert labels.tolist() == [one_by_one.predict_one(x) for x, _ in data]
    assert [*map(dict, probabilities.to_dict("records"))] == [
        pytest.approx(one_by_one.predict_proba_one(x)) for x, _ in data
    ]
    assert many.predict_many(X.iloc[:0]).empty
    assert many.predict_proba_many(X.iloc[:0]).empty


def test_several_classes_have_probabilities(kind: Any) -> None:
    labels = sorted({y for _, y in ImageSegments().take(300)})
    model = preprocessing.StandardScaler() | kind(classes=labels, seed=1)
    loss = evaluate.progressive_val_score(ImageSegments().take(400), model, metrics.CrossEntropy())
    assert loss.get() < 0.8 * np.log(len(labels))


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


def test_names_that_are_no_unicode_have_a_hash() -> None:
    model = river.Perceptron(hashing=True)
    model.learn_one({"\ud83d": 1.0, "word": "\udc80"}, True)  # as of texts that were cut, or are no UTF-8
    assert model.predict_one({"\ud83d": 1.0, "word": "\udc80"}) is True


@pytest.mark.parametrize(
    ("parameters", "x", "y", "words"),
    [
        ({}, {"a": 1}, "c", "the label 'c' is not in classes: .False, True.; give all labels"),
        ({}, {"a": float("nan")}, True, "the feature 'a' is nan; it must be a finite number or a string"),
        ({}, {"a": None}, True, "the feature 'a' is None; it must be a finite number or a string"),
        ({}, {"a": 10**400}, True, "the feature 'a' is 10*; it must be a finite number or a string"),
        ({}, {1: 2.0, "1": 3.0}, True, "two features of an example are called '1'; give one of them another name"),
        ({}, {"a": 1}, [True], "the label .True. is not in classes"),
        ({"gamma": -1.0}, {"a": 1}, True, "gamma is -1.0; it must be above 0"),
        ({"kernel": "rfb"}, {"a": 1}, True, "kernel is 'rfb'; it must be one of"),
    ],
)
def test_a_mistake_is_one_message(parameters: dict[str, Any], x: dict[str, Any], y: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        river.Forgetron(**parameters).learn_one(x, y)


def test_a_row_too_long_to_be_learned_takes_no_column() -> None:
    model = river.BudgetedPegasos(n_features=3)
    model.learn_one({"a": 1.0}, True)
    with pytest.raises(ValueError, match="scale the features down"):
        model.learn_one({"b": 1e200}, True)
    assert model._columns == {"a": 0}


@pytest.mark.parametrize("ask", ["predict_one", "predict_proba_one", "predict_many", "predict_proba_many"])
def test_a_score_that_is_not_finite_is_refused(ask: str) -> None:
    model = river.Perceptron(kernel="linear", seed=0)
    for number in (1.0, -1.0, 2.0):
        model.learn_one({"a": number, "b": -number}, number > 0)
    far = {"a": 1e308, "b": -1e308}
    with pytest.raises(ValueError, match="row 1: its score is not finite"):
        getattr(model, ask)(pd.DataFrame([far]) if ask.endswith("many") else far)


def test_what_is_refused_takes_no_column() -> None:
    model = river.Perceptron(classes=["a", "b"], n_features=2)
    for x, y in (({"w": 1.0}, "typo"), ({"w": 1.0, "x": float("nan")}, "a")):
        with pytest.raises(ValueError, match=r"classes|finite"):
            model.learn_one(x, y)
    model.learn_one({"y": 1.0, "z": -1.0}, "a")
    assert model.predict_one({"y": 1.0, "z": -1.0}) in {"a", "b"}


@pytest.mark.parametrize(
    ("column", "labels", "words"),
    [([1.0, 2.0, 3.0], [True, False], "X has 3 rows and y 2 labels"), ([1.0, None, 3.0], [True] * 3, "be a finite"),
     ([1.0, 2.0, 3.0], [True, False, 7], "the label 7 is not in classes"), ([1.0, 2.0, 1e200], [True] * 3, "scale"),
     ([1, 2, 10**400], [True] * 3, "must be a finite")],
)  # fmt: skip
def test_of_many_all_are_learned_or_none(column: list[Any], labels: list[Any], words: str) -> None:
    model = river.BudgetedPegasos()
    with pytest.raises(ValueError, match=words):
        model.learn_many(pd.DataFrame({"a": column}), pd.Series(labels))
    assert (model._columns, model.predict_one({"a": 1.0})) == ({}, None)


def test_two_columns_of_one_name_are_refused() -> None:
    model, X = river.BudgetedPegasos(), pd.DataFrame([[1.0, 2.0, 3.0]], columns=["a", "b", "a"])
    with pytest.raises(ValueError, match="two features of an example are called 'a'; give one of them another name"):
        model.learn_many(X, pd.Series([True]))
    model.learn_many(X.iloc[:, :2], pd.Series([True]))
    for predict in (model.predict_many, model.predict_proba_many):
        with pytest.raises(ValueError, match="two features of an example are called 'a'; give one of them another"):
            predict(X)


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


def test_its_docstring_names_its_parameters_and_no_others(kind: Any) -> None:
    assert documented(kind) == sorted(kind()._get_params())


@pytest.mark.parametrize(
    ("name", "value"),
    [("classes", frozenset("a")), ("classes", "ab"), ("classes", ["a"]), ("classes", ["a", "a"]),
     ("classes", [0, np.nan]), ("classes", [[1], [2]]), ("classes", np.eye(2)), ("n_features", 2.5), ("n_features", 0),
     ("n_features", True),
     ("seed", -1), ("seed", 0.5), ("seed", "a")],
    ids=str,
)  # fmt: skip
def test_wrong_parameters_are_refused(kind: Any, name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"{name} is "):
        kind(**{name: value})
