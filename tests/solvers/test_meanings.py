"""What is known of a solver in words: every parameter of every solver has its meaning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import pytest
from annotated_types import Ge, Gt, Interval

from mpu_bench import solvers
from mpu_bench.core.solver import Solver
from mpu_bench.solvers import meanings


@pytest.mark.parametrize("name", sorted(solvers.SOLVERS))
def test_every_solver_says_what_it_is_what_it_counts_and_what_its_parameters_mean(name: str) -> None:
    solver = solvers.load(name)
    assert len(meanings.summary(solver).split()) > 1
    assert "`" not in meanings.summary(solver)  # it stands in lists, where no class is known
    assert meanings.counted(solver)
    for parameter in meanings.parameters(solver):
        assert len(parameter.meaning) >= len("lambda."), parameter.name
        assert parameter.range
        assert "`" not in parameter.meaning.replace("`regularization`", "")


@dataclass(frozen=True)
class Base(Solver):
    """A base.

    Attributes
    ----------
    C, D : float
        The weights,
        in kilograms.
    rounds : int
    """

    C: Annotated[float, Gt(0)] = 1.0
    D: Annotated[float | None, Interval(ge=0, lt=1)] = None
    rounds: Annotated[int, Ge(1)] = 3


@dataclass(frozen=True)
class Own(Base):
    """One of the user's own,
    in two lines.

    Attributes
    ----------
    C
        As of `Base`.
    D : float
        Another weight.
    rule : {"one", "two"}
        Which.

    Notes
    -----
    switch : bool
        None of the attributes.
    """

    rule: Literal["one", "two"] = "one"
    switch: bool = False


def test_docstrings_are_read_as_numpydoc_has_them() -> None:
    assert meanings.summary(Own) == "One of the user's own, in two lines."
    found = {each.name: each for each in meanings.parameters(Own)}
    assert found["C"] == meanings.Parameter("C", "number > 0", "1", "The weights, in kilograms.")
    assert found["D"] == meanings.Parameter("D", "number or none >= 0, < 1", "none", "Another weight.")
    assert found["rounds"] == meanings.Parameter("rounds", "whole number >= 1", "3", "")
    assert found["rule"] == meanings.Parameter("rule", "one or two", "one", "Which.")
    assert found["switch"] == meanings.Parameter("switch", "true or false", "false", "")


def test_a_class_without_a_docstring_has_no_summary() -> None:
    @dataclass(frozen=True)
    class Silent(Solver):
        C: float = 1.0

    assert meanings.summary(Silent) == ""
    assert meanings.counted(Silent) == ""
