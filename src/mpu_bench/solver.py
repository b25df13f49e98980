"""What the author of a solver imports, all of it and from here alone: where it stands inside may change.

`Solver` is the class to derive from, `docs/own-solver.md` a whole example, `CHECKS` what every solver promises:

    for check in CHECKS.values():
        check.of(MySolver)  # raises BrokenContractError where the promise is broken

`classifier` makes a solver a classifier of scikit-learn.
"""

from __future__ import annotations

from mpu_bench.core.counters import (
    INNER_PRODUCTS,
    KERNEL_COMPUTED,
    KERNEL_EVALUATIONS,
    PRESENTED,
    STEPS,
    UNLIMITED,
    UPDATES,
    new_counters,
    reached,
)
from mpu_bench.core.jit import jit, jit_dispatch
from mpu_bench.core.models import FourierModel, KernelModel, LinearModel, Model, labels_of
from mpu_bench.core.numeric import new_record
from mpu_bench.core.problem import Problem
from mpu_bench.core.rng import randint, rng, shuffle
from mpu_bench.core.rows import Dense, Ones, Rows, Sparse, add, count, dot, squared_norm, squared_norms, take
from mpu_bench.core.solver import Measures, Solver, Status, Until
from mpu_bench.core.stream import Stream
from mpu_bench.errors import ConfigError, DataError
from mpu_bench.estimators.of_solver import classifier
from mpu_bench.kernels import Gaussian, Kernel, Linear, Polynomial, value
from mpu_bench.kernels.matrix import Gram, add_rows, build, row_slot
from mpu_bench.solvers.certificates import certify, rounding
from mpu_bench.solvers.contract.checks import CHECKS, BrokenContractError
from mpu_bench.solvers.expansions import certify_expansion

__all__ = [
    "CHECKS", "INNER_PRODUCTS", "KERNEL_COMPUTED", "KERNEL_EVALUATIONS", "PRESENTED", "STEPS", "UNLIMITED", "UPDATES",
    "BrokenContractError", "ConfigError", "DataError", "Dense", "FourierModel", "Gaussian", "Gram", "Kernel",
    "KernelModel", "Linear", "LinearModel", "Measures", "Model", "Ones", "Polynomial", "Problem", "Rows", "Solver",
    "Sparse", "Status", "Stream", "Until", "add", "add_rows", "build", "certify", "certify_expansion", "classifier",
    "count", "dot", "jit", "jit_dispatch", "labels_of", "new_counters", "new_record", "randint", "reached", "rng",
    "rounding", "row_slot", "shuffle", "squared_norm", "squared_norms", "take", "value",
]  # fmt: skip
