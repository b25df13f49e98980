"""FOGD: online gradient descent on random Fourier features of the Gaussian kernel.

    f(x) = w.z(x),   z(x) = (cos u_1.x, ..., cos u_D.x, sin u_1.x, ..., sin u_D.x)

Lu, Hoi, Wang, Zhao, Liu: "Large Scale Online Kernel Learning", JMLR 17(47), 2016: D frequencies u, normal with
variance 2 gamma in each coordinate, are drawn once; z(a).z(b) / D is about exp(-gamma ||a - b||^2). An example (x, y)
with y f(x) < 1 changes w by eta y z(x), eta the same throughout. With more than two classes each has its w, and those
of the true class y and the best wrong one, r, change where f_y - f_r < 1.

Frequencies are drawn feature by feature, so that more features leave those of the first as they are. Memory is
D (d + 2 c) numbers, however many examples come: for columns by the million take few frequencies.

Counted: D inner products per example presented; a change of f is one step and one update.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from annotated_types import Ge, Gt
from numpy.typing import NDArray

from mpu_bench.core.counters import INNER_PRODUCTS, STEPS, UPDATES, new_counters, reached
from mpu_bench.core.jit import jit
from mpu_bench.core.models import FourierModel
from mpu_bench.core.numeric import axpy, dot
from mpu_bench.core.prefetch import prefetch
from mpu_bench.core.problem import Problem
from mpu_bench.core.rows import Rows, nonzeros
from mpu_bench.core.solver import Until
from mpu_bench.core.stream import Chunk, Stream
from mpu_bench.kernels import Gaussian, Kernel
from mpu_bench.kernels.matrix import checked_norms
from mpu_bench.solvers.online.online import OnlineSolver, OnlineState, functions_for, next_example, predict

_COLUMNS_AHEAD = 4  # of the one that is added, whose frequencies are fetched
_NUMBERS_OF_A_LINE = 8  # of a cache


class Functions(NamedTuple):
    """c functions of d features, and scratch."""

    weights: NDArray[np.float64]  #: w (c, 2 D)
    frequencies: NDArray[np.float64]  #: u (d, D), by feature
    scores: NDArray[np.float64]  #: (c,) f_c(x) of the example presented
    features: NDArray[np.float64]  #: (2 D,) its z(x)
    indices: NDArray[np.uint32]  #: (d,) its columns that are not zero
    values: NDArray[np.floating[Any]]  #: (d,) its values there


@dataclass(frozen=True, kw_only=True)
class FOGD(OnlineSolver):
    """FOGD, online gradient descent on random Fourier features.

    Attributes
    ----------
    pairs : int
        D, the number of frequencies; each gives two features.
    rate : float
        eta, the length of a step.
    passes : int
        How often every example is presented, each time in a new random order.
    """

    name = "fogd"
    paper = "lu-2016"
    changes_by_updates: ClassVar = True
    kernels: ClassVar = "gaussian"

    pairs: Annotated[int, Ge(1)] = 400
    rate: Annotated[float, Gt(0)] = 0.01

    def start(self, problem: Problem, kernel: Kernel, seed: int) -> OnlineState:
        """Draw the frequencies, and start with w = 0."""
        self.check(problem, kernel)
        assert isinstance(kernel, Gaussian)
        random = np.random.Generator(np.random.PCG64([seed, *self.name.encode()]))
        frequencies = random.normal(scale=np.sqrt(2.0 * kernel.gamma), size=(problem.features, self.pairs))
        functions, two_D = functions_for(len(problem.classes)), 2 * self.pairs
        f = Functions(
            np.zeros((functions, two_D)), frequencies, np.zeros(functions), np.zeros(two_D),
            np.zeros(problem.features, np.uint32), np.zeros(problem.features),
        )  # fmt: skip
        return OnlineState(Stream(problem, seed), kernel, f, np.zeros(1, np.int64), new_counters())

    def refuse_overflow(self, state: OnlineState, rows: Rows) -> None:
        """Refuse rows whose angles may not be finite."""
        checked_norms(rows, state.kernel, state.hypothesis.scores.dtype)

    def present(self, state: OnlineState, chunk: Chunk, position: int, until: Until) -> None:
        """Predict and learn."""
        _present(state.hypothesis, self.rate, chunk, position, until, state.errors, state.counters)

    def model(self, state: OnlineState) -> FourierModel:  # type: ignore[override]
        """Return w with its frequencies; the features of the model are scaled by 1 / sqrt(D)."""
        f = state.hypothesis
        return FourierModel(f.weights * np.sqrt(self.pairs), np.ascontiguousarray(f.frequencies.T))


@jit
def _present(f, rate, chunk, position, until, errors, counters):
    weights, z = f.weights, f.features
    for p in range(position, len(chunk.order)):
        if reached(counters, until):
            return
        i = next_example(chunk, p)
        label = chunk.labels[i]
        _lift(f, chunk.rows, i)
        for c in range(len(weights)):
            f.scores[c] = dot(weights[c], z, len(z))
        rival, ahead = predict(f.scores, label, 0, 0, errors, counters)
        if np.isnan(ahead):
            return
        counters[INNER_PRODUCTS] += f.frequencies.shape[1]
        if ahead < 1.0:
            if len(weights) == 1:
                axpy(rate if label == 1 else -rate, z, weights[0], len(z))
            else:
                axpy(rate, z, weights[label], len(z))
                axpy(-rate, z, weights[rival], len(z))
            counters[STEPS] += 1
            counters[UPDATES] += 1


@jit
def _lift(f, rows, i):
    """Compute z of row i."""
    frequencies, z, D = f.frequencies, f.features, f.frequencies.shape[1]
    angles = z[:D]
    angles[:] = 0.0
    count = nonzeros(rows, i, f.indices, f.values)
    for k in range(count):
        soon = np.int64(f.indices[min(k + _COLUMNS_AHEAD, count - 1)])
        for at in range(0, D, _NUMBERS_OF_A_LINE):
            prefetch(frequencies, soon * D + at)
        axpy(f.values[k], frequencies[f.indices[k]], angles, D)
    for k in range(D):
        angle = angles[k]
        z[k], z[D + k] = np.cos(angle), np.sin(angle)
