"""The L2-SVM with a squared bias as a problem on the simplex, solved densely and in double; it proves its answer."""

import numpy as np

from mpu_bench.core.rows import any_rows
from mpu_bench.core.solver import Until
from mpu_bench.core.vectors import new_vectors
from mpu_bench.kernels import Gaussian, Linear, Polynomial
from mpu_bench.solvers.meb.core_set import Examples, add_slot, new_core_set
from oracles import kernel_svm, toys


def products(kernel, matrix, signs, C):
    """Return the matrix of k~_ij = y_i y_j (K_ij + 1) + delta_ij / C."""
    return np.outer(signs, signs) * (kernel_svm.gram(kernel, matrix) + 1) + np.eye(len(signs)) / C


def least_square(products, gap=1e-12, most_steps=2000):
    """Minimise ``R = alpha.products.alpha`` over the simplex by an active set method; gives alpha and R.

    On the weights that may be above zero it solves ``products alpha = R`` exactly, as far as the next weight that gets
    zero; then the coordinate with the least response joins. The answer is within the relative gap of R:
    min_i (products alpha)_i is not above the least R.
    """
    n = len(products)
    alphas, free = np.zeros(n), np.zeros(n, bool)
    start = np.argmin(np.diag(products))
    alphas[start], free[start] = 1.0, True
    for _ in range(most_steps):
        while True:
            wanted = np.zeros(n)
            wanted[free] = np.linalg.solve(products[np.ix_(free, free)], np.ones(free.sum()))
            wanted /= wanted.sum()
            if (wanted[free] > 0).all():
                break
            leaving = np.flatnonzero(free & (wanted <= 0))
            shares = alphas[leaving] / (alphas[leaving] - wanted[leaving])
            alphas += shares.min() * (wanted - alphas)
            free[leaving[shares == shares.min()]] = False
            alphas[~free] = 0.0
        alphas = wanted
        responses = products @ alphas
        square = alphas @ responses
        if square - responses.min() <= gap * square:
            return alphas, square
        free[np.argmin(responses)] = True
    raise AssertionError("the reference did not come to an end")


def frank_wolfe(products, first, eps, away, most_steps):
    """Algorithms 2 and 3 as printed, by definition: R, r^2 and all responses anew from the weights in every step.

    ``first`` are the weights to start from, Delta^2 is products[0, 0]; all points are searched. Only the step is exact
    where the diagonal is not constant. Gives the weights and the list of r^2.
    """
    alphas, constant, radii = first.copy(), products[0, 0], []
    for _ in range(most_steps):
        responses = products @ alphas
        square = alphas @ responses
        radius = constant - square
        radii.append(radius)
        far = np.argmin(responses)
        rise = square - responses[far]
        if 2 * rise <= ((1 + eps) ** 2 - 1) * radius:
            break
        support = np.flatnonzero(alphas)
        near = support[np.argmax(responses[support])]
        fall = responses[near] - square
        if not away or rise >= fall:
            length = min(rise / (max(constant, products[far, far]) + square - 2 * responses[far]), 1.0)
            alphas *= 1 - length
            alphas[far] += length
        else:
            length = fall / (max(constant, products[near, near]) + square - 2 * responses[near])
            whole = length <= 0 or length >= alphas[near] / (1 - alphas[near])
            length = alphas[near] / (1 - alphas[near]) if whole else length
            alphas *= 1 + length
            alphas[near] = 0.0 if whole else alphas[near] - length
    return alphas, radii


KERNELS = [Gaussian(0.25), Linear(), Polynomial(0.5, 1.0, 2)]

#: solvers with kernels they can use
CASES = [("cvm", KERNELS[0]), ("fw", KERNELS[0]), ("mfw", KERNELS[0]), ("fw", KERNELS[1]), ("mfw", KERNELS[2])]


def weights(state):
    """Return alpha by example, (n,), of the state of a solver."""
    core, m = state.core, state.core.vectors.size[0]
    alphas = np.zeros(len(core.slots))
    alphas[core.members[:m]] = core.signs[:m] * core.coefficients[:m] * state.ball.scale[0]
    return alphas


def full_core_set(problem, kernel, C, cache_mb=1.0):
    """Return examples and a core set of all of them, with equal weights and exact responses."""
    return core_set_with(problem, kernel, C, products_of(problem, kernel, C).mean(axis=1), cache_mb)


def core_set_with(problem, kernel, C, responses, cache_mb=1.0):
    """Return examples and a core set of all of them, with equal weights and these responses."""
    examples = Examples(any_rows(problem.train), problem.labels, kernel, np.array([C]))
    core = new_core_set(problem.n, new_vectors(problem.features, problem.n + 1), cache_mb)
    for i in range(problem.n):
        slot = add_slot(core, examples, np.uint32(i), responses[i])
        core.coefficients[slot] = core.signs[slot] / problem.n
    return examples, core


def products_of(problem, kernel, C):
    """Return the matrix of k~_ij of a problem's dense rows."""
    return products(kernel, problem.train.values.astype(float), problem.signs(), C)


def one_feature(n=44, scale=30.0, kind="dense"):
    """Return a problem whose kernel matrix has rank 2 and, with a large C, is nearly singular for its size."""
    random = np.random.default_rng(6)
    matrix = random.normal(size=(n, 1))
    labels = (matrix[:, 0] + 0.3 * random.normal(size=n) > 0).astype(np.int32)
    return toys.problem(matrix * scale, labels, kind)


def trained(solver, problem, kernel=None, seed=0, presented=200_000):
    """Return the state after so many iterations, and the status."""
    state = solver.start(problem, Gaussian(0.25) if kernel is None else kernel, seed)
    return state, solver.advance(state, Until(presented))
