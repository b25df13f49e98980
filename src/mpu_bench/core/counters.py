"""What is counted while a solver runs; one array of int64, one name per index.

The counts are those the papers speak of, independent of caches, threads and storage. Evaluating a model
for a report is never counted.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mpu_bench.core.jit import jit

PRESENTED = 0  #: examples seen (for batch solvers: iterations); passes = presented / n
STEPS = 1  #: presentations that changed the hypothesis
UPDATES = 2  #: changes of the hypothesis; a multiple update counts its multiplicity
KERNEL_EVALUATIONS = 3  #: kernel values the algorithm asks for
KERNEL_COMPUTED = 4  #: kernel values really computed, after caches and symmetry
INNER_PRODUCTS = 5  #: d-dimensional products w.x of linear solvers

NAMES = ("presented", "steps", "updates", "kernel_evaluations", "kernel_computed", "inner_products")

UNLIMITED = np.iinfo(np.int64).max // 4


class Until(NamedTuple):
    """The counter values at which an advance stops; whichever is reached first ends it.

    ``presented``: examples (for batch solvers, iterations). ``kernel_evaluations``: kernel values asked for; a solver
    may finish the example that crosses it. Jitted loops take it as it is: ``while not reached(counters, until)``.
    """

    presented: int = UNLIMITED
    kernel_evaluations: int = UNLIMITED


def new_counters() -> NDArray[np.int64]:
    """Start all counts at zero."""
    return np.zeros(len(NAMES), np.int64)


@jit
def reached(counters, until):
    """Return whether a counter has reached the value at which the advance stops (`Until`)."""
    return counters[PRESENTED] >= until.presented or counters[KERNEL_EVALUATIONS] >= until.kernel_evaluations
