"""The variables of SMO, and how it leaves aside those that will not change: LIBSVM's shrinking.

Chang, Lin: "LIBSVM: a library for support vector machines", ACM TIST 2, 2011, section 4. A beta at a bound whose
-y grad is on the right side of all that could change is shrunk: the active variables are moved to the front, and only
theirs are kept up to date. Once they are optimal, the gradient of the others is reconstructed from what has changed.

Deviations: variables are only shrunk where a quarter of the active ones leaves, since passes over all of them are
vectorised and gathering is not; and they come back at the tolerance alone, not before at ten times as much.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mpu_bench.core import buffers
from mpu_bench.core.counters import KERNEL_EVALUATIONS
from mpu_bench.core.jit import jit
from mpu_bench.core.lru import LRU, claim, new_lru, renew, touch
from mpu_bench.kernels.matrix import Gram, add_rows, row_slot
from mpu_bench.solvers.certificates import PerExample

_ACTIVE_ROWS_BYTES = 1 << 26  # at most, for the active parts of rows
_MIN_CURVATURE = 1e-12  # of a step, in units of the largest K(x, x) where all are below 1
_SHRINK_TO = 0.75  # of the active variables, at most, may stay active; else shrinking is not worth its trouble


class Variables(NamedTuple):
    """The n variables, of which the first m are active; shrinking permutes all arrays but the unshrunk ones.

    K is in units of `Gram`, and so are beta and its bounds, by which it is multiplied: f has none.
    """

    examples: NDArray[np.uint32]  #: (n,) the example of every variable
    active_size: NDArray[np.int64]  #: m (1,)
    beta: NDArray[np.float64]  #: (n,)
    minus_y_grad: NDArray[np.float64]  #: y_i - sum_j beta_j K_ij (n,); beyond m it is old
    lower: NDArray[np.float64]  #: (n,) bound of beta
    upper: NDArray[np.float64]  #: (n,) bound of beta
    diagonal: NDArray[np.float64]  #: K(x_i, x_i) (n,)
    up: NDArray[np.float64]  #: (n,) 0 where the variable is in I_up, else -inf
    low: NDArray[np.float64]  #: (n,) 0 where the variable is in I_low, else -inf
    unshrunk_beta: NDArray[np.float64]  #: (n,) by example, those when shrinking began
    unshrunk_minus_y_grad: NDArray[np.float64]  #: (n,) by example, those when shrinking began
    min_curvature: float  #: of a step, where rounding may have left less


def new_variables(signs: NDArray[np.float64], diagonal: NDArray[np.float64], C: PerExample) -> Variables:
    """Return the variables at beta = 0, all active, of examples with the labels y and K(x_i, x_i); both (n,).

    C is in the units of K.
    """
    n, lower, upper = len(signs), np.minimum(0.0, signs * C), np.maximum(0.0, signs * C)
    examples, active_size = np.arange(n, dtype=np.uint32), np.array([n])
    up, low = np.where(upper > 0, 0.0, -np.inf), np.where(lower < 0, 0.0, -np.inf)
    moving = (np.zeros(n), signs.copy(), lower, upper, diagonal.copy(), up, low)
    largest = min(float(diagonal.max()), 1.0)
    min_curvature = _MIN_CURVATURE * (largest if largest > 0.0 else 1.0)
    return Variables(examples, active_size, *moving, np.zeros(n), np.zeros(n), min_curvature)


class ActiveRows(NamedTuple):
    """The active parts of kernel rows: gathering one costs more than all that is done with it, and most come back."""

    kept: NDArray[np.floating[Any]]  #: m values in every slot, one slot after the other
    lru: LRU  #: of the n examples


def new_active_rows(gram: Gram) -> ActiveRows:
    """Return slots for the rows of the examples of a kernel matrix; none is kept yet, and no memory taken."""
    n, dtype = len(gram.diagonal), gram.kept.dtype
    width = max(int(_SHRINK_TO * n), 1)
    slots = max(min(_ACTIVE_ROWS_BYTES // (width * dtype.itemsize), width), 2)
    return ActiveRows(buffers.empty((slots * width,), dtype), new_lru(n, slots))


@jit(inline="always")  # a call with all these arrays takes longer than to look where the row is
def slot_of_active(gram, rows, variables, i, counters):
    """Return the slot of the rows that holds the active part of the kernel row of the variable at position i.

    Counted as `row_slot` does, and valid as long.
    """
    example = variables.examples[i]
    slot = rows.lru.slot_of_row[example]
    if slot < 0:
        slot = _gathered_slot(gram, rows, variables, example, counters)
    else:
        counters[KERNEL_EVALUATIONS] += len(variables.examples)
    touch(rows.lru, slot)
    return slot


@jit
def _gathered_slot(gram, rows, variables, example, counters):
    """Return the slot into which the active part of an example's kernel row was copied; it is not touched yet."""
    m, slot = variables.active_size[0], claim(rows.lru, example)
    row, part = gram.kept[row_slot(gram, example, counters)], rows.kept[slot * m : (slot + 1) * m]
    for k in range(m):
        part[k] = row[variables.examples[k]]
    return slot


@jit(forceinline=True)
def update_bounds(variables, i):
    """Note whether a variable is in I_up, below its upper bound, and in I_low, above its lower one."""
    beta = variables.beta[i]
    variables.up[i] = 0.0 if beta < variables.upper[i] else -np.inf
    variables.low[i] = 0.0 if beta > variables.lower[i] else -np.inf


def shrink(variables: Variables, rows: ActiveRows, up_max: float, low_min: float) -> None:
    """Leave aside the variables at a bound that are further on the right side of it than any that could change.

    Parameters
    ----------
    variables : Variables
        Changed in place.
    rows : ActiveRows
        Forgotten where the variables are permuted.
    up_max, low_min : float
        The largest -y grad in I_up, and the least in I_low.
    """
    m = int(variables.active_size[0])
    stays = ~_be_shrunk(variables, up_max, low_min)
    if (left := int(stays.sum())) > _SHRINK_TO * m:
        return
    if m == len(variables.beta):
        variables.unshrunk_beta[:] = variables.beta
        variables.unshrunk_minus_y_grad[:] = variables.minus_y_grad
    order = np.concatenate((np.flatnonzero(stays), np.flatnonzero(~stays)))
    for array in (variables.examples, *_permuted(variables)):
        array[:m] = array[order]
    variables.active_size[0] = left
    renew(rows.lru)


def _be_shrunk(variables: Variables, up_max: float, low_min: float) -> NDArray[np.bool_]:
    """Return which active variables can be left aside; shape (m,)."""
    m = int(variables.active_size[0])
    g, up, low = variables.minus_y_grad[:m], variables.up[:m], variables.low[:m]
    return ((up < 0) & (g > up_max)) | ((low < 0) & (g < low_min))


def _permuted(variables: Variables) -> tuple[NDArray[Any], ...]:
    """Return the arrays that shrinking permutes, without the examples."""
    v = variables
    return v.beta, v.minus_y_grad, v.lower, v.upper, v.diagonal, v.up, v.low


def reconstruct_gradient(gram: Gram, variables: Variables, counters: NDArray[np.int64]) -> None:
    """Make all variables active again, in the order of the examples, with their gradient; n values a changed beta."""
    m, n = int(variables.active_size[0]), len(variables.beta)
    minus_y_grad, examples = variables.unshrunk_minus_y_grad, variables.examples
    active, known = examples[:m].copy(), variables.minus_y_grad[:m].copy()
    order = np.argsort(examples)
    for array in _permuted(variables):
        array[:] = array[order]
    add_rows(gram, variables.unshrunk_beta - variables.beta, minus_y_grad, counters)
    minus_y_grad[active] = known  # those never shrunk, which rounding has not touched twice
    variables.minus_y_grad[:] = minus_y_grad
    examples[:] = np.arange(n)
    variables.active_size[0] = n


def coefficients(variables: Variables, unit: float) -> NDArray[np.float64]:
    """Return beta by example, shape (n,), whatever has been shrunk; ``unit`` is that of the kernel values (`Gram`)."""
    beta = np.empty_like(variables.beta)
    beta[variables.examples] = variables.beta / unit
    return beta
