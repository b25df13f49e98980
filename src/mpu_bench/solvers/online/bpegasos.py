"""Multi-class Pegasos on a budget of B vectors.

    minimise lambda/2 ||w||^2 + mean_t max(0, 1 + f_r(x_t) - f_y(x_t)),   r the best wrong class,

by one step for every example t = 1, 2, ... with the rate eta = 1 / (lambda t): Algorithm 1 of Wang, Crammer, Vucetic,
"Multi-Class Pegasos on a Budget", ICML 2010.

    1.  w <- (1 - eta lambda) w
    2.  if the loss, measured before, is above zero:
    3.      w <- w + eta (phi(x) for class y, -phi(x) for class r)
    5.      if there are more than B vectors:
    6.          one of them, p, leaves: by ``maintenance``
    8.      w <- w / max(1, sqrt(lambda) ||w||)

- ``random``: a vector chosen uniformly, the new one included, is dropped;
- ``smallest``: the vector with the smallest ||alpha_p||^2 K(x_p, x_p) is dropped, the oldest of those within 1e-9;
- ``projection``: the smallest is projected on the span of the others (`projection`), always in double precision;
- ``merging``: the smallest is merged with the partner that loses least (`merging`); Gaussian kernels only. What it
  becomes counts as the newest. Where on the line between the two is by ``partner``: where the loss is least, which the
  paper says of two classes, or by its (21), which is another place for more.

||w||^2 is carried along: O(B) a step, O(B^2) for ``projection``. Two classes have one function (`expansion`).

Of rows with few values in very many columns a merged vector has the non-zeros of both, ever more with the stream: a
step reads all of the fuller one. With words, 76 in 47,000 columns a row, that takes some fifteen times as long as
dense rows of 76 columns, and memory goes up to B d numbers; the other ways keep vectors as sparse as the rows.

Counted, with |S| = B + 1 where one of them leaves: |S| kernel evaluations per example scored, and per vector that
leaves |S| for random and smallest, |S| for projection (which has them, and computes none), 3 |S| for merging (x_p, the
partner and what they become). A step with a loss is one step and one update.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Gt
from numpy.typing import NDArray

from mpu_bench.core.counters import PRESENTED, STEPS, UPDATES, new_counters, reached
from mpu_bench.core.jit import jit
from mpu_bench.core.models import KernelModel
from mpu_bench.core.problem import Problem
from mpu_bench.core.rng import rng
from mpu_bench.core.solver import Until
from mpu_bench.core.stream import Chunk, Stream
from mpu_bench.core.vectors import padded
from mpu_bench.errors import ConfigError, OutOfRangeError
from mpu_bench.kernels import Gaussian, Kernel
from mpu_bench.kernels.precision import Precision, precision_for
from mpu_bench.solvers.online.expansion import (
    Expansion,
    add_to_average,
    insert,
    model_of,
    new_expansion,
    project_on_ball,
    scale_by,
    with_room,
)
from mpu_bench.solvers.online.leaving import RANDOM, SMALLEST, Leaving, maintain, new_leaving
from mpu_bench.solvers.online.merging import Merging, new_merging
from mpu_bench.solvers.online.online import (
    Hypothesis,
    OnlineSolver,
    has_room,
    next_example,
    predict,
    score_example,
)
from mpu_bench.solvers.online.projection import Projection, new_projection

NO_LIMIT = 1 << 62  # vectors

Maintenance = Leaving | Projection | Merging


@dataclass
class State:
    """What the algorithm works on, with a budget or without."""

    stream: Stream
    kernel: Kernel
    w: Expansion
    maintenance: Maintenance
    regularization: float
    budget: int
    vectors_at_most: int  #: at which it ends
    errors: NDArray[np.int64]
    counters: NDArray[np.int64]

    @property
    def hypothesis(self) -> Hypothesis:
        """Return w at scale 1."""
        return self.w.f


class Pegasos(OnlineSolver):
    """Multi-class Pegasos with a kernel, on a budget or without."""

    def present(self, state: State, chunk: Chunk, position: int, until: Until) -> None:
        """Take the steps of Algorithm 1; ends early where there is no free slot for a vector."""
        state.w = with_room(state.w, chunk, position)
        limits = state.regularization, state.budget, state.vectors_at_most
        _present(state.w, state.maintenance, state.kernel, limits, chunk, position, until, state.errors, state.counters)

    def model(self, state: State) -> KernelModel:
        """Return the last hypothesis, or the average."""
        return model_of(state.w, state.kernel, int(state.counters[PRESENTED]))


@dataclass(frozen=True)
class BPegasos(Pegasos):
    """Multi-class Pegasos on a budget.

    Attributes
    ----------
    vectors : int
        The budget B; merging needs two.
    maintenance : {"merging", "projection", "smallest", "random"}
        What is done with a vector too many.
    partner : {"least-loss", "published"}, optional
        Where a vector is merged with each that it could be merged with: where least is lost, the default, or by (21) of
        the paper.
    regularization : float
        lambda.
    average : bool
        The model is the average of the hypotheses after every step in place of the last. It takes part in projections
        and merges; with dropped vectors it would need more than B of them, so that random and smallest have none.
    passes : int
        How often every example is presented.
    precision : {"single", "double"}
        Of kernel values; projection always has double. Coefficients are in double.
    """

    name = "bpegasos"
    paper = "bpegasos-2010"
    version = 2
    # projection solves with a Gram matrix that is near singular; the other ways come out the same
    rounding: ClassVar = {"kernel_evaluations": 5e-3, "updates": 0.02, "train_error": 0.02, "test_error": 0.02}

    vectors: Annotated[int, Ge(1)] = 100
    maintenance: Literal["merging", "projection", "smallest", "random"] = "merging"
    partner: Literal["least-loss", "published"] | None = None
    regularization: Annotated[float, Gt(0)] = 1e-4
    average: bool = False
    precision: Precision = "single"

    def __post_init__(self) -> None:
        """Refuse parameters outside their range, and those that do not go together."""
        super().__post_init__()
        if self.maintenance == "merging" and self.vectors < 2:
            raise OutOfRangeError(self.name, "vectors", self.vectors, "at least 2 for maintenance: merging")
        if self.maintenance != "merging" and self.partner is not None:
            raise ConfigError(f"bpegasos: partner: {self.partner} is for maintenance: merging, not {self.maintenance}")
        if self.average and self.maintenance in {"random", "smallest"}:
            raise ConfigError(
                f"bpegasos: average: true cannot be combined with maintenance: {self.maintenance}, "
                "whose average needs the dropped vectors; use merging or projection"
            )

    @classmethod
    def version_for(cls, parameters: Mapping[str, Any]) -> int:
        """Return 4 for projection, which had too few digits where vectors repeat each other."""
        return 4 if parameters.get("maintenance") == "projection" else cls.version

    def check_kernel(self, kernel: Kernel) -> None:
        """Refuse to merge with a kernel that is not Gaussian."""
        super().check_kernel(kernel)
        if self.maintenance == "merging" and not isinstance(kernel, Gaussian):
            raise ConfigError(
                f"bpegasos: maintenance: merging needs a Gaussian kernel, not {kernel}; "
                "use projection, smallest or random"
            )

    def start(self, problem: Problem, kernel: Kernel, seed: int) -> State:
        """Start with w = 0."""
        self.check(problem, kernel)
        wanted: Precision = "double" if self.maintenance == "projection" else self.precision
        precision = precision_for(problem, kernel, wanted)
        w = new_expansion(problem, self.vectors + 1, precision, self.average)
        limits = self.regularization, self.vectors, NO_LIMIT
        maintenance, errors = self._maintenance(w, kernel, precision, seed), np.zeros(1, np.int64)
        return State(Stream(problem, seed), kernel, w, maintenance, *limits, errors, new_counters())

    def _maintenance(self, w: Expansion, kernel: Any, precision: Precision, seed: int) -> Maintenance:
        match self.maintenance:
            case "projection":
                return new_projection(self.vectors)
            case "merging":
                return new_merging(w, kernel.gamma, self.partner == "published")
        rule = RANDOM if self.maintenance == "random" else SMALLEST
        return new_leaving(rule, self.vectors, precision, rng(seed, "vectors dropped"))


@jit
def _present(w, maintenance, kernel, limits, chunk, position, until, errors, counters):
    regularization, budget, vectors_at_most = limits
    capacity, f = len(w.norms), w.f
    for p in range(position, len(chunk.order)):
        i, m = next_example(chunk, p), f.vectors.size[0]
        if reached(counters, until) or m >= vectors_at_most or not has_room(f, chunk.rows, i):
            return
        label = chunk.labels[i]
        score_example(f, kernel, chunk.rows, i, min(padded(m), capacity), w.scalars[0].scale)
        rival, ahead = predict(f.scores, label, m, m, errors, counters)
        if np.isnan(ahead):
            return
        t = np.float64(counters[PRESENTED])
        scale_by(w, 1.0 - 1.0 / t)  # line 1, eta lambda = 1 / t
        if ahead < 1.0:  # line 2
            rate = 1.0 / (regularization * t)
            insert(w, kernel, chunk.rows, i, label, rival, rate, (1.0 - 1.0 / t) * ahead)  # line 3
            maintain(maintenance, w, kernel, budget, counters)  # lines 5 to 7
            project_on_ball(w, regularization)  # line 8
            counters[STEPS] += 1
            counters[UPDATES] += 1
        add_to_average(w)
