"""The parameters of solvers in a config: their schemas, made from the solvers themselves, and what goes together.

What a plugin's solver says of itself is checked here, too; where its plugin is not run, it takes anything.
"""

from __future__ import annotations

import dataclasses
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Annotated, Any, Literal, get_type_hints

from pydantic import BeforeValidator, ConfigDict, ValidationInfo, create_model, field_validator

from mpu_bench import solvers
from mpu_bench.config.choices import KernelChoice, SolverChoice
from mpu_bench.core.solver import Optimum, Solver
from mpu_bench.document import Node, Positive, Strict, shown
from mpu_bench.errors import ConfigError
from mpu_bench.scaled import Derived, Scaled, in_one_form, parse
from mpu_bench.solvers.multiclass import Reduction
from mpu_bench.solvers.plugins.importing import APART


class Everything:
    """Holds every name."""

    def __contains__(self, name: object) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(())


Names = Mapping[str, Any] | Everything  # of parameters


#: of the classes, whose names may look like numbers
_ClassWeight = Literal["balanced"] | dict[Annotated[str, BeforeValidator(str)], Positive]


class Parameters(Strict):
    """The parameters of a solver; any real number among them may be relative to the data."""

    model_config = ConfigDict(allow_inf_nan=False)

    @field_validator("*", mode="wrap")
    @classmethod
    def _number_or_relative(cls, raw: Any, check: Callable[[Any], Any], info: ValidationInfo) -> Any:
        value = parse(raw)
        if isinstance(value, Scaled) and value.by == "n":
            factor = check(value.factor)
            if not isinstance(factor, float):
                raise ValueError("only a real number can be given over the examples")
            return Scaled(factor, "n")
        if isinstance(value, Derived):
            return _derived(info.field_name, value.regularization)
        return check(raw)


def _derived(parameter: str | None, regularization: Any) -> Derived:
    if parameter != "nu":
        raise ValueError("only nu can be derived from-regularization")
    over_n = isinstance(regularization, Scaled) and regularization.by == "n"
    number = regularization.factor if over_n else regularization
    if isinstance(number, bool) or not isinstance(number, int | float) or not 0 < number <= sys.float_info.max:
        raise ValueError(f"from-regularization must be a number above 0 or {{over-examples: 1}}, not {shown(number)}")
    return Derived(Scaled(in_one_form(number), "n") if over_n else in_one_form(number))


class _AnyParameters(Strict):
    """The parameters of a solver of which nothing is known."""

    model_config = ConfigDict(extra="allow")


def parameters_model(name: str) -> type[Strict]:
    """Make the schema of a solver's parameters out of its dataclass, with those that are not its own.

    ``multiclass`` is for a solver of two classes, ``class_weight`` for one that takes class weights, and
    ``score_threshold``, above which a score is that of the positive class, for data of two classes.

    Raises
    ------
    ConfigError
        If no solver has this name.
    """
    return _model_of(solvers.load(name), name) if solvers.is_described(name) else _AnyParameters


def names_of_parameters(name: str) -> Names:
    """Return the names of a solver's parameters."""
    return parameters_model(name).model_fields if solvers.is_described(name) else Everything()


@cache
def _model_of(solver: type[Solver], name: str) -> type[Parameters]:
    hints = get_type_hints(solver, include_extras=True)
    fields: dict[str, Any] = {
        field.name: (hints[field.name], ... if field.default is dataclasses.MISSING else field.default)
        for field in dataclasses.fields(solver)
    }
    if solver.classes == "two":
        fields["multiclass"] = (Reduction | None, None)
    if solver.weighted:
        fields["class_weight"] = (_ClassWeight | None, None)
    fields["score_threshold"] = (float | None, None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a parameter may have the name of a method of pydantic's
        return create_model(f"{name} parameters", __base__=Parameters, **fields)


def checked_parameters(name: str, node: Node, kernel: KernelChoice) -> dict[str, Any]:
    """Check one value for each parameter, and that they go together with each other and the kernel."""
    if "class_weight" in node.value and "class_weight" not in names_of_parameters(name):
        others = ", ".join(other for other in solvers.OWN if solvers.load(other).weighted)
        raise node["class_weight"].error(f"solver '{name}' takes no class weights; {others} do")
    checked = dict(node.validated(parameters_model(name)))
    checked = {key: value for key, value in checked.items() if key not in APART or value is not None}
    if "multiclass" in checked and isinstance(checked.get("nu"), Derived):
        raise node.error(
            "nu cannot be derived for several machines, which have one each; give nu, or leave out multiclass"
        )
    if isinstance(checked.get("score_threshold"), Scaled):
        raise node.error("score_threshold must be a number")
    of_solver = {key: value for key, value in checked.items() if key not in APART}
    try:  # what goes together, the solver itself knows
        solver = solvers.load(name)(**of_solver)
        if solver.kernels != "linear":
            solver.check_kernel(kernel.build(lambda width: width))
    except ConfigError as error:
        raise node.error(str(error)) from None
    except TypeError:
        # a solver may compute with its parameters, which waits for the data where one is relative to them
        if not any(isinstance(value, Scaled | Derived) for value in of_solver.values()):
            raise
    return checked


def check_answers(choice: SolverChoice, node: Node, optimum: bool) -> None:
    """Reject a solver of a plugin that cannot say which objective it has, or which solver finds the optimum of it.

    Its answers are kept, so that its plugin need not answer again when the plan is made.
    """
    try:
        for name, parameters in choice.variants:
            if solvers.plugin_of(name) is not None:
                solvers.load(name).objective_of(parameters)
        if optimum and choice.tuning is None and solvers.plugin_of(choice.name) is not None:
            _check_optimum(solvers.load(choice.name).optimum_solver(choice.parameters, choice.kernel.is_linear))
    except ConfigError as error:
        raise node.error(str(error)) from None


def _check_optimum(optimum: Optimum | None) -> None:
    """Reject an `optimum_solver` that names no solver with its parameters."""
    if optimum is None:
        return
    name, parameters = optimum
    try:
        solvers.load(name)(**parameters)
    except (ConfigError, TypeError) as error:
        raise ConfigError(f"its optimum_solver names '{name}' with {parameters!r}: {error}") from None
