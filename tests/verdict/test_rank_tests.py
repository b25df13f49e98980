import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from mpu_bench import published
from mpu_bench.errors import StoreError
from mpu_bench.verdict.rank_tests import (
    LEVEL,
    MIN_PAIRS,
    critical_difference,
    friedman,
    indistinguishable,
    matched,
    typical,
    wilcoxon,
)


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


ACCURACIES = {
    # pair: W and p with ties as ties, W and p with ties as the last bit of a double breaks them, both as printed
    ("fw", "cvm"): ((19, 4.977e-06), (19, 4.977e-06), (19, 4.977e-06)),
    ("mfw", "cvm"): ((48.5, 3.580e-04), (47.5, 3.208e-04), (48.5, 3.21e-04)),
    ("fw", "mfw"): ((59, 1.226e-03), (59, 1.228e-03), (63.5, 1.23e-03)),
}


@pytest.mark.parametrize(("pair", "outcomes"), ACCURACIES.items(), ids=map(" ".join, ACCURACIES))
def test_the_papers_signed_ranks_of_accuracy(pair, outcomes):
    """All printed p come out with ties as computed; of the printed W, one needs true ties and 63.5 is neither."""
    values = matched(published.table("fw-table2"), "accuracy_percent", pair)
    for ties, (statistic, p_value) in zip(("as ties", "as computed"), outcomes[:2], strict=True):
        outcome = wilcoxon(values[:, 0], values[:, 1], "less", ties)
        assert outcome.statistic == statistic
        assert outcome.p_value == pytest.approx(p_value, rel=3e-4)
        assert outcome.exact
    assert outcome.p_value == pytest.approx(outcomes[2][1], rel=2e-3)
    printed = published.table("fw-tables5-6")[4 + list(ACCURACIES).index(pair)]
    assert (float(printed["statistic"]), float(printed["p_value"])) == outcomes[2]


@pytest.mark.parametrize(("corrected", "statistic"), [(False, 10.748), (True, 11.542)])
def test_friedman_of_the_papers_accuracies_with_and_without_its_correction(corrected, statistic):
    """Neither is the printed 11.879, whose own tail is half the printed p; digits that are not printed are needed."""
    values = matched(published.table("fw-table2"), "accuracy_percent", ["cvm", "fw", "mfw"])
    assert friedman(values, "highest", corrected).statistic == pytest.approx(statistic, abs=1e-3)
    assert stats.f.sf(11.879, 2, 50) == pytest.approx(1.20e-4 / 2, rel=5e-3)
    assert len(set(values[0])) == 1
    values[0] += (0.002, 0.001, 0.0)
    assert friedman(values, "highest", corrected=False).statistic == pytest.approx(11.879, abs=5e-4)


def all_signs(ranks, positive):
    """Return how often the sum of positive ranks is at most, and at least, what it is."""
    sums = [sum(rank for rank, sign in zip(ranks, signs, strict=True) if sign)
            for signs in itertools.product([False, True], repeat=len(ranks))]  # fmt: skip
    return np.mean(np.array(sums) <= positive), np.mean(np.array(sums) >= positive)


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=9))
def test_exact_probabilities_are_those_of_all_signs(numbers):
    """With zeros and ties of every kind."""
    differences = np.array(numbers, float)
    ranks = stats.rankdata(np.abs(differences))
    below, above = all_signs(ranks[differences != 0], ranks[differences > 0].sum())
    outcomes = {
        alternative: wilcoxon(differences, np.zeros(len(numbers)), alternative)
        for alternative in ("less", "greater", "two-sided")
    }
    assert outcomes["less"].p_value == pytest.approx(below)
    assert outcomes["greater"].p_value == pytest.approx(above)
    assert outcomes["two-sided"].p_value == pytest.approx(min(1, 2 * min(below, above)))
    assert outcomes["less"].exact
    assert outcomes["less"].statistic == min(ranks[differences > 0].sum(), ranks[differences < 0].sum())


@pytest.mark.parametrize("alternative", ["less", "greater", "two-sided"])
@pytest.mark.parametrize("pairs", [3, 26, 120])
def test_without_ties_probabilities_are_scipys(pairs, alternative):
    rng = np.random.default_rng(pairs)
    first, second = rng.normal(0.2, 1, pairs), rng.normal(0, 1, pairs)
    expected = stats.wilcoxon(first, second, alternative=alternative, method="exact").pvalue
    assert wilcoxon(first, second, alternative).p_value == pytest.approx(expected, rel=1e-10)


def test_many_pairs_take_the_normal_approximation():
    """It meets the exact probability where it begins, and scipy's everywhere."""
    rng = np.random.default_rng(5)
    first, second = rng.normal(0.08, 1, 501).round(1), np.zeros(501)
    nearly, whole = wilcoxon(first, second), wilcoxon(first[:-1], second[:-1])
    assert (nearly.exact, whole.exact) == (False, True)
    scipys = stats.wilcoxon(first, zero_method="pratt", method="approx").pvalue
    assert nearly.p_value == pytest.approx(scipys, rel=1e-6)
    scipys = stats.wilcoxon(first[:-1], zero_method="pratt", method="approx").pvalue
    assert whole.p_value == pytest.approx(scipys, rel=0.01)


@pytest.mark.parametrize("best", ["lowest", "highest"])
def test_friedman_with_ties_is_scipys(best):
    values = np.random.default_rng(7).integers(0, 4, (12, 4)).astype(float)
    outcome = friedman(values, best, corrected=True)
    assert outcome.chi_squared == pytest.approx(stats.friedmanchisquare(*values.T).statistic)
    assert friedman(values, best, corrected=False).chi_squared < outcome.chi_squared


def test_rounding_makes_no_order():
    """0.3 - 0.2 and 0.1 - 0.2 are tied, and 0.1 + 0.2 does not differ from 0.3, unless the last bit counts."""
    first, second = np.array([0.3, 0.1, 0.1 + 0.2, 5.0]), np.array([0.2, 0.2, 0.3, 6.0])
    assert wilcoxon(first, second).statistic == 2.5
    assert wilcoxon(first, second, ties="as computed").statistic != 2.5


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
    with pytest.raises(StoreError, match="no pair"):
        wilcoxon(np.ones(0), np.ones(0))
    alike = wilcoxon(np.ones(5), np.ones(5))
    assert (alike.statistic, alike.p_value) == (0, 1)
    with pytest.raises(StoreError, match="two datasets and two solvers"):
        friedman(np.ones((1, 3)))


def test_the_same_order_everywhere():
    outcome = friedman(np.array([[1.0, 2.0], [3.0, 4.0]]))
    assert outcome.statistic == np.inf
    assert outcome.p_value == 1 / 2
    assert outcome.average_ranks == (1.0, 2.0)
    assert friedman(np.tile([1.0, 2.0, 3.0], (2, 1))).p_value == pytest.approx(1 / 6)
    assert friedman(np.tile([1.0, 2.0, 2.0, 4.0], (3, 1))).p_value == pytest.approx(1 / 12**2)
    assert friedman(np.ones((4, 3))).p_value == 1


def test_the_critical_difference_is_that_of_demsars_table():
    """Table 5a of Demsar (2006): q of 3 solvers is 2.343, of 5 it is 2.728, of 10 it is 3.164."""
    for solvers, q in ((3, 2.343), (5, 2.728), (10, 3.164)):
        expected = q * (solvers * (solvers + 1) / (6 * 14)) ** 0.5
        assert critical_difference(solvers, 14) == pytest.approx(expected, rel=1e-3)


@given(st.integers(0, 2**32 - 1), st.integers(2, 9), st.integers(2, 40))
def test_groups_hold_all_pairs_that_are_indistinguishable_and_no_other(seed, solvers, datasets):
    rng = np.random.default_rng(seed)
    outcome = friedman(rng.random((datasets, solvers)) + rng.random() * np.arange(solvers))
    ranks, difference = sorted(outcome.average_ranks), critical_difference(solvers, datasets)
    groups = indistinguishable(outcome)
    for one, other in itertools.combinations(range(solvers), 2):
        is_joined = any(first <= one and other <= last for first, last in groups)
        assert is_joined == (outcome.p_value >= LEVEL or ranks[other] - ranks[one] < difference)
    assert all(first < last for first, last in groups)
    assert all(a[0] < b[0] and a[1] < b[1] for a, b in itertools.pairwise(groups))


def test_the_typical_difference_is_that_of_hollander_and_wolfe():
    """The depression scale factors of "Nonparametric Statistical Methods", chapter 3."""
    before = np.array([1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30])
    after = np.array([0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29])
    assert typical(after - before) == pytest.approx((-0.46, -0.786, -0.010), abs=1e-9)
    assert wilcoxon(after, before, "less").p_value == pytest.approx(0.0195, abs=5e-5)


@given(st.lists(st.integers(-100, 100), min_size=6, max_size=12, unique_by=abs))
def test_the_interval_holds_the_shifts_that_are_not_refused(numbers):
    differences = np.array(numbers, float)
    middle, low, high = typical(differences)
    assert low <= middle <= high
    for shift in (low - 0.3, low + 0.3, middle, high - 0.3, high + 0.3):
        refused = wilcoxon(differences, np.full(len(numbers), shift)).p_value < LEVEL
        assert refused == (not low <= shift <= high)


def test_large_numbers_make_no_ties_of_small_ones():
    """What rounding is, is a matter of each pair, and of each number: seconds of a day say nothing of milliseconds."""
    small = 1e-4 * np.arange(1, 7)
    outcome = wilcoxon(np.array([1e6, *2 * small]), np.array([1e6 + 5, *small]))
    assert (outcome.statistic, outcome.p_value) == (7.0, pytest.approx(0.296875))
    assert friedman(np.array([[1e6, 2e-5, 1e-5]] * 4)).average_ranks == (3.0, 2.0, 1.0)


def test_few_differences_have_no_interval():
    assert typical(np.arange(1.0, MIN_PAIRS)) is None
    assert wilcoxon(np.arange(1.0, MIN_PAIRS), np.zeros(MIN_PAIRS - 1)).p_value > LEVEL
    assert wilcoxon(np.arange(1.0, MIN_PAIRS + 1), np.zeros(MIN_PAIRS)).p_value <= LEVEL


def test_rounding_ranks_nobody():
    """Means that are equal but for their last bit, as those of 7 and 8 errors and of 7.5 each, share a rank."""
    values = np.array([[99.24318869828457, 99.24318869828456, 99.24318869828457]] * 3)
    outcome = friedman(values, "highest")
    assert (outcome.average_ranks, outcome.p_value) == ((2.0, 2.0, 2.0), 1.0)
