"""The preparation of a dataset in a worker: what the worker does, and how the parent shows its progress."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from itertools import count
from types import TracebackType

from mpu_bench.data.download.progress import Advance, Progress
from mpu_bench.experiment.messages import Preparation, Prepared, Work

_SECONDS_BETWEEN_MESSAGES = 0.1


def prepare(preparation: Preparation, send: Callable[[Work], None]) -> Prepared:
    """Fetch and prepare a dataset unless it is there; tell meanwhile how far it is."""
    from mpu_bench.data.cards import catalog
    from mpu_bench.data.prepare.load import load_problem

    load_problem(catalog.card(preparation.name, preparation.options), preparation.home, _Sent(send))
    return Prepared()


class _Sent:
    """Progress that is shown in another process; `Shown` is its other end."""

    def __init__(self, send: Callable[[Work], None]) -> None:
        self._send = send
        self._numbers = count()

    @contextmanager
    def transfer(self, label: str, total: int | None, done: int = 0) -> Iterator[Advance]:
        """Follow a piece of work, with a message now and then."""
        number, waiting, last = next(self._numbers), 0, time.monotonic()

        def advance(further: int) -> None:
            nonlocal waiting, last
            waiting += further
            if time.monotonic() - last >= _SECONDS_BETWEEN_MESSAGES:
                self._send(Work("advance", number, done=waiting))
                waiting, last = 0, time.monotonic()

        self._send(Work("begin", number, text=label, total=total, done=done))
        try:
            yield advance
        finally:
            self._send(Work("advance", number, done=waiting))
            self._send(Work("end", number))

    def note(self, line: str) -> None:
        """Send a line."""
        self._send(Work("note", text=line))


class Shown:
    """Shows what a worker tells of its work; at its end transfers that were not ended are left as they are."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._transfers: dict[int, tuple[AbstractContextManager[Advance], Advance]] = {}

    def __enter__(self) -> Shown:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with ExitStack() as left:
            for transfer, _ in self._transfers.values():
                left.push(transfer)
            self._transfers = {}

    def show(self, work: Work) -> None:
        """Show a message."""
        match work.step:
            case "note":
                self._progress.note(work.text)
            case "begin":
                transfer = self._progress.transfer(work.text, work.total, work.done)
                self._transfers[work.number] = transfer, transfer.__enter__()
            case "advance" if work.number in self._transfers:
                self._transfers[work.number][1](work.done)
            case "end" if work.number in self._transfers:
                self._transfers.pop(work.number)[0].__exit__(None, None, None)
            case _:
                pass
