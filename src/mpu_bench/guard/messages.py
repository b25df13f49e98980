"""The end that a child process has of the connection to its parent: pickles come, and lines of bytes go back.

Nothing that goes back is code: a child runs code of others, and its parent reads lines.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

LOST_CONNECTION = 76  #: exit code of a child that cannot answer: its code has closed what is not its own


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
        """Yield what the parent asks, until it closes the connection."""
        with suppress(EOFError, OSError):
            while True:
                yield self._connection.recv()

    def send(self, line: bytes) -> None:
        """Write a line; without a connection the process ends, for nothing can be said but by the exit code."""
        if os.getpid() != self._pid:  # a copy of this process that foreign code has made
            os._exit(0)
        left = memoryview(line)
        try:
            while left:
                left = left[os.write(self._descriptor, left) :]
        except OSError:
            os._exit(LOST_CONNECTION)
