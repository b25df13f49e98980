"""A pool on a Dask cluster, as its client sees it: which machine may make which run, and what becomes of lost ones.

A run goes to a machine that has room, data and memory for it; those of a group go to one machine, for their seconds are
compared. Which of its workers makes the run, one at a time, Dask says, and lets another have it where one is lost. Runs
of a machine that is gone go to another.
"""

from __future__ import annotations

import itertools
import math
import pickle
import queue
import time
import uuid
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import cloudpickle
from dask.base import annotate
from distributed import Client, Future, KilledWorker
from rich.filesize import decimal

from mpu_bench import files
from mpu_bench.config.choices import DatasetChoice
from mpu_bench.config.schema import Limits
from mpu_bench.data.cards import catalog
from mpu_bench.data.cards.schema import Card
from mpu_bench.data.download.cache import DataDirectory
from mpu_bench.data.download.progress import SILENT, Progress
from mpu_bench.data.prepare.load import META, prepared_folder
from mpu_bench.errors import ClusterError, StoreError
from mpu_bench.experiment.messages import Task
from mpu_bench.experiment.pool import OnNews, Outcome, Pool
from mpu_bench.experiment.pool.cluster import host
from mpu_bench.experiment.pool.cluster.host import RUNS, About, Made, Refused, Request, Unwanted
from mpu_bench.experiment.pool.local import LocalPool
from mpu_bench.quantities import Ending, Record, RunStatus
from mpu_bench.results.saved_models import NOT_WRITTEN
from mpu_bench.solvers.plugins import importing
from mpu_bench.texts import plain

MOST_LOSSES = 3  #: machines that may be lost with a run
MOST_ASKED = 3  #: times that a worker is asked who it is
_LOOK_SECONDS = 1.0  # how often it is looked at who is there
_SECONDS_TO_RECEIVE = 120.0
_SECONDS_FOR_WORKERS = 600.0  # for which a cluster without a worker is waited for, at first and later
_PIECE_BYTES = 8 << 20  # of data, that pass through the scheduler at once


@dataclass(eq=False)
class _Run:
    """A run that waits or is under way, with what has become of it so far.

    ``lost`` names the workers that were lost with it, ``refused`` the machines that cannot make it, and why; it is
    under way on the ``workers`` of a ``machine``.
    """

    task: Task
    lost: list[str] = field(default_factory=list)
    refused: dict[str, Refused] = field(default_factory=dict)
    machine: str = ""
    workers: Sequence[str] = ()
    future: Future[Any] | None = None


@dataclass
class _Data:
    """A prepared dataset: what its card is called elsewhere, and why machines cannot have it; nothing: they have."""

    card: Card
    options: Mapping[str, Any]
    bytes: int
    lacking: dict[str, str] = field(default_factory=dict)


class ClusterPool(Pool):
    """Workers of a Dask cluster.

    Parameters
    ----------
    client : distributed.Client
        Connected; it stays open.
    slots : int
        How many runs each worker makes at once.
    send_data : bool
        Whether all data are sent from here, and not only those of the user's own.
    say : function
        Called with who is there, and what goes wrong on the way.
    make : function
        What a worker does with an `Request`.
    about : function
        What a worker says of itself.

    Raises
    ------
    ClusterError
        If no worker comes, or none that has these versions.
    """

    def __init__(
        self,
        client: Client,
        slots: int = 1,
        send_data: bool = False,
        say: Callable[[str], object] = lambda _line: None,
        make: Callable[[Request], Made | Refused] = host.make,
        about: Callable[[], About] = host.about,
    ) -> None:
        self._client, self._slots, self._send_data, self._say = client, slots, send_data, say
        self._unpack, self._packed, self._about = _unpacking(), cloudpickle.dumps(make), about
        self._address, self._threads = client.scheduler_info()["address"], 1
        self._topic = f"mpu-bench-{uuid.uuid4().hex}"
        self._numbers = itertools.count()
        self._inbox: queue.SimpleQueue[tuple[str, Any, Any]] = queue.SimpleQueue()
        self._workers: dict[str, About] = {}
        self._left_out: set[str] = set()
        self._silent: Counter[str] = Counter()  # how often a worker could not be asked
        self._waiting: list[_Run] = []
        self._machine_of: dict[str, str] = {}  # of a group
        self._under_way: dict[str, _Run] = {}
        self._ended: list[Outcome] = []
        self._data: dict[tuple[str, str], _Data] = {}
        self._preparing = LocalPool(0)
        self._looked, self._lacking = 0.0, math.inf  # when it was looked for workers, and since when there is none
        self._reported: set[str] = set()
        self._progress: Progress = SILENT
        client.subscribe_topic(self._topic, lambda event: self._inbox.put(("news", *event[1])))
        self._wait_for_workers()

    # ------------------------------------------------------------------ the pool

    @property
    def has_room(self) -> bool:  # noqa: D102 - the interface says it
        return not self._ended

    def submit(self, task: Task) -> None:  # noqa: D102
        earlier = next((about.machine for about in self._workers.values() if about.host == task.host), None)
        if task.group and earlier:
            self._machine_of.setdefault(task.group, earlier)
        self._waiting.append(_Run(task))
        self._dispatch()

    def next_outcome(self, on_news: OnNews) -> Outcome:  # noqa: D102
        while not self._ended:
            if not self._under_way and not self._waiting:
                raise LookupError("no task is under way")
            self._hear(on_news)
        return self._ended.pop(0)

    def prepare(  # noqa: D102
        self, name: str, options: Mapping[str, Any], home: DataDirectory, limits: Limits, progress: Progress
    ) -> str:
        self._progress = progress
        return self._preparing.prepare(name, options, home, limits, progress)

    def use_threads(self, threads: int) -> None:  # noqa: D102
        self._threads = threads

    def close(self) -> None:  # noqa: D102
        self._preparing.close()
        if self._is_connected:
            self._cancel(*self._under_way.values())
        self._under_way, self._waiting = {}, []

    def _cancel(self, *runs: _Run) -> None:
        with suppress(Exception):  # of a scheduler that has just gone
            self._client.cancel([run.future for run in runs], force=True)

    # ------------------------------------------------------------------ who is there

    def _wait_for_workers(self) -> None:
        self._look()
        if not (self._workers or self._left_out):
            self._say(f"{self._address}: has no workers yet; waiting for one")
            try:
                self._client.wait_for_workers(1, timeout=_SECONDS_FOR_WORKERS)
            except TimeoutError:
                raise ClusterError(
                    f"{self._address}: no worker connected in {_SECONDS_FOR_WORKERS:g} seconds"
                ) from None
            for _ in range(MOST_ASKED):
                if not (self._workers or self._left_out):
                    self._look()
        if not self._workers:
            raise ClusterError(f"{self._address}: no worker of this cluster can make these runs (see above)")

    def _machines(self) -> dict[str, list[str]]:
        """Return the addresses of the workers of each machine."""
        machines: dict[str, list[str]] = {}
        for address, about in self._workers.items():
            machines.setdefault(about.machine, []).append(address)
        return machines

    @property
    def _is_connected(self) -> bool:
        return self._client.status == "running"

    def _look(self) -> None:
        """Update the list of workers."""
        self._looked = time.monotonic()
        if self._client.status == "closed":  # it has tried for a while to find the scheduler again
            raise ClusterError(
                f"{self._address}: the scheduler is gone; finished runs are saved, and the same command continues once "
                "there is a scheduler again"
            )
        if not self._is_connected:
            return
        try:
            there = self._client.scheduler_info(n_workers=-1)["workers"]
        except Exception:  # whatever a connection that has just gone raises
            return
        before = self._workers
        # one that was started anew at its address is another
        self._workers = {
            address: about for address, about in before.items() if RUNS in there.get(address, {}).get("resources", ())
        }
        self._left_out &= there.keys()
        if new := there.keys() - self._workers.keys() - self._left_out:
            self._welcome(new)
        if before.keys() != self._workers.keys():
            self._give_to_others()
            self._say(f"cluster: {self._who() if self._workers else 'no worker is left; waiting for another'}")
        self._lacking = self._looked if self._workers or before else self._lacking
        if self._looked - self._lacking > _SECONDS_FOR_WORKERS:
            raise ClusterError(
                f"{self._address}: no worker was left for {_SECONDS_FOR_WORKERS:g} seconds; finished runs are saved, "
                "and the same command continues once there is a worker again"
            )
        self._give_up()

    def _who(self) -> str:
        workers, machines = len(self._workers), len(self._machines())
        runs = f", {self._slots} parallel runs each" if self._slots > 1 else ""
        return f"{workers} worker{'s' * (workers > 1)} on {machines} machine{'s' * (machines > 1)}{runs}"

    def _welcome(self, addresses: Collection[str]) -> None:
        """Look at the versions of new workers; leave out those with others, and those that cannot be asked."""
        answers = self._run(addresses, self._about)
        fitting = {address: answer for address, answer in answers.items() if not _misfit(answer)}
        enlisted = self._run(fitting, host.enlist, self._slots)
        self._workers |= {address: fitting[address] for address, error in enlisted.items() if error is None}
        for address, answer in (answers | enlisted).items():
            self._silent[address] += isinstance(answer, OSError)  # of one that has just gone, too
            is_asked_again = isinstance(answer, OSError) and self._silent[address] < MOST_ASKED
            if answer is not None and (misfit := _misfit(answer)) and not is_asked_again:
                self._left_out.add(address)
                self._say(f"left out: worker {address}{misfit}")

    def _run(self, addresses: Collection[str], function: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
        """Call a function in workers; return what it returns or raises in each."""
        try:
            return dict(self._client.run(function, *arguments, workers=sorted(addresses), on_error="return"))
        except OSError:
            return {}

    def _give_to_others(self) -> None:
        """Let other machines make the runs of one whose workers are gone; where others of it are there, Dask does."""
        there = self._machines()
        self._machine_of = {group: machine for group, machine in self._machine_of.items() if machine in there}
        for key, run in list(self._under_way.items()):
            if not self._workers.keys() & run.workers:
                self._cancel(self._under_way.pop(key))
                self._lose(run)

    def _lose(self, run: _Run) -> None:
        run.lost.append(f"{', '.join(run.workers)} on {run.machine}")
        if len(run.lost) < MOST_LOSSES:
            self._say(f"worker {run.lost[-1]} is lost; another worker takes over its run")
            self._waiting.append(run)
        else:
            self._end(run, RunStatus.CRASHED, f"lost with its worker {MOST_LOSSES} times: {', '.join(run.lost)}")

    # ------------------------------------------------------------------ runs

    def _dispatch(self) -> None:
        """Let every machine with a free slot begin a run."""
        if not self._is_connected:
            return
        busy = Counter(sent.machine for sent in self._under_way.values())
        for machine, workers in self._machines().items():
            while busy[machine] < self._slots * len(workers) and (run := self._next(machine)) is not None:
                try:
                    busy[machine] += self._send(run, machine, workers)
                except Exception as error:  # whatever is raised where the worker, or the scheduler, has just gone
                    if self._is_connected and not isinstance(error, OSError):
                        raise
                    self._waiting.append(run)
                    return

    def _next(self, machine: str) -> _Run | None:
        """Return the run that a machine is to make next: of its own groups, then of a new one, which is its from then.

        It waits no longer. One that a machine has refused goes to another, whatever its group.
        """

        def is_new(run: _Run) -> bool:
            return bool(run.refused) or run.task.group not in self._machine_of

        waiting = (candidate for candidate in self._waiting if machine not in candidate.refused)
        fitting = [
            candidate for candidate in waiting if is_new(candidate) or self._machine_of[candidate.task.group] == machine
        ]
        run = min(fitting, key=is_new, default=None)
        if run is not None:
            self._waiting.remove(run)
            if run.task.group and is_new(run):
                self._machine_of.setdefault(run.task.group, machine)
        return run

    def _send(self, run: _Run, machine: str, workers: Sequence[str]) -> bool:
        """Hand a run to Dask; return whether it is under way, and not refused."""
        task, run.machine, run.workers = run.task, machine, tuple(workers)
        data = self._data_of(task)
        if machine not in data.lacking and (self._send_data or data.card.is_of_own_files):
            data.lacking[machine] = self._sent(data, task.home, machine, run.workers[0])
        if data.lacking.get(machine):
            self._refuse(run, Refused(RunStatus.UNAVAILABLE, data.lacking[machine]))
            return False
        key = f"{task.run_id}-{self._topic[-8:]}-{next(self._numbers)}"
        dataset = replace(task.run.dataset, options=data.options)
        plugin = task.run.solver.plugin
        wanted = Request(
            self._topic, replace(task, run=replace(task.run, dataset=dataset)),
            importing.read_plugin(plugin.path).content if plugin else b"", self._threads, self._slots * len(workers),
        )  # fmt: skip
        with annotate(executor=RUNS):
            run.future = self._client.submit(
                self._unpack, self._packed, pickle.dumps(wanted), key=key, workers=run.workers, resources={RUNS: 1},
                pure=False,
            )  # fmt: skip
        self._under_way[key] = run
        run.future.add_done_callback(lambda done: self._inbox.put(("done", key, _result_of(done))))
        return True

    def _hear(self, on_news: OnNews) -> None:
        """Process what arrives from the cluster within a moment."""
        if time.monotonic() - self._looked > _LOOK_SECONDS:
            self._look()
            self._dispatch()
        try:
            kind, key, content = self._inbox.get(timeout=_LOOK_SECONDS / 2)
        except queue.Empty:
            return
        if (run := self._under_way.get(key)) is None:  # that another worker has now
            return
        if kind == "done":
            del self._under_way[key]
            self._take(run, content)
            self._dispatch()
        elif isinstance(news := pickle.loads(content), str):
            self._say(f"{run.machine}: {plain(news)}")
        else:
            on_news(run.task, news)

    def _take(self, run: _Run, result: Any) -> None:
        """Process the end of a run: its outcome, a refusal, or the loss of its worker."""
        match result:
            case Made():
                others = self._machines().keys() - run.refused.keys() - {run.machine}
                if result.record.ended_by is Ending.SYSTEM and others:  # and not a limit of the config
                    self._refuse(run, Refused(RunStatus.OUT_OF_MEMORY, "it had no memory left for this run"))
                else:
                    outcome = Outcome(run.task, result.record, result.checkpoints, dict(result.environment))
                    self._ended.append(_with_model(outcome, result.model))
            case Refused():
                self._refuse(run, result)
            case None if self._is_connected:
                self._lose(run)
            case None:  # the scheduler is gone, not the worker
                self._waiting.append(run)
            case KilledWorker():
                self._end(run, RunStatus.CRASHED, f"lost with its worker on {run.machine}: {result}")
            case OSError():  # such as a full disk
                self._refuse(run, Refused(RunStatus.ERROR, f"{type(result).__name__}: {result}"))
            case _:
                reason = f"worker {', '.join(run.workers)}: {type(result).__name__}: {result}"
                self._end(run, RunStatus.ERROR, reason)

    def _refuse(self, run: _Run, refused: Refused) -> None:
        run.refused[run.machine] = refused
        if refused.status == RunStatus.UNAVAILABLE:
            self._data_of(run.task).lacking[run.machine] = refused.why
        line = f"{run.machine} cannot make runs on {run.task.run.dataset.label}: {refused.why}"
        if line not in self._reported:
            self._reported.add(line)
            self._say(line)
        self._waiting.append(run)
        self._give_up()

    def _give_up(self) -> None:
        """End the runs that no machine can make."""
        machines = self._machines().keys()
        for run in [queued for queued in self._waiting if machines and machines <= queued.refused.keys()]:
            self._waiting.remove(run)
            why = "; ".join(f"{machine}: {refused.why}" for machine, refused in run.refused.items())
            *_, last = run.refused.values()
            self._end(run, last.status, f"no machine can make it: {why}")

    def _end(self, run: _Run, status: RunStatus, reason: str) -> None:
        self._ended.append(Outcome(run.task, Record(status=status, reason=plain(reason)), []))

    # ------------------------------------------------------------------ data

    def _data_of(self, task: Task) -> _Data:
        dataset = task.run.dataset
        key = dataset.name, repr(sorted(dataset.options.items()))
        if key not in self._data:
            card = catalog.card(dataset.name, dataset.options)
            size = sum(path.stat().st_size for path in prepared_folder(card, task.home).glob("*.npy"))
            self._data[key] = _Data(card, portable_options(dataset), size)
        return self._data[key]

    def _sent(self, data: _Data, home: DataDirectory, machine: str, worker: str) -> str:
        """Send a dataset that is prepared here to a machine; return why it cannot be, if so."""
        folder = prepared_folder(data.card, home)

        def call(function: Callable[..., Any], *arguments: Any) -> Any:
            return self._client.run(function, folder.name, *arguments, workers=[worker])[worker]

        try:
            if not call(host.expect, (folder / META).read_bytes()):
                return ""
            with self._progress.transfer(f"send {data.card.name} to {machine}", data.bytes) as advance:
                for path in sorted(folder.iterdir()):
                    with path.open("rb") as file:
                        while piece := file.read(_PIECE_BYTES):
                            call(host.receive, path.name, file.tell() - len(piece), piece)
                            advance(len(piece))
            call(host.arrived)
        except StoreError as error:
            return str(error)
        self._say(f"{data.card.name}: sent to {machine}, {decimal(data.bytes)}")
        return ""


def portable_options(dataset: DatasetChoice) -> Mapping[str, Any]:
    """Return the options of a dataset where no file of the client's is: a card of the user's own is one of them."""
    if catalog.CARD in dataset.options or dataset.name in catalog.shipped_names():
        return dataset.options
    return {catalog.CARD: catalog.whole(dataset.name), **dataset.options}


def _unpacking() -> Callable[[bytes, bytes], Made | Refused]:
    """Return what a worker does with a run; being no function of a module, it is sent as it is, and not by name.

    So the scheduler, which reads what is submitted, needs nothing of mpu-bench.
    """

    def unpack(make: bytes, request: bytes) -> Any:
        import pickle

        return pickle.loads(make)(pickle.loads(request))

    return unpack


def _result_of(future: Future[Any]) -> Any:
    """Return what a run's task has returned, or the exception it has raised; None if it is lost."""
    try:
        return future.result(timeout=_SECONDS_TO_RECEIVE)
    except BaseException as error:
        is_of_connection = isinstance(error, OSError) and future.status != "error"  # which is of the task itself
        return None if is_of_connection or isinstance(error, CancelledError | Unwanted) else error


def _misfit(answer: object) -> str:
    """Return why a worker cannot make runs, given what it says of itself; nothing if it can."""
    if isinstance(answer, ImportError):
        return f" has no mpu-bench of this version ({answer})"
    if not isinstance(answer, About):
        return f" cannot say who it is ({type(answer).__name__}: {answer})"
    theirs, ours = answer.versions, host.versions()
    other = [f"{name} {theirs.get(name)} (here {ours[name]})" for name in ours if theirs.get(name) != ours[name]]
    return f" on {answer.host} has {', '.join(other)}" if other else ""


def _with_model(outcome: Outcome, model: bytes) -> Outcome:
    """Write the model that came with an outcome."""
    for path in outcome.task.model_files if model else ():
        try:
            files.write_all(path.parent, {path.name: model})
        except StoreError as error:
            reason = "; ".join(filter(None, [outcome.record.reason, f"{NOT_WRITTEN}{error}"]))
            return replace(outcome, record=replace(outcome.record, reason=reason))
    return outcome
