import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mpu_bench.solvers.online.sparseness import Sparseness, largest_within, search


@settings(max_examples=200, deadline=None)
@given(
    crossing=st.floats(-600, 39),
    slope=st.floats(0.01, 500),
    noise=st.integers(0, 6),
    budget=st.integers(1, 600),
    seed=st.integers(0, 1000),
)
def test_the_search_takes_the_most_vectors_within_the_budget(crossing, slope, noise, budget, seed):
    """Where the count rises and falls by chance, too."""
    tried = {}

    def stored(number):
        assert -690 <= number <= 40
        rough = np.random.default_rng([seed, abs(hash(number))]).integers(-noise, noise, endpoint=True)
        tried[number] = max(0, int(np.clip(budget + slope * (number - crossing), -1e6, 1e6)) + int(rough))
        return min(tried[number], budget + 1)

    found = largest_within(stored, budget)
    within = [count for count in tried.values() if count <= budget]
    assert (found is None) == (not within)
    if within:
        assert tried[found] == max(within)
    assert len(tried) < 100


@pytest.mark.parametrize("odds", [-600.0, -3.0, 0.0, 3.0, 39.0])
def test_an_eta_of_odds_has_them(odds):
    eta, complement, largest = Sparseness.of_odds(odds, 2.0)
    assert largest == 2.0
    assert 0 < eta <= 2.0
    assert math.log(complement / eta) == pytest.approx(odds)


def test_a_search_says_what_it_has_cost():
    found = search(lambda sparseness: (int(8 * sparseness.complement), 0.5), 4, 1.0)
    assert int(8 * found.sparseness.complement) == 4
    assert found.passes == 0.5 * found.tried
    assert search(lambda _: (5, 1.0), 4, 1.0) is None
