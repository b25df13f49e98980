"""The solvers, one file per algorithm; a new one is one file and one line below.

Names are known without importing anything heavy; a solver's module is imported when it is asked for. Those of installed
packages (entry points ``mpu_bench.solvers``) and of plugins, user files, join them: see `plugins`.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mpu_bench import installed
from mpu_bench.errors import ConfigError, nearest

if TYPE_CHECKING:
    from mpu_bench.core.solver import Solver
    from mpu_bench.solvers.plugins.importing import PluginSource

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
    "bpa-s": "mpu_bench.solvers.online.bpa_s:BPAS",
    "fogd": "mpu_bench.solvers.online.fogd:FOGD",
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
    "liblinear": "mpu_bench.solvers.external.liblinear:Liblinear",
    "snapml-svm": "mpu_bench.solvers.external.snapml:Snapml",
    "sgd": "mpu_bench.solvers.external.sgd:SGD",
    "libsvm": "mpu_bench.solvers.external.libsvm:Libsvm",
    "onedal-svc": "mpu_bench.solvers.external.onedal:OnedalSVC",
    "nystroem": "mpu_bench.solvers.external.nystroem:Nystroem",
}
#: solver -> the module and the package that it trains with, of those that the extra ``peers`` brings
_OPTIONAL = {"onedal-svc": ("sklearnex", "scikit-learn-intelex"), "snapml-svm": ("snapml", "snapml")}

#: the project's own
OWN = tuple(SOLVERS)
#: solver of an installed package -> its entry point; the project's own names stay its own
INSTALLED = {name: entry for name, entry in installed.brought(installed.SOLVERS).items() if name not in SOLVERS}
SOLVERS |= {name: entry.value for name, entry in INSTALLED.items()}

#: module of a plugin -> its file as it was read
_SOURCES: dict[str, PluginSource] = {}
#: what stands in SOLVERS for a plugin's solver -> its stand-in, in a process that does not import plugins
_STAND_INS: dict[str, type[Solver]] = {}


def load(name: str) -> type[Solver]:
    """Import a solver's class; of a plugin that is only described, or not even that, return the stand-in.

    Raises
    ------
    ConfigError
        If no solver has this name; the message suggests the nearest. Or if a package that brings one is not right.
    """
    if name not in SOLVERS:
        if _unknown_are_of_plugins.get():
            from mpu_bench.solvers.plugins.process import Undescribed

            return Undescribed
        raise ConfigError(f"unknown solver '{name}': {nearest(name, SOLVERS)}")
    if name in INSTALLED:
        return _of_package(name)
    module, class_name = SOLVERS[name].split(":")
    if module in _SOURCES and module not in sys.modules:
        return _STAND_INS[SOLVERS[name]]
    solver: type[Solver] = getattr(import_module(module), class_name)
    return solver


def chosen_parameters(name: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that are not at their default: a parameter that is new makes no earlier run another."""
    try:
        defaults = {field.name: field.default for field in fields(load(name))}
    except ConfigError:  # of a plugin, or of an earlier version
        defaults = {}
    return {key: value for key, value in parameters.items() if key not in defaults or value != defaults[key]}


@cache
def _of_package(name: str) -> type[Solver]:
    """Import the solver of an installed package: code that the user trusts already."""
    from mpu_bench.solvers.plugins import importing

    entry = INSTALLED[name]
    where = f"solver '{name}' of the package {installed.package_of(entry)}"
    try:
        solver: type[Solver] = entry.load()
    except Exception as error:
        raise ConfigError(
            f"{where}: {entry.value} cannot be imported: {type(error).__name__}: {importing.text_of(error)}"
        ) from error
    importing.check_class(solver, where)
    if solver.name != name:
        raise ConfigError(f"{where}: the class calls itself '{solver.name}'; its entry point must have the same name")
    return solver


def not_installed(name: str) -> str:
    """Return which package a solver lacks here and the fix; empty of all that can train. Nothing is imported."""
    module, package = _OPTIONAL.get(name, ("", ""))
    if not module or importlib.util.find_spec(module) is not None:
        return ""
    return f"{package} is not installed: {installed.extra('peers')}"


def package_of(name: str) -> str:
    """Return the installed package, with its version, that brings a solver; empty for all others."""
    return installed.package_of(INSTALLED[name]) if name in INSTALLED else ""


def code_of(name: str) -> list[str]:
    """Return what names the code of a solver that is not ours: a file's hash, or a package with its version and hash.

    Parameters
    ----------
    name : str

    Returns
    -------
    list of str
        Empty for ours.
    """
    if source := plugin_of(name):
        return [source.code_hash]
    return [package_of(name), installed.code_hash(INSTALLED[name])] if name in INSTALLED else []


def load_plugin(path: Path, code_hash: str = "") -> list[str]:
    """Import a Python file of the user's own, and register its solvers; loading it again changes nothing.

    For the processes that make runs: whatever the file holds is run. See `describe_plugin` for all others.

    Parameters
    ----------
    path : Path
        A file that defines one or more subclasses of `mpu_bench.core.solver.Solver`, each with a ``name``.
    code_hash : str
        That of the code which is meant, if it matters.

    Returns
    -------
    list of str
        The names of its solvers.

    Raises
    ------
    ConfigError
        If the file is missing, was changed or fails, defines no solver, or takes the name of another.
    """
    from mpu_bench.solvers.plugins import importing

    read = importing.read_plugin(path)
    if read.module_name in sys.modules:
        read = _SOURCES.get(read.module_name, read)  # what was run
    if code_hash not in ("", read.code_hash):
        raise ConfigError(f"{path}: was changed since the config was read; run again")
    return _register(read, {solver.name: solver.__name__ for solver in importing.import_solvers(read)})


def check_plugin(path: Path) -> None:
    """Refuse a plugin's file that cannot be read or is not Python, without running it.

    Raises
    ------
    ConfigError
    """
    from mpu_bench.solvers.plugins import importing

    importing.read_plugin(path).parsed()


def describe_plugin(path: Path) -> list[str]:
    """Let a child process import a Python file of the user's own, and register a stand-in for each of its solvers.

    A file that has not changed is described once.

    Returns
    -------
    list of str
        The names of its solvers.

    Raises
    ------
    ConfigError
        If the file is missing or no Python, if its import fails, crashes or takes too long, if it defines no solver or
        one that is not fit to be run, or if it takes the name of another.
    """
    from mpu_bench.solvers.plugins import importing, process

    read = importing.read_plugin(path)
    if _SOURCES.get(read.module_name) == read:
        return [name for name, target in SOLVERS.items() if target.partition(":")[0] == read.module_name]
    stand_ins = [process.stand_in(description, read) for description in process.describe(read)]
    _forget(read.module_name)
    names = _register(read, {solver.name: solver.__name__ for solver in stand_ins})
    _STAND_INS.update({SOLVERS[solver.name]: solver for solver in stand_ins})
    return names


_unknown_are_of_plugins = ContextVar("unknown solvers are taken for those of plugins", default=False)


@contextmanager
def undescribed() -> Iterator[None]:
    """Take every unknown solver for one of a plugin that is not described: it takes any parameters."""
    before = _unknown_are_of_plugins.set(True)
    try:
        yield
    finally:
        _unknown_are_of_plugins.reset(before)


def is_described(name: str) -> bool:
    """Return whether anything is known of a solver but its name."""
    return name in SOLVERS or not _unknown_are_of_plugins.get()


def known() -> Collection[str] | None:
    """Return the names that a solver may have; None while it may have any."""
    return None if _unknown_are_of_plugins.get() else SOLVERS.keys()


def forget_plugins() -> None:
    """Forget the solvers of all plugins that were described here, and what the files of packages held.

    Another config may mean others by their names, and a file may have been edited since.
    """
    installed.code_hash.cache_clear()
    for module in {target.partition(":")[0] for target in _STAND_INS}:
        _forget(module)
        _SOURCES.pop(module, None)


@contextmanager
def descriptions() -> Iterator[None]:
    """End afterwards the processes that describe plugins; a later question starts them anew."""
    try:
        yield
    finally:
        if process := sys.modules.get("mpu_bench.solvers.plugins.process"):
            process.close()


def plugin_of(name: str) -> PluginSource | None:
    """Return the file that defines a solver; None of the project's own."""
    return _SOURCES.get(SOLVERS.get(name, "").partition(":")[0])


def _register(source: PluginSource, classes: Mapping[str, str]) -> list[str]:
    """Register solvers of a plugin, by name and class."""
    for name, class_name in classes.items():
        target = f"{source.module_name}:{class_name}"
        if SOLVERS.get(name, target) != target:
            raise ConfigError(f"{source.path}: the name '{name}' is taken by another solver; choose another")
    _SOURCES[source.module_name] = source
    SOLVERS.update({name: f"{source.module_name}:{class_name}" for name, class_name in classes.items()})
    return list(classes)


def _forget(module: str) -> None:
    """Forget the solvers of a plugin that has changed since."""
    for name in [name for name, target in SOLVERS.items() if target.partition(":")[0] == module]:
        _STAND_INS.pop(SOLVERS.pop(name), None)
