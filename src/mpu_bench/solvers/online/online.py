"""What the online solvers have in common: predict, then learn, one example after the other, pass after pass."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge

from mpu_bench.core.counters import KERNEL_EVALUATIONS, PRESENTED
from mpu_bench.core.jit import jit
from mpu_bench.core.prefetch import prefetch
from mpu_bench.core.rows import prefetch_row
from mpu_bench.core.solver import Allowance, Measures, Solver, Status
from mpu_bench.core.stream import Chunk
from mpu_bench.core.vectors import score

__all__ = ["OnlineSolver", "all_finite", "best_wrong", "expect", "margin", "score"]

_AHEAD = 8  # examples


@dataclass(frozen=True)
class OnlineSolver(Solver):
    """An online solver; its state has fields ``stream`` (`Stream`), ``counters`` and ``errors`` (1,) int64."""

    kernels: ClassVar = "any"
    classes: ClassVar = "any"
    online: ClassVar = True

    passes: Annotated[int, Ge(1)] = 1

    def advance(self, state: Any, allowance: Allowance) -> Status:
        """Present further examples."""
        counters, total = state.counters, self.passes * state.stream.length
        last = min(int(counters[PRESENTED]) + allowance.presented, total)
        most = int(counters[KERNEL_EVALUATIONS]) + allowance.kernel_evaluations
        while counters[PRESENTED] < last and counters[KERNEL_EVALUATIONS] < most and not self.ended(state):
            presented = int(counters[PRESENTED])
            chunk, position = state.stream.at(presented)
            stop = min(len(chunk.order), position + last - presented)
            self.present(state, chunk, position, stop, most)
        return Status.DONE if counters[PRESENTED] == total or self.ended(state) else Status.RUNNING

    def ended(self, state: Any) -> bool:  # noqa: ARG002
        """Tell whether the run ends before all examples have been presented."""
        return False

    @abstractmethod
    def present(self, state: Any, chunk: Chunk, position: int, stop: int, most: int) -> None:
        """Present the examples ``chunk.order[position:stop]``, or fewer.

        Parameters
        ----------
        state : as `start` made it
        chunk : Chunk
        position, stop : int
        most : int
            Presents none once so many kernel evaluations have been asked for. Whoever needs more room for vectors
            makes it here and may stop earlier.
        """

    def measures(self, state: Any) -> Measures:
        """Give the wrong predictions / examples presented."""
        presented = int(state.counters[PRESENTED])
        return Measures(online_error=int(state.errors[0]) / presented if presented else None)


@jit(forceinline=True)
def expect(chunk, place):
    """Name the example that is presented a few places later: in random order each one misses the nearest caches."""
    soon = chunk.order[min(place + _AHEAD, len(chunk.order) - 1)]
    prefetch_row(chunk.rows, soon)
    prefetch(chunk.labels, soon)


@jit
def all_finite(scores):
    """Tell whether all scores are numbers."""
    finite = True
    for c in range(len(scores)):
        finite &= np.isfinite(scores[c])
    return finite


@jit(forceinline=True)
def best_wrong(scores, label):
    """Choose the wrong class with the highest score, the lowest one on ties; with one score for two classes, 0."""
    if len(scores) == 1:
        return 0
    rival = 1 if label == 0 else 0
    for c in range(len(scores)):
        if c != label and scores[c] > scores[rival]:
            rival = c
    return rival


@jit(forceinline=True)
def margin(scores, label, rival):
    """Compute y f(x), or f_y(x) - f_r(x) for the best wrong class r."""
    if len(scores) == 1:
        return scores[0] if label == 1 else -scores[0]
    return scores[label] - scores[rival]
