"""The process between a parent and its child: it ends the child and all that it has started.

It is the parent of whatever descends from the child and has lost its own parent (Linux), so nothing escapes it: not
what has left the session, nor what was forked twice. It ends all of that when the child has ended, on SIGTERM, and when
its parent has died. It imports little, forks the child at once and runs nothing else.

On other systems there is no such process: the child itself runs here, and its parent ends it with its descendants.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any, NoReturn

from mpu_bench.guard import system

_LOOK_SECONDS = 1.0
_SECONDS_TO_END_ALL = 10.0


def command(connection: int, report: int, serve: str, arguments: Sequence[Any]) -> list[str]:
    """Return the command that runs this module: by the same interpreter, from the same folders.

    Parameters
    ----------
    connection : int
        File descriptor of requests and answers.
    report : int
        File descriptor to which is written how the child ended: ``exit 3`` or ``signal 9``.
    serve : str
        Module and function that answer: ``module:function``, called with the descriptor.
    arguments : sequence
        What it is called with besides, as JSON can hold it.
    """
    code = (
        "import json, sys; sys.path[:], serve, arguments = json.loads(sys.argv.pop()); "
        "from mpu_bench.guard import supervisor; supervisor.main(*map(int, sys.argv[1:]), serve, arguments)"
    )
    numbers = [str(number) for number in (connection, report, os.getpid())]
    warnings = [f"-W{option}" for option in sys.warnoptions]
    # -P: nothing is imported from the current folder, not even before the folders are known
    return [sys.executable, "-P", *warnings, "-c", code, *numbers, json.dumps([sys.path, serve, arguments])]


def main(connection: int, report: int, parent: int, serve: str, arguments: Sequence[Any]) -> None:
    """Fork a child, wait until it has ended or must end, end what is left, and report."""
    for descriptor in (connection, report):
        os.set_inheritable(descriptor, False)
    if not system.LINUX:
        os.close(report)
        _be_child(connection, serve, arguments)
    heard = {signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP}
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # it may come ignored, and then nothing can be waited for
    signal.pthread_sigmask(signal.SIG_BLOCK, heard)
    system.adopt_orphans()
    system.die_with_parent(signal.SIGTERM, parent)
    this = os.getpid()
    child = os.fork()
    if child == 0:
        os.close(report)
        system.die_with_parent(signal.SIGKILL, this)
        os.setpgid(0, 0)  # a signal to its own group must not end its supervisor
        signal.pthread_sigmask(signal.SIG_UNBLOCK, heard)
        _be_child(connection, serve, arguments)
    os.close(connection)
    ended = ""
    while not ended:
        received = signal.sigtimedwait(heard, _LOOK_SECONDS)
        # a stop and SIGCONT end the wait, too, and CPython then returns a signal of any number
        if (received is not None and received.si_signo in heard - {signal.SIGCHLD}) or os.getppid() != parent:
            ended = f"signal {signal.SIGKILL.value}"
        else:
            ended = _wait_for(child)
    system.kill_until_none(lambda: system.descendants(this), _SECONDS_TO_END_ALL)
    with suppress(BrokenPipeError):  # the parent has died
        os.write(report, ended.encode())
    os._exit(0)


def _wait_for(child: int) -> str:
    """Wait for all children that have ended; return how the child has, or nothing."""
    ended = ""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if pid == 0:
            return ended
        if pid == child:
            code = os.waitstatus_to_exitcode(status)
            ended = f"signal {-code}" if code < 0 else f"exit {code}"


def _be_child(connection: int, serve: str, arguments: Sequence[Any]) -> NoReturn:
    """Answer until the parent closes the connection."""
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr] # whatever ends the process, a line is seen
    code = 1
    try:
        module, _, function = serve.partition(":")
        getattr(import_module(module), function)(connection, *arguments)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)  # whatever foreign code has registered for the end
