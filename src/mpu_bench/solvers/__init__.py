"""The solvers, one file per algorithm; a new one is one file and one line below.

Names are known without importing anything heavy; a solver's module is imported when it is asked for.
"""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from mpu_bench.errors import ConfigError, nearest

if TYPE_CHECKING:
    from mpu_bench.core.solver import Solver

#: name in configs and tables -> module and class
SOLVERS = {
    "mpu": "mpu_bench.solvers.mpu.mpu:MPU",
    "margin-perceptron": "mpu_bench.solvers.mpu.margin_perceptron:MarginPerceptron",
    "dcd": "mpu_bench.solvers.linear.dcd:DCD",
    "svmperf": "mpu_bench.solvers.linear.svmperf:SVMperf",
    "pegasos": "mpu_bench.solvers.linear.pegasos:Pegasos",
    "optimum": "mpu_bench.solvers.optimum:Optimum",
    "bpegasos": "mpu_bench.solvers.online.bpegasos:BPegasos",
    "pegasos-multiclass": "mpu_bench.solvers.online.pegasos_multiclass:PegasosMulticlass",
    "perceptron": "mpu_bench.solvers.online.perceptron:Perceptron",
    "perceptron-oldest": "mpu_bench.solvers.online.budget_perceptrons:PerceptronOldest",
    "perceptron-random": "mpu_bench.solvers.online.budget_perceptrons:PerceptronRandom",
    "cks": "mpu_bench.solvers.online.cks:CKS",
    "forgetron": "mpu_bench.solvers.online.forgetron:Forgetron",
    "projectron++": "mpu_bench.solvers.online.projectron:Projectron",
    "sbp": "mpu_bench.solvers.batch.sbp:SBP",
    "pegasos-kernel": "mpu_bench.solvers.batch.pegasos_kernel:KernelPegasos",
    "sdca": "mpu_bench.solvers.batch.sdca:SDCA",
    "rff": "mpu_bench.solvers.batch.rff:RFF",
    "smo": "mpu_bench.solvers.batch.smo:SMO",
    "kernel-optimum": "mpu_bench.solvers.optimum:KernelOptimum",
    "cvm": "mpu_bench.solvers.meb.cvm:CVM",
    "fw": "mpu_bench.solvers.meb.fw:FW",
    "mfw": "mpu_bench.solvers.meb.mfw:MFW",
    "liblinear": "mpu_bench.solvers.peers.liblinear:Liblinear",
    "libsvm": "mpu_bench.solvers.peers.libsvm:Libsvm",
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


def load_plugin(path: Path) -> list[str]:
    """Register the solvers of a Python file of the user's own; loading it again changes nothing.

    Parameters
    ----------
    path : Path
        A file that defines one or more subclasses of `mpu_bench.core.solver.Solver`, each with a ``name``.

    Returns
    -------
    list of str
        The names of its solvers.

    Raises
    ------
    ConfigError
        If the file is missing or fails, defines no solver, or takes the name of another.
    """
    from mpu_bench.core.solver import Solver

    module_name = f"mpu_bench_plugin_{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"
    if module_name not in sys.modules:
        _execute(path, module_name)
    module = sys.modules[module_name]
    found = [
        each
        for each in vars(module).values()
        if isinstance(each, type)
        and issubclass(each, Solver)
        and each.__module__ == module_name
        and hasattr(each, "name")
    ]
    if not found:
        raise ConfigError(f"{path}: defines no solver: a subclass of mpu_bench.core.solver.Solver with a name")
    for solver in found:
        target = f"{module_name}:{solver.__name__}"
        if SOLVERS.setdefault(solver.name, target) != target:
            raise ConfigError(f"{path}: the name '{solver.name}' is taken by another solver; choose another")
    return [solver.name for solver in found]


def _execute(path: Path, module_name: str) -> None:
    if not path.is_file():
        raise ConfigError(f"{path}: no such file")
    spec = importlib.util.spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None:
        raise ConfigError(f"{path}: is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as fault:
        del sys.modules[module_name]
        raise ConfigError(f"{path}: cannot be imported: {type(fault).__name__}: {fault}") from fault
