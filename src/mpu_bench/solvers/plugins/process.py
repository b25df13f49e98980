"""The process that describes plugins, seen from the one that reads a config: started when needed, ended soon after.

All that comes from there is taken for what it may be: bounded in size and time, parsed as JSON, checked.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import psutil
from pydantic import TypeAdapter, ValidationError

from mpu_bench.document import Strict
from mpu_bench.errors import ConfigError
from mpu_bench.guard.process import thread_variables
from mpu_bench.scaled import to_json
from mpu_bench.solvers.plugins.answers import LONGEST_LINE_BYTES
from mpu_bench.solvers.plugins.description import Question, SolverDescription
from mpu_bench.solvers.plugins.source import PluginSource
from mpu_bench.texts import plain

START_SECONDS = 300.0  # for a process to start and import what every solver needs
IMPORT_SECONDS = 60.0  # for a plugin to be imported
ANSWER_SECONDS = 20.0  # for anything else
_END_SECONDS = 15.0
_MOST_BYTES = 2000  # of a message
_BLOCK_BYTES = 65536
_MARK = "MPU_BENCH_INSPECTOR"  # the environment variable of all that it starts
_START = (
    "import sys; sys.path[:] = sys.argv[2:]; from mpu_bench.solvers.plugins import inspector; "
    "inspector.main(int(sys.argv[1]))"
)


class _Answer(Strict):
    answer: Any = None
    refused: str | None = None
    failed: str | None = None
    kind: str = ""


class FailedError(ConfigError):
    """A plugin's own code raised; ``kind`` is the name of the exception."""

    def __init__(self, message: str, kind: str) -> None:
        super().__init__(message)
        self.kind = kind


class _Connection:
    """Lines of JSON over a socket, each with a greatest length and a time by which it must be there."""

    def __init__(self, end: socket.socket) -> None:
        self._socket = end
        self._received = b""

    def send(self, line: bytes, deadline: float) -> None:
        self._socket.settimeout(_left(deadline))
        self._socket.sendall(line)

    def line(self, deadline: float) -> bytes:
        """Return the next line, empty if the other end is closed.

        Raises
        ------
        TimeoutError
        ValueError
            If it is too long.
        """
        while b"\n" not in self._received:
            if len(self._received) > LONGEST_LINE_BYTES:
                raise ValueError(f"more than {LONGEST_LINE_BYTES:,} bytes")
            self._socket.settimeout(_left(deadline))
            block = self._socket.recv(_BLOCK_BYTES)
            if not block:
                return b""
            self._received += block
        line, _, self._received = self._received.partition(b"\n")
        return line

    def close(self) -> None:
        self._socket.close()


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


@dataclass
class _Plugin:
    """A process that has imported one file, and the connection to it."""

    source: PluginSource
    process: int
    connection: _Connection


@dataclass
class Inspector:
    """The process that forks for each plugin, as far as it is running."""

    _running: subprocess.Popen[bytes] | None = None
    _control: socket.socket | None = None
    _plugins: dict[Path, _Plugin] = field(default_factory=dict)
    _mark: str = ""

    def describe(self, source: PluginSource) -> list[SolverDescription]:
        """Import a plugin in a process of its own, which stays if it is to be asked; return what its solvers are.

        Raises
        ------
        ConfigError
            Naming the file and, where it is known, the line in it, and the cause.
        """
        if before := self._plugins.get(source.path):
            self._end(before)
        plugin = self._fork(source)
        what = {"question": "describe", "path": str(source.path), "content_hash": source.content_hash}
        try:
            answer = self._ask(plugin, what, IMPORT_SECONDS, "importing it")
            described = TypeAdapter(list[SolverDescription]).validate_python(answer, strict=True)
        except ConfigError:
            self._end(plugin)
            raise
        except (ValidationError, RecursionError):
            self._end(plugin)
            raise ConfigError(f"{source.path}: has described itself in words that nobody understands") from None
        if not any(each.questions for each in described):
            self._end(plugin)  # it will not be asked
        return described

    def ask(
        self,
        source: PluginSource,
        solver: str,
        question: Question | Literal["check"],
        time_limit: float = ANSWER_SECONDS,
        **what: Any,
    ) -> Any:
        """Let a solver of a plugin answer a question about itself, within so many seconds.

        Raises
        ------
        FailedError
            If its code raises.
        ConfigError
            If it refuses what it is given, or does not answer.
        """
        if source.path not in self._plugins:
            self.describe(source)
        request = {"question": question, "solver": solver, **what}
        return self._ask(self._plugins[source.path], request, time_limit, f"its {question}")

    def close(self) -> None:
        """End all processes, with all that plugins have started."""
        for plugin in self._plugins.values():
            plugin.connection.close()
        self._plugins.clear()
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._running is not None:
            with suppress(subprocess.TimeoutExpired):
                self._running.wait(_END_SECONDS)
            if self._running.poll() != 0:  # it was killed, and could end nothing
                self._running.kill()
                self._running.wait()
                self._kill_marked()
            self._running = None

    def _kill_marked(self) -> None:
        """Kill what plugins have started, which has the mark in its environment."""
        for process in psutil.process_iter():
            with suppress(psutil.Error, OSError):
                if process.environ().get(_MARK) == self._mark:
                    process.kill()

    def _fork(self, source: PluginSource) -> _Plugin:
        if self._control is None:
            self._start()
        assert self._control is not None
        ours, theirs = socket.socketpair()
        deadline = time.monotonic() + START_SECONDS
        connection = _Connection(ours)
        plugin = _Plugin(source, 0, connection)
        try:
            with theirs:
                self._control.settimeout(_left(deadline))
                socket.send_fds(self._control, [b"fork"], [theirs.fileno()])
            plugin.process = int(self._control.recv(100) or b"0")
            ready = connection.line(deadline)
        except (OSError, ValueError):
            ready = b""
        if not ready:
            ours.close()
            self.close()
            raise ConfigError(f"{source.path}: the process that is to import it could not be started, or was killed")
        self._plugins[source.path] = plugin
        return plugin

    def _start(self) -> None:
        self._control, theirs = socket.socketpair()
        self._mark = f"{os.getpid()}-{time.time_ns()}"
        atexit.unregister(self.close)
        atexit.register(self.close)
        with theirs:
            self._running = subprocess.Popen(
                [sys.executable, "-P", "-c", _START, str(theirs.fileno()), *sys.path],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
                env=os.environ | thread_variables(1) | {_MARK: self._mark},  # a fork keeps no threads
            )

    def _ask(self, plugin: _Plugin, question: dict[str, Any], seconds: float, doing: str) -> Any:
        path, deadline = plugin.source.path, time.monotonic() + seconds
        try:
            plugin.connection.send(json.dumps(question, default=to_json).encode() + b"\n", deadline)
            line = plugin.connection.line(deadline)
        except TimeoutError:
            self._end(plugin)
            raise ConfigError(f"{path}: {doing} takes more than {seconds:g} seconds; it was ended") from None
        except ConnectionError:
            line = b""
        except ValueError as fault:
            self._end(plugin)
            raise ConfigError(f"{path}: its answer is too long: {fault}") from None
        if not line:
            raise ConfigError(f"{path}: while {doing}, {_death(self._end(plugin, b'end'))}")
        try:
            answer = _Answer.model_validate(json.loads(line))
        except (ValueError, RecursionError):
            self._end(plugin)
            raise ConfigError(f"{path}: {doing} has sent what is no answer") from None
        if answer.failed is not None:
            raise FailedError(plain(answer.failed, _MOST_BYTES).strip() or f"{path}: {doing} failed", answer.kind)
        if answer.refused is not None:
            raise ConfigError(plain(answer.refused, _MOST_BYTES).strip() or f"{path}: {doing} was refused")
        return answer.answer

    def _end(self, plugin: _Plugin, how: bytes = b"kill") -> int | Literal["unknown"] | None:
        """End the process of a plugin, once; return its exit code, None if it was still there."""
        if self._plugins.get(plugin.source.path) is not plugin:
            return None
        del self._plugins[plugin.source.path]
        plugin.connection.close()
        try:
            assert self._control is not None
            self._control.settimeout(_END_SECONDS)
            self._control.sendall(b"%s %d" % (how, plugin.process))
            code = json.loads(self._control.recv(100))
        except (OSError, ValueError):
            self.close()
            return "unknown"
        return code if isinstance(code, int) else None


def _death(code: int | Literal["unknown"] | None) -> str:
    if code == "unknown":
        return "the process that imported it was killed"
    if code is None:
        return "it closed the files of the process that imported it"
    if code < 0:
        with suppress(ValueError):
            return f"its process was ended by {signal.Signals(-code).name}"
    return f"it ended its process, with exit code {code}"


#: the one of this process
INSPECTOR = Inspector()
