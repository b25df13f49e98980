"""A worker as its pool sees it: what it is asked, what it sends, how much memory it has, and how it ended."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import count
from multiprocessing import Pipe
from multiprocessing.connection import wait
from typing import Any

from mpu_bench import processes
from mpu_bench.experiment import cgroup, supervisor
from mpu_bench.experiment.cgroup import ControlGroup
from mpu_bench.experiment.messages import MOST_BYTES, Message, Preparation, Progress, Task, decode
from mpu_bench.experiment.pool import Outcome
from mpu_bench.experiment.pool.bounds import Course
from mpu_bench.experiment.worker import LOST_CONNECTION
from mpu_bench.quantities import Ending, Record, RunStatus
from mpu_bench.threads import variables as thread_variables

_READ_BYTES, _READS_AT_ONCE = 1 << 16, 256  # between two looks at the limits
_MOST_OUTPUT_BYTES = 10**6  # of a run
_CUT = b"\nmpu-bench: this run prints more than 1 MB; the rest is not shown\n"
_SECONDS_TO_END = 12.0  # more than a supervisor takes for all descendants
_SECONDS_TO_REPORT = 5.0  # of an end that the connection has told already
_FAULTS = ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGSYS", "SIGTRAP")  # a process's own, as a rule
_SECONDS_TO_SWEEP = 10.0
_LOST = "it closed its connection to mpu-bench; a solver may only close what it has opened itself"
_numbers = count()


@dataclass
class WorkerHandle:
    """One child process, and the task it is at.

    ``kind`` is whom it serves: the plugin files and the name of their solver, or nothing of that for all solvers of
    the project; None as long as it has done nothing.
    """

    process: Any
    connection: Any  # of messages; `output` is of what is printed, `report` of how it ended
    output: int
    report: int = -1
    mark: str = ""
    group: ControlGroup | None = None
    kind: tuple[Any, ...] | None = None
    task: Task | None = None
    course: Course | None = None
    is_announced: bool = False  #: whether it is told that the task has begun
    peak_memory: int = 0
    progress: Progress | None = None
    _printed: int = 0  # bytes of this run
    _received: bytearray = field(default_factory=bytearray)
    _ended: str | None = None  #: as the supervisor says it

    def send(self, asked: Task | Preparation) -> None:
        """Let the worker begin something; one that has died meanwhile hears nothing of it."""
        self._pass_on_output()
        self._printed, self.peak_memory, self.progress, self.is_announced = 0, 0, None, False
        self.task, self.course = None, None
        if isinstance(asked, Task):
            self.task, self.course = asked, Course(asked.limits, asked.run.settings.stop)
        with suppress(BrokenPipeError, ConnectionResetError):
            self.connection.send(asked)

    def failed(self, status: str, ended_by: Ending, reason: str, traceback: str = "") -> Outcome:
        """Return the outcome of a task that has no result, with what is known of it."""
        assert self.task is not None
        record = Record(
            status=RunStatus(status),
            ended_by=ended_by,
            reason=reason,
            traceback=traceback or None,
            peak_memory_mb=self.peak_memory / 2**20 if self.peak_memory else None,
        )
        if (reached := self.progress) is not None and reached.seconds > 0:
            record = replace(
                record, train_seconds=reached.seconds, cpu_seconds=reached.cpu_seconds, passes=reached.passes
            )
        return Outcome(self.task, record, [])

    @property
    def waited_for(self) -> list[Any]:
        """What there is to read when the worker has sent something, or has ended."""
        return [self.connection, self.output, *([self.report] if self.report >= 0 else [])]

    @property
    def is_dead(self) -> bool:
        """Whether the worker has ended; what it has started is ended then, too."""
        self._read_report()
        return self._ended is not None or self.process.poll() is not None

    def receive(self) -> tuple[list[Message], bool]:
        """Return the messages that have come, and whether none can come any more; show what was printed before them.

        Raises
        ------
        ValueError
            If something else has come than messages.
        """
        closed = False
        for _ in range(_READS_AT_ONCE):
            if not self.connection.poll():
                break
            try:
                read = os.read(self.connection.fileno(), _READ_BYTES)
            except ConnectionResetError:
                read = b""
            self._received += read
            if closed := not read:
                break
        self._pass_on_output()
        *lines, rest = self._received.split(b"\n") if self._received else [b""]
        self._received = bytearray(rest)
        if max(map(len, (rest, *lines))) > MOST_BYTES:
            raise ValueError(f"a message of more than {MOST_BYTES:,} bytes")
        return [decode(bytes(line)) for line in lines], closed

    def _pass_on_output(self) -> None:
        """Show what the worker has printed on standard error, of each run the beginning."""
        with suppress(BlockingIOError):
            for _ in range(_READS_AT_ONCE):
                if not (printed := os.read(self.output, _READ_BYTES)):
                    return
                left = _MOST_OUTPUT_BYTES - self._printed
                self._printed += len(printed)
                if left > 0:
                    _write_to_stderr(printed[:left] + (_CUT if len(printed) > left else b""))

    def take_stock(self) -> None:
        """Look once more at what a run has used that is about to be ended."""
        measured = self._measured()
        self.look_at_memory()
        if len(measured) == 1:
            self.peak_memory = max(self.peak_memory, processes.peak_bytes(measured[0]))
        if self.progress is not None and self.course is not None and (seconds := self.course.silent_training()):
            worker = processes.near_descendants(self.process.pid)[:1] if processes.LINUX else [self.process.pid]
            used = sum(map(processes.cpu_seconds, worker)) - self.progress.process_seconds
            self.progress = replace(
                self.progress,
                seconds=self.progress.seconds + seconds,
                cpu_seconds=self.progress.cpu_seconds + max(0.0, used),
            )

    def look_at_memory(self) -> int:
        """Return how much memory the worker has now, with all that it has started, in bytes."""
        used = processes.resident_bytes(self._measured())
        self.peak_memory = max(self.peak_memory, used)
        return used

    def _measured(self) -> list[int]:
        if not processes.LINUX:
            return self._all()
        grouped = [] if self.group is None else self.group.pids()
        if self.process.pid in grouped:
            return [pid for pid in grouped if pid != self.process.pid]
        return processes.near_descendants(self.process.pid)

    def left_running(self) -> int:
        """Return how many processes besides the worker there are."""
        return max(0, len(processes.descendants(self.process.pid)) - processes.LINUX)

    def why_dead(self) -> str:
        """Return in words what has ended the worker, or its connection."""
        if self.report >= 0:
            wait([self.report], timeout=_SECONDS_TO_REPORT)
        if not self.is_dead:
            return _LOST
        kind, _, number = (self._ended or "").partition(" ")
        if kind == "exit":
            return _LOST if int(number) == LOST_CONNECTION else f"its process ended with exit code {number}"
        code = -int(number) if kind == "signal" else self.process.wait()
        return _ended_by(-code) if code < 0 else f"its process ended with exit code {code}"

    @property
    def was_killed(self) -> bool:
        """Whether SIGKILL has ended the worker, as the system does where memory runs out."""
        return self._ended == f"signal {signal.SIGKILL.value}" or self.process.returncode == -signal.SIGKILL

    def end(self) -> None:
        """End the worker with all that it has started, and wait for it."""
        self.stop()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(_SECONDS_TO_END)
        self._read_report()
        self.process.kill()
        self.process.wait()
        if not self._ended:
            self._sweep()
        if self.group is not None:
            self.group.remove()
        self._pass_on_output()
        os.close(self.output)
        self.connection.close()
        if self.report >= 0:
            os.close(self.report)
            self.report = -1

    def stop(self) -> None:
        """Begin to end the worker; its supervisor ends what it has started, too."""
        if processes.LINUX:
            with suppress(ProcessLookupError):
                os.kill(self.process.pid, signal.SIGTERM)
                os.kill(self.process.pid, signal.SIGCONT)
        else:
            processes.kill(self._all())

    def _read_report(self) -> None:
        if self._ended is None and self.report >= 0 and wait([self.report], timeout=0):
            self._ended = os.read(self.report, 100).decode(errors="replace")

    def _sweep(self) -> None:
        """Kill what a supervisor has left behind that was killed itself."""
        if self.group is not None:
            self.group.kill()
        processes.kill_until_none(
            lambda: processes.of_session_or_mark(processes.descendants(os.getpid()), self.process.pid, self.mark),
            _SECONDS_TO_SWEEP,
        )

    def _all(self) -> list[int]:
        return [self.process.pid, *processes.descendants(self.process.pid)]


def start(threads: int, jobs: int) -> WorkerHandle:
    """Start a worker.

    Parameters
    ----------
    threads : int
        Threads of BLAS and of numba in it.
    jobs : int
        Workers that share the machine's memory.
    """
    processes.adopt_orphans()
    ours, theirs = Pipe()
    report, reported = os.pipe()
    output, printed = os.pipe()
    os.set_blocking(output, False)
    mark = f"{os.getpid()}-{next(_numbers)}-{time.time_ns()}"
    group = cgroup.make(mark)
    try:
        process = subprocess.Popen(
            supervisor.command(theirs.fileno(), reported, jobs, str(group.folder) if group else ""),
            env=os.environ | thread_variables(threads) | {supervisor.MARK: mark},
            pass_fds=(theirs.fileno(), reported),
            stdin=subprocess.DEVNULL,
            stdout=printed,  # nothing mixes into tables
            stderr=printed,
            start_new_session=True,  # Ctrl-C is for mpu-bench alone
        )
    finally:
        theirs.close()
        os.close(reported)
        os.close(printed)
    if not processes.LINUX:
        os.close(report)
        report = -1
    return WorkerHandle(process, ours, output, report, f"{supervisor.MARK}={mark}", group)


def _write_to_stderr(printed: bytes) -> None:
    left = memoryview(printed)
    with suppress(OSError):  # nobody reads it, or the disk behind it is full
        while left:
            left = left[os.write(2, left) :]


def _ended_by(number: int) -> str:
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = f"signal {number}"
    outside = "" if name in _FAULTS else " from outside"
    hint = "; the system may have run out of memory" if name == "SIGKILL" else ""
    return f"its process was ended by {name}{outside}{hint}"
