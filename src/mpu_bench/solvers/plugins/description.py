"""What is known of a plugin's solver where the plugin is not imported: its name, parameters and class attributes.

A description is made beside the solver, in a child process, and passes as a line of types, numbers and texts alone.
"""

from __future__ import annotations

import dataclasses
import keyword
import math
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
from pydantic import TypeAdapter

from mpu_bench.core.solver import FACTS, KINDS_OF_KERNELS, Solver
from mpu_bench.document import shown
from mpu_bench.errors import ConfigError
from mpu_bench.guard.messages import from_line, to_line
from mpu_bench.solvers.plugins import importing
from mpu_bench.solvers.plugins.importing import text_of
from mpu_bench.texts import one_line, plain

#: methods by which a solver refuses or names what its class attributes do not say
METHODS = ("__post_init__", "check_kernel", "objective_of", "optimum_solver")
#: modules, and classes of modules, of which descriptions and answers are made
KNOWN = {
    *("builtins.bool", "builtins.float", "builtins.int", "builtins.object", "builtins.str", "builtins.type"),
    *("_functools.reduce", "_operator.getitem", "_operator.or_", "annotated_types", "typing"),
    *("mpu_bench.scaled.Scaled", "mpu_bench.scaled.Derived"),
    f"{__name__}.SolverDescription",
}
_LARGEST_INTEGER = 2**63 - 1
_MAX_BYTES = 300  # of a text


@dataclass(frozen=True)
class SolverDescription:
    """A solver.

    Attributes
    ----------
    class_name : str
    facts : dict
        Its class attributes.
    parameters : list of tuple
        Name and type of each, and the default if there is one. A type that this module does not know is ``Any``.
    overrides : frozenset of str
        The `METHODS` that it overrides, which must be asked.
    """

    class_name: str
    facts: dict[str, Any]
    parameters: list[tuple[Any, ...]]
    overrides: frozenset[str]


def describe(solver: type[Solver], path: Path) -> SolverDescription:
    """Return what is known of a solver without importing its file.

    Raises
    ------
    ConfigError
        If a class attribute or a parameter is not what it must be.
    """
    where = f"{path}: class {solver.__name__}"
    if not solver.__name__.isidentifier() or keyword.iskeyword(solver.__name__):
        raise ConfigError(f"{path}: class {shown(solver.__name__)}: its name must be one that Python can say")
    try:
        hints = get_type_hints(solver, include_extras=True)
    except Exception as error:
        raise ConfigError(
            f"{where}: the types of its parameters cannot be read: {type(error).__name__}: {text_of(error)}"
        ) from None
    parameters = [
        _parameter(field, hints[field.name], f"{where}: parameter '{field.name}'")
        for field in dataclasses.fields(solver)
        if field.init
    ]
    overrides = {name for name in METHODS if _function(getattr(solver, name)) is not _function(getattr(Solver, name))}
    if any(hint is not hints[name] for name, hint, *_ in parameters):
        overrides.add("__post_init__")
    return SolverDescription(solver.__name__, _facts(solver, where), parameters, frozenset(overrides))


def _function(method: Any) -> Any:
    return getattr(method, "__func__", method)


def _parameter(field: dataclasses.Field[Any], hint: Any, where: str) -> tuple[Any, ...]:
    importing.check_parameter(field.name, where)
    if hasattr(Solver, field.name):
        raise ConfigError(f"{where}: every solver has another '{field.name}'; choose another name")
    _check_type(hint, where)
    if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
        return field.name, said(hint)
    value = field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
    return field.name, said(hint), _default(value, where)


def said(hint: Any) -> Any:
    """Return a type, or Any where only this process knows it: such as one that a function of the plugin checks."""
    try:
        from_line(to_line(hint), KNOWN)
    except Exception:
        return Any
    return hint


def _check_type(hint: Any, where: str) -> None:
    """Refuse a type that no value of a config can be of, or be checked against."""
    try:
        TypeAdapter(hint)
        if not all(part in (Any, object, bool, int, float, str, type(None)) for part in _parts(hint)):
            raise TypeError("no config can say a value of it")
    except Exception:
        raise ConfigError(
            f"{where}: its type is {shown(hint)}; use bool, int, float, str, a Literal of these, or Annotated with a "
            "bound such as Gt(0) for a number"
        ) from None


def _parts(hint: Any) -> Iterator[Any]:
    """Yield the types that a type is a union of, without what annotates them, and those of the values of a Literal."""
    origin = get_origin(hint)
    if origin is Annotated:
        yield from _parts(hint.__origin__)
    elif origin in (Union, types.UnionType):
        for part in get_args(hint):
            yield from _parts(part)
    elif origin is Literal:
        yield from map(type, get_args(hint))
    else:
        yield hint


def _default(value: Any, where: str) -> bool | int | float | str | None:
    value = value.item() if isinstance(value, np.generic) else value
    if (
        (type(value) is int and abs(value) <= _LARGEST_INTEGER)
        or (type(value) is float and not math.isnan(value))
        or (type(value) is str and plain(value) == value)
        or isinstance(value, bool | None)
    ):
        return value
    raise ConfigError(
        f"{where}: its default is {shown(value)}; it must be what a config can say: a number of 64 bits, a text, "
        "True, False or None"
    )


def _facts(solver: type[Solver], where: str) -> dict[str, Any]:
    """Return the class attributes; ``paper`` may be missing."""
    declared: dict[str, Any] = {name: getattr(solver, name, "") for name in FACTS}
    allowed = {"kernels": tuple(KINDS_OF_KERNELS), "classes": ("two", "any")}
    switches = [name for name in FACTS if isinstance(getattr(Solver, name, None), bool)]
    texts, version, rounding = ("paper", "objective", "optimum"), declared["version"], declared["rounding"]
    is_whole = type(version) is int and abs(version) <= _LARGEST_INTEGER
    are_shares = isinstance(rounding, Mapping) and all(
        isinstance(name, str) and isinstance(share, int | float) and math.isfinite(share)
        for name, share in rounding.items()
    )
    for name, is_right, kind in (
        *(
            (key, type(declared[key]) is str and declared[key] in words, " or ".join(map(repr, words)))
            for key, words in allowed.items()
        ),
        *((key, isinstance(declared[key], bool), "True or False") for key in switches),
        ("version", is_whole, "a whole number"),
        *((key, isinstance(declared[key], str), "a text") for key in texts),
        ("rounding", are_shares, "names with a number each"),
    ):
        if not is_right:
            raise ConfigError(f"{where}: {name} is {shown(declared[name])}; it must be {kind}")
    if declared["optimum"] and "C" not in (field.name for field in dataclasses.fields(solver)):
        raise ConfigError(
            f"{where}: optimum is '{declared['optimum']}', by the same C, and there is no parameter C; "
            "write optimum_solver"
        )
    shares = {plain(name, _MAX_BYTES): float(share) for name, share in rounding.items()}
    return declared | {name: one_line(declared[name], _MAX_BYTES) for name in texts} | {"rounding": shares}
