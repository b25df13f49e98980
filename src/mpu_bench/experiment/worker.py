"""The child process that runs are made in: kept warm, fed over a pipe, replaceable at any moment.

It answers each task with messages: ``("phase", name or Compiled)`` as it goes on, ``("progress", values)`` after every
slice, and at last ``("result", record, checkpoints)`` or ``("failed", status, reason)``.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from mpu_bench.data.download.fetch import Home
from mpu_bench.experiment.plan import Run

_SIGKILL_ON_PARENT_DEATH = 1  # PR_SET_PDEATHSIG
_WARM_UP_EXAMPLES = 200


@dataclass(frozen=True)
class Task:
    """A run, where its data are, and the optimum its objective is set against."""

    run: Run
    home: Home
    optimum: float | None = None


class Compiled(float):
    """The seconds that a worker has just spent compiling; zero where all came from the disk cache."""


Send = Callable[[tuple[Any, ...]], None]


def serve(connection: Connection, parent: int, jobs: int = 1) -> None:
    """Answer tasks until the parent says None, closes the pipe or dies."""
    _die_with(parent)
    _import_ahead()
    bench = Bench(connection.send, parent, jobs)
    try:
        while (task := connection.recv()) is not None:
            bench.answer(task)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return


def _import_ahead() -> None:
    """Import what every run needs while the parent still reads its config."""
    from mpu_bench.core import cache
    from mpu_bench.data.prepare import load
    from mpu_bench.experiment import bind, trace

    assert load
    assert bind
    assert trace
    cache.prune()


def _die_with(parent: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SIGKILL_ON_PARENT_DEATH, signal.SIGKILL)
    if os.getppid() != parent:  # it died before the line above
        os._exit(1)


@dataclass
class Bench:
    """What a worker keeps between runs: the last problem, and what is compiled already."""

    send: Send
    parent: int
    jobs: int  #: workers that share the machine's memory
    _problem: tuple[Any, Any] | None = None
    _warm: set[tuple[Any, ...]] = field(default_factory=set)

    def answer(self, task: Task) -> None:
        """Do one run and send what came of it; every failure is an answer too."""
        try:
            self.send(self._run(task))
        except MemoryError as fault:
            self._problem = None
            self.send(("failed", "out-of-memory", f"the process could not get more memory: {fault}"))
        except (BrokenPipeError, ConnectionResetError):
            raise
        except ImportError as fault:
            self.send(("failed", "skipped", f"{task.run.solver} needs a package that is not installed: {fault}"))
        except Exception as fault:
            from mpu_bench.errors import UserError

            reason = str(fault) if isinstance(fault, UserError) else f"{type(fault).__name__}: {fault}"
            if not isinstance(fault, UserError):
                traceback.print_exc()
            self.send(("failed", "error", reason))

    def _run(self, task: Task) -> tuple[Any, ...]:
        from mpu_bench import solvers
        from mpu_bench.core import gram
        from mpu_bench.experiment import bind, trace, tuning

        run = task.run
        gram.set_allowance(run.kernel_memory, self.jobs)
        for plugin in run.plugins:
            solvers.load_plugin(plugin)
        self.send(("phase", "loading"))
        problem = self._load(task)
        if run.trial is not None:
            problem = tuning.part(problem, run.trial)
        _check_classes(run, problem)
        solver, kernel = bind.solver(run.solver, run.parameters, problem.n), bind.kernel(run.kernel, problem)
        solver.check(problem, kernel)
        compile_seconds = self._warm_up(run, problem)
        self.send(("phase", "training"))
        _forget_peak_memory()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            traced = trace.train(
                solver,
                problem,
                kernel,
                run.seed,
                run.stop,
                run.checkpoints,
                self._progress,
                task.optimum,
            )
        reason = "; ".join(filter(None, [traced.reason, *dict.fromkeys(str(each.message) for each in caught)]))
        last = traced.checkpoints[-1]
        record = {
            "n": problem.n,
            "d": problem.features,
            "n_test": problem.n_test,
            "classes": len(problem.classes),
            "status": traced.status,
            "reason": reason,
            "compile_seconds": compile_seconds,
            "peak_memory_mb": peak_memory_mb(),
            **last,
        }
        return ("result", record, traced.checkpoints)

    def _progress(self, values: dict[str, Any]) -> None:
        if os.getppid() != self.parent:
            os._exit(1)
        self.send(("progress", values))

    def _load(self, task: Task) -> Any:
        from mpu_bench.data.cards import catalog
        from mpu_bench.data.prepare.load import load_problem

        card = catalog.card(task.run.dataset, task.run.options)
        key = (task.run.dataset, repr(sorted(task.run.options.items())), task.home)
        if self._problem is None or self._problem[0] != key:
            self._problem = None
            self._problem = (key, load_problem(card, task.home))
        return self._problem[1]

    def _warm_up(self, run: Run, problem: Any) -> float:
        """Compile, or load compiled code, on a toy problem of the same types; give the seconds it took."""
        from mpu_bench.config.schema import Checkpoints, Stop
        from mpu_bench.core.clock import COMPILER
        from mpu_bench.experiment import bind, trace

        types = tuple((type(rows), *(array.dtype for array in rows)) for rows in (problem.train, problem.test))
        key = (run.solver, _variant(run), run.kernel.name, types)
        if key in self._warm:
            return 0.0
        self.send(("phase", "compiling"))
        started, compiled = time.perf_counter(), COMPILER.seconds
        small = bind.toy(problem)
        few = Stop(passes=_WARM_UP_EXAMPLES / small.n)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            solver = bind.solver(run.solver, run.parameters, problem.n)
            kernel = bind.kernel(run.kernel, small)
            trace.train(solver, small, kernel, run.seed, few, Checkpoints())
        self._warm.add(key)
        self.send(("phase", Compiled(COMPILER.seconds - compiled)))
        return time.perf_counter() - started


def _variant(run: Run) -> tuple[Any, ...]:
    """Tell apart what may be other code: words and switches by value, numbers by type."""
    return tuple(
        (name, repr(type(value)) if isinstance(value, float | Mapping) or type(value) is int else value)
        for name, value in sorted(run.parameters.items())
    )


def _check_classes(run: Run, problem: Any) -> None:
    from mpu_bench import solvers
    from mpu_bench.errors import DataError

    one = solvers.load(run.solver).classes == "two" and "multiclass" not in run.parameters
    if one and len(problem.classes) != 2:
        raise DataError(
            f"{problem.name}: has {len(problem.classes)} classes and solver '{run.solver}' separates two; choose the "
            f"positive ones with the dataset's option positive: [...], or give the solver multiclass: one-against-one"
        )


def _forget_peak_memory() -> None:
    """Let the process's peak count from now on (Linux); elsewhere it counts from the worker's start."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def peak_memory_mb() -> float | None:
    """Give the largest resident memory of this process since `_forget_peak_memory`, in MiB."""
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) / 1024
    import psutil

    return float(psutil.Process().memory_info().rss) / 2**20
