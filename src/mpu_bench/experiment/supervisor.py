"""The process between mpu-bench and a worker: it ends the worker and all that it has started.

It is the parent of whatever descends from the worker and has lost its own parent (Linux), so nothing escapes it: not
what has left the session, nor what was forked twice. It ends all of that when the worker has ended, when it is told to
by SIGTERM, and when mpu-bench has died, of whatever. It imports little, forks the worker at once and runs no solver.

On other systems there is no such process: the worker itself runs here, and mpu-bench ends it with its descendants.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from contextlib import suppress
from typing import NoReturn

from mpu_bench import processes
from mpu_bench.experiment import cgroup

MARK = "MPU_BENCH_WORKER"  #: variable of the environment by which descendants of a worker are known
_LOOK_SECONDS = 1.0
_SECONDS_TO_END_ALL = 10.0


def command(connection: int, report: int, jobs: int, group: str = "") -> list[str]:
    """Return the command that runs this module: by the same interpreter, from the same folders.

    Parameters
    ----------
    connection : int
        File descriptor over which the worker is asked and answers.
    report : int
        File descriptor to which is written how the worker ended: ``exit 3`` or ``signal 9``.
    jobs : int
        Workers that share the machine's memory.
    group : str
        The folder of a `cgroup.ControlGroup` for it, if there is one.
    """
    code = (
        "import json, sys; sys.path[:], group = json.loads(sys.argv.pop()); "
        "from mpu_bench.experiment import supervisor; supervisor.main(*map(int, sys.argv[1:]), group)"
    )
    numbers = [str(each) for each in (connection, report, jobs, os.getpid())]
    warnings = [f"-W{each}" for each in sys.warnoptions]
    # -P: nothing is imported from the current folder, not even before the folders are known
    return [sys.executable, "-P", *warnings, "-c", code, *numbers, json.dumps([sys.path, group])]


def main(connection: int, report: int, jobs: int, parent: int, group: str = "") -> None:
    """Fork a worker, wait until it has ended or must end, end what is left, and report."""
    for descriptor in (connection, report):
        os.set_inheritable(descriptor, False)
    if not processes.LINUX:
        os.close(report)
        _be_worker(connection, jobs)
    heard = {signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP}
    cgroup.enter(group)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # it may come ignored, and then nothing can be waited for
    signal.pthread_sigmask(signal.SIG_BLOCK, heard)
    processes.adopt_orphans()
    processes.die_with_parent(signal.SIGTERM, parent)
    this = os.getpid()
    worker = os.fork()
    if worker == 0:
        os.close(report)
        processes.die_with_parent(signal.SIGKILL, this)
        os.setpgid(0, 0)  # a signal to its own group must not end its supervisor
        signal.pthread_sigmask(signal.SIG_UNBLOCK, heard)
        _be_worker(connection, jobs)
    os.close(connection)
    ended = ""
    while not ended:
        told = signal.sigtimedwait(heard, _LOOK_SECONDS)
        # a stop and SIGCONT end the wait, too, and CPython then returns a signal of any number
        if (told is not None and told.si_signo in heard - {signal.SIGCHLD}) or os.getppid() != parent:
            ended = f"signal {signal.SIGKILL.value}"
        else:
            ended = _wait_for(worker)
    processes.kill_until_none(lambda: processes.descendants(this), _SECONDS_TO_END_ALL)
    with suppress(BrokenPipeError):  # mpu-bench has died, and nobody asks any more
        os.write(report, ended.encode())
    os._exit(0)


def _wait_for(worker: int) -> str:
    """Wait for all children that have ended; return how the worker has, or nothing."""
    ended = ""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if pid == 0:
            return ended
        if pid == worker:
            code = os.waitstatus_to_exitcode(status)
            ended = f"signal {-code}" if code < 0 else f"exit {code}"


def _be_worker(connection: int, jobs: int) -> NoReturn:
    """Answer until mpu-bench closes the connection."""
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr] # whatever ends the process, a line is seen
    code = 1
    try:
        from mpu_bench.experiment import worker

        worker.serve(connection, jobs)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)  # whatever a solver has registered for the end
