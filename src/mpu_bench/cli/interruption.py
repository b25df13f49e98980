"""Ctrl-C and SIGTERM: whatever they interrupt, the program ends with 130 or 143, and with no other error message.

What an interruption becomes on its way up depends on what it met: a library may turn it into an error of its own. So
that it came is remembered, and decides.
"""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import NoReturn

_BASE_OF_SIGNALS = 128  # of an exit code, as shells count
_HEEDED = (signal.SIGINT, signal.SIGTERM)
_SECONDS_TO_LEAVE = 0.02  # a place where errors are ignored


class _Came:
    """The first signal that has come, and whether the program is leaving already."""

    code: int | None = None
    leaving = False


def has_come() -> bool:
    """Return whether a signal to end has come."""
    return _Came.code is not None


def listen() -> None:
    """Heed the signals from now on, but for those that the program was started to ignore."""
    _Came.code, _Came.leaving = None, False
    atexit.unregister(_ignore)
    atexit.register(_ignore)  # the first to be registered is the last to be called
    sys.unraisablehook = _come_again
    for number in _HEEDED:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)


def _ignore() -> None:
    """Let a signal change nothing any more: the interpreter that is taken down would die of it, its exit code lost."""
    for number in _HEEDED:
        if signal.getsignal(number) is _interrupt:
            signal.signal(number, signal.SIG_IGN)


def _interrupt(number: int, _frame: FrameType | None) -> None:
    if _Came.code is None:
        _Came.code = _BASE_OF_SIGNALS + number
    if _Came.leaving:  # nothing is left to tidy up
        os._exit(_Came.code)
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(_Came.code)


def _come_again(lost: sys.UnraisableHookArgs) -> None:
    """Let an interruption come a second time that was lost where Python ignores errors, such as in a destructor."""
    if _Came.code is None or not issubclass(lost.exc_type, KeyboardInterrupt | SystemExit):
        sys.__unraisablehook__(lost)
    elif not _Came.leaving:
        later = threading.Timer(_SECONDS_TO_LEAVE, os.kill, (os.getpid(), _Came.code - _BASE_OF_SIGNALS))
        later.daemon = True
        later.start()


def _open_what_is_closed() -> None:
    """Let what is written to a stream that came closed, as by ``>&-``, go nowhere, and an input be empty.

    Its descriptor is opened as well: else the next pipe or file takes that number, and children take it for the stream.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free, which is this one
            os.set_inheritable(descriptor, True)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 - to the end


def leave_with(work: Callable[[], int]) -> NoReturn:
    """Do the work of the program and leave with the exit code it returns, or with that of the signal that came."""
    code = 1
    _open_what_is_closed()
    try:
        try:
            listen()
            code = work()
        except BaseException:
            if not has_come():
                raise
        _Came.leaving = True
    except BaseException:  # a second signal, just now
        if not has_come():
            raise
        _Came.leaving = True
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    gc.freeze()  # the end of Python would look through all that there is, again and again, for a fifth of a second
    exec("")  # else Python, where code that was made by exec was interrupted, dies of SIGINT in place of the exit code
    sys.exit(code if _Came.code is None else _Came.code)
