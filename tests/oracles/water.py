"""Water levels by sorting and by their definition as a minimum, plainly."""

import numpy as np


def one_level(responses, volume):
    """Return min_k (V + sum of the k smallest) / k."""
    sums = np.cumsum(np.sort(responses))
    return ((volume + sums) / np.arange(1, len(sums) + 1)).min()


def two_levels(plus, minus, volume):
    """Return gamma+ + gamma- = min_k (V + sum of the k smallest of each) / k."""
    k = min(len(plus), len(minus))
    return one_level(np.sort(plus)[:k] + np.sort(minus)[:k], volume)
