"""The solvers, one file per algorithm; a new one is one file and one line below.

Names are known without importing anything heavy; a solver's module is imported when it is asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from mpu_bench.errors import ConfigError, nearest

if TYPE_CHECKING:
    from mpu_bench.core.solver import Solver

#: name in configs and tables -> module and class
SOLVERS = {
    "mpu": "mpu_bench.solvers.linear.mpu:MPU",
    "dcd": "mpu_bench.solvers.linear.dcd:DCD",
    "perceptron": "mpu_bench.solvers.online.perceptron:Perceptron",
    "liblinear": "mpu_bench.solvers.peers.liblinear:Liblinear",
}


def load(name: str) -> type[Solver]:
    """Import a solver's class.

    Raises
    ------
    ConfigError
        If no solver has this name; the message suggests the nearest.
    """
    if name not in SOLVERS:
        raise ConfigError(f"unknown solver '{name}': {nearest(name, SOLVERS)}")
    module, class_name = SOLVERS[name].split(":")
    solver: type[Solver] = getattr(import_module(module), class_name)
    return solver
