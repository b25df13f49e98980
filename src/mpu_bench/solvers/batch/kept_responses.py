"""What the two solvers that draw examples uniformly share: they keep the responses of all examples to the model.

    J(w) = 1/2 ||w||^2 + C sum_i max(0, 1 - c_i),    c_i = y_i w.Phi(x_i),   w = sum_i alpha_i y_i Phi(x_i)

with C = 1 / (lambda n). An iteration draws an example uniformly and looks at its response, which costs nothing; where
it changes alpha_i, it adds a row of the kernel matrix to all responses.

Counted: an iteration is one example presented, of which n make an epoch; one that changes its alpha_i is a step and an
update and asks for n kernel values. To charge n for every iteration, take n times the examples seen.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from annotated_types import Ge, Gt
from numpy.typing import NDArray

from mpu_bench.core.counters import PRESENTED, STEPS, UPDATES, new_counters
from mpu_bench.core.jit import jit
from mpu_bench.core.models import KernelModel
from mpu_bench.core.problem import Problem
from mpu_bench.core.rng import rng
from mpu_bench.core.solver import Measures, Optimum, Solver, Status, Until
from mpu_bench.kernels import Kernel
from mpu_bench.kernels import matrix as kernel_matrix
from mpu_bench.kernels.matrix import Gram, row_slot
from mpu_bench.kernels.precision import Precision, precision_of_rows
from mpu_bench.solvers.batch.regularization import kernel_optimum, weight_of_losses
from mpu_bench.solvers.certificates import L1_SVM, per_example
from mpu_bench.solvers.expansions import Kept, evaluate_expansion


class Work(NamedTuple):
    """What the iterations work on; n examples. Pegasos keeps lambda t times alpha and c."""

    signs: NDArray[np.float64]  #: y (n,)
    alphas: NDArray[np.float64]  #: (n,)
    responses: NDArray[np.float64]  #: c (n,)
    generator: NDArray[np.uint64]


class State(NamedTuple):
    """What the algorithm works on."""

    problem: Problem
    gram: Gram
    work: Work
    counters: NDArray[np.int64]


@dataclass(frozen=True)
class KeptResponses(Solver):
    """A solver that draws examples uniformly.

    Attributes
    ----------
    regularization : float
        lambda, the weight of the squared norm against the mean loss; C = 1 / (lambda n).
    passes : int
        The number of iterations, in n.
    """

    kernels: ClassVar = "any"
    rounding: ClassVar = {"objective": 1e-6}  # responses are sums of single precision numbers
    ends: ClassVar = True
    objective: ClassVar = L1_SVM

    regularization: Annotated[float, Gt(0)]
    passes: Annotated[int, Ge(1)] = 10

    @classmethod
    def optimum_solver(cls, parameters: Mapping[str, Any], linear: bool) -> Optimum:  # noqa: ARG003
        """Return sequential minimal optimization of the same problem."""
        return kernel_optimum(parameters, bias=False)

    def weight(self, n: int) -> float:
        """Return C for n examples."""
        return weight_of_losses(self.regularization, n)

    def shares_kernel_rows(self, problem: Problem, kernel: Kernel) -> bool:
        """Return whether single precision is enough."""
        return self._precision(problem, kernel) == "single"

    def _precision(self, problem: Problem, kernel: Kernel) -> Precision:
        return precision_of_rows(problem, kernel, float(np.max(per_example(self.weight(problem.n), problem))))

    def start(self, problem: Problem, kernel: Kernel, seed: int) -> State:
        """Start at w = 0."""
        self.check(problem, kernel)
        precision = self._precision(problem, kernel)
        gram = kernel_matrix.build(problem.train, problem.features, kernel, precision=precision)
        alphas, responses = np.zeros(problem.n), np.zeros(problem.n)
        work = Work(problem.signs(), alphas, responses, rng(seed, self.name))
        return State(problem, gram, work, new_counters())

    def advance(self, state: State, until: Until) -> Status:
        """Go on for further iterations."""
        self._iterate(state, until._replace(presented=min(until.presented, self.passes * state.problem.n)))
        if not np.isfinite(state.work.responses).all():
            return Status.DIVERGED
        return Status.DONE if self._has_ended(state) else Status.RUNNING

    def _has_ended(self, state: State) -> bool:
        return int(state.counters[PRESENTED]) == self.passes * state.problem.n

    def model(self, state: State) -> KernelModel:
        """Return the last w."""
        coefficients = self._expansion(state)[0]
        return KernelModel.of_support(state.problem.train, coefficients, state.gram.kernel, state.problem.features)

    def measures(self, state: State) -> Measures:
        """Evaluate the objective of the last w; there are no dual variables to certify it."""
        coefficients, kept_responses = self._expansion(state)
        C = per_example(self.weight(state.problem.n), state.problem)
        return evaluate_expansion(state.problem, state.gram.kernel, coefficients, C, kept_responses)

    @abstractmethod
    def _iterate(self, state: State, until: Until) -> None:
        """Draw further examples."""

    def _expansion(self, state: State) -> tuple[NDArray[np.float64], Kept]:
        """Return ``y_i alpha_i``, shape (n,), and f(x_i) as it is kept."""
        scale, work = self._scale(state), state.work
        return work.signs * (work.alphas / scale), Kept(work.signs * (work.responses / scale), state.gram)

    def _scale(self, state: State) -> float:  # noqa: ARG002
        """Return what is kept times alpha and c."""
        return 1.0


@jit
def add_example(gram, work, i, change, counters):
    """Add ``change y_i Phi(x_i)`` to w: ``c_j += change y_i y_j K(x_i, x_j)`` for all j; n kernel evaluations."""
    signs, responses = work.signs, work.responses
    row = gram.kept[row_slot(gram, i, counters)]
    signed = change * signs[i]
    for j in range(len(responses)):
        responses[j] += signed * signs[j] * np.float64(row[j])
    counters[STEPS] += 1
    counters[UPDATES] += 1
