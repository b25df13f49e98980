"""The end that a child process has of the connection to its parent: pickles come, and lines of bytes go back.

Nothing that goes back is code: a child runs code of others, and its parent reads lines, such as those of `to_line`.
"""

from __future__ import annotations

import base64
import io
import os
import pickle
from collections.abc import Collection, Iterator
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

LOST_CONNECTION = 76  #: exit code of a child that cannot answer: its code has closed what is not its own


def to_line(value: Any) -> bytes:
    """Return a value as a line, which `from_line` reads."""
    return base64.b64encode(pickle.dumps(value)) + b"\n"


def from_line(line: bytes, known: Collection[str] = ()) -> Any:
    """Return the value of a line.

    Parameters
    ----------
    line : bytes
    known : collection of str
        Modules, and classes of modules, that may be in it, besides numbers, texts and what holds them.

    Raises
    ------
    ValueError
        If it is not a message.
    """
    try:
        return _Unpickler(base64.b64decode(line), known).load()
    except Exception as error:  # whatever foreign code has written there
        raise ValueError(f"{type(error).__name__}: {error}") from None


class _Unpickler(pickle.Unpickler):
    def __init__(self, pickled: bytes, known: Collection[str]) -> None:
        super().__init__(io.BytesIO(pickled))
        self._known = known

    def find_class(self, module: str, name: str) -> Any:
        if module not in self._known and f"{module}.{name}" not in self._known:
            raise pickle.UnpicklingError(f"{module}.{name} may be in no answer")
        return super().find_class(module, name)


class Channel:
    """The end of a child process.

    Parameters
    ----------
    descriptor : int
        Of the connection.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor, self._connection, self._pid = descriptor, Connection(descriptor), os.getpid()

    def requests(self) -> Iterator[Any]:
        """Yield the requests of the parent, until it closes the connection."""
        with suppress(EOFError, OSError):
            while True:
                yield self._connection.recv()

    def send(self, line: bytes) -> None:
        """Write a line; without a connection the process ends, which its exit code reports."""
        if os.getpid() != self._pid:  # a copy of this process that foreign code has made
            os._exit(0)
        left = memoryview(line)
        try:
            while left:
                left = left[os.write(self._descriptor, left) :]
        except OSError:
            os._exit(LOST_CONNECTION)
