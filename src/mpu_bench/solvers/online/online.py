"""What the online solvers have in common: predict, then learn, one example after the other, pass after pass."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge
from numpy.typing import NDArray

from mpu_bench.core.counters import PRESENTED, reached
from mpu_bench.core.kernels import Kernel
from mpu_bench.core.models import KernelModel
from mpu_bench.core.solver import Measures, Solver, Status, Until
from mpu_bench.core.stream import Chunk, Stream
from mpu_bench.solvers.online.hypothesis import Hypothesis, model_of, refuse_overflow


@dataclass
class State:
    """What an online solver works on."""

    stream: Stream
    kernel: Kernel
    hypothesis: Hypothesis
    errors: NDArray[np.int64]  #: (1,)
    counters: NDArray[np.int64]


@dataclass(frozen=True)
class OnlineSolver(Solver):
    """An online solver; it works on a `State`."""

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
            self.present_next(state, until)
        return Status.DONE if counters[PRESENTED] == total or self.ended(state) else Status.RUNNING

    def present_next(self, state: Any, until: Until) -> None:
        """Present some of the examples that come next.

        Raises
        ------
        DataError
            If a score is not finite.
        """
        chunk, position = state.stream.at(int(state.counters[PRESENTED]))
        self.present(state, chunk, position, until)
        refuse_overflow(state.hypothesis.scores, state.kernel)

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

    def model(self, state: Any) -> KernelModel:
        """Return the expansion over the stored vectors."""
        return model_of(state.hypothesis, state.kernel)

    def measures(self, state: Any) -> Measures:
        """Return the wrong predictions / examples presented."""
        presented = int(state.counters[PRESENTED])
        return Measures(online_error=int(state.errors[0]) / presented if presented else None)
