"""The child process that runs are made in: kept warm, fed over a pipe, replaceable at any moment.

It answers each `Task` with messages: `Phase` and `Compiled` as it goes on, `Progress` after every slice, and at last
`Finished` or `Failed`.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from mpu_bench.experiment import disturbance
from mpu_bench.experiment.messages import (
    Compiled,
    Failed,
    Finished,
    Message,
    Phase,
    Preparation,
    Prepared,
    Progress,
    Task,
)
from mpu_bench.experiment.run import Run
from mpu_bench.scaled import Scaled

_SIGKILL_ON_PARENT_DEATH = 1  # PR_SET_PDEATHSIG
_WARM_UP_EXAMPLES = 200
_NEEDED_BY_EVERY_RUN = ("mpu_bench.data.prepare.load", "mpu_bench.experiment.bind", "mpu_bench.experiment.trace")


def serve(connection: Connection, parent: int, jobs: int = 1) -> None:
    """Answer tasks until the parent closes the pipe or dies."""
    _die_with(parent)
    for module in _NEEDED_BY_EVERY_RUN:  # while the parent still reads its config
        importlib.import_module(module)
    _prune_compiled_code()
    executor = RunExecutor(connection.send, parent, jobs)
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            executor.answer(connection.recv())


def _prune_compiled_code() -> None:
    """Remove what earlier versions have compiled; here, because importing `core` must write and delete nothing."""
    from mpu_bench.core import cache

    cache.prune()


def _die_with(parent: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SIGKILL_ON_PARENT_DEATH, signal.SIGKILL)
    if os.getppid() != parent:  # it died before the line above
        os._exit(1)


@dataclass
class RunExecutor:
    """Makes runs, and keeps between them what the next may need: the last problem, and what is compiled already."""

    send: Callable[[Message], None]
    parent: int
    jobs: int  #: workers that share the machine's memory
    _problem: tuple[Any, Any] | None = None
    _probe: disturbance.Probe | None = None
    _warm: set[tuple[Any, ...]] = field(default_factory=set)

    def answer(self, asked: Task | Preparation) -> None:
        """Make one run, or prepare a dataset, and send what came of it; every failure is an answer too."""
        try:
            self.send(self._prepare_data(asked) if isinstance(asked, Preparation) else self._execute(asked))
        except (BrokenPipeError, ConnectionResetError):
            raise
        except MemoryError as fault:
            self._problem = None
            self.send(Failed("out-of-memory", f"the process could not get more memory: {fault}"))
        except ImportError as fault:
            needing = asked.name if isinstance(asked, Preparation) else asked.run.solver.name
            self.send(Failed("skipped", f"{needing} needs a package that is not installed: {fault}"))
        except Exception as fault:
            self.send(Failed("error", _reason(fault)))

    def _prepare_data(self, preparation: Preparation) -> Prepared:
        from mpu_bench.experiment.preparation import prepare

        self._problem = None
        return prepare(preparation, self.send)

    def _execute(self, task: Task) -> Finished:
        from mpu_bench import solvers
        from mpu_bench.core import gram
        from mpu_bench.experiment import bind, trace

        run, settings = task.run, task.run.settings
        gram.set_allowance(settings.kernel_memory, self.jobs)
        for plugin in settings.plugins:
            solvers.load_plugin(plugin)
        problem = self._prepare(task)
        solver = bind.build_solver(run.solver.name, run.solver.parameters, problem.n)
        kernel = bind.build_kernel(run.solver.kernel, problem)
        solver.check(problem, kernel)
        compile_seconds = self._warm_up(run, problem)
        probe = self._known_probe(task)
        self.send(Phase("training"))
        _forget_peak_memory()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            traced = trace.train(
                solver, problem, kernel, run.seed, settings.stop, settings.checkpoints, self._tell, task.optimum,
                probe.measure,
            )  # fmt: skip
        record = {
            **_sizes(problem),
            "status": traced.status,
            "reason": "; ".join(filter(None, [traced.reason, *dict.fromkeys(str(each.message) for each in caught)])),
            "compile_seconds": compile_seconds,
            "peak_memory_mb": peak_memory_mb(),
            "threads": settings.threads,
            **traced.checkpoints[-1],
            **traced.measured,
        }
        record["disturbed"] = disturbance.why(record, probe.fastest)
        return Finished(record, traced.checkpoints)

    def _known_probe(self, task: Task) -> disturbance.Probe:
        """Return this worker's probe, which knows the fastest one of all earlier runs."""
        self._probe = self._probe or disturbance.Probe()
        self._probe.fastest = min(self._probe.fastest, task.fastest_probe)
        return self._probe

    def _tell(self, progress: Progress) -> None:
        if os.getppid() != self.parent:
            os._exit(1)
        self.send(progress)

    def _prepare(self, task: Task) -> Any:
        """Return the problem of a run, which is the last one's if its data are the same."""
        from mpu_bench.data.cards import catalog
        from mpu_bench.data.prepare.load import load_problem
        from mpu_bench.experiment.holdout import holdout

        self.send(Phase("loading"))
        dataset = task.run.dataset
        key = (dataset.name, repr(sorted(dataset.options.items())), task.home)
        if self._problem is None or self._problem[0] != key:
            self._problem = None  # its memory is free before the next is loaded
            self._problem = (key, load_problem(catalog.card(dataset.name, dataset.options), task.home))
        problem = self._problem[1]
        if task.run.trial is not None:
            problem = holdout(problem, task.run.trial)
        _check_classes(task.run, problem)
        return problem

    def _warm_up(self, run: Run, problem: Any) -> float:
        """Compile, or load compiled code, on a small problem of the same types; return the seconds it took."""
        from mpu_bench.config.schema import Checkpoints, Stop
        from mpu_bench.core.clock import COMPILER
        from mpu_bench.experiment import bind, trace

        types = tuple((type(rows), *(array.dtype for array in rows)) for rows in (problem.train, problem.test))
        key = (run.solver.name, _variant(run), run.solver.kernel.name, types)
        if key in self._warm:
            return 0.0
        self.send(Phase("compiling"))
        started, compiled = time.perf_counter(), COMPILER.seconds
        small = bind.warm_up_problem(problem)
        few = Stop(passes=_WARM_UP_EXAMPLES / small.n)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            solver = bind.build_solver(run.solver.name, run.solver.parameters, problem.n)
            kernel = bind.build_kernel(run.solver.kernel, small)
            trace.train(solver, small, kernel, run.seed, few, Checkpoints())
        self._warm.add(key)
        self.send(Compiled(COMPILER.seconds - compiled))
        return time.perf_counter() - started


def _reason(fault: Exception) -> str:
    from mpu_bench.errors import UserError

    if isinstance(fault, UserError):
        return str(fault)
    traceback.print_exc()
    return f"{type(fault).__name__}: {fault}"


def _sizes(problem: Any) -> dict[str, int]:
    return {"n": problem.n, "d": problem.features, "n_test": problem.n_test, "classes": len(problem.classes)}


def _variant(run: Run) -> tuple[Any, ...]:
    """Distinguish what may be other code: words and switches by value, numbers by type."""
    return tuple(
        (name, repr(type(value)) if isinstance(value, float | Scaled) or type(value) is int else value)
        for name, value in sorted(run.solver.parameters.items())
    )


def _check_classes(run: Run, problem: Any) -> None:
    from mpu_bench import solvers
    from mpu_bench.errors import DataError

    name = run.solver.name
    separates_two = solvers.load(name).classes == "two" and "multiclass" not in run.solver.parameters
    if separates_two and len(problem.classes) != 2:
        raise DataError(
            f"{problem.name}: has {len(problem.classes)} classes and solver '{name}' separates two; choose the "
            f"positive ones with the dataset's option positive: [...], or give the solver multiclass: one-against-one"
        )


def _forget_peak_memory() -> None:
    """Let the process's peak count from now on (Linux); elsewhere it counts from the worker's start."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def peak_memory_mb() -> float | None:
    """Return the largest resident memory of this process since `_forget_peak_memory`, in MiB."""
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) / 1024
    import psutil

    return float(psutil.Process().memory_info().rss) / 2**20
