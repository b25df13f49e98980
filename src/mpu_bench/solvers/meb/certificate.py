"""What the weights of a ball, and nothing else, say of the optimum: of the radius, and of the L2-SVM itself.

With m_i = y_i f(x_i), s_i = m_i + alpha_i / C and R = sum_i alpha_i s_i (symbols: `ball.py`):

    radius   r^2 = Delta^2 - R,   max_i g_i = Delta^2 + R - 2 min_i s_i
    SVM      F(u) = ||u||^2 + b^2 + C sum_i max(0, 1 - y_i f_u(x_i))^2
    dual     2 sum_i beta_i - beta' K~ beta,   beta_i >= 0

The multiple beta = t alpha with the largest dual objective has t = 1 / R, which gives 1 / R; so R* = 1 / F*. Each
multiple v of f has an F that is at least F*, so F(v f) R - 1 bounds the relative error of R and of F alike:
R <= (1 + gap) R*. The best v is the minimum of a convex function of one variable. Where all s_i are above zero, v = 1 /
min s and the losses alpha_i / (C min s), which are not below those of v f, show that the gap is at most R^2 / (min s)^2
- 1, which is at most R / (2 min s - R) - 1.

All is in double precision. A response is wrong by at most `error`, as are R and w.w; margins are lowered by that, R and
w.w raised.
"""

from __future__ import annotations

from typing import NamedTuple, assert_never

import numpy as np
from numpy.typing import NDArray

from mpu_bench.core.gram import kernel_diagonal
from mpu_bench.core.kernels import Gaussian, Kernel, Linear, Polynomial
from mpu_bench.core.models import KernelModel
from mpu_bench.core.precision import centred, is_single_enough
from mpu_bench.core.rows import Dense, Ones, Rows, Sparse, squared_norms, take
from mpu_bench.core.solver import Measures
from mpu_bench.solvers.certificates import rounding
from mpu_bench.solvers.meb.core_set import Examples

_MULTIPLES = 30  # of f that are tried; Newton's method needs a few
_OF_A_VALUE = 16  # roundings of a kernel value, besides those of the inner products


class Expansion(NamedTuple):
    """Weights of some of n examples."""

    rows: Rows  #: all n
    features: int
    examples: Examples
    members: NDArray[np.uint32]  #: (m,)
    alphas: NDArray[np.float64]  #: (m,), of any sum


class _Responses(NamedTuple):
    margins: NDArray[np.float64]  #: y_i f(x_i) (n,)
    least: float  #: min_i s_i
    squared_norm: float  #: ||w||^2 + b^2
    R: float
    error: float


def of_radius(expansion: Expansion) -> Measures:
    """Bound the squared radius by the farthest of all points."""
    kernel, C = expansion.examples.kernel, expansion.examples.C
    found = _responses(expansion)
    first = squared_norms(take(expansion.rows, np.zeros(1, np.int64)))
    delta2 = float(kernel_diagonal(kernel, first)[0]) + 1.0 + 1.0 / C
    return _known(kernel, Measures.certified(delta2 + found.R - 2 * found.least, delta2 - found.R, 3 * found.error))


def of_svm(expansion: Expansion) -> Measures:
    """Bound the SVM's objective by the losses of all examples."""
    kernel, C = expansion.examples.kernel, expansion.examples.C
    found = _responses(expansion)
    squared_norm, margins = max(found.squared_norm, 0.0) + found.error, found.margins - found.error
    objective, multiple = np.inf, 1.0 / max(found.R, found.error)
    for _ in range(_MULTIPLES):
        losses = np.maximum(0.0, 1.0 - multiple * margins)
        value = float(multiple * multiple * squared_norm + C * (losses @ losses))
        if not value < objective:
            break
        objective, lossy = value, margins[losses > 0]
        multiple = max(C * float(lossy.sum()) / (squared_norm + C * float(lossy @ lossy)), 0.0)
    return _known(kernel, Measures.certified(objective, 1.0 / (found.R + found.error)))


def _known(kernel: Kernel, measures: Measures) -> Measures:
    """Return measures without a gap where the kernel may not be positive semi-definite, for nothing is bounded then."""
    indefinite = isinstance(kernel, Polynomial) and min(kernel.scale, kernel.offset) < 0
    return measures._replace(gap=None) if indefinite else measures


def _responses(expansion: Expansion) -> _Responses:
    rows, features, examples, members, alphas = expansion
    alphas = alphas / alphas.sum()
    if not is_single_enough(rows, examples.kernel):
        rows = centred(_in_double(rows))
    signs = 2.0 * examples.labels - 1.0
    coefficients = (alphas * signs[members])[:, np.newaxis]
    vectors = _in_double(take(rows, members))  # so that kernel values are
    model = KernelModel(vectors, coefficients, examples.kernel, features, float(coefficients.sum()))
    margins = signs * model.scores(rows)[:, 0]
    responses = margins.copy()
    responses[members] += alphas / examples.C
    terms = features + len(members) + _OF_A_VALUE
    error = 2 * rounding(terms, magnitude(examples.kernel, float(squared_norms(rows).max())) + 1.0)
    w, R = float(alphas @ margins[members]), float(alphas @ responses[members])
    return _Responses(margins, float(responses.min()), w, R, error)


def magnitude(kernel: Kernel, squared_norm: float) -> float:
    """Return how large rows of at most this ||x||^2 make a kernel value and, by a unit of rounding, its error."""
    match kernel:
        case Linear():
            return squared_norm
        case Gaussian():
            return 1.0 + 4.0 * kernel.gamma * squared_norm
        case Polynomial():
            base = 1.0 if kernel.normalize else abs(kernel.scale) * squared_norm + abs(kernel.offset)
            return float(max(kernel.degree, 1) * np.float64(base) ** kernel.degree)
        case _:
            assert_never(kernel)


def _in_double(rows: Rows) -> Rows:
    match rows:
        case Dense():
            return Dense(rows.values.astype(np.float64))
        case Sparse():
            return rows._replace(values=rows.values.astype(np.float64))
        case Ones():
            return Sparse(np.ones(len(rows.indices)), rows.indices, rows.starts)
        case _:
            assert_never(rows)
