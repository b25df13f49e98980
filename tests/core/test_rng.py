import numpy as np
import pytest
import scipy.stats
from numba import njit

from mpu_bench.core.rng import next_word, randint, rng, shuffle

# From the published reference implementation of splitmix64, seed 1234567
SPLITMIX = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821]


@njit
def words(state, number):
    return [next_word(state) for _ in range(number)]


@njit
def draws(state, bound, number):
    drawn = np.empty(number, np.uint32)
    for k in range(number):
        drawn[k] = randint(state, bound)
    return drawn


def test_words_are_those_of_splitmix64():
    assert words(np.array([1234567], np.uint64), 5) == SPLITMIX


def test_a_stream_is_a_function_of_seed_and_purpose():
    assert rng(1, "order") == rng(1, "order")
    streams = [rng(seed, purpose)[0] for seed in range(20) for purpose in ("order", "removal", "sample")]
    assert len(set(streams)) == len(streams)
    with pytest.raises(ValueError, match="non-negative"):
        rng(-1, "order")


@pytest.mark.parametrize("bound", [1, 2, 10, 997])
def test_randint_is_uniform(bound):
    drawn = draws(rng(0, "test"), np.uint32(bound), 100_000)
    counts = np.bincount(drawn, minlength=bound)
    assert len(counts) == bound
    assert bound == 1 or scipy.stats.chisquare(counts).pvalue > 1e-3


def test_randint_reaches_the_largest_bounds():
    drawn = draws(rng(0, "test"), np.uint32(2**32 - 1), 1000)
    assert drawn.max() > 0.99 * 2**32


def test_shuffle_is_uniform_over_permutations():
    state, seen = rng(0, "test"), {}
    for _ in range(12_000):
        items = np.arange(4, dtype=np.uint32)
        shuffle(state, items, 4)
        seen[tuple(items)] = seen.get(tuple(items), 0) + 1
    assert len(seen) == 24
    assert scipy.stats.chisquare(list(seen.values())).pvalue > 1e-3


def test_shuffle_leaves_the_rest_alone():
    items = np.arange(10, dtype=np.uint32)
    shuffle(rng(0, "test"), items, 5)
    assert sorted(items[:5]) == list(range(5))
    np.testing.assert_array_equal(items[5:], np.arange(5, 10))
    shuffle(rng(0, "test"), items, 0)


def test_a_stream_cut_in_two_is_the_same():
    whole, state = draws(rng(0, "test"), np.uint32(50), 100), rng(0, "test")
    parts = [draws(state, np.uint32(50), size) for size in (1, 42, 57)]
    np.testing.assert_array_equal(np.concatenate(parts), whole)
