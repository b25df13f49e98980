"""What is known of a plugin's solver where the plugin is not imported: its name, parameters and class attributes.

A description is made beside the solver, in a child process, and passes as JSON.
"""

from __future__ import annotations

import dataclasses
import keyword
import math
import types
from collections.abc import Iterator, Mapping
from contextlib import suppress
from enum import Enum
from functools import reduce
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import annotated_types
import numpy as np
from pydantic import Field, TypeAdapter, ValidationError, model_validator

from mpu_bench.core.solver import FACTS, KERNELS, Kernels, Solver
from mpu_bench.document import Strict
from mpu_bench.errors import ConfigError
from mpu_bench.solvers.plugins import names
from mpu_bench.solvers.plugins.importing import text_of
from mpu_bench.texts import one_line, plain

Scalar = bool | int | float | str | None
Question = Literal["construct", "check_kernel", "objective_of", "optimum_solver"]

_PLAIN: dict[str, Any] = {"bool": bool, "int": int, "float": float, "text": str, "none": type(None)}
_BOUNDS: dict[str, Any] = {
    "gt": annotated_types.Gt,
    "ge": annotated_types.Ge,
    "lt": annotated_types.Lt,
    "le": annotated_types.Le,
    "multiple_of": annotated_types.MultipleOf,
    "min_length": annotated_types.MinLen,
    "max_length": annotated_types.MaxLen,
}
#: question -> the methods by which a solver answers it itself
_ANSWERED_BY: dict[Question, tuple[str, ...]] = {
    "construct": ("__post_init__", "__init__", "__new__"),
    "check_kernel": ("check_kernel",),
    "objective_of": ("objective_of",),
    "optimum_solver": ("optimum_solver",),
}
_SCALARS: tuple[Scalar, ...] = (True, 1, 0.5, "text", None)  # one of each kind
_LARGEST_INTEGER = 2**63 - 1
_MOST_BYTES = 300  # of a value that is shown


class BoundDescription(Strict):
    """A bound of an annotated type, such as ``Gt(0)``."""

    kind: str
    number: int | float


class TypeDescription(Strict):
    """The type of a parameter: plain, a union of ``parts``, one of the ``values``, or its one part within bounds."""

    kind: Literal["bool", "int", "float", "text", "none", "any", "union", "literal", "bounded"]
    parts: list[TypeDescription] = Field(default_factory=list)
    values: list[Scalar] = Field(default_factory=list)
    bounds: list[BoundDescription] = Field(default_factory=list)


class ParameterDescription(Strict):
    """A parameter; without ``required`` it has a default."""

    name: str
    type: TypeDescription
    required: bool
    default: Scalar = None


class SolverDescription(Strict):
    """A solver; ``questions`` are those that it answers itself, the others need not be asked."""

    class_name: str
    name: str
    paper: str
    kernels: Kernels
    classes: Literal["two", "any"]
    weighted: bool
    online: bool
    sliceable: bool
    ends: bool
    deterministic: bool
    is_maximised: bool
    objective: str
    optimum: str
    rounding: dict[str, float]
    version: int
    parameters: list[ParameterDescription]
    questions: list[Question]

    @model_validator(mode="after")
    def _is_of_a_solver(self) -> SolverDescription:
        """Refuse what no class can be made of: a plugin may change what its own process says."""
        names.check(self.name, self.class_name)
        called = [each.name for each in self.parameters]
        if len({*called}) < len(called) or not all(map(_is_identifier, (self.class_name, *called))):
            raise ValueError("a class or parameter has no name, or the name of another")
        for each in self.parameters:
            try:
                TypeAdapter(type_of(each.type))
            except Exception:
                raise ValueError(f"the type of '{each.name}' cannot be understood") from None
        return self


def _is_identifier(name: str) -> bool:
    return name.isidentifier() and not keyword.iskeyword(name)


#: those that are True or False
_SWITCHES = tuple(name for name in FACTS if isinstance(getattr(Solver, name, None), bool))


def describe(solver: type[Solver], path: Path) -> SolverDescription:
    """Return what is known of a solver without importing its file.

    Raises
    ------
    ConfigError
        If a class attribute or a parameter is not what it must be.
    """
    where = f"{path}: class {solver.__name__}"
    if not _is_identifier(solver.__name__):
        raise ConfigError(f"{path}: class {_shown(solver.__name__)}: its name must be one that Python can say")
    hints = _hints(solver, where)
    parameters, unspoken = [], False
    for field in dataclasses.fields(solver):
        if field.init:
            unspoken |= not is_said(hints[field.name])
            parameters.append(_parameter(field, hints[field.name], f"{where}: parameter '{field.name}'"))
    questions = [question for question, methods in _ANSWERED_BY.items() if _has_own(solver, methods)]
    if unspoken and "construct" not in questions:
        questions.append("construct")
    return SolverDescription(
        class_name=solver.__name__, **_attributes(solver, where), parameters=parameters, questions=questions
    )


def _parameter(field: dataclasses.Field[Any], hint: Any, where: str) -> ParameterDescription:
    names.check_parameter(field.name, where)
    if hasattr(Solver, field.name):
        raise ConfigError(f"{where}: every solver has another '{field.name}'; choose another name")
    described = _type(hint)
    _check_type(described, hint, where)
    required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    return ParameterDescription(name=field.name, type=described, required=required, default=_default(field, where))


def _hints(solver: type[Solver], where: str) -> dict[str, Any]:
    try:
        return get_type_hints(solver, include_extras=True)
    except Exception as fault:
        raise ConfigError(
            f"{where}: the types of its parameters cannot be read: {type(fault).__name__}: {text_of(fault)}"
        ) from None


def _attributes(solver: type[Solver], where: str) -> dict[str, Any]:
    """Return the class attributes; ``paper`` may be missing."""
    found = {name: getattr(solver, name) for name in FACTS if name not in ("paper", "rounding", "version")}
    for name, allowed in (("kernels", tuple(KERNELS)), ("classes", ("two", "any"))):
        if found[name] not in allowed or not isinstance(found[name], str):
            raise ConfigError(f"{where}: {name} is {_shown(found[name])}; it must be {' or '.join(map(repr, allowed))}")
    if solver.optimum and "C" not in (field.name for field in dataclasses.fields(solver)):
        raise ConfigError(
            f"{where}: optimum is '{solver.optimum}', by the same C, and there is no parameter C; write optimum_solver"
        )
    for name in _SWITCHES:
        if not isinstance(found[name], bool):
            raise ConfigError(f"{where}: {name} is {_shown(found[name])}; it must be True or False")
    version, rounding = solver.version, solver.rounding
    if isinstance(version, bool) or not isinstance(version, int) or abs(version) > _LARGEST_INTEGER:
        raise ConfigError(f"{where}: version is {_shown(version)}; it must be a whole number")
    for name in ("paper", "objective", "optimum"):
        if not isinstance(text := getattr(solver, name, ""), str):
            raise ConfigError(f"{where}: {name} is {_shown(text)}; it must be a text")
        found[name] = one_line(text, _MOST_BYTES)
    if not isinstance(rounding, Mapping) or not all(
        isinstance(name, str) and isinstance(share, int | float) and math.isfinite(share)
        for name, share in rounding.items()
    ):
        raise ConfigError(f"{where}: rounding is {_shown(rounding)}; it must be names with a number each")
    shares = {plain(name, _MOST_BYTES): float(share) for name, share in rounding.items()}
    return found | {"rounding": shares, "version": int(version)}


def _has_own(solver: type[Solver], methods: tuple[str, ...]) -> bool:
    """Return whether a solver has one of the methods of its own; the __init__ that a dataclass makes is none."""
    own = solver.__mro__[: solver.__mro__.index(Solver)]
    for each in own:
        for method in set(methods) & set(vars(each)):
            made = method == "__init__" and getattr(each, "__dataclass_params__", None) is not None
            if not (made and vars(each)[method].__qualname__.endswith("__create_fn__.<locals>.__init__")):
                return True
    return False


# ------------------------------------------------------------------ types


def is_said(hint: Any) -> bool:
    """Return whether a description of this type says all of it; what is missing is left to the solver's own process."""
    return not any(part is _UNSAID for part in _walk(hint))


_UNSAID = object()


def _walk(hint: Any) -> Iterator[Any]:
    """Yield ``_UNSAID`` for each part of a type that has no description."""
    if hint is Any or any(hint is known for known in _PLAIN.values()):
        return
    origin = get_origin(hint)
    if origin is Annotated:
        yield from _walk(hint.__origin__)
        bounds = [_bound(metadata) for metadata in _flat(hint.__metadata__) if not isinstance(metadata, str)]
        if None in bounds or (bounds and _bounded(_type(hint.__origin__), bounds).kind != "bounded"):
            yield _UNSAID
    elif origin in (Union, types.UnionType):
        for part in get_args(hint):
            yield from _walk(part)
    elif origin is not Literal or not all(type(value) in (bool, int, str, type(None)) for value in get_args(hint)):
        yield _UNSAID


def _type(hint: Any) -> TypeDescription:
    """Return the description of a type; ``any`` where it cannot be said."""
    for kind, known in _PLAIN.items():
        if hint is known:
            return TypeDescription(kind=kind)  # type: ignore[arg-type]
    origin = get_origin(hint)
    if origin is Annotated:
        bounds = [found for metadata in _flat(hint.__metadata__) if (found := _bound(metadata)) is not None]
        return _bounded(_type(hint.__origin__), bounds)
    if origin in (Union, types.UnionType):
        return TypeDescription(kind="union", parts=[_type(part) for part in get_args(hint)])
    if origin is Literal and is_said(hint):
        return TypeDescription(kind="literal", values=list(get_args(hint)))
    return TypeDescription(kind="any")


def _bounded(inner: TypeDescription, bounds: list[Any]) -> TypeDescription:
    """Return a type within bounds: of a union, each part that they can hold for."""
    lengths = [each for each in bounds if each.kind in ("min_length", "max_length")]
    fitting = lengths if inner.kind == "text" else [each for each in bounds if each not in lengths]
    if inner.kind == "union":
        return TypeDescription(kind="union", parts=[_bounded(part, bounds) for part in inner.parts])
    if inner.kind in ("int", "float", "text") and fitting:
        return TypeDescription(kind="bounded", parts=[inner], bounds=fitting)
    return inner


def _flat(metadata: Any) -> Iterator[Any]:
    """Yield what annotates a type; `annotated_types.Interval` and pydantic's Field stand for several."""
    for each in metadata:
        if isinstance(each, annotated_types.GroupedMetadata):
            yield from _flat(each)
        elif type(each).__module__.startswith("pydantic.") and isinstance(getattr(each, "metadata", None), list):
            yield from _flat(each.metadata)
        else:
            yield each


def _bound(metadata: Any) -> BoundDescription | None:
    for kind, bound in _BOUNDS.items():
        if type(metadata) is bound:
            number = _plain_value(getattr(metadata, kind))
            if isinstance(number, int | float) and not isinstance(number, bool):
                return BoundDescription(kind=kind, number=number)
    return None


def type_of(described: TypeDescription) -> Any:
    """Return the type that a description says."""
    if described.kind == "union":
        return reduce(lambda one, other: Union[one, other], map(type_of, described.parts))  # noqa: UP007
    if described.kind == "literal":
        return Literal[tuple(described.values)]
    if described.kind == "bounded":
        bounds = tuple(_BOUNDS[each.kind](each.number) for each in described.bounds)
        return Annotated[type_of(described.parts[0]), *bounds]
    return Scalar if described.kind == "any" else _PLAIN[described.kind]


def _check_type(described: TypeDescription, hint: Any, where: str) -> None:
    """Refuse a type that no value of a config can be checked against."""
    try:
        TypeAdapter(type_of(described))
        if not is_said(hint):
            TypeAdapter(hint)
            if not all(map(_takes_a_scalar, _alternatives(hint))):
                raise TypeError("no config can say a value of it")
    except Exception:
        raise ConfigError(
            f"{where}: its type is {_shown(hint)}; use bool, int, float, str, a Literal of these, or Annotated with a "
            "bound such as Gt(0) for a number"
        ) from None


def _alternatives(hint: Any) -> Iterator[Any]:
    """Yield the types that a type is a union of, without what annotates them."""
    if get_origin(hint) is Annotated:
        yield from _alternatives(hint.__origin__)
    elif get_origin(hint) in (Union, types.UnionType):
        for part in get_args(hint):
            yield from _alternatives(part)
    else:
        yield hint


def _takes_a_scalar(hint: Any) -> bool:
    """Return whether a value of a config can be of a type: no path, tuple or member of an enumeration can."""
    if get_origin(hint) is Literal:
        return all(isinstance(value, Scalar) and not isinstance(value, Enum) for value in get_args(hint))
    adapter = TypeAdapter(hint)
    for value in _SCALARS:
        with suppress(ValidationError):
            adapter.validate_python(value, strict=True)
            return True
    return False


# ------------------------------------------------------------------ values


def _default(field: dataclasses.Field[Any], where: str) -> Scalar:
    if field.default is not dataclasses.MISSING:
        value = field.default
    elif field.default_factory is not dataclasses.MISSING:
        value = field.default_factory()
    else:
        return None
    value = _plain_value(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and abs(value) <= _LARGEST_INTEGER:
        return value
    if isinstance(value, float) and not math.isnan(value):
        return value
    if isinstance(value, str) and plain(value) == value:
        return value
    raise ConfigError(
        f"{where}: its default is {_shown(value)}; it must be what a config can say: a number of 64 bits, a text, "
        "True, False or None"
    )


def _plain_value(value: Any) -> Any:
    """Return a number or text of a subclass, such as numpy's or of an enumeration, as Python's own."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    return float.__float__(value) if isinstance(value, float) else value


def _shown(value: Any) -> str:
    try:
        return one_line(repr(value), _MOST_BYTES)
    except BaseException as fault:
        return f"something whose __repr__ raises {type(fault).__name__}"
