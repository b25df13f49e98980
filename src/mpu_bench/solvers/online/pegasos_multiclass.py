"""Multi-class Pegasos with a kernel and without a budget.

The algorithm of `bpegasos` (Wang, Crammer, Vucetic: "Multi-Class Pegasos on a Budget", ICML 2010, Algorithm 1) that
never lets a vector go. Every example with a loss is stored, so that time grows with the square of the stream: the
paper stopped it after 3,000 seconds. It ends here by the config's ``stop: {seconds: ...}``, or once it has stored
``vectors_at_most`` vectors.

Counted: |S| kernel evaluations per example scored; a step with a loss is one step and one update.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import Ge, Gt

from mpu_bench.core.counters import new_counters
from mpu_bench.core.models import KernelModel
from mpu_bench.core.problem import Problem
from mpu_bench.core.solver import Until
from mpu_bench.core.stream import Chunk, Stream
from mpu_bench.kernels import Kernel
from mpu_bench.kernels.precision import Precision, precision_for
from mpu_bench.solvers.online.bpegasos import State, model_of, present
from mpu_bench.solvers.online.expansion import new_expansion
from mpu_bench.solvers.online.maintenance import Unlimited
from mpu_bench.solvers.online.online import OnlineSolver

_FIRST_CAPACITY = 64  # vectors
_ALL = 1 << 32  # vectors: no more examples than this have a number


@dataclass(frozen=True)
class PegasosMulticlass(OnlineSolver):
    """Multi-class Pegasos with a kernel.

    Attributes
    ----------
    regularization : float
        lambda.
    vectors_at_most : int, optional
        Ends the run once so many vectors are stored.
    average : bool
        The model is the average of the hypotheses after every step in place of the last.
    passes : int
        How often every example is presented; where it has a loss again it is stored again.
    precision : {"single", "double"}
        Of kernel values; coefficients are in double.
    """

    name = "pegasos-multiclass"
    paper = "bpegasos-2010"

    regularization: Annotated[float, Gt(0)] = 1e-4
    vectors_at_most: Annotated[int, Ge(1)] = _ALL
    average: bool = False
    precision: Precision = "single"

    def start(self, problem: Problem, kernel: Kernel, seed: int) -> State:
        """Start with w = 0."""
        self.check(problem, kernel)
        precision = precision_for(problem, kernel, self.precision)
        w = new_expansion(len(problem.classes), problem.features, _FIRST_CAPACITY, precision, self.average)
        stream, errors = Stream(problem, seed), np.zeros(1, np.int64)
        return State(stream, kernel, w, Unlimited(), self.regularization, self.vectors_at_most, errors, new_counters())

    def ended(self, state: State) -> bool:
        """Return whether there are as many vectors as there may be."""
        return bool(state.w.vectors.size[0] >= self.vectors_at_most)

    def present(self, state: State, chunk: Chunk, position: int, until: Until) -> None:
        """Take the steps of Algorithm 1."""
        present(state, chunk, position, until)

    def model(self, state: State) -> KernelModel:
        """Return the last hypothesis, or the average."""
        return model_of(state)
