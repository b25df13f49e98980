"""The kernel SVM's certificate, in plain numpy and double precision: weak duality proves how good a solution is."""

import numpy as np

from mpu_bench.core.kernels import Gaussian, Linear


def gram(kernel, matrix):
    """Return the kernel matrix of the rows of a matrix."""
    products = matrix @ matrix.T
    if isinstance(kernel, Linear):
        return products
    if isinstance(kernel, Gaussian):
        norms = np.diag(products)
        return np.exp(-kernel.gamma * np.maximum(norms[:, None] + norms - 2 * products, 0))
    return (kernel.scale * products + kernel.offset) ** kernel.degree


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
