"""Shows how far a download is: nothing, a bar with rate and time left on a terminal, or plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Protocol

from rich.filesize import decimal

from mpu_bench.texts import one_line, plain

if TYPE_CHECKING:
    from rich.console import Console

Advance = Callable[[int], None]


class Progress(Protocol):
    """What the downloader reports of its work. Library code never prints; whoever calls it chooses how to show this."""

    def transfer(self, label: str, total: int | None, done: int = 0) -> AbstractContextManager[Advance]:
        """Follow a piece of work.

        Parameters
        ----------
        label : str
            What is done, such as ``"fetch a9a"``.
        total : int or None
            Its size in bytes, if known.
        done : int
            What was done before.

        Returns
        -------
        context manager
            Returns a function to call with every number of further bytes done.
        """
        ...

    def note(self, line: str) -> None:
        """Show something in between: a wait, an address that failed."""
        ...


class Bar:
    """A bar with rate and time left, for terminals.

    Parameters
    ----------
    console : rich.console.Console
        Where to draw.
    """

    def __init__(self, console: Console) -> None:
        self._console = console

    @contextmanager
    def transfer(self, label: str, total: int | None, done: int = 0) -> Iterator[Advance]:
        """Follow a piece of work with a bar that stays when it is done."""
        from rich import progress as parts

        label_column, elapsed = parts.TextColumn("{task.description}", markup=False), parts.TimeElapsedColumn()
        measured = (parts.BarColumn(), parts.DownloadColumn(), parts.TransferSpeedColumn(), parts.TimeRemainingColumn())
        columns = (label_column, *measured) if total else (label_column, parts.SpinnerColumn(), elapsed)
        with parts.Progress(*columns, console=self._console) as bar:
            task = bar.add_task(one_line(label), total=total, completed=done)
            yield lambda count: bar.advance(task, count)

    def note(self, line: str) -> None:
        """Print a line."""
        self._console.print(plain(line), markup=False, highlight=False)


class Lines:
    """A plain line now and then, for logs and pipes.

    Parameters
    ----------
    write : function
        Takes each line, without its end.
    every : float
        Seconds between lines.
    clock : function
        Returns the time in seconds.
    """

    def __init__(
        self, write: Callable[[str], object], every: float = 5.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._write = write
        self._every = every
        self._clock = clock

    @contextmanager
    def transfer(self, label: str, total: int | None, done: int = 0) -> Iterator[Advance]:
        """Follow a piece of work; one that is over before its first line is due gets a single line at its end."""
        began = last = self._clock()
        now_done = done

        def advance(count: int) -> None:
            nonlocal now_done, last
            now_done += count
            if (now := self._clock()) - last >= self._every:
                last = now
                self._write(f"{label}: {_state(now_done, total, (now_done - done) / max(now - began, 1e-9))}")

        yield advance
        self._write(f"{label}: done, {decimal(now_done)}" if now_done else f"{label}: done")

    def note(self, line: str) -> None:
        """Write a line."""
        self._write(line)


SILENT: Progress = Lines(lambda _line: None)  #: shows nothing


def _state(done: int, total: int | None, rate: float) -> str:
    speed = f"{decimal(int(rate))}/s"
    if not total:
        return f"{decimal(done)}, {speed}"
    left = f", {max(total - done, 0) / rate:.0f} s left" if rate else ""
    return f"{decimal(done)} of {decimal(total)}, {speed}{left}"


def for_console(console: Console) -> Progress:
    """Choose a bar where the console is a terminal, else plain lines on it."""
    if console.is_terminal:
        return Bar(console)
    return Lines(lambda line: console.print(plain(line), markup=False, highlight=False, soft_wrap=True))
