"""The batch solvers that keep all responses, as their papers have them, on a whole kernel matrix in plain numpy."""

import numpy as np

from mpu_bench.core.rng import randint
from oracles import water


def draw(responses, level, generator):
    """Draw uniformly among those below the level, or at it where none is below."""
    covered = np.flatnonzero(responses < level)
    if len(covered) == 0:
        covered = np.flatnonzero(responses <= level)
    return covered[randint(generator, np.uint32(len(covered)))]


def sbp(gram, signs, nu, iterations, generator):
    """Algorithm 1 of sbp-2012 without a bias; gives the average alpha and its water level."""
    n = len(signs)
    patterns = signs[:, None] * gram * signs
    alphas, responses = np.zeros(n), np.zeros(n)
    squared, sum_alphas, sum_responses = 0.0, np.zeros(n), np.zeros(n)
    for t in range(1, iterations + 1):
        eta = 1 / np.sqrt(gram.diagonal().max() * t)
        i = draw(responses, water.one_level(responses, n * nu), generator)
        squared += 2 * eta * responses[i] + eta**2 * gram[i, i]
        alphas[i] += eta
        responses = responses + eta * patterns[i]
        if squared > 1:
            alphas, responses, squared = alphas / np.sqrt(squared), responses / np.sqrt(squared), 1.0
        sum_alphas += alphas
        sum_responses += responses
    return sum_alphas / iterations, water.one_level(sum_responses / iterations, n * nu)


def pegasos(gram, signs, regularization, iterations, generator):
    """Pegasos without projection; gives the last alpha, the examples drawn, and f(w_t; i_t) before each step."""
    n = len(signs)
    patterns = signs[:, None] * gram * signs
    alphas, drawn, losses = np.zeros(n), [], []
    for t in range(1, iterations + 1):
        i = randint(generator, np.uint32(n))
        response = patterns[i] @ alphas
        drawn.append(i)
        losses.append(regularization / 2 * alphas @ patterns @ alphas + max(0.0, 1 - response))
        alphas = (1 - 1 / t) * alphas
        if response < 1:
            alphas[i] += 1 / (regularization * t)
    return alphas, np.array(drawn), np.array(losses)
