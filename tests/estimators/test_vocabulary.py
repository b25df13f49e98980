"""What users of SVC and SGDClassifier look for: one word with one default, support_, weights, partial_fit, n_jobs."""

from __future__ import annotations

import inspect
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

import mpu_bench
from classifiers import ALL, SOLVERS, blobs, documented, made
from mpu_bench import solvers
from mpu_bench.estimators.linear import PegasosClassifier
from mpu_bench.estimators.mixins import AugmentedClassifier, TwoClassClassifier
from mpu_bench.estimators.online import OnlineClassifier

#: those that are given all rows at once and keep some
KEEPING: list[tuple[str, dict[str, Any]]] = [
    ("SMOClassifier", {}),
    ("SMOClassifier", {"multi_class": "ovr"}),
    ("SDCAClassifier", {}),
    ("SDCAClassifier", {"multi_class": "ovo"}),
    ("SBPClassifier", {}),
    ("SBPClassifier", {"fit_intercept": True}),
    ("CoreVectorClassifier", {}),
    ("FrankWolfeClassifier", {}),
    ("MPUClassifier", {"kernel": "rbf", "fit_intercept": False}),
    ("PegasosClassifier", {"kernel": "rbf", "fit_intercept": False}),
]
#: those that take no weights -> why
UNWEIGHTED = {
    "MarginPerceptronClassifier": "a hard margin has no losses to weigh",
    "SBPClassifier": "nu is the mean slack of all rows alike",
    "PerceptronClassifier": "it learns row by row, by steps that take all rows alike",
    "ForgetronClassifier": "it learns row by row, by steps that take all rows alike",
    "BudgetPerceptronClassifier": "it learns row by row, by steps that take all rows alike",
    "ProjectronClassifier": "it learns row by row, by steps that take all rows alike",
    "BudgetedPegasosClassifier": "it learns row by row, by steps that take all rows alike",
    "BPASClassifier": "it learns row by row, by steps that take all rows alike",
    "FOGDClassifier": "it learns row by row, by steps that take all rows alike",
}
MACHINES = [name for name in ALL if issubclass(getattr(mpu_bench, name), TwoClassClassifier)]
LINEAR = [name for name in MACHINES if issubclass(getattr(mpu_bench, name), AugmentedClassifier)]


def quietly(model: Any, *arguments: Any, **named: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*arguments, **named)


@pytest.mark.parametrize("name", ALL)
def test_a_docstring_names_the_parameters_and_no_others(name: str) -> None:
    kind = getattr(mpu_bench, name)
    assert documented(kind) == sorted(kind().get_params())


@pytest.mark.parametrize(("word", "default"), [("gamma", {"scale"}), ("cache_size", {1000}), ("n_jobs", {None})])
def test_a_word_has_one_default(word: str, default: set[Any]) -> None:
    assert {getattr(mpu_bench, name)().get_params().get(word, *default) for name in ALL} == default


def test_every_fit_has_a_bound(name: str) -> None:
    assert 1 <= getattr(mpu_bench, name)().max_iter <= 10_000_000


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(("name", "parameters"), KEEPING, ids=str)
def test_support_vectors_are_rows_of_the_data(name: str, parameters: dict[str, Any], classes: int) -> None:
    X, y = blobs(classes)
    for rows in (X, scipy.sparse.csr_matrix(X)):
        model = quietly(made(name, **parameters), rows, y)
        assert abs(rows[model.support_] - model.support_vectors_).max() == 0
        assert model.n_support_.tolist() == np.bincount(y[model.support_], minlength=classes).tolist()
        assert model.dual_coef_.shape[1] == model.n_support_.sum()
        assert scipy.sparse.issparse(model.dual_coef_) == scipy.sparse.issparse(rows)


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_rows_without_weight_are_no_support_vectors(multi_class: str) -> None:
    X, y = blobs(3)
    weights = np.arange(len(X)) % 3
    model = made("SMOClassifier", multi_class=multi_class).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(X[model.support_], model.support_vectors_)
    assert weights[model.support_].min() == 1
    assert model.n_support_.tolist() == np.bincount(y[model.support_]).tolist()


def test_indices_are_those_of_the_last_fit_or_there_are_none() -> None:
    X, y = blobs(2)
    model = made("PegasosClassifier", kernel="rbf", fit_intercept=False).fit(X, y)
    assert len(model.support_)
    model.set_params(kernel="linear").fit(X, y)
    assert not hasattr(model, "support_")
    assert not hasattr(model, "n_support_")
    assert not hasattr(made("ForgetronClassifier").fit(X, y), "support_")


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
@pytest.mark.parametrize("name", MACHINES)
def test_threads_change_nothing(name: str, multi_class: str) -> None:
    X, y = blobs(4)
    one, two = (quietly(made(name, multi_class=multi_class, n_jobs=jobs), X, y) for jobs in (None, 2))
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))
    assert one.n_iter_ == two.n_iter_
    assert one.kernel_evaluations_ == two.kernel_evaluations_
    assert getattr(one, "dual_gap_", None) == getattr(two, "dual_gap_", None)


def test_threads_are_a_number_that_joblib_takes() -> None:
    with pytest.raises(ValueError, match="n_jobs is 0; it must be at least 1, or -1 for all processors, or None"):
        made("SMOClassifier", n_jobs=0).fit(*blobs(3))
    X, y = blobs(3)
    with pytest.raises(ValueError, match="scale the features"):
        made("SDCAClassifier", kernel="linear", n_jobs=2).fit(X * 1e150, y)


@pytest.mark.parametrize("name", ["SMOClassifier", "SDCAClassifier", "MPUClassifier"])
def test_the_cache_changes_nothing(name: str) -> None:
    X, y = blobs(2, n=300)
    parameters = {"kernel": "rbf", "fit_intercept": False} if name == "MPUClassifier" else {}
    large, small = (made(name, cache_size=size, **parameters).fit(X, y) for size in (1000, 0.01))
    np.testing.assert_array_equal(large.decision_function(X), small.decision_function(X))
    with pytest.raises(ValueError, match="cache_size is 0; it must be above 0"):
        made(name, cache_size=0).fit(X, y)


@pytest.mark.parametrize("name", LINEAR)
def test_sparse_coefficients(name: str) -> None:
    X, y = blobs(2)
    model = made(name)
    with pytest.raises(AttributeError, match="before it is fitted"):
        model.sparsify()
    scores, weights = quietly(model, X, y).decision_function(X), model.coef_
    assert scipy.sparse.issparse(model.sparsify().coef_)
    np.testing.assert_array_equal(model.coef_.toarray(), weights)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).coef_.toarray(), weights)
    np.testing.assert_array_equal(model.decision_function(X), scores)
    assert model.densify().coef_.shape == (1, 5)
    assert isinstance(model.sparsify().fit(X, y).coef_, np.ndarray)


def test_weights_have_a_place_or_are_refused_in_words(name: str) -> None:
    kind, (X, y) = getattr(mpu_bench, name), blobs(2)
    if name not in UNWEIGHTED:
        assert "class_weight" in kind().get_params()
        assert "sample_weight" in inspect.signature(kind.fit).parameters
        assert all(solvers.load(solver).weighted for solver in SOLVERS[name])
        return
    assert not any(solvers.load(solver).weighted for solver in SOLVERS[name])
    words = UNWEIGHTED[name]
    with pytest.raises(TypeError, match=f"^{name} takes no class_weight: {words}"):
        kind(class_weight="balanced")
    with pytest.raises(TypeError, match=f"^{name}.fit takes no sample_weight: {words}"):
        kind().fit(X, y, sample_weight=np.ones(len(y)))
    if issubclass(kind, OnlineClassifier):
        with pytest.raises(TypeError, match=f"^{name}.partial_fit takes no sample_weight"):
            kind().partial_fit(X, y, classes=[0, 1], sample_weight=np.ones(len(y)))


def test_a_class_that_is_derived_from_one_takes_its_weights() -> None:
    derived = type("Derived", (mpu_bench.DCDClassifier,), {})
    assert clone(derived(class_weight="balanced")).class_weight == "balanced"


def test_a_hard_margin_refuses_weights_in_words() -> None:
    X, y = blobs(2)
    with pytest.raises(ValueError, match="a hard margin has no losses to weigh; take margin: soft, or no weights"):
        made("MPUClassifier", margin="hard", class_weight="balanced").fit(X, y)


def test_cutting_planes_end_by_the_sum_of_the_weights() -> None:
    """And a fit that ends so gives no warning, whatever they are."""
    X, y = blobs(3, n=200)
    for weights in (np.full(len(y), 1e-3), np.random.default_rng(0).uniform(1, 1e3, len(y))):
        with warnings.catch_warnings():
            warnings.simplefilter("error", ConvergenceWarning)
            model = made("SVMPerfClassifier", tol=1e-3, max_iter=None, C=0.1).fit(X, y, sample_weight=weights)
        assert 0 <= model.dual_gap_ < 0.01


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("classes", [2, 3])
def test_weights_of_one_change_no_bit_of_pegasos(kernel: str, classes: int) -> None:
    X, y = blobs(classes)
    plain = made("PegasosClassifier", kernel=kernel).fit(X, y).decision_function(X)
    weighted = made("PegasosClassifier", kernel=kernel).fit(X, y, sample_weight=np.ones(len(y)))
    np.testing.assert_array_equal(weighted.decision_function(X), plain)
    by_class = made("PegasosClassifier", kernel=kernel, class_weight={0: 5.0}).fit(X, y).decision_function(X)
    by_row = made("PegasosClassifier", kernel=kernel).fit(X, y, sample_weight=np.where(y == 0, 5.0, 1.0))
    np.testing.assert_array_equal(by_class, by_row.decision_function(X))
    assert not np.array_equal(by_class, plain)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_pegasos_minimises_the_weighted_objective(kernel: str) -> None:
    """As exact dual coordinate ascent does: its own objective with these weights, without an intercept."""
    X, y = blobs(2, n=60)
    X = StandardScaler().fit_transform(X)
    weights = np.random.default_rng(0).integers(1, 9, len(y)).astype(float)
    shared = {"kernel": kernel, "gamma": 0.2, "C": 0.1}

    def objective(model: Any) -> float:
        scores = model.decision_function(X)
        if kernel == "linear":
            squared = float(np.square(model.coef_).sum())
        else:
            vectors = model.support_vectors_
            distances = np.square(vectors[:, np.newaxis] - vectors).sum(axis=2)
            squared = float((model.dual_coef_ @ np.exp(-0.2 * distances) @ model.dual_coef_.T)[0, 0])
        return squared / 2 + 0.1 * float(weights @ np.maximum(0.0, 1.0 - np.where(y == 1, 1, -1) * scores))

    exact = made("SDCAClassifier", max_iter=2000, **shared).fit(X, y, sample_weight=weights)
    ours = made("PegasosClassifier", max_iter=3000, fit_intercept=False, **shared).fit(X, y, sample_weight=weights)
    assert objective(exact) <= objective(ours) < 1.02 * objective(exact)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_matrix])
def test_pieces_that_are_all_rows_are_passes_of_fit(classes: int, form: Any) -> None:
    X, y = blobs(classes)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    whole = quietly(made("PegasosClassifier", max_iter=4), form(X), y, sample_weight=weights)
    pieces = made("PegasosClassifier")
    for _ in range(4):
        pieces.partial_fit(form(X), y, classes=np.arange(classes), sample_weight=weights)
        pieces = pickle.loads(pickle.dumps(pieces))
    np.testing.assert_array_equal(pieces.decision_function(X), whole.decision_function(X))
    assert len(pickle.dumps(pieces)) < 8000  # nothing is kept of the rows


@pytest.mark.parametrize("classes", [2, 3])
def test_a_stream_is_learned_in_pieces(classes: int) -> None:
    X, y = blobs(classes, n=3000)
    model = made("PegasosClassifier")
    for first in range(0, 3000, 7):
        model.partial_fit(X[first : first + 7], y[first : first + 7], classes=np.arange(classes))
    assert model.score(X, y) > 0.85


def test_pegasos_says_what_pieces_cannot_have() -> None:
    X, y = blobs(3)
    with pytest.raises(ValueError, match="classes must be given at the first call"):
        made("PegasosClassifier").partial_fit(X, y)
    for parameters in ({"class_weight": "balanced"}, {"multi_class": "ovo"}):
        with pytest.raises(ValueError, match="need all rows"):
            made("PegasosClassifier", **parameters).partial_fit(X, y, classes=[0, 1, 2])
    assert not hasattr(made("PegasosClassifier", kernel="rbf"), "partial_fit")
    model = made("PegasosClassifier").partial_fit(X, y, classes=[0, 1, 2]).set_params(C=3.0)
    with pytest.raises(ValueError, match=r"C was 1\.0 when learning began, and is 3\.0"):
        model.partial_fit(X, y)


def test_scale_is_of_the_first_rows_of_a_stream() -> None:
    X, y = blobs(2)
    first = made("ForgetronClassifier", gamma="scale").partial_fit(X[:50], y[:50], classes=[0, 1])
    alone = made("ForgetronClassifier", gamma=1 / (5 * X[:50].var())).partial_fit(X[:50], y[:50], classes=[0, 1])
    for model in (first, alone):
        model.partial_fit(100.0 * X[50:], y[50:])
    np.testing.assert_array_equal(first.decision_function(X), alone.decision_function(X))


@pytest.mark.parametrize("first", [True, False])
def test_an_intercept_that_is_set_after_a_fit_is_of_the_next_one(first: bool, tmp_path: Path) -> None:
    X, y = blobs(2, n=40)
    model = made("DCDClassifier", fit_intercept=first).fit(X, y)
    before = model.decision_function(X)
    np.testing.assert_array_equal(model.set_params(fit_intercept=not first).decision_function(X), before)
    model.save(tmp_path / "model.mpu")
    np.testing.assert_array_equal(mpu_bench.load(tmp_path / "model.mpu").predict(X), model.predict(X))


def test_light_pieces_do_not_bound_the_weights_of_later_ones() -> None:
    X, y = blobs(2)
    light = made("PegasosClassifier").partial_fit(X, y, classes=[0, 1], sample_weight=np.full(len(y), 1e-6))
    for model in (light, heavy := made("PegasosClassifier")):
        for _ in range(200):
            model.partial_fit(X, y, classes=[0, 1])
    assert np.linalg.norm(light.coef_) == pytest.approx(np.linalg.norm(heavy.coef_), rel=0.1)


def test_a_piece_that_fails_has_left_no_step(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = blobs(3)
    model = made("PegasosClassifier").partial_fit(X, y, classes=[0, 1, 2])
    before = pickle.dumps(model)
    with monkeypatch.context() as patched:
        patched.setattr(PegasosClassifier, "_summed", _interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.partial_fit(X, y)
    assert pickle.dumps(model) == before


def _interrupted(*_: Any) -> Any:
    raise KeyboardInterrupt
