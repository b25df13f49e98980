"""A child process as its parent sees it: requests, answers, memory, and how it ended."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import count
from multiprocessing import Pipe
from multiprocessing.connection import wait
from typing import Any

from pydantic import ByteSize

from mpu_bench.errors import UserError
from mpu_bench.guard import supervisor, system
from mpu_bench.guard.messages import LOST_CONNECTION
from mpu_bench.quantities import Ending, Record, RunStatus

MAX_BYTES = 64 << 20  #: of a line: ten times the size of a thousand checkpoints in every decade
MAX_OUTPUT_BYTES = 10**6  #: that are shown of what is printed from one request to the next
_LOOK_SECONDS = 0.05  # how often limits are looked at
_MAX_SECONDS_BETWEEN_LOOKS = 0.25  # that count; there is a look more often than that, unless the process was stopped
_READ_BYTES, _READS_AT_ONCE = 1 << 16, 256  # between two looks at the limits
_CUT = b"\nmpu-bench: this run prints more than 1 MB; the rest is not shown\n"
_SECONDS_TO_END = 12.0  # more than a supervisor takes for all descendants
_SECONDS_TO_REPORT = 5.0  # of an end that the connection has shown already
_CRASH_SIGNALS = ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGSYS", "SIGTRAP")  # a process's own, as a rule
_SECONDS_TO_SWEEP = 10.0
_LOST = "it closed its connection to mpu-bench; a solver may only close what it has opened itself"
_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
)
_numbers = count()


def thread_variables(threads: int) -> dict[str, str]:
    """Return the environment that sets the number of threads of BLAS, OpenMP and numba, which read it on import."""
    return dict.fromkeys(_THREAD_VARIABLES, str(threads))


class Child:
    """A child process that answers requests, until it is ended; all that it has started ends with it.

    Parameters
    ----------
    serve : str
        The function that answers, ``module:function``: it is called with the descriptor of a `messages.Channel`.
    arguments : object
        What it is called with besides, as JSON can hold it.
    threads : int
        Threads of BLAS and of numba.
    is_shown : bool
        Whether what it prints is shown, on standard error, of each request the beginning.

    Raises
    ------
    UserError
        If the system has no room for a further process.
    """

    def __init__(self, serve: str, *arguments: Any, threads: int = 1, is_shown: bool = True) -> None:
        self._mark = f"{os.getpid()}-{next(_numbers)}-{time.time_ns()}"
        self._is_shown, self._printed, self._received = is_shown, 0, bytearray()
        self._ended: str | None = None  # as the supervisor reports it
        self.peak_memory = 0  #: in bytes, since the last request
        try:
            self._start(serve, arguments, threads)
        except OSError as error:
            raise UserError(
                f"a further process cannot be started: {error.strerror}; make fewer runs at once (--jobs), or raise "
                "the limits on open files and processes (ulimit -n, ulimit -u)"
            ) from error

    def _start(self, serve: str, arguments: Sequence[Any], threads: int) -> None:
        system.adopt_orphans()
        self.connection, theirs = Pipe()
        self._report, reported = os.pipe()
        self._output, printed = os.pipe()
        os.set_blocking(self._output, False)
        try:
            self.process = subprocess.Popen(
                supervisor.command(theirs.fileno(), reported, serve, arguments),
                env=os.environ | thread_variables(threads) | {system.MARK: self._mark},
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
        if not system.LINUX:
            os.close(self._report)
            self._report = -1

    def send(self, request: Any) -> None:
        """Let the child begin something; one that has died receives nothing."""
        self._pass_on_output()
        self._printed, self.peak_memory = 0, 0
        with suppress(BrokenPipeError, ConnectionResetError):
            self.connection.send(request)

    @property
    def readable(self) -> list[Any]:
        """What there is to read when the child has sent or printed something, or has ended."""
        return [self.connection, self._output, *([self._report] if self._report >= 0 else [])]

    @property
    def is_dead(self) -> bool:
        """Whether the child has ended; what it has started is ended then, too."""
        self._read_report()
        return self._ended is not None or self.process.poll() is not None

    def look(
        self, receive: Callable[[bytes], Any], overdue: Callable[[], str], max_memory: float | None = None
    ) -> Any | Record | None:
        """Hear what the child has sent, and look whether it has ended or exceeds a limit.

        Parameters
        ----------
        receive : function
            Called with each line that has come, until it returns an answer; a `ValueError` says that it is no line of
            this child's.
        overdue : function
            Returns which limit of seconds is exceeded, in words; nothing if none is.
        max_memory : float, optional
            In bytes, of the child with all that it has started.

        Returns
        -------
        object
            The answer; the `Record` of a run that has ended with it, or must; None while it goes on.
        """
        is_dead = self.is_dead  # first: what it has sent before is there then
        try:
            lines, is_closed = self._receive()
            for line in lines:
                if (answer := receive(line)) is not None:
                    return answer
        except ValueError as error:
            return _ended(RunStatus.ERROR, Ending.FAULT, f"its process sent what no worker sends: {error}")
        if is_dead or is_closed:
            reason = self.why_dead()
            # the system ends a child by SIGKILL where memory runs out
            was_killed = self._ended == f"signal {signal.SIGKILL.value}" or self.process.poll() == -signal.SIGKILL
            return _ended(RunStatus.CRASHED, Ending.SYSTEM if was_killed else Ending.FAULT, reason)
        if reason := overdue():
            return _ended(RunStatus.TIMEOUT, Ending.TIME_LIMIT, reason)
        if max_memory is not None and self.look_at_memory() > max_memory:
            return over(max_memory)
        return None

    def _receive(self) -> tuple[list[bytes], bool]:
        """Return the lines that have come, and whether none can come any more; show what was printed before them.

        Raises
        ------
        ValueError
            If one is too long.
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
        if max(map(len, (rest, *lines))) > MAX_BYTES:
            raise ValueError(f"a message of more than {MAX_BYTES:,} bytes")
        return list(map(bytes, lines)), closed

    def _pass_on_output(self) -> None:
        """Show what the child has printed on standard error, of each request the beginning."""
        with suppress(BlockingIOError):
            for _ in range(_READS_AT_ONCE):
                if not (printed := os.read(self._output, _READ_BYTES)):
                    return
                left = MAX_OUTPUT_BYTES - self._printed
                self._printed += len(printed)
                if left > 0 and self._is_shown:
                    _write_to_stderr(printed[:left] + (_CUT if len(printed) > left else b""))

    def look_at_memory(self) -> int:
        """Return how much memory the child has now, with all that it has started, in bytes."""
        used = system.resident_bytes(self._measured())
        self.peak_memory = max(self.peak_memory, used)
        return used

    def look_at_peak(self) -> None:
        """Take note of the most memory that the child has had, as far as the system knows it."""
        measured = self._measured()
        self.look_at_memory()
        if len(measured) == 1:
            self.peak_memory = max(self.peak_memory, system.peak_bytes(measured[0]))

    def cpu_seconds(self) -> float:
        """Return the processor seconds of the child itself."""
        return sum(map(system.cpu_seconds, self._measured()[:1]))

    def _measured(self) -> list[int]:
        return system.near_descendants(self.process.pid) if system.LINUX else self._all()

    def left_running(self) -> int:
        """Return how many processes besides the child there are."""
        return max(0, len(system.descendants(self.process.pid)) - system.LINUX)

    def why_dead(self) -> str:
        """Return in words what has ended the child, or its connection."""
        if self._report >= 0:
            wait([self._report], timeout=_SECONDS_TO_REPORT)
        if not self.is_dead:
            return _LOST
        kind, _, number = (self._ended or "").partition(" ")
        if kind == "exit":
            return _LOST if int(number) == LOST_CONNECTION else f"its process ended with exit code {number}"
        code = -int(number) if kind == "signal" else self.process.wait()
        return _ended_by(-code) if code < 0 else f"its process ended with exit code {code}"

    def end(self) -> None:
        """End the child with all that it has started, and wait for it."""
        self.stop()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(_SECONDS_TO_END)
        self._read_report()
        self.process.kill()
        self.process.wait()
        if not self._ended:  # a supervisor that was killed itself has left something behind
            system.kill_until_none(
                lambda: system.of_session_or_mark(system.descendants(os.getpid()), self.process.pid, self._mark),
                _SECONDS_TO_SWEEP,
            )
        self._pass_on_output()
        os.close(self._output)
        self.connection.close()
        if self._report >= 0:
            os.close(self._report)
            self._report = -1

    def stop(self) -> None:
        """Begin to end the child; its supervisor ends what it has started, too."""
        if system.LINUX:
            with suppress(ProcessLookupError):
                for signum in (signal.SIGTERM, signal.SIGCONT):
                    if self.process.poll() is None:  # else its number may be another's by now
                        os.kill(self.process.pid, signum)
        else:
            system.kill(self._all())

    def _read_report(self) -> None:
        if self._ended is None and self._report >= 0 and wait([self._report], timeout=0):
            self._ended = os.read(self._report, 100).decode(errors="replace")

    def _all(self) -> list[int]:
        return [self.process.pid, *system.descendants(self.process.pid)]


class AwakeClock:
    """The seconds that this process was awake: those for which it was stopped, as by SIGSTOP, do not count.

    To be looked at often.

    Parameters
    ----------
    limit : float
        What may count between two looks.
    """

    def __init__(self, limit: float = _MAX_SECONDS_BETWEEN_LOOKS) -> None:
        self._limit, self._seconds, self._looked = limit, 0.0, time.monotonic()

    def __call__(self) -> float:
        """Return the seconds since it was made."""
        now = time.monotonic()
        self._seconds += min(now - self._looked, self._limit)
        self._looked = now
        return self._seconds


awake = AwakeClock()  #: of this process; `wait_for` looks at it


def wait_for(children: Iterable[Child]) -> None:
    """Wait until a child has sent or printed something or has ended, but no longer than until the next look."""
    awake()
    wait([end for child in children for end in child.readable], timeout=_LOOK_SECONDS)


def over(max_memory: float) -> Record:
    """Return the record of a run that exceeds a limit of memory."""
    limit = ByteSize(max_memory).human_readable()
    reason = f"used more than the limit of {limit}; ended by mpu-bench"
    return _ended(RunStatus.OUT_OF_MEMORY, Ending.MEMORY_LIMIT, reason)


def _ended(status: RunStatus, ended_by: Ending, reason: str) -> Record:
    return Record(status=status, ended_by=ended_by, reason=reason)


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
    outside = "" if name in _CRASH_SIGNALS else " from outside"
    hint = "; the system may have run out of memory" if name == "SIGKILL" else ""
    return f"its process was ended by {name}{outside}{hint}"
