"""A worker of a cluster: guarded child processes execute the runs that arrive, as on a single machine."""

from __future__ import annotations

import hashlib
import math
import pickle
import platform
import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from mpu_bench import files
from mpu_bench.data.cards import catalog
from mpu_bench.data.download.cache import DataDirectory, is_web
from mpu_bench.data.download.progress import Lines
from mpu_bench.data.prepare.load import META, describe
from mpu_bench.errors import DataError, StoreError, UserError
from mpu_bench.experiment import environment
from mpu_bench.experiment.messages import News, Progress, Task
from mpu_bench.experiment.pool import Outcome
from mpu_bench.experiment.pool.local import LocalPool
from mpu_bench.quantities import RunStatus
from mpu_bench.solvers.plugins.importing import PluginSource

RUNS = "mpu-bench"  #: the resource of a worker that a run takes one of, and the threads that make runs there
_IDLE_SECONDS = 30.0  # after which child processes that nobody needs are ended
_SECONDS_BETWEEN_PROGRESS = 1.0
_ABANDONED_SECONDS = 3600.0  # after which what no piece came to is of a client that is gone
_DIGITS = 4  # of a hash that tells apart machines of one name, and data directories of one machine
_BOOT = Path("/proc/sys/kernel/random/boot_id")


class About(NamedTuple):
    """What a worker says of itself.

    ``machine`` names it: the same for workers that share a host and its data directory. ``versions`` are those of
    packages by name, of Python, and of the code of mpu-bench.
    """

    machine: str
    host: str
    versions: Mapping[str, str]


@dataclass(frozen=True)
class Request:
    """A run for a worker: nothing in it depends on the client's disk.

    Attributes
    ----------
    topic : str
        Of the events that report progress.
    task : Task
    plugin : PluginSource or None
        The user file that defines the solver, if one does.
    sharers : int
        How many runs share the machine's memory.
    """

    topic: str
    task: Task
    plugin: PluginSource | None = None
    sharers: int = 1


@dataclass(frozen=True)
class Refused:
    """Why a machine cannot make a run that another may be able to make, and the run's status if no machine can."""

    status: RunStatus
    why: str


class Unwanted(Exception):  # noqa: N818 - it is no error
    """Nobody waits for this run any more."""


def about(_dask_worker: Any = None) -> About:
    """Describe the worker that this is called in."""
    name, home = socket.gethostname(), DataDirectory.from_options().folder
    boot = _BOOT.read_text(encoding="utf-8").strip() if _BOOT.exists() else ""
    digest = hashlib.sha256(f"{boot} {name} {home}".encode()).hexdigest()[:_DIGITS]
    return About(f"{name} ({digest})", name, versions())


async def enlist(about: bytes, slots: int, versions: Mapping[str, str], dask_worker: Any) -> About:
    """Return what a worker says of itself; one of these versions makes runs from now on, ``slots`` at once."""
    from distributed.threadpoolexecutor import ThreadPoolExecutor

    described: About = pickle.loads(about)(dask_worker)
    if described.versions == versions and dask_worker.state.total_resources.get(RUNS) != slots:
        dask_worker.executors[RUNS] = ThreadPoolExecutor(slots, RUNS)  # whatever its threads
        dask_worker.state.nthreads = max(dask_worker.state.nthreads, slots)
        await dask_worker.set_resources(**{RUNS: slots})
    return described


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


# ------------------------------------------------------------------ a run


def make(request: Request) -> Outcome | Refused:
    """Make a run, as a task of Dask's.

    Raises
    ------
    Unwanted
        If the client has gone meanwhile, or has given the run to another worker.
    """
    from distributed import get_worker

    worker = get_worker()
    key = worker.get_current_task()

    def is_wanted() -> bool:
        task = worker.state.tasks.get(key)
        return task is not None and task.state == "executing"

    def report(news: News | str) -> None:
        worker.log_event(request.topic, (key, pickle.dumps(news)))

    return make_here(request, report, is_wanted)


class _Slot(threading.local):
    """The child processes of a thread, which end with it, and how fast the machine was at its best."""

    def __init__(self) -> None:
        self.pool = LocalPool()
        self.idle: threading.Timer | None = None
        self.fastest_probe = math.inf

    def begin(self, threads: int, sharers: int) -> LocalPool:
        """Return the pool of this thread, with this number of threads for a run."""
        if self.idle is not None:
            self.idle.cancel()
            self.idle.join()
        if (self.pool.threads, self.pool.sharers) != (threads, sharers):
            self.pool.close()
            self.pool = LocalPool(1, threads, sharers)
        return self.pool

    def rest(self) -> None:
        """Keep the child processes for another run for a while."""
        self.idle = threading.Timer(_IDLE_SECONDS, self.pool.close)
        self.idle.daemon = True
        self.idle.start()


_slot = _Slot()


def make_here(
    request: Request, report: Callable[[News | str], None], is_wanted: Callable[[], bool]
) -> Outcome | Refused:
    """Let a child process of this thread make a run.

    Parameters
    ----------
    request : Request
    report : function
        Called with how it goes.
    is_wanted : function
        Returns whether anybody waits for the run.
    """
    run = request.task.run
    pool = _slot.begin(run.settings.threads, request.sharers)
    try:
        local, known = DataDirectory.from_options(), request.task.home
        reached = [mirror for mirror in known.mirrors if is_web(mirror) or Path(mirror).is_dir()]
        home = replace(known, folder=local.folder, mirrors=(*reached, *local.mirrors), remote=True)
        if (there := run.solver.plugin) and request.plugin:
            here = there._replace(path=_plugin_here(request.plugin, local.folder))
            run = replace(run, solver=replace(run.solver, plugin=here))
        with tempfile.TemporaryDirectory(prefix="mpu-bench-") as folder:
            model_file = Path(folder) / "model.mpu"
            task = replace(
                request.task,
                run=run,
                home=home,
                model_files=[model_file] if request.task.model_files else (),
                matrices=None,  # whose folder is on another machine
                fastest_probe=_slot.fastest_probe,  # of this machine
            )
            _have_data(pool, task, report)
            outcome = _outcome(pool, task, report, is_wanted)
            model = model_file.read_bytes() if model_file.exists() else b""
    except (OSError, StoreError) as error:  # such as a full disk
        return Refused(RunStatus.ERROR, f"{type(error).__name__}: {error}")
    except UserError as error:
        return Refused(RunStatus.UNAVAILABLE, str(error))
    finally:
        _slot.rest()
    record = outcome.record
    _slot.fastest_probe = min(_slot.fastest_probe, record.probe_seconds or math.inf)
    if there:
        traced = record.traceback and record.traceback.replace(str(here.path), str(there.path))
        record = replace(record, reason=record.reason.replace(str(here.path), str(there.path)), traceback=traced)
    described = _environment(run.settings.threads, run.settings.kernel_memory)
    return replace(outcome, record=record, environment=described, model=model)


@cache
def _environment(threads: int, kernel_memory: int | None) -> dict[str, Any]:
    return environment.describe(threads, kernel_memory, socket.gethostname())


def _outcome(
    pool: LocalPool, task: Task, report: Callable[[News | str], None], is_wanted: Callable[[], bool]
) -> Outcome:
    """Let a child process make a run, and report progress."""
    last = 0.0

    def on_news(_task: Task, news: News) -> None:
        nonlocal last
        seconds = news.seconds if isinstance(news, Progress) else None
        if seconds is None or not last <= seconds < last + _SECONDS_BETWEEN_PROGRESS:
            last = seconds or 0.0
            report(news)

    pool.submit(task)
    while True:
        if (outcome := pool.look(on_news)) is not None:
            return outcome
        if not is_wanted():
            pool.close()
            raise Unwanted


def _have_data(pool: LocalPool, task: Task, report: Callable[[News | str], None]) -> None:
    """Prepare the dataset of a run unless it is here; of all workers of a machine one does.

    Raises
    ------
    UserError
        If it is unavailable here, or another than the client's.
    """
    dataset = task.run.dataset
    card = catalog.card(dataset.name, dataset.options)
    if describe(card, task.home).state != "prepared":
        error = pool.prepare(dataset.name, dataset.options, task.home, task.limits, Lines(report))
        if error:
            raise DataError(error)
    fingerprint = describe(card, task.home).fingerprint
    if fingerprint != task.fingerprint:
        raise DataError(f"its data are others than the client's ({fingerprint}, {task.fingerprint})")


def _plugin_here(plugin: PluginSource, home: Path) -> Path:
    """Write the plugin of a run, by content; return where it is."""
    here = home / "plugins" / plugin.content_hash / plugin.path.name
    if not here.exists():
        files.write_all(here.parent, {here.name: plugin.content})
    return here


# ------------------------------------------------------------------ data that the client sends


def expect(name: str, client: str, meta: bytes) -> str:
    """Return the name of the folder into which a prepared dataset is to be sent; nothing if it is here.

    What a client that is gone has not sent to its end is removed.

    Parameters
    ----------
    name : str
        Of its folder.
    client : str
        Who sends it: two may send data of one name at once, and neither may get pieces of the other.
    meta : bytes
        What it says of itself: with the hashes of its arrays, which whoever loads them looks at.

    Raises
    ------
    StoreError
        If it cannot be written.
    """
    folder = _prepared(name)
    with suppress(OSError):
        if (folder / META).read_bytes() == meta:
            return ""
    for left in folder.parent.glob(f".{folder.name}.*.coming"):
        with suppress(OSError):  # another worker removes it, too
            if time.time() - max(path.stat().st_mtime for path in (left, *left.iterdir())) > _ABANDONED_SECONDS:
                shutil.rmtree(left)
    coming = _prepared(f".{folder.name}.{Path(client).name}.coming")
    with files.as_store_error(coming):
        coming.mkdir(parents=True, exist_ok=True)
    return coming.name


def receive(coming: str, file: str, start: int, piece: bytes) -> None:
    """Write a piece of a file; raises as `expect`."""
    path = _prepared(coming) / Path(file).name
    with files.as_store_error(path), path.open("r+b" if start else "wb") as stream:
        stream.seek(start)
        stream.write(piece)


def arrived(name: str, coming: str) -> None:
    """Rename a dataset, all of whose files have arrived, to its final path; raises as `expect`."""
    folder, sent = _prepared(name), _prepared(coming)
    shutil.rmtree(folder, ignore_errors=True)  # of other content
    with files.as_store_error(folder):
        try:
            sent.rename(folder)
        except OSError:
            if not folder.is_dir():  # where another client has put it
                raise
            shutil.rmtree(sent, ignore_errors=True)


def _prepared(name: str) -> Path:
    return DataDirectory.from_options().folder / "prepared" / Path(name).name
