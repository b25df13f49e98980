"""A classifier made from a solver, such as one of a user's own."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, make_dataclass
from typing import Any, ClassVar

from mpu_bench.core.solver import Measures, Solver, types_of
from mpu_bench.errors import ConfigError
from mpu_bench.estimators.base import SolverClassifier
from mpu_bench.estimators.mixins import (
    AugmentedClassifier,
    BatchKernelClassifier,
    TwoClassClassifier,
    WeightedClassifier,
)
from mpu_bench.estimators.online import OnlineClassifier
from mpu_bench.estimators.parameters import is_checked
from mpu_bench.solvers import meanings
from mpu_bench.solvers.online.online import OnlineSolver

#: a parameter of an online solver -> what classifiers call it
_ONLINE_WORDS = {"vectors": "budget", "passes": "max_iter"}


@dataclass(eq=False, repr=False, kw_only=True)
class Endless(SolverClassifier):
    """A classifier whose solver has no end of its own but ``max_iter``, which is no warning then."""

    bounds: ClassVar = "passes"

    max_iter: int = 100

    def _warn(self, solver: Solver, state: Any, measures: Measures, stopped: str, X: Any) -> None:
        super()._warn(solver, state, measures, stopped if stopped != "max_iter" else "", X)


def classifier(solver: type[Solver], name: str = "") -> type[SolverClassifier]:
    """Return a scikit-learn classifier that a solver trains; its parameters are the solver's, by keyword.

    Besides them it has what scikit-learn's users expect: ``kernel``, ``gamma``, ``degree``, ``coef0`` and
    ``cache_size`` of a solver with kernels, ``class_weight`` of one that takes weights, ``multi_class`` and ``n_jobs``
    of one that separates two classes, ``fit_intercept`` of such a one without a parameter ``bias``, ``max_iter``, in
    passes over the rows, of one that has no end of its own, and ``max_seconds``, ``random_state``, ``verbose`` and
    ``probability`` of all. That of an `OnlineSolver` has ``partial_fit``, calls its ``vectors`` ``budget`` and its
    ``passes`` ``max_iter``.

    Parameters
    ----------
    solver : subclass of Solver
    name : str, optional
        Of the class: that of the variable which holds it, so that models can be pickled. By default the solver's class
        name and ``Classifier``.

    Raises
    ------
    ConfigError
        If a parameter of the solver has the name of one of these.
    """
    words = _ONLINE_WORDS if issubclass(solver, OnlineSolver) else {}
    parameters, hints = (
        [parameter for parameter in fields(solver) if words.get(parameter.name) != "max_iter"],
        types_of(solver),
    )
    bases = [OnlineClassifier] if issubclass(solver, OnlineSolver) else _bases(solver) or [SolverClassifier]
    inherited = dict.fromkeys(parameter.name for base in bases for parameter in fields(base))
    if clash := sorted(inherited.keys() & {parameter.name for parameter in parameters}):
        raise ConfigError(f"{solver.__name__}: a classifier already has a parameter {clash[0]}; choose another name")

    def make_solver(self: SolverClassifier, n: int, passes: int | None = None) -> Solver:  # noqa: ARG001
        values = {parameter.name: getattr(self, words.get(parameter.name, parameter.name)) for parameter in parameters}
        return self._new_solver(solver, **values, **({} if passes is None else {"passes": passes}))

    declared: list[Any] = [
        (
            words.get(parameter.name, parameter.name),
            hints[parameter.name] if is_checked(hints[parameter.name]) else Any,
            field(default=parameter.default),
        )
        for parameter in parameters
    ]
    module = sys._getframe(1).f_globals.get("__name__", solver.__module__)  # of the variable, as pickle wants it
    namespace = {
        "_solver": make_solver,
        "__doc__": _documentation(solver, words, inherited),
        "__module__": module,
    }
    return make_dataclass(
        name or f"{solver.__name__}Classifier", declared, bases=tuple(bases), namespace=namespace, eq=False, repr=False,
        kw_only=True,
    )  # fmt: skip


def _bases(solver: type[Solver]) -> list[type[Any]]:
    """Return what the classifier of a solver that is no online one of the project is derived from."""
    bases: list[type[Any]] = [] if solver.ends else [Endless]
    if solver.kernels != "linear":
        bases.append(BatchKernelClassifier)
    if solver.classes == "two":
        bases.append(TwoClassClassifier if "bias" in types_of(solver) else AugmentedClassifier)
    if solver.weighted:
        bases.append(WeightedClassifier)
    return bases


def _documentation(solver: type[Solver], words: Mapping[str, str], inherited: Iterable[str]) -> str:
    """Return what a solver is and what its parameters mean, called what the classifier calls them."""
    own = [
        f"{name} : {each.range}\n    {each.meaning}"
        for each in meanings.parameters(solver)
        if (name := words.get(each.name, each.name)) not in inherited
    ]
    like = "PerceptronClassifier" if issubclass(solver, OnlineSolver) else "MPUClassifier"
    listed = [*own, f"{', '.join(inherited)}\n    As of `{like}`."]
    return "\n".join([meanings.summary(solver), "", "Parameters", "----------", *listed])
