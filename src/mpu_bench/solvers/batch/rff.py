"""Random Fourier features of the Gaussian kernel, and the linear L1-SVM on them.

    K(a, b) = exp(-gamma ||a - b||^2)  is about  P(a).P(b),    P(x) = 1/sqrt(k) (cos v_1.x, sin v_1.x, ..., sin v_k.x)

Rahimi, Recht: "Random features for large-scale kernel machines", NIPS 2007, as it is compared with in Cotter,
Shalev-Shwartz, Srebro: "The Kernelized Stochastic Batch Perceptron", ICML 2012, appendix A: k frequencies v, normal
with variance 2 gamma = 1 / sigma^2 in each coordinate, make 2k features, and the linear problem

    min_w  J(w) = 1/2 ||w||^2 + C sum_i max(0, 1 - y_i w.P(x_i)),     C = 1 / (lambda n)

is solved by dual coordinate descent (solvers/linear/dcd.py), which presents the examples.

Counted: the k n inner products of d dimensions that make the features; what the linear problem costs is left out, as in
the paper's Figure 3. The features, single precision, take 8 k n bytes, and the frequencies 8 k d, on sparse
rows twice: for columns by the million take few pairs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
from annotated_types import Ge, Gt
from numpy.typing import NDArray

from mpu_bench.core.counters import INNER_PRODUCTS, PRESENTED, STEPS, UPDATES, new_counters
from mpu_bench.core.models import FourierModel, fourier_features
from mpu_bench.core.problem import Problem
from mpu_bench.core.rows import Dense, Rows
from mpu_bench.core.solver import Measures, Solver, Status, Until
from mpu_bench.kernels import Gaussian, Kernel, Linear
from mpu_bench.solvers.batch.regularization import weight_of_losses
from mpu_bench.solvers.certificates import L1_SVM, kernel_primal, rounding
from mpu_bench.solvers.linear import dcd

_ROUNDING = float(np.finfo(np.float32).eps)  # of features in single precision, relative to their length


class State(NamedTuple):
    """What the algorithm works on; n examples of d features."""

    rows: Rows
    frequencies: NDArray[np.float64]  #: v (k, d)
    linear: dcd.State
    counters: NDArray[np.int64]


@dataclass(frozen=True)
class RFF(Solver):
    """Random Fourier features with dual coordinate descent.

    Attributes
    ----------
    regularization : float
        lambda, the weight of the squared norm against the mean loss; C = 1 / (lambda n).
    pairs : int
        k, the number of frequencies; each gives two features.
    tolerance : float
        Where dual coordinate descent stops.
    """

    name = "rff"
    version = 2
    paper = "sbp-2012"
    kernels: ClassVar = "gaussian"
    weighted: ClassVar = True
    ends: ClassVar = True
    objective: ClassVar = f"{L1_SVM}, random features"

    regularization: Annotated[float, Gt(0)]
    pairs: Annotated[int, Ge(1)] = 1024
    tolerance: Annotated[float, Gt(0)] = 0.01

    def start(self, problem: Problem, kernel: Kernel, seed: int) -> State:
        """Draw the frequencies, make the features of all training examples, and start at alpha = 0."""
        self.check(problem, kernel)
        assert isinstance(kernel, Gaussian)
        n, counters = problem.n, new_counters()
        random = np.random.Generator(np.random.PCG64([seed, *self.name.encode()]))
        frequencies = random.normal(scale=np.sqrt(2.0 * kernel.gamma), size=(self.pairs, problem.features))
        parts = [part.astype(np.float32) for part in fourier_features(problem.train, frequencies)]
        counters[INNER_PRODUCTS] = self.pairs * n
        lifted = replace(problem, train=Dense(np.concatenate(parts)), features=2 * self.pairs)
        return State(problem.train, frequencies, self._linear(n).start(lifted, Linear(), seed), counters)

    def advance(self, state: State, until: Until) -> Status:
        """Present further examples to the linear solver."""
        status = self._linear(len(state.linear.signs)).advance(state.linear, until)
        same = [PRESENTED, STEPS, UPDATES]
        state.counters[same] = state.linear.counters[same]
        return status

    def model(self, state: State) -> FourierModel:
        """Return w with the frequencies of its features."""
        return FourierModel(state.linear.weights[np.newaxis].copy(), state.frequencies.copy())

    def measures(self, state: State) -> Measures:
        """Certify w on the features of the model, which are in double precision; those it is found with are not.

        The features of the model are made again at the end alone: before, what rounding them may change is added.
        """
        linear = state.linear
        norm = float(np.linalg.norm(linear.weights))
        sum_of_C = float(np.broadcast_to(linear.C, linear.signs.shape).sum())
        if linear.progress[0].status == Status.RUNNING:
            measures = self._linear(len(linear.signs)).measures(linear)
            if measures.objective is None or measures.dual_objective is None:
                return measures
            off = _ROUNDING * sum_of_C  # sum_i alpha_i y_i P(x_i) is off by no more, as ||P(x)|| is 1
            return Measures.certified(
                measures.objective, measures.dual_objective, off * (1.0 + norm + off), margin=measures.margin
            )
        responses, combined, begin = np.empty(len(linear.signs)), np.zeros_like(linear.weights), 0
        for features in fourier_features(state.rows, state.frequencies):
            part = slice(begin, begin := begin + len(features))
            responses[part] = linear.signs[part] * (features @ linear.weights)
            combined += (linear.alphas[part] * linear.signs[part]) @ features
        losses = np.maximum(0.0, 1.0 - responses)
        return Measures.certified(
            kernel_primal(norm * norm, losses, linear.C),
            float(linear.alphas.sum() - combined @ combined / 2),
            rounding(len(losses) + len(combined), sum_of_C * (1.0 + norm)),
            margin=float(responses.min()) / norm if norm > 0 else None,
        )

    def note(self, state: State) -> str:
        """Return what the linear solver notes."""
        return self._linear(len(state.linear.signs)).note(state.linear)

    def _linear(self, n: int) -> dcd.DCD:
        return dcd.DCD(C=weight_of_losses(self.regularization, n), tolerance=self.tolerance)
