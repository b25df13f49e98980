"""The kernel SVM's certificate, in plain numpy and double precision: weak duality proves how good a solution is."""

import numpy as np

from mpu_bench.kernels import Gaussian, Linear


def gram(kernel, matrix):
    """Return the kernel matrix of the rows of a matrix."""
    return values(kernel, matrix, matrix)


def values(kernel, left, right):
    """Return the kernel values of all rows of one matrix with those of another, as precise as they are."""
    if isinstance(kernel, Linear):
        return left @ right.T
    if isinstance(kernel, Gaussian):
        return np.exp(-left.dtype.type(kernel.gamma) * np.square(left[:, None] - right).sum(axis=2))
    return (left.dtype.type(kernel.scale) * (left @ right.T) + left.dtype.type(kernel.offset)) ** kernel.degree


def certificate(gram, signs, coefficients, bias, C):
    """Return the primal objective of a model and the dual objective of its coefficients, which must be feasible.

    ``coefficients`` are y_i alpha_i. Where there is a bias, the dual bound holds for a sum of zero only.
    """
    alphas = signs * coefficients
    assert (alphas >= 0).all()
    assert (alphas <= C).all()
    responses = gram @ coefficients
    squared = coefficients @ responses
    primal = squared / 2 + C * np.maximum(0, 1 - signs * (responses + bias)).sum()
    return primal, alphas.sum() - squared / 2
