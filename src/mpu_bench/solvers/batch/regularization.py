"""lambda, the weight of the squared norm against the mean loss, and C, the weight of the losses: C = 1 / (lambda n)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from mpu_bench.core.solver import Optimum
from mpu_bench.errors import ConfigError
from mpu_bench.scaled import Scaled


def weight_of_losses(regularization: float, n: int) -> float:
    """Return C for n examples.

    Raises
    ------
    ConfigError
        If it is too large, or too small, for floating point.
    """
    C = 1.0 / (regularization * n)
    if not 0.0 < C < math.inf:
        raise ConfigError(
            f"regularization is {regularization:g}, for which C = 1/(regularization n) is {C:g}; it must be above 0 and"
            " finite"
        )
    return C


def kernel_optimum(parameters: Mapping[str, Any], bias: bool) -> Optimum:
    """Return the solver, with its parameters, of the kernel SVM with this ``C`` or ``regularization``.

    A regularization of k/n becomes C = 1/k, so that equal problems are solved once. Not for several machines: n is that
    of all examples, and C = 1/(lambda m) for the m of a machine.
    """
    C, regularization = parameters.get("C"), parameters.get("regularization")
    weight = {"C": 1.0 if C is None else C}
    if isinstance(regularization, Scaled) and "multiclass" not in parameters:
        weight = {"C": 1.0 / regularization.factor}
    elif regularization is not None:
        weight = {"regularization": regularization}
    return "kernel-optimum", weight | {"bias": bias}
