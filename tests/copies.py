"""The command line in a copy of a process that has imported what commands need, which is most of a command's seconds.

A copy has its own standard streams, folder, variables, exit code and children, and so have the workers it starts, which
are copies, too. What it has not is a start of Python: what a command imports, what it reads of its variables while it
imports, and signals, are for a process of its own (`command_line.COMMAND`).
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from command_line import COMMAND

_MAX_BYTES = 1 << 20  # of what is asked for
_STREAMS = (0, 1, 2)
#: variables that may be others than those of the process that is copied: they are read when they are needed, or are set
#: by what is imported
_READ_LATER = ("MPU_BENCH_", "COLUMNS", "PYTEST_CURRENT_TEST", "KMP_")
_READY = b"ready"


class Copies:
    """A process that is copied for every command; it begins with the first.

    Parameters
    ----------
    variables : mapping
        Its environment.
    modules : sequence of str
        What it imports; none is all that any command needs.
    """

    def __init__(self, variables: Mapping[str, str], modules: Sequence[str] = ()) -> None:
        self.variables = dict(variables)
        self._modules = modules

    def call(
        self, arguments: Sequence[str], place: Path, variables: Mapping[str, str], timeout: float = 200.0
    ) -> subprocess.CompletedProcess[str]:
        """Call the command line in a copy, or in a process of its own where a copy would not do.

        Raises
        ------
        subprocess.TimeoutExpired
            If it does not end within so many seconds; it is killed then.
        """
        differing = dict(variables.items() ^ self.variables.items())
        if hasattr(os, "fork") and all(name.startswith(_READ_LATER) for name in differing):
            return self._copied(arguments, place, variables, timeout)
        return subprocess.run(
            [*COMMAND, *arguments], cwd=place, env=variables,
            check=False, capture_output=True, text=True, timeout=timeout,
        )  # fmt: skip

    def run(self, program: str, place: Path, variables: Mapping[str, str], timeout: float = 200.0) -> str:
        """Return what a program prints in a copy, in a folder and with these variables, as of ``python -c``."""
        done = self._copied(["-c", program], place, variables, timeout)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def _copied(
        self, arguments: Sequence[str], place: Path, variables: Mapping[str, str], timeout: float
    ) -> subprocess.CompletedProcess[str]:
        asked = json.dumps([arguments, str(place), dict(variables)]).encode()
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, Path(os.devnull).open("rb") as nothing:
            socket.send_fds(self._server, [asked], [each.fileno() for each in (nothing, out, err)])
            pid = int(self._server.recv(_MAX_BYTES))
            self._server.settimeout(timeout)
            try:
                code = int(self._server.recv(_MAX_BYTES))
            except TimeoutError:
                os.kill(pid, signal.SIGKILL)
                self._server.settimeout(None)
                self._server.recv(_MAX_BYTES)  # its code, which the next one must not get
                raise subprocess.TimeoutExpired(list(arguments), timeout) from None
            self._server.settimeout(None)
            texts = []
            for each in (out, err):
                each.seek(0)
                texts.append(each.read().decode().replace("\r\n", "\n").replace("\r", "\n"))
        return subprocess.CompletedProcess(list(arguments), code, *texts)

    @cached_property
    def _server(self) -> socket.socket:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno()), *self._modules],
                env=self.variables, pass_fds=[theirs.fileno()],
            )  # fmt: skip
        assert ours.recv(_MAX_BYTES) == _READY
        return ours

    def close(self) -> None:
        """End the process."""
        if "_server" in vars(self):
            self._server.close()
            self._process.wait()


def _serve(descriptor: int, modules: Sequence[str]) -> None:
    """Copy this process for every command that is asked for, and tell its number and its exit code."""
    import gc
    import importlib

    for module in modules:
        importlib.import_module(module)
    if not modules:
        _import_all()
    gc.collect()
    gc.freeze()
    client = socket.socket(fileno=descriptor)
    client.send(_READY)
    while True:
        asked, streams, _, _ = socket.recv_fds(client, _MAX_BYTES, len(_STREAMS))
        if not asked:
            client.close()
            return
        pid = os.fork()
        if pid == 0:
            client.close()
            _be_command(*json.loads(asked), streams)
        for each in streams:
            os.close(each)
        client.send(str(pid).encode())
        client.send(str(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])).encode())


def _import_all() -> None:
    """Import the project, and what its commands and workers import of others."""
    import importlib
    import pkgutil

    import matplotlib.backends.backend_agg
    import matplotlib.backends.backend_svg  # noqa: F401
    import sklearn.svm  # noqa: F401

    import mpu_bench

    for module in pkgutil.walk_packages(mpu_bench.__path__, "mpu_bench."):
        with suppress(ImportError):  # an extra that is not installed
            importlib.import_module(module.name)


def _be_command(arguments: list[str], place: str, variables: dict[str, str], streams: list[int]) -> NoReturn:
    """Be ``python -m mpu_bench``, or ``python``, called with these arguments in this folder."""
    from mpu_bench import __main__ as program
    from mpu_bench.guard import process

    _take_variables(variables)
    os.chdir(place)
    for stream, descriptor in zip(_STREAMS, streams, strict=True):
        os.dup2(descriptor, stream)
        os.close(descriptor)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = open(getattr(sys, name).fileno(), mode, encoding="utf-8", closefd=False)  # noqa: SIM115
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    if arguments[0] == "-c":
        _be_program(arguments[1])
    sys.modules["__main__"] = program  # by which its name in messages is found
    sys.argv[:] = [str(program.__file__), *arguments]
    sys.path[0] = place
    process.subprocess = _Subprocess  # type: ignore[attr-defined]
    program.main()


def _be_program(text: str) -> NoReturn:
    """Be ``python -c``."""
    main = ModuleType("__main__")
    sys.modules["__main__"], sys.argv[:] = main, ["-c"]
    sys.path[:0] = ["", *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    sys.dont_write_bytecode = True  # or an edit within the second of the one before would not be noticed
    exec(compile(text, "<string>", "exec"), vars(main))
    sys.exit()


def _take_variables(variables: Mapping[str, str]) -> None:
    os.environ.clear()
    os.environ.update(variables)


class _Subprocess:
    """What `guard.process` needs of the module `subprocess`; a supervisor is a copy of the command."""

    DEVNULL = subprocess.DEVNULL
    TimeoutExpired = subprocess.TimeoutExpired

    @staticmethod
    def Popen(  # noqa: N802
        command: list[str], *, env: dict[str, str], pass_fds: tuple[int, ...], stdout: int, stderr: int, **more: Any
    ) -> Any:
        if any(os.environ.get(name) != value for name, value in env.items() if not name.startswith(_READ_LATER)):
            # such as other numbers of threads
            return subprocess.Popen(command, env=env, pass_fds=pass_fds, stdout=stdout, stderr=stderr, **more)
        pid = os.fork()
        if pid == 0:
            os.dup2(stdout, 1)
            os.dup2(stderr, 2)
            _be_supervisor(command, env, pass_fds)
        return _Copy(pid)


class _Copy:
    """A copy, as `subprocess.Popen` has it."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._code: int | None = None

    def poll(self) -> int | None:
        if self._code is None:
            try:
                ended, status = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:  # somebody else has waited for it
                ended, status = self.pid, 0
            self._code = os.waitstatus_to_exitcode(status) if ended else None
        return self._code

    def wait(self, timeout: float = float("inf")) -> int:
        until = time.monotonic() + timeout
        while (code := self.poll()) is None:
            if time.monotonic() > until:
                raise subprocess.TimeoutExpired("a copy", timeout)
            time.sleep(0.002)
        return code

    def kill(self) -> None:
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)


def _be_supervisor(command: list[str], variables: dict[str, str], descriptors: tuple[int, ...]) -> NoReturn:
    """Be what the command of a supervisor starts."""
    from mpu_bench.guard import supervisor

    try:
        os.setsid()
        for number in signal.valid_signals():
            if callable(signal.getsignal(number)):
                signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
        sys.unraisablehook = sys.__unraisablehook__
        first = 3
        for kept in sorted(descriptors):
            os.closerange(first, kept)
            first = kept + 1
        os.closerange(first, os.sysconf("SC_OPEN_MAX"))
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        _take_variables(variables)
        *numbers, rest = command[command.index("-c") + 2 :]
        sys.argv[:] = ["-c", *numbers]
        sys.path[:], serve, given = json.loads(rest)
        supervisor.main(*map(int, numbers), serve, given)
    finally:
        os._exit(1)


if __name__ == "__main__":
    _serve(int(sys.argv[1]), sys.argv[2:])
