"""Which runs need the same machine code, and whether this machine has compiled it.

An empty file beside the compiled code says that it was compiled once. Where that is no longer true, as after the code
was deleted by hand, a run compiles what it needs before it trains, as ever.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import cache as cached
from typing import Any

from mpu_bench import solvers
from mpu_bench.config.schema import Limits
from mpu_bench.core import cache
from mpu_bench.data.download.cache import DataDirectory
from mpu_bench.data.download.progress import Progress
from mpu_bench.experiment.environment import instruction_set
from mpu_bench.experiment.messages import Task
from mpu_bench.experiment.pool import Pool
from mpu_bench.experiment.run import Run
from mpu_bench.scaled import Scaled


def variant(run: Run) -> tuple[Any, ...]:
    """Return what distinguishes runs of a solver that may need other code: words and switches, types of numbers."""
    return tuple(
        (name, repr(type(value)) if isinstance(value, float | Scaled | Mapping) or type(value) is int else value)
        for name, value in sorted(run.solver.parameters.items())
    )


def code_of(run: Run, storage: str) -> str:
    """Return the key of the code that a run needs; nothing where it needs none, or that of a user's own solver.

    Parameters
    ----------
    run : Run
    storage : str
        How the rows of its dataset are stored: dense, sparse, ...; nothing where that is not known.
    """
    if (
        not storage or run.solver.plugin or not (solver := solvers.load(run.solver.name)).sliceable
    ):  # an external solver
        return ""
    kind = (run.solver.name, variant(run), run.solver.kernel.name, storage)
    digest = hashlib.sha256(repr((*_machine(), *kind)).encode()).hexdigest()[:16]
    return f"{cache.folder_of(solver.__module__).name}/{digest}"


@cached
def _machine() -> tuple[str, ...]:
    """Return what code is compiled by and for."""
    from numba import __version__

    return __version__, sys.version, instruction_set()


def compile_ahead(runs: Mapping[str, Run], home: DataDirectory, limits: Limits, pool: Pool, progress: Progress) -> None:
    """Let a pool compile what runs need and this machine has not compiled, if that is of several kinds.

    Parameters
    ----------
    runs : mapping
        One for each key of code.
    home : DataDirectory
    limits : Limits
    pool : Pool
    progress : Progress
        Called with what is compiled.
    """
    lacking = {code: run for code, run in runs.items() if code and not is_compiled(code)}
    if len(lacking) > 1 and cache.can_be_kept():
        pool.compile_ahead(
            [Task("", run, home, limits, code=code, only_compiles=True) for code, run in lacking.items()], progress.note
        )


def is_compiled(code: str) -> bool:
    """Return whether code was compiled on this machine."""
    return (cache.cache_folder() / code).exists()


def keep_compiled(code: str) -> None:
    """Keep that code is compiled, where that can be kept."""
    with suppress(OSError):  # a full disk, or a folder that cannot be written: it is compiled again
        path = cache.cache_folder() / code
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
