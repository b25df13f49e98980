"""Every classifier on random small problems, against an optimum in 80 bits; `scripts/sweep.py` tries more of them."""

from __future__ import annotations

import pytest

from classifiers import ALL
from sweep.checks import outcome
from sweep.problems import made

_SEEDS, _MOST_ROWS = 12, 24


@pytest.mark.parametrize("name", ALL)
def test_no_number_is_false_and_no_fit_is_endless(name: str) -> None:
    """Of a sample that compiles little: dense rows in double, and one kernel beside that of the linear solvers."""
    found = [outcome(name, made(seed, ("float64",), ("rbf",), _MOST_ROWS), False) for seed in range(_SEEDS)]
    wrong = [f"{each.problem}, {each.parameters}: {text}" for each in found for text in each.wrong]
    assert not wrong, "\n".join(wrong)
    assert sum(bool(each.refused) for each in found) <= _SEEDS / 3, [each.refused for each in found]
