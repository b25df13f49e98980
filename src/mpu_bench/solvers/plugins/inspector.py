"""The child process in whose own children plugins are imported: one for each file, so that none reaches another.

It starts once, imports what every solver needs, and forks for each file. Whatever a plugin starts is a descendant of
this process, and is killed when its description is no longer needed, or when mpu-bench has ended.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from mpu_bench.guard import system
from mpu_bench.solvers.plugins import answers

_ENDING_SECONDS = 1.0  # for a process to be seen as ended after its pipe is closed
_KILLING_SECONDS = 10.0  # for killed descendants to be gone
_LOOK_SECONDS = 0.01


def main(descriptor: int) -> NoReturn:
    """Answer the parent, a message each: with a socket, fork for it and return the process; else end or kill one.

    Ends when the parent closes its end, as its death does too.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # the parent decides, and a plugin does not
    system.adopt_orphans()
    with suppress(OSError):  # a plugin that takes all memory is the first to be ended
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    control = socket.socket(fileno=descriptor)
    with suppress(ConnectionError):
        while True:
            message, given, *_ = socket.recv_fds(control, 100, 1)
            if not message:
                break
            if given:
                control.sendall(b"%d\n" % _fork(given[0], control))
            else:
                word, process = message.split()
                control.sendall(json.dumps(_end(int(process), killing=word == b"kill")).encode() + b"\n")
    system.kill_until_none(lambda: system.descendants(os.getpid()), _KILLING_SECONDS)
    os._exit(0)


def _fork(descriptor: int, control: socket.socket) -> int:
    parent = os.getpid()
    process = os.fork()
    if process:
        os.close(descriptor)
        return process
    try:
        control.close()
        system.die_with_parent(signal.SIGKILL, parent)
        _silence()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        answers.serve(socket.socket(fileno=descriptor))
    finally:
        os._exit(0)  # without what a plugin has left to be done at exit


def _silence() -> None:
    """Send what a plugin prints nowhere: it is seen when the plugin's runs are made."""
    sys.dont_write_bytecode = True
    sys.argv = ["mpu-bench"]
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in range(3):
        os.dup2(nothing, standard)


def _end(process: int, killing: bool) -> int | None:
    """Return the exit code of a child, as `os.waitstatus_to_exitcode` does; None if it had to be killed."""
    deadline = time.monotonic() + (0 if killing else _ENDING_SECONDS)
    while time.monotonic() < deadline:
        try:
            ended, status = os.waitpid(process, os.WNOHANG)
        except ChildProcessError:
            return None
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(_LOOK_SECONDS)
    with suppress(ProcessLookupError, ChildProcessError):
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
    return None
