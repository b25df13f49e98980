"""The kernel matrix that runs of an experiment share: computed once by all cores, and kept in a file that each maps.

``kernel_matrix: shared`` asks for it. Of runs on the same rows with the same kernel, the first that trains on kernel
rows has the whole matrix computed, off its clock; its row says in how many seconds. The others find it there. Values
are bit for bit those that a run computes by itself, and kernel evaluations are counted as ever; but what a row costs is
no longer in anybody's seconds, so those of runs that share are never judged.

The files are the session's: they go when it ends. Together they take no more than what is allowed for kernel values; a
matrix that is larger is not shared, and the run keeps rows of its own.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import psutil
from numpy.typing import NDArray

from mpu_bench.core.clock import Clock
from mpu_bench.core.problem import Problem, StreamedProblem
from mpu_bench.core.solver import Solver
from mpu_bench.errors import StoreError
from mpu_bench.experiment.run import Run
from mpu_bench.files import process_lock
from mpu_bench.kernels import Kernel
from mpu_bench.kernels import matrix as kernel_matrix

DISTURBS = "its kernel rows are shared"  #: why seconds are not compared
_SECONDS_BETWEEN_WORDS = 10.0
_VALUE_BYTES = np.dtype(np.float32).itemsize


def attach(
    folder: Path, run: Run, solver: Solver, problem: Problem, kernel: Kernel, report: Callable[[], object]
) -> tuple[float | None, str]:
    """Let a run take its kernel rows from a shared matrix, made now if it is not there.

    Parameters
    ----------
    folder : Path
        Where the matrices of the experiment are.
    run : Run
    solver : Solver
    problem : Problem
    kernel : Kernel
    report : function
        Called now and then while the matrix is computed, or waited for.

    Returns
    -------
    seconds : float or None
        What computing it has taken now: 0 where it was there; None where the run keeps rows of its own.
    reason : str
        Why it does, where it could be otherwise.
    """
    if isinstance(problem, StreamedProblem) or not solver.shares_kernel_rows(problem, kernel):
        return None, ""
    size, allowed = problem.n**2 * _VALUE_BYTES, run.settings.kernel_memory
    if allowed is None:
        allowed = int(psutil.virtual_memory().available) // 2
    if size > allowed:
        return None, f"its kernel matrix is not shared: {size / 1e9:.3g} GB, and {allowed / 1e9:.3g} GB are allowed"
    key = hashlib.sha256(repr((problem.fingerprint, kernel)).encode()).hexdigest()[:16]
    path = folder / f"{key}.float32"
    try:
        with process_lock(path.with_suffix(".lock"), report, lambda error: StoreError(str(error.strerror))):
            seconds = (
                0.0
                if path.exists()
                else _make(path, size, allowed=allowed, problem=problem, kernel=kernel, report=report)
            )
            os.utime(path)  # used last
            values = _mapped(path, problem.n, "c")  # what a solver writes by mistake changes no file
    except (OSError, StoreError) as error:
        return None, f"its kernel matrix is not shared: {path}: {getattr(error, 'strerror', None) or error}"
    kernel_matrix.PROVISION.shared = kernel_matrix.SharedRows(problem.train, kernel, values)
    return seconds, ""


def remove(folder: Path) -> None:
    """Remove all matrices of an experiment."""
    with suppress(OSError):
        shutil.rmtree(folder)


def _make(path: Path, size: int, allowed: int, problem: Problem, kernel: Kernel, report: Callable[[], object]) -> float:
    """Compute a matrix into a file, and remove those that were used before the others as far as room is needed."""
    _make_room(path.parent, allowed - size)
    part = path.with_suffix(".part")
    part.unlink(missing_ok=True)
    last_news, clock = time.perf_counter(), Clock()

    def tell_now_and_then() -> None:
        nonlocal last_news
        if time.perf_counter() - last_news > _SECONDS_BETWEEN_WORDS:
            last_news = time.perf_counter()
            report()

    try:
        _reserve(part, size)
        values = _mapped(part, problem.n, "r+")
        matrix = kernel_matrix.build(problem.train, problem.features, kernel, memory=0, precision="single")
        kernel_matrix.compute_all(matrix, values[:1], 1, report)  # compiles
        with clock:
            kernel_matrix.compute_all(matrix, values, os.cpu_count() or 1, tell_now_and_then)
        part.rename(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    return clock.seconds


def _reserve(path: Path, size: int) -> None:
    """Make a file of that size; a disk that is too full says so here, and not by the end of a process later."""
    with path.open("wb") as file:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, size)
        else:
            file.truncate(size)


def _make_room(folder: Path, allowed: int) -> None:
    """Remove matrices until the rest fits a number of bytes; a run that uses a removed one keeps it to its end."""
    files = sorted(folder.glob("*.float32"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in files:
        allowed -= path.stat().st_size
        if allowed < 0:
            path.unlink(missing_ok=True)


def _mapped(path: Path, n: int, mode: str) -> NDArray[np.float32]:
    return np.asarray(np.memmap(path, np.float32, mode, shape=(n, n)))  # type: ignore[call-overload]
