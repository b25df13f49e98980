"""A solver of a plugin where the plugin is not imported: the same parameters and attributes, but nothing to run."""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

from pydantic import TypeAdapter, ValidationError

from mpu_bench.core.solver import Optimum, Solver
from mpu_bench.errors import ConfigError
from mpu_bench.kernels import Kernel
from mpu_bench.solvers.plugins import process
from mpu_bench.solvers.plugins.description import SolverDescription
from mpu_bench.solvers.plugins.importing import PluginSource

_OPTIMUM: TypeAdapter[Optimum | None] = TypeAdapter(Optimum | None)
_MAX_CHARACTERS = 200  # of an objective's name


@dataclass(frozen=True)
class StandIn(Solver):
    """What is known of a plugin's solver; what only its own code knows is asked of the process that has imported it."""

    source: ClassVar[PluginSource]
    overrides: ClassVar[frozenset[str]] = frozenset()  #: methods that only its own code has
    known: ClassVar[dict[bytes, Any]]  #: answers, by their questions

    def __post_init__(self) -> None:
        """Refuse parameters outside their range, and those that the solver itself refuses."""
        try:
            super().__post_init__()
        except TypeError as error:  # of a default that is of another type
            raise ConfigError(f"{self.source.path}: solver '{self.name}': {error}") from None
        if "__post_init__" in self.overrides:
            self._ask("accept", vars(self))

    def check_kernel(self, kernel: Kernel) -> None:  # noqa: D102
        super().check_kernel(kernel)
        if "check_kernel" in self.overrides:
            self._ask("accept", vars(self), kernel)

    def start(self, *_: Any) -> NoReturn:  # noqa: D102
        raise NotImplementedError(f"solver '{self.name}' is not imported here")

    advance = model = start  # type: ignore[assignment]  # none of them returns

    @classmethod
    def objective_of(cls, parameters: Mapping[str, Any]) -> str:  # noqa: D102
        if "objective_of" not in cls.overrides:
            return super().objective_of(parameters)
        text = cls._ask("objective_of", parameters)
        if not isinstance(text, str) or len(text) > _MAX_CHARACTERS or not text.isprintable():
            raise ConfigError(
                f"{cls.source.path}: objective_of must return a text of {_MAX_CHARACTERS} characters at most"
            )
        return text

    @classmethod
    def optimum_solver(cls, parameters: Mapping[str, Any], linear: bool) -> Optimum | None:  # noqa: D102
        if "optimum_solver" not in cls.overrides:
            return super().optimum_solver(parameters, linear)
        try:
            return _OPTIMUM.validate_python(cls._ask("optimum_solver", parameters, linear))
        except ValidationError:
            raise ConfigError(
                f"{cls.source.path}: optimum_solver must return None, or the name of a solver and its parameters"
            ) from None

    @classmethod
    def _ask(cls, question: str, parameters: Mapping[str, Any], *more: Any) -> Any:
        """Return what the solver answers, which is asked once."""
        key = pickle.dumps((question, dict(parameters), more))
        if key not in cls.known:
            cls.known[key] = process.ask(cls.source, question, cls.name, dict(parameters), *more)
        return cls.known[key]


def stand_in(described: SolverDescription, source: PluginSource) -> type[StandIn]:
    """Return the class that takes the place of a solver."""
    more = {"__module__": source.module_name, "source": source, "overrides": described.overrides, "known": {}}
    return dataclasses.make_dataclass(
        described.class_name,
        described.parameters,
        bases=(StandIn,),
        namespace=described.facts | more,
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
