"""What a solver is: parameters, and an algorithm that can be advanced in slices.

Subclasses are frozen dataclasses whose fields are the parameters, with their range and meaning:

    C: Annotated[float, Gt(0)] = 1.0

Configs are checked against these annotations (`annotated_types`) before anything runs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, ClassVar, Literal, NamedTuple

from mpu_bench.core.counters import UNLIMITED
from mpu_bench.core.kernels import Kernel
from mpu_bench.core.model import Model
from mpu_bench.core.problem import Problem


class Status(IntEnum):
    """How an advance ended."""

    RUNNING = 0  #: the allowance is used up
    DONE = 1  #: the algorithm's own stopping rule holds; a further advance changes nothing
    DIVERGED = 2  #: a number is no longer finite


class Allowance(NamedTuple):
    """How far an advance may go; whatever is used up first ends it.

    ``presented``: further examples (for batch solvers, iterations). ``kernel_evaluations``: further kernel values
    asked for; a solver may finish the example that crosses it.
    """

    presented: int = UNLIMITED
    kernel_evaluations: int = UNLIMITED


class Measures(NamedTuple):
    """What a solver can certify about its present state; None where it cannot.

    ``objective``: the primal objective of the model. ``dual_objective``: of the dual variables, a lower bound of
    the optimum. ``gap``: objective / dual_objective - 1. ``margin``: min_i y_i w.x_i / ||w||. ``online_error``:
    wrong predictions / examples presented, for online solvers.
    """

    objective: float | None = None
    dual_objective: float | None = None
    gap: float | None = None
    margin: float | None = None
    online_error: float | None = None


@dataclass(frozen=True)
class Solver(ABC):
    """A training algorithm. The state it works on is its own, but has a field ``counters`` (core/counters.py).

    Class attributes
    ----------------
    name : the name in configs and tables.
    paper : the paper that describes it, by the project's name of it (``mpu-2010``), or the peer's package.
    kernels : ``"linear"`` or ``"any"``.
    classes : ``"two"`` or ``"any"``.
    sliceable : False for peers, whose one advance runs to the end whatever the allowance.
    """

    name: ClassVar[str]
    paper: ClassVar[str]
    kernels: ClassVar[Literal["linear", "any"]] = "linear"
    classes: ClassVar[Literal["two", "any"]] = "two"
    sliceable: ClassVar[bool] = True

    @abstractmethod
    def start(self, problem: Problem, kernel: Kernel, seed: int) -> Any:
        """Make the state the algorithm starts from. Its time counts as training time."""

    @abstractmethod
    def advance(self, state: Any, allowance: Allowance) -> Status:
        """Go on until the allowance is used up or the algorithm is done; changes the state in place.

        Advancing in slices of any size gives bit for bit the state of one long advance.
        """

    @abstractmethod
    def model(self, state: Any) -> Model:
        """Give the present hypothesis. Never changes the state, never counted."""

    def measures(self, state: Any) -> Measures:  # noqa: ARG002
        """Certify the present state. Never changes it, never counted, never timed."""
        return Measures()
