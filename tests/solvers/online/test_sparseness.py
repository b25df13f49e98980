import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mpu_bench.solvers.online.sparseness import Sparseness, Try, attempt, best_within, search


def tried_at_once(stored, budget):
    """A try of so many vectors, of which it is not told when they were stored."""
    return Try(min(stored, budget + 1), 1.0, 1.05 if stored <= budget else 0.95)


@settings(max_examples=200, deadline=None)
@given(
    crossing=st.floats(-600, 39),
    slope=st.floats(0.01, 500),
    noise=st.integers(0, 6),
    budget=st.integers(1, 600),
    seed=st.integers(0, 1000),
    told=st.booleans(),
)
def test_the_search_takes_enough_vectors_or_the_most_within_the_budget(crossing, slope, noise, budget, seed, told):
    """Where the count rises and falls by chance, too, and whether or not a try tells how far off it is."""
    tried = {}

    def at(number, whole):
        assert -690 <= number <= 40
        rough = np.random.default_rng([seed, abs(hash(number))]).integers(-noise, noise, endpoint=True)
        tried[number] = max(0, int(np.clip(budget + slope * (number - crossing), -1e6, 1e6)) + int(rough))
        if not told:
            return tried_at_once(tried[number], budget)
        full = max((budget + 1) / max(tried[number], 1), 0.01)
        told_early = tried[number] < 0.8 * budget and not whole
        return Try(min(tried[number], budget + 1), 0.5 if told_early else 1.0, full)

    found = best_within(at, budget)
    within = [count for count in tried.values() if count <= budget]
    assert (found is None) == (not within)
    if within:
        assert tried[found] >= 0.99 * budget or tried[found] == max(within)
    assert len(tried) < 100


def test_a_number_is_taken_only_after_it_was_tried_to_the_end():
    """A try that ends early is a forecast, which may be wrong: here all of them are."""
    came_to = {}

    def at(number, whole):
        came_to[number] = 10 if number < -3 else 80
        return Try(came_to[number], 1.0 if whole else 0.3, 0.4 if came_to[number] > 50 and whole else 3.0)

    found = best_within(at, 50)
    assert came_to[found] == 10


@settings(max_examples=200, deadline=None)
@given(
    rate=st.one_of(st.just(0.0), st.floats(0.01, 3.0)),
    power=st.floats(0.1, 1.0),
    budget=st.integers(1, 300),
    whole=st.booleans(),
)
def test_a_try_ends_as_soon_as_it_is_decided(rate, power, budget, whole):
    """Vectors are stored ever more seldom: rate * B * t^power of them by the part t of the examples."""
    full = rate ** (-1 / power) * (1 + 1 / budget) ** (1 / power) if rate else math.inf

    def present(part):
        reached = min(part, full)
        return min(int(rate * budget * reached**power + 1e-9), budget + 1) if reached < full else budget + 1, reached

    came_to = attempt(present, budget, whole)
    assert (came_to.stored > budget) == (full <= 1) == (came_to.full <= 1)
    if full <= 1:
        assert came_to.full == came_to.presented == full
    elif whole:
        assert came_to.whole
    elif not came_to.whole:  # what it forecast holds
        assert present(1.0)[0] < 0.99 * budget + 1


@pytest.mark.parametrize("odds", [-600.0, -3.0, 0.0, 3.0, 39.0])
def test_an_eta_of_odds_has_them(odds):
    eta, complement, largest = Sparseness.of_odds(odds, 2.0)
    assert largest == 2.0
    assert 0 < eta <= 2.0
    assert math.log(complement / eta) == pytest.approx(odds)


def test_a_search_says_what_it_has_cost():
    found = search(lambda sparseness, _: tried_at_once(int(8 * sparseness.complement), 4), 4, 1.0)
    assert int(8 * found.sparseness.complement) == 4
    assert found.passes == found.tried
    assert search(lambda *_: Try(5, 1.0, 1.0), 4, 1.0) is None
