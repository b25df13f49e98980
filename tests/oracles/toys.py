"""Small problems and the same matrix in every kind of rows."""

import types
from dataclasses import MISSING, fields, is_dataclass, replace
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

import numpy as np

from mpu_bench import solvers
from mpu_bench.core.counters import KERNEL_EVALUATIONS, PRESENTED, UNLIMITED
from mpu_bench.core.kernels import Gaussian, Kernel, Linear
from mpu_bench.core.problem import Problem
from mpu_bench.core.rows import Dense, Ones, Sparse
from mpu_bench.core.solver import Until
from mpu_bench.solvers.multiclass import Multiclass

LINEAR, FOR_EVER = Linear(), Until()

KINDS = {
    "dense": lambda matrix: Dense(np.ascontiguousarray(matrix, np.float32)),
    "dense64": lambda matrix: Dense(np.ascontiguousarray(matrix, np.float64)),
    "sparse": lambda matrix: Sparse(matrix[matrix != 0].astype(np.float32), *_index(matrix)),
    "ones": lambda matrix: Ones(*_index(matrix)),
}


def _index(matrix):
    starts = np.concatenate([[0], np.cumsum((matrix != 0).sum(axis=1))])
    return np.nonzero(matrix)[1].astype(np.uint32), starts.astype(np.uint32)


def binary(n=60, d=12, seed=0, agree=False):
    """Return ones and zeros with labels that a linear function almost explains, an empty row and duplicates.

    With ``agree`` duplicates are of one class, so that a kernel can separate the classes.
    """
    random = np.random.default_rng(seed)
    matrix = (random.random((n, d)) < 0.4).astype(float)
    labels = (matrix @ random.normal(size=d) + 0.3 * random.normal(size=n) > 0).astype(np.int32)
    matrix[n // 2] = 0.0
    matrix[n // 3] = matrix[n // 4]
    labels[:2] = 0, 1
    if agree:
        _, first, inverse = np.unique(matrix, axis=0, return_index=True, return_inverse=True)
        labels = labels[first][inverse.ravel()]
    return matrix, labels


def real(n=60, d=7, seed=0):
    """Return real values that single precision holds exactly, so that only the arithmetic can differ."""
    random = np.random.default_rng(seed)
    matrix = random.normal(size=(n, d)).astype(np.float32).astype(float)
    matrix[random.random((n, d)) < 0.3] = 0.0
    labels = (matrix @ random.normal(size=d) + 0.5 * random.normal(size=n) > 0).astype(np.int32)
    labels[:2] = 0, 1
    return matrix, labels


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


def problem(matrix, labels, kind):
    rows = KINDS[kind](np.asarray(matrix))
    classes = tuple(f"class {c}" for c in range(labels.max() + 1))
    return Problem("toy", rows, labels, rows, labels, matrix.shape[1], classes, f"toy-{kind}")


def solver_named(name):
    """Make a solver with its defaults, and something small where a parameter has none."""
    solver = solvers.load(name)
    hints = get_type_hints(solver, include_extras=True)
    required = {field.name: _small(hints[field.name]) for field in fields(solver) if _has_no_default(field)}
    return solver(**required)


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


def kernel_of(solver):
    return Linear() if solver.kernels == "linear" else Gaussian(0.25)


def _has_no_default(field):
    return field.default is MISSING and field.default_factory is MISSING


def _small(hint):
    while get_origin(hint) in {Annotated, types.UnionType}:
        hint = get_args(hint)[0]
    return {int: 10, float: 0.5}.get(hint, hint)


def arrays_of(state, prefix=""):
    """Return every array of a state by its path."""
    found = {}
    for name, part in _parts(state).items():
        if isinstance(part, np.ndarray):
            found[prefix + name] = part.copy()
        elif hasattr(part, "_asdict") or is_dataclass(part) or isinstance(part, list):
            found |= arrays_of(part, f"{prefix}{name}.")
    return found


def _parts(state):
    if isinstance(state, list):
        return {str(position): part for position, part in enumerate(state)}
    return state._asdict() if hasattr(state, "_asdict") else vars(state)


def more(state: Any, presented: int = UNLIMITED, kernel_evaluations: int = UNLIMITED) -> Until:
    """Return where an advance stops that goes so much further."""
    counters = state.counters
    return Until(int(counters[PRESENTED]) + presented, int(counters[KERNEL_EVALUATIONS]) + kernel_evaluations)


def train(
    solver: Any, problem: Problem, kernel: Kernel = LINEAR, seed: int = 0, until: Until = FOR_EVER
) -> tuple[Any, Any]:
    """Return the state and the status of one advance."""
    state = solver.start(problem, kernel, seed)
    return state, solver.advance(state, until)
