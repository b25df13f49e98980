"""Small problems and the same matrix in every kind of rows."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from mpu_bench import solvers
from mpu_bench.core.problem import Problem
from mpu_bench.core.solver import Until
from mpu_bench.kernels import Kernel, Linear
from mpu_bench.solvers.contract.toys import (  # noqa: F401 - for all tests
    KINDS,
    arrays_of,
    binary,
    kernel_of,
    more,
    problem,
    real,
    with_small_parameters,
)
from mpu_bench.solvers.multiclass import Multiclass

LINEAR, FOR_EVER = Linear(), Until()


def separable(n=40, d=6, seed=0, margin=0.1):
    """Return real values and labels that a vector of length one separates with at least the margin."""
    random = np.random.default_rng(seed)
    matrix, direction = random.normal(size=(n, d)), random.normal(size=d)
    direction /= np.linalg.norm(direction)
    labels = (matrix @ direction > 0).astype(np.int32)
    labels[:2] = 0, 1
    signs = 2.0 * labels - 1
    short = np.maximum(0, margin - signs * (matrix @ direction))
    return matrix + np.outer(signs * short, direction), labels


def three_classes(kind="dense", n=90, d=7):
    random = np.random.default_rng(0)
    matrix = (random.random((n, d)) < 0.5).astype(float)
    if kind != "ones":
        matrix *= random.normal(size=(n, d)).astype(np.float32)
    matrix[5] = matrix[4]
    centred = matrix - matrix.mean(axis=0)
    labels = np.argmax(centred @ random.normal(size=(d, 3)) + 0.3 * random.normal(size=(n, 3)), axis=1)
    return problem(matrix, labels.astype(np.int32), kind)


def solver_named(name):
    """Make a solver with its defaults, and something small where a parameter has none."""
    return with_small_parameters(solvers.load(name))


class Variant(NamedTuple):
    """A solver with parameters and the kernel it trains with."""

    name: str
    parameters: dict
    kernel: Kernel | None = None
    multiclass: str = ""


#: Further ways to run a solver, beside its defaults with the first kernel it can use.
VARIANTS = {
    "bpegasos": Variant("bpegasos", {"vectors": 8, "precision": "double", "regularization": 0.01}),
    "bpegasos, random": Variant("bpegasos", {"vectors": 8, "maintenance": "random", "precision": "double"}),
    "bpegasos, smallest": Variant("bpegasos", {"vectors": 8, "maintenance": "smallest", "precision": "double"}),
    "bpegasos, projection": Variant("bpegasos", {"vectors": 8, "maintenance": "projection", "regularization": 0.01}),
    "pegasos-multiclass": Variant("pegasos-multiclass", {"precision": "double"}),
    "dcd, one-against-one": Variant("dcd", {}, multiclass="one-against-one"),
    "mpu, linear": Variant("mpu", {}, Linear()),
    "mpu, adaptive": Variant("mpu", {"adaptive": True}),
    "mpu, hard": Variant("mpu", {"margin": "hard"}),
    "projectron++, eta": Variant("projectron++", {"eta": 0.9}),
    "projectron++, vectors": Variant("projectron++", {"vectors": 8}),
    "sbp, bias": Variant("sbp", {"nu": 0.1, "bias": True}),
    "smo, bias": Variant("smo", {"bias": True}),
    "smo, one-against-rest": Variant("smo", {}, multiclass="one-against-rest"),
}


def variants():
    """Return every solver with its defaults, and the further variants."""
    return {name: Variant(name, {}) for name in solvers.SOLVERS} | VARIANTS


def of_variant(name):
    """Make the solver and the kernel of a variant."""
    variant = variants()[name]
    solver = replace(solver_named(variant.name), **variant.parameters)
    if variant.multiclass:
        solver = Multiclass(solver, variant.multiclass)
    return solver, kernel_of(solver) if variant.kernel is None else variant.kernel  # Linear() is an empty tuple


def train(
    solver: Any, problem: Problem, kernel: Kernel = LINEAR, seed: int = 0, until: Until = FOR_EVER
) -> tuple[Any, Any]:
    """Return the state and the status of one advance."""
    state = solver.start(problem, kernel, seed)
    return state, solver.advance(state, until)
