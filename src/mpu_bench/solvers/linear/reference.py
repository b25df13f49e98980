"""The reference optimum of the linear L1-SVM: dual coordinate descent run to a gap of 1e-8.

It is what deviations from the optimum are measured against: its dual objective is at most the optimum and, by its own
certificate, within 1e-8 of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Gt

from mpu_bench.solvers.linear.dcd import DCD


@dataclass(frozen=True)
class Reference(DCD):
    """Dual coordinate descent until objective / dual - 1 <= stop.

    Attributes
    ----------
    C : float
        The weight of the losses.
    stop : float
        The gap that ends it.
    """

    name = "reference"
    paper = "mpu-bench"

    stop: Annotated[float, Gt(0)] = 1e-8
