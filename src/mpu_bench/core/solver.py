"""What a solver is: parameters, and an algorithm that can be advanced in slices.

Subclasses are frozen dataclasses whose fields are the parameters, with their range and meaning:

    C: Annotated[float, Gt(0)] = 1.0

Configs are checked against these annotations (`annotated_types`) before anything runs.
"""

from __future__ import annotations

import math
import operator
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from enum import IntEnum
from functools import cache
from types import UnionType
from typing import Any, ClassVar, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from annotated_types import Ge, GroupedMetadata, Gt, Le, Lt

from mpu_bench.core.counters import Until as Until  # noqa: PLC0414 - solvers import it from here
from mpu_bench.core.models import Model
from mpu_bench.core.problem import Problem, StreamedProblem
from mpu_bench.errors import ConfigError, DataError, OutOfRangeError
from mpu_bench.kernels import Kernel

_ACCURACY = 0.01  #: of an objective that no gap bounds


class Status(IntEnum):
    """How an advance ended."""

    RUNNING = 0  #: a counter has reached its value of `Until`
    DONE = 1  #: the algorithm's own stopping rule holds; a further advance changes nothing
    DIVERGED = 2  #: a number is no longer finite


class Measures(NamedTuple):
    """What a solver can certify about its present state; None where it cannot.

    ``objective``: the primal objective of the model, the smaller the better. For cvm, fw and mfw without ``stop`` it is
    max_i g_i over all points, the bound from above of the squared radius (``dual_objective``) that they maximise; for
    sbp it is f of the average iterate, the larger the better, and there is no dual objective. ``dual_objective``: of
    the dual variables, the larger the better, a lower bound of the optimum. ``gap``: objective / dual_objective - 1.
    ``margin``: min_i y_i w.x_i / ||w||. ``online_error``: wrong predictions / examples seen, for online solvers.
    ``margin_fraction``: what part of the maximum margin the margin is at least, ``margin_fraction_wanted``: what was
    guaranteed before running. ``update_bound``: how many updates a theorem allows. ``nu``: the mean hinge loss by the
    length of w (`solvers.certificates.nu_of`). ``others``: further quantities that `mpu_bench.quantities.Record`
    declares, with ``in_curves``, by name.
    """

    objective: float | None = None
    dual_objective: float | None = None
    gap: float | None = None
    margin: float | None = None
    online_error: float | None = None
    margin_fraction: float | None = None
    margin_fraction_wanted: float | None = None
    update_bound: float | None = None
    nu: float | None = None
    others: Mapping[str, float | None] | None = None

    def by_name(self) -> dict[str, Any]:
        """Return every measure, a number or None, by the name of its quantity."""
        return {name: value for name, value in self._asdict().items() if name != "others"} | dict(self.others or {})

    @classmethod
    def certified(cls, objective: float, dual_objective: float, rounding: float = 0.0, **others: Any) -> Measures:
        """Return both objectives with a gap that is not below the true one.

        Parameters
        ----------
        objective, dual_objective : float
            As they were computed.
        rounding : float
            By how much each of them may be wrong (`solvers.certificates.rounding`). The dual objective is lowered by
            what both may be wrong, so that it stays a bound, and gap = objective / dual_objective - 1.
        others
            Further measures.

        Returns
        -------
        Measures
            Without a gap while the dual objective is not above zero, or where it is above the objective: then it is no
            bound, as of a kernel that is not positive semi-definite. Without an objective that may then be wrong by
            more than 1 %.
        """
        rounding += 4.0 * sys.float_info.epsilon * abs(objective)
        bound = dual_objective - rounding
        if bound > 0.0 and objective + rounding < math.inf:
            bound *= objective / (objective + rounding)
        if 0.0 < bound <= objective < math.inf:
            return cls(objective, bound, objective / bound - 1, **others)
        return cls.evaluated(objective, rounding, dual_objective=bound, **others)

    @classmethod
    def evaluated(cls, objective: float, rounding: float, **others: Any) -> Measures:
        """Return an objective that no gap bounds, unless it may be wrong by more than 1 %; parameters as above."""
        is_known = not math.isfinite(objective) or rounding <= _ACCURACY * abs(objective)
        return cls(objective if is_known else None, **others)


Kernels = Literal["linear", "gaussian", "constant-diagonal", "any"]

#: what a solver's ``kernels`` may be -> which those are
KINDS_OF_KERNELS: Mapping[str, str] = {
    "linear": "linear",
    "gaussian": "Gaussian",
    "constant-diagonal": "with K(x, x) the same for all x: Gaussian, normalized polynomial, any on rows of one length",
    "any": "any",
}


@dataclass(frozen=True)
class Solver(ABC):
    """A training algorithm. The state it works on is its own, but has a field ``counters`` (core/counters.py).

    Class attributes
    ----------------
    name : the name in configs and tables.
    paper : the paper that describes it, by the project's name of it (``mpu-2010``), or the external solver's package.
    kernels : which it trains with, of any parameters: a key of `KINDS_OF_KERNELS`. Some of its own
        parameters may ask for more.
    classes : ``"two"`` or ``"any"``.
    weighted : whether every example may have a weight of its own for its loss (`Problem.weights`).
    online : whether it takes its examples one by one from a `Stream`, so that they need not all be in memory.
    sliceable : False for external solvers, whose one advance runs to the end whatever ``until`` says, and whose steps,
        updates and computed kernel values are unknown where their counts stay 0.
    ends : whether it stops by a rule of its own, ``Status.DONE``, whatever the data are; a config must say when any
        other ends.
    deterministic : whether nothing in it is random, so that one run on given data says all.
    is_maximised : whether the larger objective is the better.
    objective : the problem whose objective `measures` gives, as a short formula; empty for one without an objective.
        What depends on parameters is said by `objective_of`.
    optimum : the name of the solver that finds the optimum of this objective where the kernel is linear, with the same
        C; empty where there is none. What depends on parameters is said by `optimum_solver`.
    rounding : by how much results may differ where a machine rounds sums otherwise, as measured between instruction
        sets: the name of a count or of ``objective`` and a relative difference, or the name of an error and a share of
        the rows. What is not named is the same, but for the last digits of an objective, and, of a solver that names
        anything, but for chance in errors.
    version : raised by hand when results come out otherwise; those of earlier versions are stale then, and run again.
    """

    name: ClassVar[str]
    paper: ClassVar[str]
    kernels: ClassVar[Kernels] = "linear"
    classes: ClassVar[Literal["two", "any"]] = "two"
    weighted: ClassVar[bool] = False
    online: ClassVar[bool] = False
    sliceable: ClassVar[bool] = True
    ends: ClassVar[bool] = False
    deterministic: ClassVar[bool] = False
    is_maximised: ClassVar[bool] = False
    objective: ClassVar[str] = ""
    optimum: ClassVar[str] = ""
    rounding: ClassVar[Mapping[str, float]] = {}
    version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Refuse parameters outside their range.

        Raises
        ------
        OutOfRangeError
            Naming the solver, the parameter, its value and its range.
        """
        for name, words in words_of(type(self)).items():
            if (word := getattr(self, name)) not in words:
                raise OutOfRangeError(self.name, name, word, f"one of {', '.join(map(repr, words))}")
        for name, bounds in bounds_of(type(self)).items():
            number = getattr(self, name)
            if not bounds or number is None or (isinstance(number, str) and _is_word(type(self), name, number)):
                continue
            if isinstance(number, float) and math.isinf(number):
                raise OutOfRangeError(self.name, name, number, "finite")
            for bound in bounds:
                try:
                    range_ = missed_range(bound, number)
                except TypeError:  # it cannot be compared
                    range_ = "a number"
                if range_:
                    raise OutOfRangeError(self.name, name, number, range_)

    @classmethod
    def version_for(cls, parameters: Mapping[str, Any]) -> int:  # noqa: ARG003
        """Return the version of results with these parameters; another where a change concerns some alone."""
        return cls.version

    def check_kernel(self, kernel: Kernel) -> None:
        """Refuse a kernel that this solver cannot train with, whatever the data and the kernel's widths and scales.

        Raises
        ------
        ConfigError
            If the solver is linear, or needs a Gaussian kernel, and the kernel is another.
        """
        wanted = {"linear": "is a linear solver", "gaussian": "needs a Gaussian kernel"}.get(self.kernels)
        if wanted is not None and kernel.name != self.kernels:
            raise ConfigError(f"{self.name} {wanted}; it cannot train with a {kernel.name} kernel")

    def check(self, problem: Problem, kernel: Kernel) -> None:
        """Refuse a problem or a kernel that this solver cannot train on; every `start` begins with it.

        Raises
        ------
        ConfigError
            If the kernel is refused by `check_kernel`.
        DataError
            If there are no examples, if they have weights that the solver does not support, if all are of one class, if
            there are too many classes, or if the examples are a stream and the solver needs them all.
        """
        self.check_kernel(kernel)
        if problem.n == 0:
            raise DataError(f"{problem.name}: there are no training examples")
        if problem.weights is not None and not self.weighted:
            raise DataError(f"{problem.name}: {self.name} does not support weights of examples")
        if isinstance(problem, StreamedProblem) and not self.online:
            raise DataError(
                f"{problem.name} is a stream of {problem.n:,} examples; {self.name} needs them all in memory: "
                "remove stream: true, or choose an online solver"
            )
        if (only := problem.only_class()) is not None:
            raise DataError(
                f"{problem.name}: all training examples are of class '{problem.classes[only]}'; two classes are needed"
            )
        if self.classes == "two" and len(problem.classes) > 2:
            count = len(problem.classes)
            raise DataError(
                f"{problem.name} has {count} classes; {self.name} separates two (name one class in its card)"
            )

    def check_size(self, n: int) -> None:  # noqa: B027 - most solvers take any number
        """Refuse parameters that do not suit n training examples, of all classes and before any are divided.

        Raises
        ------
        ConfigError
            Naming the parameter and the fix.
        """

    def shares_kernel_rows(self, problem: Problem, kernel: Kernel) -> bool:  # noqa: ARG002
        """Return whether it trains on rows of the kernel matrix in single precision, which several runs can share."""
        return False

    @abstractmethod
    def start(self, problem: Problem, kernel: Kernel, seed: int) -> Any:
        """Return the state the algorithm starts from. Its time counts as training time."""

    @abstractmethod
    def advance(self, state: Any, until: Until) -> Status:
        """Go on until a counter reaches its value of ``until`` or the algorithm is done; changes the state in place.

        Advancing in slices of any size gives bit for bit the state of one long advance.
        """

    @abstractmethod
    def model(self, state: Any) -> Model:
        """Return the present hypothesis. Never changes the state, never counted."""

    def measures(self, state: Any) -> Measures:  # noqa: ARG002
        """Certify the present state. Never changes it, never counted, never timed."""
        return Measures()

    def note(self, state: Any) -> str:  # noqa: ARG002
        """Return what a reader of the final row must know about it, such as that the data are not separable."""
        return ""

    @classmethod
    def objective_of(cls, parameters: Mapping[str, Any]) -> str:  # noqa: ARG003
        """Return the problem whose objective `measures` gives with these parameters, `objective` by default.

        Objectives stand in one column of a table where this text is the same.

        Parameters
        ----------
        parameters : mapping
            Those of a run, by name.
        """
        return cls.objective

    @classmethod
    def optimum_solver(cls, parameters: Mapping[str, Any], linear: bool) -> Optimum | None:
        """Return the solver, with its parameters, that finds the optimum of this solver's objective.

        Parameters
        ----------
        parameters : mapping
            Those of a run, by name; a value may still be relative to the data, such as a multiple of 1 / n.
        linear : bool
            Whether the run's kernel is a.b, not normalized.

        Returns
        -------
        (str, dict) or None
            The name in `mpu_bench.solvers.SOLVERS`, and the parameters that are not the default; None where no
            solver here certifies the optimum.
        """
        return (cls.optimum, {"C": parameters["C"]}) if cls.optimum and linear else None


#: the names of a solver's class attributes
FACTS = tuple(Solver.__annotations__)

#: a solver's name and parameters
Optimum = tuple[str, dict[str, Any]]


@cache
def types_of(solver: type[Solver]) -> dict[str, Any]:
    """Return the type of every parameter, without its bounds; found once, for each piece of a stream asks anew."""
    return get_type_hints(solver)


@cache
def bounds_of(solver: type[Solver]) -> dict[str, list[Any]]:
    """Return the bounds of every parameter; found once, for a sweep makes thousands of one solver."""
    hints = get_type_hints(solver, include_extras=True)
    return {field.name: _bounds(hints[field.name]) for field in fields(solver)}


@cache
def words_of(solver: type[Solver]) -> dict[str, list[Any]]:
    """Return what every parameter may be that is one of some words, or None; found once, as bounds are."""
    words_by_name = {field.name: _words(types_of(solver)[field.name]) for field in fields(solver)}
    return {name: words for name, words in words_by_name.items() if words}


def _words(hint: Any) -> list[Any]:
    """Return the words of a type that has nothing else but None."""
    parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    if not all(get_origin(part) is Literal or part is type(None) for part in parts):
        return []
    return [word for part in parts for word in get_args(part) or (None,)]


def _bounds(hint: Any) -> list[Any]:
    """Return the bounds of an annotated type, such as ``Gt(0)``, and of the parts of a union."""
    own = ungrouped(getattr(hint, "__metadata__", ()))
    return [*own, *(bound for part in get_args(hint) for bound in _bounds(part))]


def ungrouped(metadata: Iterable[Any]) -> Iterator[Any]:
    """Yield the bounds among what annotates a type; an ``Interval`` is two."""
    for bound in metadata:
        yield from bound if isinstance(bound, GroupedMetadata) else [bound]


def _is_word(solver: type[Solver], name: str, word: str) -> bool:
    """Return whether a parameter may be this word in place of a number that has bounds."""
    hint = types_of(solver)[name]
    return any(part is str or word in get_args(part) for part in (hint, *get_args(hint)))


#: kind of bound -> the comparison that holds, and how it is said
_COMPARISONS: dict[type, tuple[Callable[[Any, Any], bool], str]] = {
    Gt: (operator.gt, "above"),
    Ge: (operator.ge, "at least"),
    Lt: (operator.lt, "below"),
    Le: (operator.le, "at most"),
}


def missed_range(bound: Any, number: Any) -> str:
    """Return the range that a bound sets, in words, if the number is outside; NaN is outside of every range."""
    if type(bound) not in _COMPARISONS:
        return ""
    holds, words = _COMPARISONS[type(bound)]
    limit = getattr(bound, type(bound).__name__.lower())
    return "" if holds(number, limit) else f"{words} {limit}"
