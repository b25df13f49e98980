"""A pool on a Dask cluster, as its client sees it: which worker makes which run, and what becomes of lost ones.

A run goes to a machine that has room, data and memory for it; those of a group go to one machine, for their seconds are
compared. Dask brings each to its worker, which makes no more at once than it has slots. A run whose worker is lost goes
to another, of the same machine if one is left.
"""

from __future__ import annotations

import itertools
import pickle
import queue
import time
import uuid
from collections.abc import Callable, Collection, Mapping
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
from mpu_bench.experiment.pool.cluster.host import RUNS, About, Refused, Request, Unwanted
from mpu_bench.experiment.pool.local import LocalPool
from mpu_bench.quantities import Ending, Record, RunStatus
from mpu_bench.results.saved_models import NOT_WRITTEN
from mpu_bench.solvers.plugins import importing
from mpu_bench.texts import plain

MAX_LOSSES = 3  #: workers that may be lost with a run
_LOOK_SECONDS = 1.0  # how often it is looked at who is there
_SECONDS_TO_RECEIVE = 120.0
_SECONDS_FOR_WORKERS = 600.0  # for which a cluster without a worker is waited for, at first and later
_PIECE_BYTES = 8 << 20  # of data, that pass through the scheduler at once


@dataclass
class _Data:
    """A prepared dataset: what its card is called elsewhere, who was sent it, and which machines cannot use it."""

    card: Card
    options: Mapping[str, Any]
    sent: set[str] = field(default_factory=set)
    refused: dict[str, Refused] = field(default_factory=dict)


@dataclass(eq=False)
class _Run:
    """A run that waits or is under way, with what has become of it so far.

    ``lost`` names the workers that were lost with it, ``refused`` the machines that cannot make it, and why; it is
    under way on the ``worker`` of a ``machine``.
    """

    task: Task
    data: _Data
    lost: list[str] = field(default_factory=list)
    refused: dict[str, Refused] = field(default_factory=dict)
    worker: str = ""
    machine: str = ""
    future: Future[Any] | None = None

    def is_refused_by(self, machine: str) -> bool:
        """Return whether a machine cannot make it, for its data or for itself."""
        return machine in self.refused or machine in self.data.refused


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
        If there are workers, and none has these versions.
    """

    def __init__(
        self,
        client: Client,
        slots: int = 1,
        send_data: bool = False,
        say: Callable[[str], object] = lambda _line: None,
        make: Callable[[Request], Outcome | Refused] = host.make,
        about: Callable[[Any], About] = host.about,
    ) -> None:
        self._client, self._slots, self._send_data, self._say = client, slots, send_data, say
        self._unpack, self._make, self._about = _unpacking(), cloudpickle.dumps(make), cloudpickle.dumps(about)
        self._address = client.scheduler_info()["address"]
        self._topic = f"mpu-bench-{uuid.uuid4().hex}"
        self._numbers = itertools.count()
        self._inbox: queue.SimpleQueue[tuple[str, Any, Any]] = queue.SimpleQueue()
        self._workers: dict[str, About] = {}
        self._left_out: set[str] = set()
        self._waiting: list[_Run] = []
        self._machine_of: dict[str, str] = {}  # of a group
        self._under_way: dict[str, _Run] = {}
        self._ended: list[Outcome] = []
        self._data: dict[tuple[str, str], _Data] = {}
        self._preparing = LocalPool(0)
        self._looked = self._last_there = time.monotonic()  # when it was looked for workers, and when there was one
        self._progress: Progress = SILENT
        client.subscribe_topic(self._topic, lambda event: self._inbox.put(("news", *event[1])))
        self._look()
        if self._left_out and not self._workers:
            raise ClusterError(f"{self._address}: no worker of this cluster can make these runs (see above)")
        if not self._workers:
            self._say(f"{self._address}: has no workers yet; waiting for one")

    # ------------------------------------------------------------------ the pool

    @property
    def has_room(self) -> bool:  # noqa: D102 - the interface says it
        return not self._ended

    def submit(self, task: Task) -> None:  # noqa: D102
        earlier = next((about.machine for about in self._workers.values() if about.host == task.host), None)
        if task.group and earlier:
            self._machine_of[task.group] = earlier  # whatever made runs of this name for another experiment
        self._waiting.append(_Run(task, self._data_of(task)))
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

    def close(self) -> None:  # noqa: D102
        self._preparing.close()
        if self._is_connected:
            self._cancel(*self._under_way.values())
        self._under_way, self._waiting, self._ended = {}, [], []

    def _cancel(self, *runs: _Run) -> None:
        with suppress(Exception):  # of a scheduler that has just gone
            self._client.cancel([run.future for run in runs], force=True)

    # ------------------------------------------------------------------ who is there

    @property
    def _is_connected(self) -> bool:
        return self._client.status == "running"

    def _is_of_connection(self, error: Exception) -> bool:
        """Return whether an exception says that a worker, or the scheduler, has just gone."""
        return isinstance(error, OSError) or not self._is_connected

    def _machines(self) -> set[str]:
        return {about.machine for about in self._workers.values()}

    def _look(self) -> None:
        """Update the list of workers; the runs of those that are gone wait for another."""
        self._looked = time.monotonic()
        # it has tried for a while to find the scheduler again, and what has come before is taken
        if self._client.status == "closed" and self._inbox.empty():
            raise ClusterError(
                f"{self._address}: the scheduler is gone; finished runs are saved, and the same command continues once "
                "there is a scheduler again"
            )
        if not self._is_connected:
            return
        before = self._workers
        try:
            # not `scheduler_info`, whose answer the client may replace by one without workers before it is read
            identity = self._client.scheduler.identity  # type: ignore[union-attr]  # None once it is closed
            there = self._client.sync(identity, n_workers=-1)["workers"]
            # one that was started anew at its address is another
            enlisted = {address for address, worker in there.items() if RUNS in worker["resources"]}
            self._workers = {address: about for address, about in before.items() if address in enlisted}
            self._left_out &= there.keys()
            self._welcome(there.keys() - self._workers.keys() - self._left_out)
        except Exception as error:
            if not self._is_of_connection(error):
                raise
            return
        for key, run in list(self._under_way.items()):
            if run.worker not in self._workers and self._inbox.empty():  # else its outcome may have come
                self._cancel(self._under_way.pop(key))
                self._lose(run)
        if before.keys() != self._workers.keys():
            self._say(f"cluster: {self._who() if self._workers else 'no worker is left; waiting for another'}")
        if self._workers:
            self._last_there = self._looked
        if self._looked - self._last_there > _SECONDS_FOR_WORKERS:
            raise ClusterError(
                f"{self._address}: no worker was there for {_SECONDS_FOR_WORKERS:g} seconds; finished runs are saved, "
                "and the same command continues once there is a worker"
            )
        machines = self._machines()
        self._machine_of = {group: machine for group, machine in self._machine_of.items() if machine in machines}
        self._give_up()

    def _who(self) -> str:
        workers, machines = len(self._workers), len(self._machines())
        runs = f", {self._slots} parallel runs each" if self._slots > 1 else ""
        return f"{workers} worker{'s' * (workers > 1)} on {machines} machine{'s' * (machines > 1)}{runs}"

    def _welcome(self, addresses: Collection[str]) -> None:
        """Let new workers make runs; leave out those with other versions, and those that cannot be asked."""
        if not addresses:
            return
        answers = self._client.run(
            host.enlist, self._about, self._slots, host.versions(), workers=[*addresses], on_error="return"
        )
        for address, answer in answers.items():
            if misfit := _misfit(answer):
                self._left_out.add(address)
                self._say(f"left out: worker {address}{misfit}")
            else:
                self._workers[address] = answer

    def _lose(self, run: _Run) -> None:
        """Let another worker make a run whose worker is gone, unless it has lost too many."""
        self._workers.pop(run.worker, None)  # if it is there after all, it is asked anew
        if self._is_connected:  # else the scheduler is gone, not the worker
            run.lost.append(f"{run.worker} on {run.machine}")
            if len(run.lost) == MAX_LOSSES:
                self._end(run, RunStatus.CRASHED, f"lost with its worker {MAX_LOSSES} times: {', '.join(run.lost)}")
                return
            self._say(f"worker {run.lost[-1]} is lost; another worker takes over its run")
        self._waiting.append(run)

    # ------------------------------------------------------------------ runs

    def _dispatch(self) -> None:
        """Let every worker with a free slot begin a run."""
        for worker, about in list(self._workers.items()):
            while self._has_free_slot(worker) and (run := self._next(about.machine)) is not None:
                run.worker, run.machine = worker, about.machine
                try:
                    self._send(run)
                except Exception as error:
                    if not self._is_of_connection(error):
                        raise
                    self._lose(run)
                    break

    def _has_free_slot(self, worker: str) -> bool:
        busy = sum(run.worker == worker for run in self._under_way.values())
        return self._is_connected and busy < self._slots

    def _next(self, machine: str) -> _Run | None:
        """Return the run that a machine is to make next: of its own groups, then of a new one, which is its from then.

        It waits no longer. One that a machine has refused goes to another, whatever its group.
        """

        def is_new(run: _Run) -> bool:
            chosen = self._machine_of.get(run.task.group)
            return chosen is None or run.is_refused_by(chosen)

        possible = [run for run in self._waiting if not run.is_refused_by(machine)]
        own = [run for run in possible if self._machine_of.get(run.task.group) == machine]
        new = [run for run in possible if is_new(run)]
        for run in own or new:
            self._waiting.remove(run)
            if run.task.group:
                self._machine_of.setdefault(run.task.group, machine)
            return run
        return None

    def _send(self, run: _Run) -> None:
        """Hand a run to Dask, after its data if they are sent from here."""
        task, data, machine = run.task, run.data, run.machine
        if machine not in data.sent and (self._send_data or data.card.is_of_own_files):
            try:
                self._send_dataset(run)
            except (StoreError, OSError) as error:
                if isinstance(error, OSError) and error.filename is None:  # it is of the connection, not of a disk
                    raise
                self._refuse(run, Refused(RunStatus.UNAVAILABLE, str(error)))
                return
            data.sent.add(machine)
        key = f"{task.run_id}-{self._topic[-8:]}-{next(self._numbers)}"
        plugin = task.run.solver.plugin
        request = Request(
            self._topic,
            replace(task, run=replace(task.run, dataset=replace(task.run.dataset, options=data.options))),
            importing.read_plugin(plugin.path) if plugin else None,
            sharers=self._slots * sum(about.machine == machine for about in self._workers.values()),
        )
        with annotate(executor=RUNS):
            run.future = self._client.submit(
                self._unpack, self._make, pickle.dumps(request), key=key, workers=run.worker, resources={RUNS: 1},
                pure=False,
            )  # fmt: skip
        self._under_way[key] = run
        run.future.add_done_callback(lambda done: self._inbox.put(("done", key, _result_of(done))))

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
            case Outcome(record=record):
                others = [other for other in self._machines() - {run.machine} if not run.is_refused_by(other)]
                if record.ended_by is Ending.SYSTEM and others:  # and not a limit of the config
                    self._refuse(run, Refused(RunStatus.OUT_OF_MEMORY, "it had no memory left for this run"))
                else:
                    self._ended.append(_with_model(replace(result, task=run.task)))
            case Refused():
                self._refuse(run, result)
            case None:
                self._lose(run)
            case _:
                self._end(run, RunStatus.ERROR, f"worker {run.worker}: {type(result).__name__}: {result}")

    def _refuse(self, run: _Run, refused: Refused) -> None:
        """Let another machine make a run; what is wrong with data or disk is so for all runs on these data."""
        of = run.refused if refused.status is RunStatus.OUT_OF_MEMORY else run.data.refused
        of[run.machine] = refused
        self._say(f"{run.machine} cannot make runs on {run.task.run.dataset.label}: {refused.why}")
        self._waiting.append(run)
        self._give_up()

    def _give_up(self) -> None:
        """End the runs that no machine can make."""
        machines = self._machines()
        for run in [queued for queued in self._waiting if machines and all(map(queued.is_refused_by, machines))]:
            self._waiting.remove(run)
            refusals = run.data.refused | run.refused
            why = "; ".join(f"{machine}: {refused.why}" for machine, refused in refusals.items())
            *_, last = refusals.values()
            self._end(run, last.status, f"no machine can make it: {why}")

    def _end(self, run: _Run, status: RunStatus, reason: str) -> None:
        self._ended.append(Outcome(run.task, Record(status=status, reason=plain(reason)), []))

    # ------------------------------------------------------------------ data

    def _data_of(self, task: Task) -> _Data:
        dataset = task.run.dataset
        if dataset.key not in self._data:
            card = catalog.card(dataset.name, dataset.options)
            self._data[dataset.key] = _Data(card, portable_options(dataset))
        return self._data[dataset.key]

    def _send_dataset(self, run: _Run) -> None:
        """Send the prepared dataset of a run to its machine, unless it is there.

        Raises
        ------
        StoreError
            If it cannot be written there.
        """
        card, folder = run.data.card, prepared_folder(run.data.card, run.task.home)

        def call(function: Callable[..., Any], *arguments: Any) -> Any:
            return self._client.run(function, *arguments, workers=[run.worker])[run.worker]

        if not (coming := call(host.expect, folder.name, self._topic, (folder / META).read_bytes())):
            return
        paths = sorted(folder.iterdir())
        size = sum(path.stat().st_size for path in paths)
        with self._progress.transfer(f"send {card.name} to {run.machine}", size) as advance:
            for path in paths:
                with path.open("rb") as file:
                    while piece := file.read(_PIECE_BYTES):
                        call(host.receive, coming, path.name, file.tell() - len(piece), piece)
                        advance(len(piece))
        call(host.arrived, folder.name, coming)
        self._say(f"{card.name}: sent to {run.machine}, {decimal(size)}")


def portable_options(dataset: DatasetChoice) -> Mapping[str, Any]:
    """Return the options of a dataset where no file of the client's is: a card of the user's own is one of them."""
    if catalog.CARD in dataset.options or dataset.name in catalog.shipped_names():
        return dataset.options
    return {catalog.CARD: catalog.whole(dataset.name), **dataset.options}


def _unpacking() -> Callable[[bytes, bytes], Outcome | Refused]:
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
    except (CancelledError, KilledWorker, Unwanted):
        return None
    except BaseException as error:
        is_of_connection = isinstance(error, OSError) and future.status != "error"  # which is of the task itself
        return None if is_of_connection else error


def _misfit(answer: object) -> str:
    """Return why a worker cannot make runs, given what it says of itself; nothing if it can."""
    if not isinstance(answer, About):
        return f" cannot say who it is ({type(answer).__name__}: {answer})"
    theirs, ours = answer.versions, host.versions()
    other = [f"{name} {theirs.get(name)} (here {ours[name]})" for name in ours if theirs.get(name) != ours[name]]
    return f" on {answer.host} has {', '.join(other)}" if other else ""


def _with_model(outcome: Outcome) -> Outcome:
    """Write the model that came with an outcome."""
    for path in outcome.task.model_files if outcome.model else ():
        try:
            files.write_all(path.parent, {path.name: outcome.model})
        except StoreError as error:
            reason = "; ".join(filter(None, [outcome.record.reason, f"{NOT_WRITTEN}{error}"]))
            return replace(outcome, record=replace(outcome.record, reason=reason))
    return outcome
