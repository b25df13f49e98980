"""The child process of a selection: it trains and evaluates what it is asked to, one after the other."""

from __future__ import annotations

import pickle
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpu_bench.core.models import labels_of
from mpu_bench.errors import DataError
from mpu_bench.guard.messages import Channel, to_line
from mpu_bench.models.evaluation import (
    METRICS,
    MIN_OF_CLASS,
    OF_LABELS,
    best_threshold,
    chance_of,
    constant_score,
    resampled_scores,
    score_of,
    standard_error_of,
)
from mpu_bench.selection.rows import Data
from mpu_bench.selection.schedule import Fit, Fitted
from mpu_bench.texts import plain

_FEW_ROWS = 60  # to compile on
_SECONDS_TO_WARM_UP = 0.2  # for training on them, compiling apart: it need not converge
_SHARE_OF_TRAINING = 0.7  # of the seconds of a fit: the rest is for predicting
_MIN_SHARE = 0.1  # of them, for the last training whatever the others took
_DRAWS = 30  # of the bootstrap of every fit
_BYTES_OF_NUMBER, _LONGEST_REASON = 4, 200
_MAX_SCORE = float(np.finfo(np.float32).max)
_BYTES_OF_SPLIT = 8  # of a tree: a number, the index of a feature, and how far it is to the other branch


@dataclass(frozen=True)
class Evaluation:
    """A kept model that is to be asked for the labels of the test rows, within so many seconds."""

    name: str
    number: int
    seconds: float
    threshold: float = 0.0


@dataclass(kw_only=True)
class Tested:
    """What a model comes to on the test rows.

    ``metrics`` are those of `METRICS` that exist there, ``spread`` the standard error of the one that chooses,
    ``constant`` that of the best constant, and ``chance`` the p that it is no better. ``scores`` are those of the test
    rows in single precision, less the threshold, ``predicted`` and ``truth`` their classes;
    ``seconds_per_prediction`` is that of many rows at once. ``size`` is in bytes, its numbers in single precision.
    """

    metrics: Mapping[str, float] = field(default_factory=dict)
    spread: float = np.nan
    constant: float = np.nan
    chance: float = 1.0
    tested: int = 0
    scores: bytes = b""
    predicted: bytes = b""
    truth: bytes = b""
    seconds_per_prediction: float | None = None
    vectors: int | None = None
    size: int | None = None


@dataclass
class Evaluated(Tested):
    """The answer to an evaluation: what the model comes to, or the reason why that is not known."""

    evaluation: Evaluation
    reason: str = ""


Asked = Fit | Evaluation
Answer = Fitted | Evaluated


def model_path(folder: Path, number: int) -> Path:
    """Return where a model is kept between two requests; only this selection reads it."""
    return folder / f"{number}.model"


def serve(descriptor: int) -> None:
    """Answer what comes over a connection, after the rows and the folder of models, until it is closed.

    An answer is a line of what it has besides the request. Before it is a line of nothing as soon as all is imported,
    loaded and compiled, and what was asked begins.
    """
    import_module("mpu_bench.estimators.batch")  # and with it scikit-learn, while the parent reads the rows
    channel = Channel(descriptor)
    requests = channel.requests()
    source, folder = next(requests)
    warnings.simplefilter("ignore")
    load, warm = cache(source.load), set[str]()
    with suppress(Exception):  # it is the reason of every answer
        load()
    for request in requests:
        answered = vars(answer(request, load, folder, warm, lambda: channel.send(to_line(None))))
        channel.send(to_line({name: value for name, value in answered.items() if value is not request}))


def answer(
    request: Asked, load: Callable[[], Data], folder: Path, warm: set[str], begins: Callable[[], None]
) -> Answer:
    """Do what is asked; whatever is raised becomes the reason why there is no result."""
    try:
        data = load()
        if isinstance(request, Fit):
            _compile(request, data, warm)
            begins()
            return _fit(request, data, folder)
        return _evaluate(request, data, folder, begins)
    except MemoryError:
        reason = "needs more memory than there is"
    except Exception as error:
        reason = plain(f"{type(error).__name__}: {error}", _LONGEST_REASON)
    return answer_of(request, reason=reason)


def answer_of(request: Asked, **result: Any) -> Answer:
    """Return an answer to what was asked."""
    return Fitted(request, **result) if isinstance(request, Fit) else Evaluated(request, **result)


def _compile(fit: Fit, data: Data, warm: set[str]) -> None:
    """Let what a fit needs be compiled, or loaded, on a few rows, if it is not."""
    if fit.candidate.classifier in warm:
        return
    classifier = fit.candidate.build(fit.setting, data.seed, _SECONDS_TO_WARM_UP)  # imports what it needs
    if fit.candidate.is_own:  # references have nothing to compile, and no end that could be set
        few = data.training(max(_FEW_ROWS, 2 * len(data.problem.classes)))
        classifier.fit(*few).predict(few[0])
    warm.add(fit.candidate.classifier)


def _fit(fit: Fit, data: Data, folder: Path) -> Fitted:
    """Train and validate on every split; what is kept is trained on the rows of the last, or on all of them."""
    from sklearn.exceptions import ConvergenceWarning

    from mpu_bench.estimators import base

    clock, splits, scored = base.Fit(), data.splits(fit.rows), list[tuple[Any, ...]]()
    parts = [data.part(rows) for rows, _ in splits]
    if not splits or data.is_cross_validated:
        parts.append(data.training(fit.rows))
    classifier, seconds, is_cut = None, 0.0, False
    for index, (X, y) in enumerate(parts):
        left = fit.seconds * _SHARE_OF_TRAINING - clock.seconds
        seconds_limit = max(left, _MIN_SHARE * fit.seconds) / (len(parts) - index)
        classifier = fit.candidate.build(fit.setting, data.seed, seconds_limit)
        before = clock.seconds
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            classifier.fit(X, y)
        seconds = clock.seconds - before
        is_cut = seconds >= seconds_limit and any(
            issubclass(warning.category, ConvergenceWarning) for warning in caught
        )
        if index < len(splits):
            validation, labels = data.part(splits[index][1])
            scored.append((labels, _scores(classifier, validation, len(data.problem.classes))))
    judged = _validated(data, scored, fit.threshold)
    spent = clock.seconds
    model_path(folder, fit.number).write_bytes(pickle.dumps(classifier))
    return Fitted(fit, seconds=seconds, spent=spent, is_cut=is_cut, size=_size(classifier)[1], **judged)


def _validated(data: Data, scored: Sequence[tuple[Any, Any]], threshold: float | None) -> dict[str, Any]:
    """Return 1 - the mean of the metric over the splits, what is known of it, and the threshold, by name.

    A fold may lack a class, so that metrics of labels are of all rows of a division, which are those of its folds.
    Where the threshold is chosen here, chance is asked of the ranking, too, which does not depend on it.
    """
    if not scored:
        return {"error": np.nan, "threshold": threshold or 0.0}
    firsts = range(0, len(scored), data.folds)
    divisions = [tuple(map(np.concatenate, zip(*scored[at : at + data.folds], strict=True))) for at in firsts]
    labels, scores = divisions[0]  # every row, once
    tunes = data.threshold and threshold is None
    at = best_threshold(data.metric, labels, scores) if tunes else threshold or 0.0
    parts: Sequence[tuple[Any, ...]] = divisions if data.metric in OF_LABELS else scored
    values = np.array([_judged(score_of, data.metric, y, marks, at) for y, marks in parts])
    known = values[~np.isnan(values)]  # a ranking does not exist where all rows are of one class
    if not len(known):
        raise DataError(f"{METRICS[data.metric]} does not exist on the rows that choose, which are of one class")
    return {
        "error": float(1 - known.mean()),
        "drawn": tuple(_judged(partial(resampled_scores, draws=_DRAWS), data.metric, labels, scores, at).tolist()),
        "threshold": at,
        "chance": max(_judged(chance_of, name, labels, scores, at) for name in {data.metric, *["auc"] * tunes}),
    }


def _judged(how: Callable[..., Any], metric: str, labels: Any, scores: Any, threshold: float) -> Any:
    return how(metric, labels, labels_of(scores - threshold), scores - threshold)


def _scores(model: Any, X: Any, classes: int) -> NDArray[np.float64]:
    """Return a classifier's scores as of a model, shape (n, c), or (n, 1) for two classes.

    A class that it was not trained on has less than every other.
    """
    if hasattr(model, "decision_function"):
        scores = np.asarray(model.decision_function(X), np.float64).reshape(X.shape[0], -1)
    else:
        scores = np.asarray(model.predict_proba(X)) - 0.5
        scores = scores[:, 1:] if scores.shape[1] == 2 else scores
    if scores.shape[1] == 1 < classes - 1:
        scores = np.hstack([-scores, scores])
    if scores.shape[1] in (1, classes):
        return scores
    whole: NDArray[np.float64] = np.full((len(scores), classes), scores.min(initial=0.0) - 1)
    whole[:, model.classes_] = scores
    return whole


def _evaluate(evaluation: Evaluation, data: Data, folder: Path, begins: Callable[[], None]) -> Evaluated:
    model = pickle.loads(model_path(folder, evaluation.number).read_bytes())
    X, y = data.test
    model.predict(X[:_FEW_ROWS])  # what is to be compiled, is
    begins()
    began = time.perf_counter()
    model.predict(X)
    seconds = (time.perf_counter() - began) / max(len(y), 1)
    vectors, size = _size(model)
    scores = _scores(model, X, len(data.problem.classes)) - evaluation.threshold
    answers = y, labels_of(scores), scores
    known = {name: score_of(name, *answers) for name in METRICS}
    is_known = data.metric == "accuracy" or np.unique(y, return_counts=True)[1].min() >= MIN_OF_CLASS
    error = standard_error_of(data.metric, *answers) if is_known else None
    return Evaluated(
        evaluation,
        metrics={name: value for name, value in known.items() if not np.isnan(value)},
        spread=np.nan if error is None else error,
        constant=constant_score(data.metric, y, len(data.problem.classes)),
        chance=chance_of(data.metric, *answers, error=error),
        tested=len(y),
        scores=np.clip(scores, -_MAX_SCORE, _MAX_SCORE).astype(np.float32).tobytes(),
        predicted=answers[1].astype(np.int32).tobytes(),
        truth=y.astype(np.int32).tobytes(),
        seconds_per_prediction=seconds,
        vectors=vectors,
        size=size,
    )


def _size(model: Any) -> tuple[int, int]:
    """Return the vectors that a model keeps, and its bytes, all numbers in single precision; sparse ones as pairs."""
    model = model[-1] if hasattr(model, "steps") else model
    if (weights := getattr(model, "coef_", None)) is not None and getattr(model, "kernel", "linear") == "linear":
        return 0, _BYTES_OF_NUMBER * (np.size(weights) + np.size(model.intercept_))
    whole = getattr(model, "model_", model)
    machines = getattr(whole, "machines", whole)  # those of several classes
    if (frequencies := getattr(machines, "frequencies", None)) is not None:
        return 0, _BYTES_OF_NUMBER * (frequencies.size + machines.weights.size)
    if (trees := getattr(model, "_predictors", None)) is not None:
        leaves = np.concatenate([tree.nodes["is_leaf"] for of_step in trees for tree in of_step])
        return 0, int(np.where(leaves, _BYTES_OF_NUMBER, _BYTES_OF_SPLIT).sum())
    if hasattr(model, "class_prior_"):  # a constant
        return 0, 0
    vectors = model.support_vectors_
    numbers = vectors.size if isinstance(vectors, np.ndarray) else 2 * vectors.nnz + vectors.shape[0]
    coefficients = model.dual_coef_
    dense = coefficients.toarray() if hasattr(coefficients, "toarray") else coefficients
    numbers += int(np.count_nonzero(dense)) + np.size(model.intercept_)
    return vectors.shape[0], _BYTES_OF_NUMBER * int(numbers)
