"""How many threads BLAS, OpenMP and numba have: a process settles it by its environment, before it imports them."""

from __future__ import annotations

_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
)


def variables(threads: int) -> dict[str, str]:
    """Return the environment variables of a process with so many threads."""
    return dict.fromkeys(_VARIABLES, str(threads))
