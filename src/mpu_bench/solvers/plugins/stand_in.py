"""A solver of a plugin where the plugin is not imported: the same parameters and attributes, but nothing to run."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, NoReturn

from pydantic import TypeAdapter, ValidationError

from mpu_bench.core.models import Model
from mpu_bench.core.problem import Problem
from mpu_bench.core.solver import FACTS, Optimum, Solver, Status, Until
from mpu_bench.errors import ConfigError
from mpu_bench.kernels import Kernel
from mpu_bench.scaled import Derived, Scaled, from_json, to_json
from mpu_bench.solvers.plugins.answers import kernel_to
from mpu_bench.solvers.plugins.description import Question, SolverDescription, type_of
from mpu_bench.solvers.plugins.process import INSPECTOR, FailedError
from mpu_bench.solvers.plugins.source import PluginSource
from mpu_bench.texts import one_line

_OPTIMUM: TypeAdapter[tuple[str, dict[str, Any]] | None] = TypeAdapter(tuple[str, dict[str, Any]] | None)
_MOST_BYTES = 1_000  # of an objective's name


@dataclass(frozen=True)
class StandIn(Solver):
    """What is known of a plugin's solver; what only its own code knows is asked of the process that has imported it."""

    source: ClassVar[PluginSource]
    questions: ClassVar[frozenset[Question]] = frozenset()
    known: ClassVar[dict[str, Any]]  #: answers, by their questions

    def __post_init__(self) -> None:
        """Refuse parameters outside their range, and those that the solver itself refuses."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        try:
            super().__post_init__()
        except TypeError as fault:  # of a default that is of another type
            raise ConfigError(f"{self.source.path}: solver '{self.name}': {fault}") from None
        if "construct" in self.questions:
            self._answer("construct", parameters=given)

    def check_kernel(self, kernel: Kernel) -> None:  # noqa: D102
        super().check_kernel(kernel)
        if "check_kernel" in self.questions:
            given = {field.name: getattr(self, field.name) for field in fields(self)}
            self._answer("check_kernel", parameters=given, kernel=kernel_to(kernel))

    def start(self, problem: Problem, kernel: Kernel, seed: int) -> NoReturn:  # noqa: D102
        raise NotImplementedError(f"solver '{self.name}' is not imported here")

    def advance(self, state: Any, until: Until) -> Status:  # noqa: D102
        raise NotImplementedError(f"solver '{self.name}' is not imported here")

    def model(self, state: Any) -> Model:  # noqa: D102
        raise NotImplementedError(f"solver '{self.name}' is not imported here")

    @classmethod
    def objective_of(cls, parameters: Mapping[str, Any]) -> str:  # noqa: D102
        if "objective_of" not in cls.questions:
            return super().objective_of(parameters)
        return one_line(str(cls._answer("objective_of", parameters=dict(parameters))), _MOST_BYTES)

    @classmethod
    def optimum_solver(cls, parameters: Mapping[str, Any], linear: bool) -> Optimum | None:  # noqa: D102
        if "optimum_solver" not in cls.questions:
            return super().optimum_solver(parameters, linear)
        answer = cls._answer("optimum_solver", parameters=dict(parameters), linear=linear)
        try:
            found = _OPTIMUM.validate_python(answer)
        except (ValidationError, RecursionError):
            raise ConfigError(f"{cls.source.path}: what its optimum_solver is cannot be understood") from None
        return found and (found[0], json.loads(json.dumps(found[1]), object_hook=from_json))

    @classmethod
    def _answer(cls, question: Question, **what: Any) -> Any:
        """Return what the solver answers, which is asked once."""
        key = json.dumps([question, what], sort_keys=True, default=to_json)
        if key not in cls.known:
            try:
                cls.known[key] = INSPECTOR.ask(cls.source, cls.name, question, **what)
            except FailedError as fault:
                constructing = question in ("construct", "check_kernel")
                if constructing and fault.kind == "TypeError" and _has_relative(what["parameters"]):
                    raise TypeError(str(fault)) from None  # it may compute with what is known with the data only
                raise
        return cls.known[key]


def _has_relative(parameters: Mapping[str, Any]) -> bool:
    return any(isinstance(value, Scaled | Derived) for value in parameters.values())


def stand_in(described: SolverDescription, source: PluginSource) -> type[StandIn]:
    """Return the class that takes the place of a solver."""
    parameters = [
        (
            each.name,
            type_of(each.type),
            dataclasses.field() if each.required else dataclasses.field(default=each.default),
        )
        for each in described.parameters
    ]
    attributes = {name: getattr(described, name) for name in FACTS}
    return dataclasses.make_dataclass(
        described.class_name,
        parameters,
        bases=(StandIn,),
        namespace=attributes
        | {
            "__module__": source.module_name,
            "source": source,
            "questions": frozenset(described.questions),
            "known": {},
        },
        frozen=True,
        kw_only=True,
    )


class Undescribed(StandIn):
    """A solver of a plugin that is not described: it takes any parameters and refuses nothing."""

    kernels = "any"
    classes = "any"
    online = True
    ends = True

    def __init__(self, **_parameters: Any) -> None:
        pass
