"""What a solver answers, looked at before it is believed: a solver of a user's own may answer anything.

What is none of what `Solver` and `Model` ask for is a `SolverError` that names the method. Numbers that are not finite
are no error: a run whose model or objective is not finite has diverged.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpu_bench.core import counters
from mpu_bench.core.models import Model, ScoredModel, all_finite, labels_of
from mpu_bench.core.problem import Problem
from mpu_bench.core.rows import Rows, count
from mpu_bench.core.solver import Measures, Solver, Status, Until
from mpu_bench.core.validation import check_model, score_counts, shown
from mpu_bench.errors import SolverError
from mpu_bench.quantities import CHECKPOINT_COLUMNS
from mpu_bench.texts import plain

_LARGEST_COUNT = 2**63 - 1
_OWN = tuple(name for name in Measures._fields if name != "others")


def advance(solver: Solver, state: Any, until: Until) -> Status:
    """Advance a solver, and return how that ended.

    Raises
    ------
    SolverError
        If it returns no `Status`.
    """
    status: object = solver.advance(state, until)
    if not isinstance(status, Status):
        raise SolverError(f"{solver.name}: advance() returns {shown(status)}; it must return a Status such as RUNNING")
    return status


def counts(solver: Solver, state: Any, before: Sequence[int] = (0,) * len(counters.NAMES)) -> tuple[int, ...]:
    """Return the counters of a state.

    Parameters
    ----------
    solver : Solver
    state : object
    before : sequence of int
        What they were: none may fall.

    Raises
    ------
    SolverError
        If they are missing, of another type or shape, negative or smaller than before.
    """
    returned: object = getattr(state, "counters", None)
    if not isinstance(returned, np.ndarray) or returned.shape != (len(counters.NAMES),) or returned.dtype != np.int64:
        raise SolverError(
            f"{solver.name}: the state's counters are {shown(returned)}; they must be an array of "
            f"{len(counters.NAMES)} int64, as new_counters() of mpu_bench.solver makes it"
        )
    now: tuple[int, ...] = tuple(returned.tolist())
    for name, number, last in zip(counters.NAMES, now, before, strict=True):
        if number < last:
            raise SolverError(f"{solver.name}: the counter '{name}' is {number:,} after {last:,}; it must not fall")
    return now


def measures(solver: Solver, state: Any) -> Measures:
    """Return what a solver certifies of a state, as floats, which need not be finite; None where it does not.

    Raises
    ------
    SolverError
        If it is no `Measures`, holds what is no number, or names a quantity that is not declared.
    """
    returned: object = solver.measures(state)
    if not isinstance(returned, Measures):
        raise SolverError(
            f"{solver.name}: measures() returns {shown(returned)}; it must return Measures of mpu_bench.solver"
        )
    numbers = {}
    for name, value in returned.by_name().items():
        numbers[name] = _number(value)
        if numbers[name] is None and value is not None:
            raise SolverError(f"{solver.name}: measures() gives {name} {shown(value)}, which is not a number")
        if name not in CHECKPOINT_COLUMNS:
            raise SolverError(
                f"{solver.name}: measures() gives {shown(name)}, which is no quantity of a curve that "
                "mpu_bench.quantities.Record declares"
            )
    return Measures(**{name: numbers.pop(name) for name in _OWN}, others=numbers or None)


def note(solver: Solver, state: Any) -> str:
    """Return a solver's remark on a state, as text that can be printed and kept.

    Raises
    ------
    SolverError
        If it is no text.
    """
    returned: object = solver.note(state)
    if not isinstance(returned, str):
        raise SolverError(f"{solver.name}: note() returns {shown(returned)}; it must return text")
    return plain(returned)


def model(solver: Solver, state: Any, problem: Problem | None = None) -> Model:
    """Return the present hypothesis of a solver.

    Parameters
    ----------
    solver : Solver
    state : object
    problem : Problem, optional
        What it was trained on: the arrays of the project's own models must fit it, as compiled code that evaluates
        them looks at no bounds.

    Raises
    ------
    SolverError
        If it is no `Model`, or an array of it has another type or shape than the problem asks for.
    """
    returned: Any = solver.model(state)
    if problem is not None:  # before a property of the model works with them
        try:
            check_model(returned, problem.features, len(problem.classes), "model().")
        except ValueError as error:
            raise SolverError(f"{solver.name}: {error}") from None
    missing = [name for name in ("linear", "support_vectors", "scores", "labels") if not hasattr(returned, name)]
    if missing:
        raise SolverError(
            f"{solver.name}: model() returns {shown(returned)}, without {missing[0]}; return a model, such as "
            "LinearModel or KernelModel of mpu_bench.solver"
        )
    return returned  # type: ignore[no-any-return]


def vectors(solver: Solver, hypothesis: Model) -> int | None:
    """Return how many vectors a model keeps; None of a linear one.

    Raises
    ------
    SolverError
        If its number of vectors is none.
    """
    number = _number(hypothesis.support_vectors)
    if number is None or not 0 <= number <= _LARGEST_COUNT or number != int(number):
        raise SolverError(
            f"{solver.name}: model().support_vectors is {shown(hypothesis.support_vectors)}; it must be a count"
        )
    return None if hypothesis.linear else int(number)


def is_finite(hypothesis: Model) -> bool:
    """Return whether the numbers of a model are finite; of a foreign one only its scores tell."""
    return not isinstance(hypothesis, ScoredModel) or hypothesis.finite


def predict(solver: Solver, hypothesis: Model, rows: Rows, classes: int) -> NDArray[np.int32] | None:
    """Return the class that a model predicts for every row, shape (n,); None if a score is not finite.

    Parameters
    ----------
    solver : Solver
        Whose model it is.
    hypothesis : Model
    rows : Rows
        n of them.
    classes : int
        Predictions are 0..classes - 1.

    Raises
    ------
    SolverError
        If scores or predictions are not of that number or kind.
    """
    n = int(count(rows))
    scores = np.asarray(hypothesis.scores(rows))
    if scores.ndim not in (1, 2) or len(scores) != n or scores.dtype.kind not in "fiu":
        raise SolverError(f"{solver.name}: model().scores() returns {shown(scores)}; it must return {n} rows of float")
    if scores.ndim == 2 and scores.shape[1] not in score_counts(classes):
        raise SolverError(
            f"{solver.name}: model().scores() returns {shown(scores)}; it must return an array of float64, shape "
            f"({n}, {score_counts(classes)[0]}), for {classes} classes"
        )
    if not all_finite(scores):
        return None
    # asked once where one follows from the other
    follows = getattr(type(hypothesis), "labels", None) is ScoredModel.labels and scores.ndim == 2
    labels = labels_of(scores) if follows else np.asarray(hypothesis.labels(rows))
    if labels.shape != (n,) or labels.dtype.kind not in "iu":
        raise SolverError(f"{solver.name}: model().labels() returns {shown(labels)}; it must return {n} integers")
    if n and not 0 <= labels.min() <= labels.max() < classes:
        outside = labels.min() if labels.min() < 0 else labels.max()
        raise SolverError(
            f"{solver.name}: model().labels() predicts class {outside}; there are {classes}, counted from 0"
        )
    return labels.astype(np.int32, copy=False)


def _number(value: Any) -> float | None:
    """Return a value as a float; None if it is no number."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    is_number = isinstance(value, int | float | np.integer | np.floating | Decimal | Fraction)
    if not is_number or isinstance(value, bool):
        return None
    try:
        return float(value)
    except (OverflowError, ValueError):  # an integer of 400 digits; a NaN of Decimal that signals
        return math.inf if value > 0 else -math.inf if value < 0 else math.nan
