"""Examples for every layout of a `VectorStore`: matrix and labels, kind of rows, and the layout in single precision."""

import numpy as np

from mpu_bench.core.vector_store import BITS, COLUMNS, CSC, QUANTISED
from oracles import toys


def pixels():
    matrix, labels = toys.binary()
    digits = np.random.default_rng(1).integers(1, 256, size=matrix.shape)
    return (matrix * digits / 255).astype(np.float32).astype(float), labels


def wide():
    """Return long rows with few values, none of them the same."""
    random = np.random.default_rng(2)
    matrix = random.normal(size=(60, 900)).astype(np.float32).astype(float)
    matrix[random.random(matrix.shape) > 0.01] = 0.0
    return matrix, np.arange(60, dtype=np.int32) % 2


LAYOUTS = {
    "ones": (toys.binary, "ones", BITS),
    "sparse ones": (toys.binary, "sparse", BITS),
    "pixels": (pixels, "dense", QUANTISED),
    "sparse pixels": (pixels, "sparse", QUANTISED),
    "dense": (toys.real, "dense", COLUMNS),
    "doubles": (toys.real, "dense64", COLUMNS),
    "wide": (wide, "sparse", CSC),
}
