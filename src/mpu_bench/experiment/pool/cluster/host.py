"""A worker of a cluster: it lets guarded child processes make the runs that come, as they are made on one machine."""

from __future__ import annotations

import hashlib
import platform
import shutil
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil
from rich.filesize import decimal

from mpu_bench import files
from mpu_bench.data.cards import catalog
from mpu_bench.data.download.cache import DataHome
from mpu_bench.data.download.progress import Lines
from mpu_bench.data.prepare.load import describe
from mpu_bench.errors import UserError
from mpu_bench.experiment import environment
from mpu_bench.experiment.messages import Failed, Finished, News, Progress, Task, decode, encode
from mpu_bench.experiment.pool import Outcome
from mpu_bench.experiment.pool.cluster.asked import About, Asked, Made, Refused, with_home, with_plugins
from mpu_bench.experiment.pool.local import LocalPool
from mpu_bench.quantities import Ending
from mpu_bench.texts import plain

_IDLE_SECONDS = 30.0  # after which the processes of a slot that nobody needs are ended
_SECONDS_BETWEEN_PROGRESS = 1.0
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_WANTED_STATES = ("executing", "long-running")  # of a task in Dask's worker


class Unwanted(Exception):  # noqa: N818 - it is no error
    """Nobody waits for this run any more."""


def about() -> About:
    """Describe the worker that this is called in."""
    home = DataHome.from_options().folder
    boot = _BOOT.read_text(encoding="utf-8").strip() if _BOOT.exists() else ""
    machine = hashlib.sha256(f"{boot} {socket.gethostname()} {home}".encode()).hexdigest()[:12]
    return About(machine, socket.gethostname(), versions())


@cache
def versions() -> dict[str, str]:
    """Return the versions that must be the same everywhere."""
    package = Path(__file__).parents[3]
    code = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        code.update(path.relative_to(package).as_posix().encode() + path.read_bytes())
    return {
        "mpu-bench": f"{version('mpu-bench')}, code {code.hexdigest()[:8]}",
        "numba": version("numba"),
        "Python": ".".join(platform.python_version_tuple()[:2]),
    }


def make(asked: Asked) -> Made | Refused:
    """Make a run, as a task of Dask's.

    Raises
    ------
    Unwanted
        If the client has gone meanwhile, or has given the run to another worker.
    """
    from distributed import get_worker, secede

    worker = get_worker()
    if asked.slots > worker.state.nthreads:  # which Dask would make one after the other
        secede()

    def is_wanted() -> bool:
        task = worker.state.tasks.get(asked.key)
        return task is not None and task.state in _WANTED_STATES

    def tell(line: bytes) -> None:
        worker.log_event(asked.topic, (asked.key, line))

    with _SLOTS.taken(asked.slots, is_wanted) as slot:
        return slot.thread.submit(_make, slot, asked, tell, is_wanted).result()


# ------------------------------------------------------------------ slots


@dataclass(eq=False)
class _Slot:
    """A pool of one run, and the thread it lives in: child processes end with the thread that has started them."""

    thread: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "mpu-bench"))
    is_busy: bool = False
    idle: threading.Timer | None = None
    fastest_probe: float = float("inf")
    _pool: LocalPool | None = None

    def pool(self, threads: int, sharers: int) -> LocalPool:
        """Return the pool, with so many threads for a run."""
        if self._pool is not None and self._pool.sharers != sharers:
            self.end()
        if self._pool is None:
            self._pool = LocalPool(1, threads, sharers)
        self._pool.use_threads(threads)
        return self._pool

    def end(self) -> None:
        """End the child processes."""
        if self._pool is not None:
            self._pool.close()
            self._pool = None


class _Slots:
    """The slots of this worker: as many as its clients want runs at once."""

    def __init__(self) -> None:
        self._slots: list[_Slot] = []
        self._changed = threading.Condition()

    @contextmanager
    def taken(self, most: int, is_wanted: Callable[[], bool]) -> Iterator[_Slot]:
        """Return a slot, as soon as one is free; other clients may have taken them all."""
        slot = self._take(most, is_wanted)
        try:
            yield slot
        finally:
            with self._changed:
                slot.is_busy = False
                slot.idle = threading.Timer(_IDLE_SECONDS, self._end, [slot])
                slot.idle.daemon = True
                slot.idle.start()
                self._changed.notify()

    def _take(self, most: int, is_wanted: Callable[[], bool]) -> _Slot:
        with self._changed:
            while True:
                free = [each for each in self._slots if not each.is_busy]
                if not free and len(self._slots) < most:
                    self._slots.append(_Slot())
                elif free:
                    free[0].is_busy = True
                    if free[0].idle is not None:
                        free[0].idle.cancel()
                    return free[0]
                elif not is_wanted():
                    raise Unwanted
                else:
                    self._changed.wait(0.5)

    def _end(self, slot: _Slot) -> None:
        with self._changed:
            if not slot.is_busy:
                slot.thread.submit(slot.end).result()


_SLOTS = _Slots()
#: the datasets that this worker has had; one that has been removed since is prepared again by the run itself
_HAD: set[tuple[Any, ...]] = set()


# ------------------------------------------------------------------ a run


def _make(slot: _Slot, asked: Asked, tell: Callable[[bytes], None], is_wanted: Callable[[], bool]) -> Made | Refused:
    own = DataHome.from_options()
    task = with_home(asked.task, own.folder, own.mirrors)
    if lacking := _lack_of_memory(asked):
        return Refused("memory", lacking)
    pool = slot.pool(asked.threads, asked.sharers)
    if lacking := _lack_of_data(pool, task, asked.data_bytes, tell):
        return Refused("data", lacking)
    with tempfile.TemporaryDirectory(prefix="mpu-bench-") as folder:
        task = replace(task, matrices=None)  # its folder is on another machine
        if task.model_file is not None:
            task = replace(task, model_file=Path(folder) / "model.mpu")
        plugins = _plugins_here(asked, own.folder)
        task = with_plugins(task, tuple(plugins))
        task = replace(task, fastest_probe=min(task.fastest_probe, slot.fastest_probe))
        outcome = _outcome(slot, pool, task, tell, is_wanted)
        model = task.model_file.read_bytes() if task.model_file is not None and task.model_file.exists() else b""
    record = outcome.record
    slot.fastest_probe = min(slot.fastest_probe, record.probe_seconds or float("inf"))
    for here, there in plugins.items():
        traced = record.traceback and record.traceback.replace(str(here), str(there))
        record = replace(record, reason=record.reason.replace(str(here), str(there)), traceback=traced)
    settings = task.run.settings
    described = _environment(settings.threads, settings.kernel_memory)
    is_starved = record.ended_by is Ending.SYSTEM  # the machine, and not a limit of the config, left it no memory
    return Made(encode(Finished(record, outcome.checkpoints)), described, model, is_starved)


@cache
def _environment(threads: int, kernel_memory: int | None) -> dict[str, Any]:
    return environment.describe(threads, kernel_memory, socket.gethostname())


def _outcome(
    slot: _Slot, pool: LocalPool, task: Task, tell: Callable[[bytes], None], is_wanted: Callable[[], bool]
) -> Outcome:
    """Let a child process make a run, and tell how it goes."""
    told = 0.0

    def on_news(_task: Task, news: News) -> None:
        nonlocal told
        seconds = news.seconds if isinstance(news, Progress) else None
        if seconds is None or not told <= seconds < told + _SECONDS_BETWEEN_PROGRESS:
            told = seconds or 0.0
            tell(encode(news))

    pool.submit(task)
    while True:
        if (outcome := pool.look(on_news)) is not None:
            return outcome
        if not is_wanted():
            slot.end()
            raise Unwanted


def _lack_of_memory(asked: Asked) -> str:
    needed, free = asked.data_bytes + (asked.task.run.settings.kernel_memory or 0), psutil.virtual_memory().available
    if needed <= free:
        return ""
    return f"it has {decimal(free)} of memory free, and the data and their kernel values take {decimal(needed)}"


def _lack_of_data(pool: LocalPool, task: Task, data_bytes: int, tell: Callable[[bytes], None]) -> str:
    """Return why the dataset of a run cannot be had here, if so; of all workers of a machine one prepares it."""
    dataset = task.run.dataset
    key = dataset.name, repr(sorted(dataset.options.items())), task.home, task.fingerprint
    if key in _HAD:
        return ""
    try:
        card = catalog.card(dataset.name, dataset.options)
        if describe(card, task.home).state != "prepared":
            if lacking := lack_of_room(task.home.folder, data_bytes):
                return lacking
            progress = Lines(lambda line: tell(b"note " + plain(line).encode()))
            if fault := pool.prepare(dataset.name, dataset.options, task.home, task.limits, progress):
                return fault
        found = describe(card, task.home).fingerprint
    except UserError as fault:
        return str(fault)
    if found != task.fingerprint:
        return f"its data are others than the client's ({found}, {task.fingerprint})"
    _HAD.add(key)
    return ""


def lack_of_room(folder: Path, needed: int) -> str:
    """Return why a folder cannot hold so many bytes more, if so; it need not exist."""
    existing = next(each for each in (folder, *folder.parents) if each.exists())
    _, _, free = shutil.disk_usage(existing)
    return "" if needed <= free else f"{folder} has room for {decimal(free)}, and the data take {decimal(needed)}"


def _plugins_here(asked: Asked, home: Path) -> dict[Path, Path]:
    """Write the plugins of a run, by content; return which of the client's each is."""
    written = {}
    for path, content in asked.plugins.items():
        here = home / "plugins" / hashlib.sha256(content).hexdigest()[:16] / path.name
        if not here.exists():
            here.parent.mkdir(parents=True, exist_ok=True)
            with files.written_whole(here) as stream:
                stream.write(content)
        written[here] = path
    return written


def outcome_of(task: Task, made: Made) -> Outcome:
    """Return the outcome that a worker has sent.

    Raises
    ------
    ValueError
        If it is none.
    """
    match decode(made.outcome.removesuffix(b"\n")):
        case Finished(record, checkpoints):
            return Outcome(task, record, checkpoints, dict(made.environment))
        case Failed() | _:
            raise ValueError("no record of a run")
