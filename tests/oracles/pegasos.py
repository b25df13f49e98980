"""Pegasos as its Figure 1 has it, with w itself, in plain numpy."""

import numpy as np


def train(patterns, C, batches):
    """Take one step per batch, a list of indices; return w after every step, shape (steps, d)."""
    regularization = 1.0 / (C * len(patterns))
    weights, found = np.zeros(patterns.shape[1]), []
    for t, batch in enumerate(batches, start=1):
        chosen = patterns[batch]
        violators = chosen[chosen @ weights < 1]
        eta = 1.0 / (regularization * t)
        weights = (1.0 - eta * regularization) * weights + eta / len(batch) * violators.sum(axis=0)
        length = np.linalg.norm(weights)
        if length > 0:
            weights = min(1.0, 1.0 / (np.sqrt(regularization) * length)) * weights
        found.append(weights)
    return np.array(found)
