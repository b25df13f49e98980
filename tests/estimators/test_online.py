"""Rows in pieces: any cut of them leaves what one pass over all leaves, and nothing but the model stays."""

from __future__ import annotations

import io
import pickle
from copy import copy
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import psutil
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from classifiers import FORMS, ONLINE, blobs, made
from mpu_bench.core.counters import PRESENTED
from mpu_bench.estimators.base import Fit


@pytest.mark.parametrize(("name", "parameters"), FORMS, ids=str)
@pytest.mark.parametrize("classes", [2, 3])
def test_any_cut_equals_one_pass(name: str, parameters: dict[str, Any], classes: int) -> None:
    X, y = blobs(classes)
    whole = made(name, **parameters).fit(X, y)

    @settings(max_examples=5)
    @given(st.lists(st.integers(0, len(X)), max_size=6).map(sorted))
    def check(cuts: list[int]) -> None:
        pieces = made(name, **parameters)
        for first, last in zip([0, *cuts], [*cuts, len(X)], strict=True):
            if first < last:
                pieces.partial_fit(X[first:last], y[first:last], classes=np.arange(classes))
                pieces = pickle.loads(pickle.dumps(pieces))
        np.testing.assert_array_equal(pieces.decision_function(X), whole.decision_function(X))
        assert pieces.kernel_evaluations_ == whole.kernel_evaluations_

    check()


@pytest.mark.parametrize("name", ONLINE)
def test_rows_of_any_form_are_learned_and_refused_alike(name: str) -> None:
    X, y = blobs(3)
    texts = np.array(["ab", "b", "a"])[y]
    forms = {
        "arrays": (X, texts), "lists": (X.tolist(), texts.tolist()), "columns": (np.asfortranarray(X), texts),
        "objects": (X, texts.astype(object)), "longer words": (X, texts.astype("U9")),
    }  # fmt: skip
    scores = {}
    for form, (rows, labels) in forms.items():
        model = made(name).partial_fit(X[:1], texts[:1], classes=["a", "ab", "b"])
        for first in range(1, 60, 3):
            model.partial_fit(rows[first : first + 3], labels[first : first + 3])
        scores[form] = model.decision_function(X)
        wrong = {
            "NaN": (np.where(np.arange(4)[:, None] == 2, np.nan, X[:4]), texts[:4]),
            "features": (X[:3, :-1], texts[:3]),
            "label 'c'": (X[:1], np.array(["c"])),
            "inconsistent": (X[:3], texts[:2]),
            "minimum of 1": (X[:0], texts[:0]),
        }
        for words, (rows_, labels_) in wrong.items():
            with pytest.raises(ValueError, match=words):
                model.partial_fit(rows_, labels_)
        np.testing.assert_array_equal(model.decision_function(X), scores[form])
    for form in forms:
        np.testing.assert_array_equal(scores[form], scores["arrays"], form)


@pytest.mark.parametrize("name", [name for name in ONLINE if name not in {"PerceptronClassifier"}])
def test_memory_is_that_of_the_model(name: str) -> None:
    model, sizes = made(name), []
    for number in range(6):
        X, y = blobs(2, n=2000, d=20, seed=number % 3)
        model.partial_fit(X, y, classes=[0, 1])
        sizes.append(len(pickle.dumps(model)))
    assert sizes[-1] < 2000 * 20 * 8 / 4  # a quarter of one piece
    assert sizes[-1] == pytest.approx(sizes[2], rel=0.05)


@pytest.mark.parametrize("name", ONLINE)
def test_it_goes_on_after_fit(name: str) -> None:
    X, y = blobs(2)
    for parameters in ({}, {"max_iter": 2}, {"shuffle": True}):
        model = made(name, **parameters).fit(X, y)
        before = pickle.dumps(model)
        model.partial_fit(scipy.sparse.csr_matrix(X[:7]), y[:7])
        assert pickle.dumps(model) != before
        assert model.kernel_evaluations_ or name == "FOGDClassifier"


def test_pieces_have_no_limit_of_seconds() -> None:
    X, y = blobs(2, n=3000)
    model = made("ForgetronClassifier", max_seconds=1e-9)
    with pytest.warns(ConvergenceWarning, match="max_seconds"):
        model.fit(X, y)
    model.partial_fit(X, y)
    whole = made("ForgetronClassifier", max_seconds=1e-9).partial_fit(X, y, classes=[0, 1])
    np.testing.assert_array_equal(
        whole.decision_function(X), made("ForgetronClassifier").fit(X, y).decision_function(X)
    )


def test_passes_in_order_and_at_random() -> None:
    X, y = blobs(2)
    once, twice = (made("PerceptronClassifier", max_iter=passes).fit(X, y) for passes in (1, 2))
    assert twice.n_iter_ == 2
    assert twice.kernel_evaluations_ > 2 * once.kernel_evaluations_
    shuffled = made("PerceptronClassifier", shuffle=True).fit(X, y)
    assert not np.array_equal(shuffled.decision_function(X), once.decision_function(X))


def test_mistakes_are_one_message() -> None:
    X, y = blobs(3)
    model = made("ForgetronClassifier")
    with pytest.raises(ValueError, match="classes must be given at the first call"):
        model.partial_fit(X, y)
    for labels in ([0, 1, np.nan], [0, 1, None], [[0], [1, 2]], "ab", [0], {0, 1, 2}):
        with pytest.raises(ValueError, match="it must be a list of at least two labels"):
            model.partial_fit(X, y, classes=labels)
    with pytest.raises(ValueError, match="y has words as labels, and others"):
        model.fit(X, np.array(["a", 1], object)[y % 2])
    with pytest.raises(ValueError, match="y has the label 2, which is not in classes"):
        model.partial_fit(X, y, classes=[0, 1])
    model = made("ForgetronClassifier").partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="classes is not as at the first call"):
        model.partial_fit(X, y, classes=[0, 1])
    words = np.array(["a", "b", "c"], object)
    model = made("ForgetronClassifier").partial_fit(X, words[y], classes=words)
    for label in (3, None):  # which have no order among words
        with pytest.raises(ValueError, match="y has words as labels, and others"):
            model.partial_fit(X[:2], np.array(["a", label], object))
    with pytest.raises(ValueError, match="give eta"):
        made("ProjectronClassifier", budget=5).partial_fit(X, y, classes=[0, 1, 2])
    searched = made("ProjectronClassifier", eta=0.1, budget=20).fit(X, y)
    with pytest.raises(ValueError, match="give eta"):  # and does not wait for a 21st vector for ever
        searched.partial_fit(-X, y)
    with pytest.raises(ValueError, match="merging needs a Gaussian kernel"):
        made("BudgetedPegasosClassifier", kernel="linear").fit(X, y)


@pytest.mark.parametrize("name", ONLINE)
def test_a_parameter_that_decides_may_not_change_while_it_learns(name: str) -> None:
    X, y = blobs(2)
    model = made(name).partial_fit(X, y, classes=[0, 1])
    scores = model.decision_function(X)
    model.set_params(max_seconds=3.0, shuffle=True).partial_fit(X[:1], y[:1])
    model = made(name).partial_fit(X, y, classes=[0, 1]).set_params(gamma=7.0)
    with pytest.raises(ValueError, match=r"gamma was .* when learning began, and is 7.0; set it back, or start over"):
        model.partial_fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), scores)


@pytest.mark.parametrize("name", ONLINE)
def test_rows_too_long_for_kernel_values_are_refused_before_anything_is_learned(name: str) -> None:
    X, y = blobs(2)
    words = r"the largest \|\|x\|\| is .*; scale the features down"
    with pytest.raises(ValueError, match=words):
        made(name).fit(X * 1e160, y)
    with pytest.raises(ValueError, match=words):
        made(name).partial_fit(X * 1e160, y, classes=[0, 1])
    model = made(name).partial_fit(X, y, classes=[0, 1])
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match=words):
        model.partial_fit(X * 1e160, y)
    assert pickle.dumps(model) == before


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("ForgetronClassifier", {"budget": 10**12}),
        ("BudgetPerceptronClassifier", {"budget": 10**20}),
        ("BudgetPerceptronClassifier", {"budget": 10**20, "removal": "oldest"}),
        ("BudgetedPegasosClassifier", {"budget": 10**20}),
        ("BudgetedPegasosClassifier", {"budget": psutil.virtual_memory().total // 20}),  # each array alone would do
        ("BudgetedPegasosClassifier", {"budget": 10**12, "maintenance": "projection"}),
    ],
)
def test_a_budget_that_memory_is_too_small_for_is_told(name: str, parameters: dict[str, Any]) -> None:
    X, y = blobs(2, d=5)
    with pytest.raises(ValueError, match=f"^budget is {parameters['budget']}; too many for the memory"):
        made(name, **parameters).fit(X, y)


def test_another_fault_of_a_start_is_not_taken_for_one_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(*_: Any) -> None:
        raise ValueError("something else")

    monkeypatch.setattr("mpu_bench.solvers.online.forgetron.Forgetron.start", start)
    with pytest.raises(ValueError, match=r"^something else$"):
        made("ForgetronClassifier", budget=10).fit(*blobs(2))


@pytest.mark.parametrize(("name", "parameters"), FORMS, ids=str)
@pytest.mark.parametrize("way", ["pickle", "memory map", "plain arrays", "shallow copy"])
def test_a_saved_model_goes_on_learning(name: str, parameters: dict[str, Any], way: str, tmp_path: Path) -> None:
    """Bit for bit, also where what was saved comes back as arrays that cannot be written, or that are no records."""
    X, y = blobs(2)
    model = made(name, **parameters).partial_fit(X[:30], y[:30], classes=[0, 1])
    if way == "pickle":
        loaded = pickle.loads(pickle.dumps(model))
    elif way == "memory map":
        joblib.dump(model, tmp_path / "model.joblib")
        loaded = joblib.load(tmp_path / "model.joblib", mmap_mode="r")
    elif way == "shallow copy":
        loaded = copy(model)
    else:
        loaded = type(model).__new__(type(model))
        loaded.__setstate__(_of_plain_arrays(model.__getstate__()))
    for each in (model, loaded):
        each.partial_fit(X[30:], y[30:])
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))


def _of_plain_arrays(held: Any) -> Any:
    """Take a state through files of numpy, as formats without pickle do."""
    if isinstance(held, np.ndarray) and held.dtype != object:
        assert type(held) is np.ndarray
        np.save(stream := io.BytesIO(), held, allow_pickle=False)
        return np.load(io.BytesIO(stream.getvalue()), allow_pickle=False)
    if isinstance(held, dict):
        return {key: _of_plain_arrays(part) for key, part in held.items()}
    if isinstance(held, tuple) and hasattr(held, "_fields"):
        return type(held)(*map(_of_plain_arrays, held))
    if is_dataclass(held):
        return replace(held, **{field.name: _of_plain_arrays(getattr(held, field.name)) for field in fields(held)})
    return held


def test_passes_without_end_take_no_memory() -> None:
    with pytest.warns(ConvergenceWarning, match="max_seconds"):
        made("PerceptronClassifier", max_iter=10**12, max_seconds=0.01).fit(*blobs(2))


@pytest.mark.parametrize(
    "name", ["PerceptronClassifier", "ForgetronClassifier", "BudgetPerceptronClassifier", "BudgetedPegasosClassifier"]
)
def test_later_rows_that_single_precision_does_not_tell_apart_are_learned_in_double(name: str) -> None:
    X, y = blobs(2)
    X[1:] += 3000.0
    whole = made(name, gamma=0.5).fit(X, y)
    pieces = made(name, gamma=0.5).partial_fit(X[:1], y[:1], classes=[0, 1]).partial_fit(X[1:], y[1:])
    np.testing.assert_allclose(pieces.decision_function(X), whole.decision_function(X), atol=1e-6)


@pytest.mark.filterwarnings("ignore:.* so far from the origin")
def test_nothing_is_learned_after_an_error_within_a_row() -> None:
    """It wrote beyond the arrays of the projection."""
    X, y = blobs(2)
    model = made("BudgetedPegasosClassifier", maintenance="projection", gamma=1.0).partial_fit(X, y, classes=[0, 1])
    scores = model.decision_function(X)
    with pytest.raises(ValueError, match=r"are too similar.*or take another maintenance$"):  # which every kernel has
        model.partial_fit(X + 3e8, y)
    for loaded in (model, pickle.loads(pickle.dumps(model))):
        with pytest.raises(ValueError, match="an error ended learning within a row; start over with fit"):
            loaded.partial_fit(X, y)
        np.testing.assert_array_equal(loaded.decision_function(X), scores)
    again = model.fit(X, y).partial_fit(X, y).decision_function(X)
    plain = made("BudgetedPegasosClassifier", maintenance="projection", gamma=1.0).fit(X, y).partial_fit(X, y)
    np.testing.assert_array_equal(again, plain.decision_function(X))


def test_an_interrupted_piece_can_be_gone_on_from(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = blobs(2)
    model = made("ForgetronClassifier").partial_fit(X[:20], y[:20], classes=[0, 1])
    with monkeypatch.context() as patched:
        patched.setattr(Fit, "is_over", property(_interrupt))
        with pytest.raises(KeyboardInterrupt):
            model.partial_fit(X[20:], y[20:])
    learned = int(model._state.counters[PRESENTED])
    assert 20 < learned < len(X)
    model.partial_fit(X[learned:], y[learned:])
    whole = made("ForgetronClassifier").partial_fit(X, y, classes=[0, 1])
    np.testing.assert_array_equal(model.decision_function(X), whole.decision_function(X))


@pytest.mark.parametrize("name", ["PerceptronClassifier", "ForgetronClassifier", "BudgetedPegasosClassifier"])
def test_an_interrupted_piece_that_needs_double_precision_leaves_all_as_it_was(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = blobs(2)
    model = made(name, gamma=0.5).partial_fit(X[:20], y[:20], classes=[0, 1])
    before = pickle.dumps(model)
    with monkeypatch.context() as patched:
        patched.setattr(Fit, "is_over", property(_interrupt))
        with pytest.raises(KeyboardInterrupt):
            model.partial_fit(X[20:] + 3000.0, y[20:])
    assert pickle.dumps(model) == before


def _interrupt(_fit: Fit) -> bool:
    raise KeyboardInterrupt
