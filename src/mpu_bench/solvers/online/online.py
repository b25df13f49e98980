"""What the online solvers have in common: predict, then learn, one example after the other, pass after pass."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge
from numpy.typing import NDArray

from mpu_bench.core.counters import PRESENTED, reached
from mpu_bench.core.jit import jit
from mpu_bench.core.prefetch import prefetch
from mpu_bench.core.problem import Problem
from mpu_bench.core.rows import prefetch_row
from mpu_bench.core.solver import Measures, Solver, Status, Until
from mpu_bench.core.stream import Chunk
from mpu_bench.core.vectors import enlarged, grown, quantum_of
from mpu_bench.errors import DataError
from mpu_bench.kernels import Kernel

_PREFETCH_DISTANCE = 8  # examples


@dataclass(frozen=True)
class OnlineSolver(Solver):
    """An online solver; its state has fields ``stream`` (`Stream`), ``counters`` and ``errors`` (1,) int64."""

    kernels: ClassVar = "any"
    classes: ClassVar = "any"
    online: ClassVar = True
    ends: ClassVar = True

    passes: Annotated[int, Ge(1)] = 1

    def advance(self, state: Any, until: Until) -> Status:
        """Present further examples."""
        counters, total = state.counters, self.passes * state.stream.length
        until = Until(min(until.presented, total), until.kernel_evaluations)
        while not reached(counters, until) and not self.ended(state):
            chunk, position = state.stream.at(int(counters[PRESENTED]))
            self.present(state, chunk, position, until)
        return Status.DONE if counters[PRESENTED] == total or self.ended(state) else Status.RUNNING

    def ended(self, state: Any) -> bool:  # noqa: ARG002
        """Return whether the run ends before all examples have been presented."""
        return False

    @abstractmethod
    def present(self, state: Any, chunk: Chunk, position: int, until: Until) -> None:
        """Present the examples ``chunk.order[position:]``, or fewer.

        Parameters
        ----------
        state : as `start` made it
        chunk : Chunk
        position : int
        until : Until
            Where to stop. Whoever needs more slots for vectors adds them here and may return earlier.
        """

    def measures(self, state: Any) -> Measures:
        """Return the wrong predictions / examples presented."""
        presented = int(state.counters[PRESENTED])
        return Measures(online_error=int(state.errors[0]) / presented if presented else None)


def functions_for(classes: int) -> int:
    """Return how many functions separate so many classes: one separates two, else there is one per class."""
    return 1 if classes == 2 else classes


def common_quantum(problem: Problem) -> float:
    """Return the quantum of all training rows (`quantum_of`), 0 where there is none or where they are not all there."""
    return quantum_of(problem.train) if problem.blocks == 1 else 0.0


def with_doubled_capacity(hypothesis: Any, *names: str) -> Any:
    """Return a hypothesis with twice as many slots for vectors, along the last axis of the arrays named, too."""
    vectors = enlarged(hypothesis.vectors, 2 * len(hypothesis.vectors.squared_norms))
    arrays = {name: getattr(hypothesis, name) for name in names}
    larger = {name: grown(array, *array.shape[:-1], 2 * array.shape[-1]) for name, array in arrays.items()}
    return hypothesis._replace(vectors=vectors, **larger)


def refuse_overflow(scores: NDArray[np.float64], kernel: Kernel) -> None:
    """Refuse scores that are not finite.

    Raises
    ------
    DataError
        Naming the kernel.
    """
    if not np.isfinite(scores).all():
        raise DataError(
            f"a score is not finite: values of the kernel {kernel} are too large for the precision of kernel values;"
            " scale the features down or take normalize: true"
        )


@jit(inline="always")
def prefetch_example(chunk, position):
    """Prefetch the example that is presented a few positions later: in random order each misses the nearest caches."""
    soon = chunk.order[min(position + _PREFETCH_DISTANCE, len(chunk.order) - 1)]
    prefetch_row(chunk.rows, soon)
    prefetch(chunk.labels, soon)


@jit
def all_finite(scores):
    """Return whether all scores are numbers."""
    finite = True
    for c in range(len(scores)):
        finite &= np.isfinite(scores[c])
    return finite


@jit
def sign_for(c, label, scores):
    """Return y = +-1 of an example for the c-th function: whether it is of its class, for two classes the second."""
    return 1.0 if label == (1 if len(scores) == 1 else c) else -1.0


@jit(forceinline=True)
def best_wrong(scores, label):
    """Return the wrong class with the highest score, the lowest one on ties; with one score for two classes, 0."""
    if len(scores) == 1:
        return 0
    rival = 1 if label == 0 else 0
    for c in range(len(scores)):
        if c != label and scores[c] > scores[rival]:
            rival = c
    return rival


@jit(forceinline=True)
def margin(scores, label, rival):
    """Return y f(x), or f_y(x) - f_r(x) for the best wrong class r."""
    if len(scores) == 1:
        return scores[0] if label == 1 else -scores[0]
    return scores[label] - scores[rival]
