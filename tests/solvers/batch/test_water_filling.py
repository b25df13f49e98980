"""Water levels against sorting, from any guess."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mpu_bench.core.numeric import new_record
from mpu_bench.core.rng import rng
from mpu_bench.solvers.batch.water_filling import LEVELS, draw_covered, one_level, two_levels
from oracles import water

responses = st.floats(-1, 1) | st.sampled_from([-0.5, 0.0, 0.25])  # the latter for ties
volumes = st.sampled_from([0.0, 1e-9, 1e-3, 1e3, 1e9]) | st.floats(0, 30)
guesses = st.sampled_from([-1e6, 0.0, 1e6]) | st.floats(-2, 2)
basins = st.lists(responses, min_size=1, max_size=60).map(np.array)


def levels_at(plus=0.0, minus=0.0, reach=np.inf):
    return new_record(LEVELS, plus=plus, minus=minus, reach=reach)[0]


@given(basins, volumes, guesses)
@example(np.zeros(1), 1e-9, 1e6)
def test_one_basin(basin, volume, guess):
    level = one_level(basin, volume, guess)
    assert level == pytest.approx(water.one_level(basin, volume), rel=1e-9, abs=1e-12)
    assert np.maximum(0, level - basin).sum() == pytest.approx(volume, rel=1e-9, abs=1e-9)
    assert level >= basin.min()


@given(basins, basins, volumes, guesses, guesses, st.sampled_from([0.0, 1e-3, 0.1, 3.0, np.inf]))
@settings(max_examples=300)
def test_two_basins(plus, minus, volume, first, second, reach):
    guess = levels_at(first, second, reach)
    levels = two_levels(plus, minus, volume, guess, np.zeros(len(plus) + len(minus)))
    assert sum(levels) == pytest.approx(water.two_levels(plus, minus, volume), rel=1e-9, abs=1e-12)
    filled = np.maximum(0, levels[0] - plus).sum() + np.maximum(0, levels[1] - minus).sum()
    assert filled == pytest.approx(volume, rel=1e-9, abs=1e-9)
    below, upto = np.array([[(c < g).sum(), (c <= g).sum()] for c, g in zip((plus, minus), levels, strict=True)]).T
    assert below.max() <= upto.min() or volume < 1e-6  # some k is covered in both; a level within rounding of a tie
    assert levels[0] >= plus.min()
    assert levels[1] >= minus.min()
    assert (guess.plus, guess.minus) == levels


@pytest.mark.parametrize("level", [-np.inf, np.nan, np.inf])
def test_nothing_is_drawn_where_nothing_is_covered(level):
    stream = rng(0, "test")
    assert draw_covered(np.full(5, np.nan), level, stream) == -1
    assert draw_covered(np.full(5, np.inf), level, stream) == -1
    assert draw_covered(np.ones(5), 0.5, stream) == -1


@given(
    st.lists(st.sampled_from([np.nan, np.inf, -np.inf, 0.0, 1.0]), min_size=2, max_size=9).map(np.array),
    st.integers(1, 8),
    st.sampled_from([0.0, 1.0, np.inf, np.nan]),
)
def test_no_number_leads_beyond_the_arrays(responses, first, volume):
    first = min(first, len(responses) - 1)
    one_level(responses, volume, 0.0)
    around = np.full(3 * len(responses), 7.0)  # whatever is written stays in the middle
    scratch = around[len(responses) : -len(responses)]
    two_levels(responses[:first], responses[first:], volume, levels_at(), scratch)
    assert (around[: len(responses)] == 7).all()
    assert (around[-len(responses) :] == 7).all()


@pytest.mark.parametrize("volume", [0.0, 0.3, 7.0])
def test_two_basins_with_many_responses_that_move_slowly(volume):
    random = np.random.default_rng(0)
    plus, minus, guess = random.normal(size=700), random.normal(size=2500), levels_at()
    for _ in range(60):
        levels = two_levels(plus, minus, volume, guess, np.zeros(3200))
        assert sum(levels) == pytest.approx(water.two_levels(plus, minus, volume), rel=1e-12)
        assert guess.reach < 3  # not all of them are looked at
        plus += 0.02 * random.normal(size=700)
        minus += 0.02 * random.normal(size=2500) - 0.01


def test_the_middle_bias_is_taken():
    """One of each is covered and gamma+ + gamma- = 1, with gamma+ from 0 to 0.3 and gamma- from 0 to 2."""
    levels = two_levels(np.array([0.0, 0.3]), np.array([0.0, 2.0]), 1.0, levels_at(), np.zeros(4))
    assert levels == pytest.approx((0.15, 0.85))


def test_draws_are_uniform_among_the_covered():
    responses, stream = np.array([0.5, 0.1, 0.7, 0.1, 0.3]), rng(0, "test")
    drawn = [draw_covered(responses, 0.5, stream) for _ in range(3000)]
    assert np.bincount(drawn, minlength=5) == pytest.approx([0, 1000, 0, 1000, 1000], abs=100)
    assert {draw_covered(responses, 0.1, stream) for _ in range(50)} == {1, 3}
