"""Solvers that misbehave on purpose, for the tests of the runner."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
from annotated_types import Ge

from mpu_bench.core.counters import PRESENTED, new_counters
from mpu_bench.core.models import LinearModel
from mpu_bench.core.solver import Measures, Solver, Status, Until


class State(NamedTuple):
    seed: int
    weights: Any
    counters: Any
    problem: Any


class WordlessError(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")


def arrays(problem):
    return [*problem.train, problem.labels, *problem.test, problem.test_labels]


def falsify(problem):
    for array in arrays(problem):
        array[...] = 1


@dataclass(frozen=True)
class Misbehaving(Solver):
    """Does ``how`` after ``passes`` passes; takes ``look`` seconds to be measured.

    With ``crash-once``, the first run that comes so far makes the file ``gate`` and crashes. With ``hold``, runs of
    ``from_seed`` on write to ``gate`` and wait, as long as that file is there.
    """

    name = "misbehaving"
    ends = True
    paper = "none"

    how: str = "finish"
    passes: Annotated[int, Ge(1)] = 3
    look: float = 0.0
    gate: str = ""
    from_seed: int = 0

    def check(self, problem, kernel):
        if self.how == "falsify":
            falsify(problem)

    def start(self, problem, kernel, seed):
        if self.how == "need-many" and problem.n < 100:
            raise ValueError("too few rows")
        return State(seed, np.zeros(problem.features), new_counters(), problem)

    def advance(self, state, until: Until) -> Status:
        before = state.counters[PRESENTED]
        if self.how == "sleep-always":
            time.sleep(600)
        state.counters[PRESENTED] = min(until.presented, before + 100)
        warming_up = before == 0 and len(state.weights) and until.presented < 100
        if warming_up or state.counters[PRESENTED] < 100 * self.passes:
            return Status.RUNNING
        return getattr(self, f"_{self.how.replace('-', '_')}")(state)

    def _finish(self, state):
        return Status.DONE

    def _need_many(self, state):
        return Status.DONE

    def _misspell(self, state):
        from mpu_bench.core.rows import no_such_name  # noqa: F401

    def _misplace(self, state):
        import numpy.no_such_module  # noqa: F401

    def _lack(self, state):
        import nothing_of_this_name  # noqa: F401

    def _hold(self, state):
        if state.seed >= self.from_seed and Path(self.gate).exists():
            Path(self.gate).write_text("held", encoding="utf-8")  # a named pipe: the test reads it
            time.sleep(600)
        return Status.DONE

    def _raise(self, state):
        raise ValueError("the matrix is not what it seemed")

    def _leave(self, state):
        os.chdir("/")
        return Status.DONE

    def _kill(self, state):
        os.kill(os.getpid(), signal.SIGKILL)

    def _crash_once(self, state):
        try:
            Path(self.gate).touch(exist_ok=False)
        except FileExistsError:
            return Status.DONE
        return self._kill(state)

    def _exit(self, state):
        os._exit(3)

    def _sleep(self, state):
        time.sleep(600)

    def _eat_memory(self, state):
        kept = []
        while True:
            kept.append(np.ones(10_000_000))
            time.sleep(0.02)

    def _turn(self, state):
        while True:
            pass

    def _wait(self, state):
        if not Path(self.gate).exists():
            time.sleep(0.01)
            return Status.RUNNING
        return Status.DONE

    def _print(self, state):
        sys.stdout.write("printed without an end")
        return Status.DONE

    def _print_and_crash(self, state):
        sys.stdout.write("printed before a crash\n")
        self._kill(state)

    def _print_much(self, state):
        for _ in range(40):
            sys.stdout.write("x" * 100_000 + "\n")
        return Status.DONE

    def _run_on(self, state):
        time.sleep(0.01)
        return Status.RUNNING

    def _not_finite(self, state):
        state.weights[:] = np.inf
        return Status.DIVERGED

    def _no_memory(self, state):
        raise MemoryError("80 GB asked for")

    def _falsify(self, state):
        total = sum(float(np.sum(array, dtype=float)) for array in arrays(state.problem))
        falsify(state.problem)
        sys.stdout.write("printed by a solver\n")
        state.weights[0] = total
        return Status.DONE

    def _end_process(self, state):
        sys.exit(3)

    def _interrupt(self, state):
        raise KeyboardInterrupt

    def _generator_exit(self, state):
        raise GeneratorExit

    def _wordless(self, state):
        raise WordlessError

    def _surrogate(self, state):
        raise ValueError("half of \ud800 a pair, and \x1b[31m red")

    def _long(self, state):
        raise ValueError("x" * 20_000_000)

    def _seventeen(self, state):
        return 17

    def _stop(self, state):
        os.kill(os.getpid(), signal.SIGSTOP)
        return Status.DONE

    def _segfault(self, state):
        os.kill(os.getpid(), signal.SIGSEGV)

    def _kill_supervisor(self, state):
        self._leave_behind(state)
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(600)

    def _leave_behind(self, state):
        """Fork twice, leave the session, keep the pipe and all else open."""
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                Path(self.gate).write_text(str(os.getpid()), encoding="utf-8")
                time.sleep(600)
            os._exit(0)
        os.wait()
        while not (Path(self.gate).exists() and Path(self.gate).read_text(encoding="utf-8")):
            time.sleep(0.01)
        return Status.DONE

    def _leave_and_die(self, state):
        self._leave_behind(state)
        os._exit(5)

    def _eat_memory_elsewhere(self, state):
        if os.fork() == 0:
            self._eat_memory(state)
        time.sleep(600)

    def _thread(self, state):
        threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
        return Status.DONE

    def _rubbish(self, state):
        for descriptor in range(3, 30):
            with suppress(OSError):
                os.write(descriptor, b"\xff{[ no message\nFinished {}\n")
        return Status.DONE

    def _forge(self, state):
        for descriptor in range(3, 30):
            with suppress(OSError):
                os.write(descriptor, b'Finished {"record": {"n": 3}, "checkpoints": [{}], "threads_left": 0}\n')
        return Status.DONE

    def _close(self, state):
        os.closerange(3, 100)
        time.sleep(600)

    def model(self, state):
        return LinearModel(state.weights[np.newaxis])

    def measures(self, state):
        time.sleep(self.look)
        return Measures(objective=float(state.weights.sum()))
