"""A small explicit random generator for jitted loops: splitmix64 (Steele, Lea, Flood 2014).

Its whole state is one uint64 in an array, carried in the solver's state, so that a run cut into slices or
resumed repeats exactly. Outside jitted code use ``numpy.random.Generator(PCG64((seed, purpose)))``.
"""

from __future__ import annotations

import numpy as np
from numba import config
from numpy.typing import NDArray

from mpu_bench.core.jit import jit


def rng(seed: int, purpose: str) -> NDArray[np.uint64]:
    """Return a random generator that is a function of the seed and the purpose alone.

    Parameters
    ----------
    seed : int
        The run's seed, not negative.
    purpose : str
        What the numbers are for, such as ``"permutation"``; different purposes give independent streams.

    Returns
    -------
    array of uint64, shape (1,)
        To be handed to `randint` and `shuffle`, which change it.
    """
    entropy = [seed, *purpose.encode()]
    return np.random.SeedSequence(entropy).generate_state(1, np.uint64).astype(np.uint64)


@jit(inline="always")
def next_word(state):
    """Return 64 random bits."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    word = state[0]
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


if config.DISABLE_JIT:  # type: ignore[attr-defined]  # the scalars of numpy warn where they wrap around
    next_word = np.errstate(over="ignore")(next_word)


@jit(inline="always")
def randint(state, bound):
    """Return a random integer from 0 to ``bound - 1``, ``bound < 2**32``, by multiplying instead of dividing.

    Of the 2**32 equally likely words a value gets ``floor`` or ``ceil`` of 2**32 / bound: for n = 1e6 the odds
    differ by less than 3e-4 relative, which no experiment here can see.
    """
    word = next_word(state) >> np.uint64(32)
    return np.uint32((word * np.uint64(bound)) >> np.uint64(32))


@jit
def shuffle(state, items, length):
    """Permute the first ``length`` items uniformly in place (Fisher and Yates)."""
    for k in range(length - 1, 0, -1):
        other = randint(state, np.uint32(k + 1))
        items[k], items[other] = items[other], items[k]
