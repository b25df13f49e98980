"""The child process of a selection: it trains and evaluates what it is asked to, one after the other."""

from __future__ import annotations

import pickle
import signal
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from mpu_bench import processes
from mpu_bench.selection.rows import Data, Source, errors
from mpu_bench.selection.schedule import Fit, Fitted
from mpu_bench.texts import plain

_FEW_ROWS = 60  # to compile on
_SECONDS_TO_WARM_UP = 0.2  # for training on them, compiling apart: it need not converge
_SHARE_OF_TRAINING = 0.7  # of the seconds of a fit: the rest is for predicting
_BYTES_OF_NUMBER, _LONGEST_REASON = 4, 200


@dataclass(frozen=True)
class Evaluation:
    """A kept model that is to be asked for the labels of the test rows, within so many seconds."""

    name: str
    number: int
    seconds: float


@dataclass(frozen=True)
class Evaluated:
    """What a model comes to.

    ``error`` and ``balanced_error`` are shares of the test rows, ``right`` one bit for each of them, ``truth`` their
    classes; ``seconds_per_prediction`` is that of many rows at once. ``size`` is in bytes, its numbers in single
    precision.
    """

    evaluation: Evaluation
    error: float = np.nan
    balanced_error: float = np.nan
    tested: int = 0
    right: bytes = b""
    truth: bytes = b""
    seconds_per_prediction: float = np.nan
    vectors: int = 0
    size: int = 0
    reason: str = ""


@dataclass(frozen=True)
class Ready:
    """Told before what was asked begins: all is imported, loaded and compiled, the last in so many seconds."""

    compiled: float = 0.0


Asked = Fit | Evaluation
Answer = Fitted | Evaluated


def model_path(folder: Path, number: int) -> Path:
    """Return where a model is kept between two requests; only this selection reads it."""
    return folder / f"{number}.model"


def serve(connection: Connection, source: Source, folder: Path, parent: int) -> None:
    """Answer what comes over a connection until it is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # that of Ctrl-C is for the command
    processes.die_with_parent(signal.SIGKILL, parent)
    warnings.simplefilter("ignore")
    data, warm = source.load(), set[str]()
    while True:
        try:
            asked: Asked = connection.recv()
        except (EOFError, OSError):
            return
        connection.send(answer(asked, data, folder, warm, connection.send))


def answer(asked: Asked, data: Data, folder: Path, warm: set[str], tell: Callable[[Ready], None]) -> Answer:
    """Do what is asked; whatever is raised becomes the reason why there is no result."""
    try:
        if isinstance(asked, Fit):
            tell(Ready(_compiled(asked, data, warm)))
            return _fit(asked, data, folder)
        return _evaluate(asked, data, folder, tell)
    except MemoryError:
        reason = "needs more memory than there is"
    except Exception as fault:
        reason = plain(f"{type(fault).__name__}: {fault}", _LONGEST_REASON)
    return Fitted(asked, reason=reason) if isinstance(asked, Fit) else Evaluated(asked, reason=reason)


def _compiled(fit: Fit, data: Data, warm: set[str]) -> float:
    """Let what a fit needs be compiled, or loaded, on a few rows, if it is not; return the seconds of compiling."""
    before = _seconds_of_compiler()
    if fit.candidate.classifier not in warm:
        made = fit.candidate.made(fit.setting, data.seed, _SECONDS_TO_WARM_UP)
        if fit.candidate.is_own:  # peers have nothing to compile, and no end that could be set
            few = data.training(max(_FEW_ROWS, 2 * len(data.problem.classes)))
            made.fit(*few).predict(few[0])
        warm.add(fit.candidate.classifier)
    return _seconds_of_compiler() - before


def _seconds_of_compiler() -> float:
    from mpu_bench.core.clock import COMPILER

    return COMPILER.seconds


def _fit(fit: Fit, data: Data, folder: Path) -> Fitted:
    made = fit.candidate.made(fit.setting, data.seed, fit.seconds * _SHARE_OF_TRAINING)
    X, y = data.training(fit.rows)
    began = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made.fit(X, y)
    seconds = time.perf_counter() - began
    is_cut = any("max_seconds" in str(each.message) for each in caught)
    if fit.rows > data.learned_from:  # nothing is left to choose by
        error = np.nan
    else:
        validation, labels = data.validation
        error = errors(labels, made.predict(validation), len(data.problem.classes))[data.is_rare]
    spent = time.perf_counter() - began
    model_path(folder, fit.number).write_bytes(pickle.dumps(made))
    return Fitted(fit, error, seconds, spent, is_cut=is_cut)


def _evaluate(evaluation: Evaluation, data: Data, folder: Path, tell: Callable[[Ready], None]) -> Evaluated:
    model = pickle.loads(model_path(folder, evaluation.number).read_bytes())
    X, y = data.test
    before = _seconds_of_compiler()
    model.predict(X[:_FEW_ROWS])  # what is to be compiled, is
    tell(Ready(_seconds_of_compiler() - before))
    began = time.perf_counter()
    predicted = model.predict(X)
    seconds = (time.perf_counter() - began) / max(len(y), 1)
    error, balanced = errors(y, predicted, len(data.problem.classes))
    vectors, size = _size(model)
    right, truth = np.packbits(predicted == y).tobytes(), y.astype(np.uint16).tobytes()
    return Evaluated(evaluation, error, balanced, len(y), right, truth, seconds, vectors, size)


def _size(model: Any) -> tuple[int, int]:
    """Return the vectors that a model keeps, and its bytes, all numbers in single precision; sparse ones as pairs."""
    if (weights := getattr(model, "coef_", None)) is not None and getattr(model, "kernel", "linear") == "linear":
        return 0, _BYTES_OF_NUMBER * (np.size(weights) + np.size(model.intercept_))
    if (frequencies := getattr(getattr(model, "model_", None), "frequencies", None)) is not None:
        return 0, _BYTES_OF_NUMBER * (frequencies.size + model.model_.weights.size)
    if not hasattr(model, "support_vectors_"):  # several machines of random features
        machines = model.model_.machines
        return 0, _BYTES_OF_NUMBER * (machines.frequencies.size + machines.weights.size)
    vectors = model.support_vectors_
    numbers = vectors.size if isinstance(vectors, np.ndarray) else 2 * vectors.nnz + vectors.shape[0]
    coefficients = model.dual_coef_
    dense = coefficients.toarray() if hasattr(coefficients, "toarray") else coefficients
    numbers += int(np.count_nonzero(dense)) + np.size(model.intercept_)
    return vectors.shape[0], _BYTES_OF_NUMBER * int(numbers)
