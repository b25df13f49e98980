import itertools

import numpy as np
import pytest

from mpu_bench import published
from mpu_bench.errors import StoreError
from mpu_bench.verdict.rank_tests import critical_difference, friedman, matched, wilcoxon


@pytest.mark.parametrize(
    ("first", "second", "alternative", "statistic", "p_value"),
    [
        ("fw", "cvm", "less", 17, 3.085e-06),
        ("mfw", "cvm", "less", 20, 5.528e-06),
        ("fw", "mfw", "two-sided", 159, 0.6893),
    ],
)
def test_the_papers_signed_ranks_of_seconds(first, second, alternative, statistic, p_value):
    values = matched(published.table("fw-table3"), "seconds", [first, second])
    outcome = wilcoxon(values[:, 0], values[:, 1], alternative)
    assert outcome.statistic == statistic
    assert outcome.p_value == pytest.approx(p_value, rel=2e-4)
    assert outcome.pairs == 26
    assert outcome.exact


def test_the_papers_friedman_of_seconds():
    outcome = friedman(matched(published.table("fw-table3"), "seconds", ["cvm", "fw", "mfw"]))
    assert outcome.statistic == pytest.approx(14.858, abs=5e-4)
    assert outcome.p_value == pytest.approx(1.72e-05 / 2, rel=3e-3)  # printed twice the upper tail
    assert outcome.datasets == 26
    assert sum(outcome.average_ranks) == pytest.approx(6)
    assert outcome.average_ranks[0] == max(outcome.average_ranks)


def test_the_papers_ranks_of_accuracy_as_far_as_two_digits_go():
    """The paper had more digits than it prints, so ties are not its own."""
    table = published.table("fw-table2")
    values = matched(table, "accuracy_percent", ["cvm", "fw", "mfw"])
    outcome = wilcoxon(values[:, 1], values[:, 0], "less")
    assert outcome.statistic == 19
    assert not outcome.exact
    assert wilcoxon(values[:, 2], values[:, 0], "less").statistic == pytest.approx(48.5)
    assert friedman(values, best="highest").p_value == pytest.approx(1.2e-4, rel=0.1)


def test_exact_probabilities_are_those_of_all_signs():
    differences = np.array([1.5, -0.5, 3.0, 2.0, -1.0, 4.0])
    ranks = np.argsort(np.argsort(np.abs(differences))) + 1
    sums = [ranks @ np.array(signs) for signs in itertools.product([0, 1], repeat=6)]
    below = min(ranks[differences > 0].sum(), ranks[differences < 0].sum())
    outcome = wilcoxon(differences, np.zeros(6))
    assert outcome.statistic == below
    assert outcome.p_value == pytest.approx(2 * np.mean(np.array(sums) <= below))


def test_rounding_makes_no_order():
    """0.3 - 0.2 and 0.2 - 0.1 are tied, and 0.1 + 0.2 does not differ from 0.3."""
    first, second = np.array([0.3, 0.2, 0.1 + 0.2, 5.0]), np.array([0.2, 0.1, 0.3, 4.0])
    outcome = wilcoxon(first, second)
    assert not outcome.exact
    assert outcome.statistic == 0
    assert outcome.pairs == 4


def test_datasets_that_not_all_solvers_have_are_left_out():
    rows = [
        {"dataset": "a", "solver": "x", "seconds": "1"},
        {"dataset": "a", "solver": "y", "seconds": 2.0},
        {"dataset": "b", "solver": "x", "seconds": ""},
        {"dataset": "b", "solver": "y", "seconds": "3"},
        {"dataset": "c", "solver": "y", "seconds": None},
    ]
    assert matched(rows, "seconds", ["y", "x"]).tolist() == [[2.0, 1.0]]
    with pytest.raises(StoreError, match="no column 'second'"):
        matched(rows, "second", ["x"])
    with pytest.raises(StoreError, match="no solver 'z'"):
        matched(rows, "seconds", ["x", "z"])
    with pytest.raises(StoreError, match="more than one row of x on a"):
        matched([*rows, rows[0]], "seconds", ["x"])


def test_nothing_to_compare():
    with pytest.raises(StoreError, match="nothing to rank"):
        wilcoxon(np.ones(5), np.ones(5))
    with pytest.raises(StoreError, match="two datasets and two solvers"):
        friedman(np.ones((1, 3)))


def test_the_same_order_everywhere():
    outcome = friedman(np.array([[1.0, 2.0], [3.0, 4.0]]))
    assert outcome.statistic == np.inf
    assert outcome.p_value == 0
    assert outcome.average_ranks == (1.0, 2.0)


def test_the_critical_difference_is_that_of_demsars_table():
    """Table 5a of Demsar (2006): q of 3 solvers is 2.343, of 5 it is 2.728, of 10 it is 3.164."""
    for solvers, q in ((3, 2.343), (5, 2.728), (10, 3.164)):
        expected = q * (solvers * (solvers + 1) / (6 * 14)) ** 0.5
        assert critical_difference(solvers, 14) == pytest.approx(expected, rel=1e-3)
