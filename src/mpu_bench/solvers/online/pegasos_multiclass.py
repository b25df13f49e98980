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
from mpu_bench.core.problem import Problem
from mpu_bench.core.stream import Stream
from mpu_bench.kernels import Kernel
from mpu_bench.kernels.precision import Precision, precision_for
from mpu_bench.solvers.online.bpegasos import NO_LIMIT, Pegasos, State
from mpu_bench.solvers.online.expansion import new_expansion
from mpu_bench.solvers.online.leaving import SMALLEST, new_leaving

_FIRST_CAPACITY = 64  # vectors
_ALL = 1 << 32  # vectors: no more examples than this have a number


@dataclass(frozen=True)
class PegasosMulticlass(Pegasos):
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
        w = new_expansion(problem, _FIRST_CAPACITY, precision, self.average)
        limits = self.regularization, NO_LIMIT, self.vectors_at_most
        nobody, errors = new_leaving(SMALLEST, 0, precision), np.zeros(1, np.int64)  # as the budget is never full
        return State(Stream(problem, seed), kernel, w, nobody, *limits, errors, new_counters())

    def ended(self, state: State) -> bool:
        """Return whether there are as many vectors as there may be."""
        return bool(state.hypothesis.vectors.size[0] >= self.vectors_at_most)
