"""The import of a plugin's file, and the solvers that it defines; never in the process that reads a config.

Two kinds of process import plugins: workers, which make runs, and the children that describe solvers.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, get_origin

from mpu_bench.core.solver import Solver
from mpu_bench.errors import ConfigError
from mpu_bench.solvers.plugins import names
from mpu_bench.solvers.plugins.source import PluginSource
from mpu_bench.texts import one_line

_MOST_BYTES = 1000  # of what an exception says


def import_solvers(source: PluginSource) -> list[type[Solver]]:
    """Run a plugin's file, unless that is done already, and return the solvers that it defines.

    Exactly the bytes that were read are run, never a compiled file that lies beside them.

    Raises
    ------
    ConfigError
        If the file fails, by whatever exception; if it defines no solver, or one that is not fit to be run: without a
        method that every solver has, with a name that cannot be written in a config, or with parameters but no
        dataclass.
    """
    module = _import(source)
    try:
        return _solver_classes(module, source.path)
    except ConfigError:
        raise
    except BaseException as fault:  # a metaclass may do anything
        raise ConfigError(cause_of(fault, source.path)) from fault


def _import(source: PluginSource) -> ModuleType:
    if source.module_name in sys.modules:
        return sys.modules[source.module_name]
    spec = importlib.util.spec_from_file_location(source.module_name, source.path)
    if spec is None or spec.loader is None:
        raise ConfigError(f"{source.path}: is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[source.module_name] = module
    try:
        exec(compile(source.content, str(source.path), "exec", dont_inherit=True), vars(module))
    except BaseException as fault:
        sys.modules.pop(source.module_name, None)
        of_ours = isinstance(fault, ImportError) and (fault.name or "").startswith("mpu_bench")
        where = "; what solvers import is in mpu_bench.solver" if of_ours else ""
        raise ConfigError(f"{cause_of(fault, source.path)}; the file cannot be imported{where}") from fault
    return module


def _solver_classes(module: ModuleType, path: Path) -> list[type[Solver]]:
    subclasses = [
        each
        for each in dict.fromkeys(value for value in vars(module).values() if isinstance(value, type))
        if issubclass(each, Solver) and each.__module__ == module.__name__
    ]
    named = [each for each in subclasses if hasattr(each, "name")]
    bases = {base for each in named for base in each.__mro__[1:]}
    found = [each for each in named if not (each.__abstractmethods__ and each in bases)]
    if not found:
        why = "; ".join(f"class {each.__name__} has no name = '...'" for each in subclasses)
        raise ConfigError(
            f"{path}: defines no solver: a subclass of mpu_bench.core.solver.Solver with a name"
            + (f" ({why})" if why else "")
        )
    known: dict[str, type[Solver]] = {}
    for each in found:
        check_class(each, f"{path}: class {each.__name__}")
        if each.name in known:
            raise ConfigError(
                f"{path}: the classes {known[each.name].__name__} and {each.__name__} have one name, '{each.name}'; "
                "choose another for one of them"
            )
        known[each.name] = each
    return found


def check_class(solver: Any, where: str) -> None:
    """Refuse a class that is no solver, or not fit to be run; messages begin with ``where``.

    Raises
    ------
    ConfigError
    """
    if not isinstance(solver, type) or not issubclass(solver, Solver) or not hasattr(solver, "name"):
        raise ConfigError(f"{where}: is not a subclass of mpu_bench.core.solver.Solver with a name")
    if "name" in [field.name for field in dataclasses.fields(solver)]:
        raise ConfigError(f"{where}: name is annotated and so a parameter; write name = '...' without a type")
    names.check(solver.name, where)
    if missing := sorted(solver.__abstractmethods__):
        raise ConfigError(f"{where}: lacks {' and '.join(missing)}, which every solver has")
    own = [name for name, hint in vars(solver).get("__annotations__", {}).items() if not _is_class_variable(hint)]
    if own and "__dataclass_fields__" not in vars(solver):
        raise ConfigError(
            f"{where}: is not a dataclass, and {', '.join(own)} no parameter; write @dataclass(frozen=True) above it"
        )


def _is_class_variable(hint: Any) -> bool:
    return "ClassVar" in hint if isinstance(hint, str) else hint is ClassVar or get_origin(hint) is ClassVar


def cause_of(fault: BaseException, path: Path) -> str:
    """Return what an exception says, after the file and the last line of it that was reached."""
    lines = [frame.lineno for frame in traceback.extract_tb(fault.__traceback__) if frame.filename == str(path)]
    where = f"{path}, line {lines[-1]}" if lines else str(path)
    return ": ".join(filter(None, [where, type(fault).__name__, text_of(fault)]))


def text_of(fault: BaseException) -> str:
    """Return the text of an exception, which may fail itself."""
    try:
        return one_line(str(fault), _MOST_BYTES)
    except BaseException as another:
        return f"(without a text: its __str__ raised {type(another).__name__})"
