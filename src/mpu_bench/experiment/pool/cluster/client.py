"""A pool on a Dask cluster, as its client sees it: who is there, who makes which run, and what becomes of lost ones.

A run goes to a worker that the client has chosen (Dask's ``workers=``), so that one worker makes one run at a time, and
runs whose seconds are compared are made on one machine. Dask carries the run, its news and its outcome; what it would
do about a lost worker (wait for one of that address) is left to this client, which knows who else may have the run.
"""

from __future__ import annotations

import itertools
import pickle
import queue
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cloudpickle
from rich.filesize import decimal

from mpu_bench import files
from mpu_bench.config.schema import Limits
from mpu_bench.data.cards import catalog
from mpu_bench.data.download.cache import DataHome
from mpu_bench.data.download.progress import SILENT, Progress
from mpu_bench.errors import ClusterError
from mpu_bench.experiment.messages import Compiled, Phase, Task, decode
from mpu_bench.experiment.messages import Progress as RunProgress
from mpu_bench.experiment.pool import OnNews, Outcome, Pool
from mpu_bench.experiment.pool.cluster import asked, host, sending
from mpu_bench.experiment.pool.cluster.asked import About, Asked, Made, Refused
from mpu_bench.experiment.pool.cluster.host import Unwanted
from mpu_bench.experiment.pool.cluster.placement import Placement, Waiting, why_impossible
from mpu_bench.experiment.pool.local import LocalPool
from mpu_bench.guard.process import AwakeClock
from mpu_bench.quantities import Record, RunStatus
from mpu_bench.results.saved_models import NOT_WRITTEN
from mpu_bench.solvers.plugins import source
from mpu_bench.texts import plain

if TYPE_CHECKING:
    from distributed import Client, Future

MOST_LOSSES = 3  #: workers that may be lost with a run
_LOOK_SECONDS = 1.0  # how often it is looked at who is there
_SECONDS_WITHOUT_SCHEDULER = 10.0
_SECONDS_TO_RECEIVE = 120.0
_SECONDS_FOR_WORKERS = 600.0  # that a cluster without a worker is waited for
_NOTE = b"note "


@dataclass(eq=False)
class _Worker:
    """A worker that may make runs."""

    address: str
    about: About
    slots: int
    busy: int = 0


@dataclass(eq=False)
class _Sent:
    """A run that a worker is at."""

    waiting: Waiting
    worker: _Worker
    future: Future[Any]


@dataclass
class _Data:
    """What there is to know of a prepared dataset, and which machines cannot have it.

    ``options`` are those for machines that have no file of the client's.
    """

    options: Mapping[str, Any]
    bytes: int
    is_sent: bool
    lacking: dict[str, str] = field(default_factory=dict)  #: machine -> why it cannot have them; nothing: it has


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
        Is told who is there, and what goes wrong on the way.
    make : function
        What a worker does with an `Asked`.
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
        make: Callable[[Asked], Made | Refused] = host.make,
        about: Callable[[], About] = host.about,
    ) -> None:
        self._client, self._slots, self._send_data, self._say = client, slots, send_data, say
        self._unpack, self._packed, self._about = _unpacking(), cloudpickle.dumps(make), about
        self._threads = 1
        self._topic = f"mpu-bench-{uuid.uuid4().hex}"
        self._numbers = itertools.count()
        self._inbox: queue.SimpleQueue[tuple[str, Any, Any]] = queue.SimpleQueue()
        self._workers: dict[str, _Worker] = {}
        self._left_out: set[str] = set()
        self._placement, self._sent = Placement(), dict[str, _Sent]()
        self._ended: list[Outcome] = []
        self._data: dict[tuple[str, str], _Data] = {}
        self._preparing = LocalPool(0)
        self._now = AwakeClock(2 * _LOOK_SECONDS)
        self._looked, self._heard = -_LOOK_SECONDS, 0.0
        self._refusals: set[tuple[str, str, str]] = set()  # that were told: machine, what it lacks, dataset
        self._progress: Progress = SILENT
        client.subscribe_topic(self._topic, lambda event: self._inbox.put(("news", *event[1])))
        self._wait_for_workers()

    # ------------------------------------------------------------------ the pool

    @property
    def has_room(self) -> bool:  # noqa: D102 - the interface says it
        return not self._ended

    @property
    def machines(self) -> int:
        """How many machines there are."""
        return len({each.about.machine for each in self._workers.values()})

    def submit(self, task: Task) -> None:  # noqa: D102
        earlier = (each.about.machine for each in self._workers.values() if each.about.host == task.host)
        self._placement.add(Waiting(task), next(earlier, None))
        self._dispatch()

    def next_outcome(self, on_news: OnNews) -> Outcome:  # noqa: D102
        while not self._ended:
            if not self._sent and not self._placement:
                raise LookupError("no task is under way")
            self._hear(on_news)
        return self._ended.pop(0)

    def prepare(  # noqa: D102
        self, name: str, options: Mapping[str, Any], home: DataHome, limits: Limits, progress: Progress
    ) -> str:
        self._progress = progress
        return self._preparing.prepare(name, options, home, limits, progress)

    def use_threads(self, threads: int) -> None:  # noqa: D102
        self._threads = threads

    def close(self) -> None:  # noqa: D102
        self._preparing.close()
        if self._is_connected:
            self._cancel(self._sent.values())
        self._sent, self._placement = {}, Placement()
        for worker in self._workers.values():
            worker.busy = 0

    def _cancel(self, sent: Iterable[_Sent]) -> None:
        with suppress(Exception):  # of a scheduler that has just gone
            self._client.cancel([each.future for each in sent], force=True)

    # ------------------------------------------------------------------ who is there

    def _wait_for_workers(self) -> None:
        until, has_said = self._now() + _SECONDS_FOR_WORKERS, False
        while not self._workers:
            self._look()
            if self._workers:
                break
            if self._left_out:
                raise ClusterError(f"{self._address}: no worker of this cluster can make these runs (see above)")
            if self._now() > until:
                raise ClusterError(f"{self._address}: no worker has come in {_SECONDS_FOR_WORKERS:g} seconds")
            if not has_said:
                self._say(f"{self._address}: has no workers yet; waiting for one")
                has_said = True
            time.sleep(_LOOK_SECONDS)

    def _say_who_is_there(self) -> None:
        if not self._workers:
            self._say("cluster: no worker is left; waiting for another")
            return
        runs = f", {self._slots} runs at once each" if self._slots > 1 else ""
        self._say(f"cluster: {_count(len(self._workers), 'worker')} on {_count(self.machines, 'machine')}{runs}")

    @property
    def _address(self) -> str:
        return str(self._client.scheduler.address if self._client.scheduler else "the cluster")

    def _look(self) -> None:
        """Look who has come and who is gone."""
        self._looked = self._now()
        try:
            there = set(self._client.scheduler_info(n_workers=-1)["workers"]) if self._is_connected else None
        except Exception:  # whatever a connection that has just gone raises
            there = None
        if there is None:
            is_over = self._client.status == "closed" or self._now() - self._heard > _SECONDS_WITHOUT_SCHEDULER
            if is_over:
                raise ClusterError(
                    f"{self._address}: the scheduler is gone; what is finished is kept, and the same command goes on "
                    "once there is a scheduler again"
                )
            return
        self._heard, before = self._now(), set(self._workers)
        for address in before - there:
            self._lose(self._workers.pop(address))
        self._left_out &= there
        if new := there - self._workers.keys() - self._left_out:
            self._welcome(new)
        if before != self._workers.keys():
            self._say_who_is_there()

    @property
    def _is_connected(self) -> bool:
        return self._client.status == "running"

    def _welcome(self, addresses: Iterable[str]) -> None:
        """Ask new workers who they are; leave out those with other versions. One that is gone already is not asked."""
        try:
            answers = self._client.run(self._about, workers=sorted(addresses), on_error="return")
        except OSError:
            return
        for address, answer in answers.items():
            if isinstance(answer, OSError):
                continue
            if fault := _misfit(answer):
                self._left_out.add(address)
                self._say(f"left out: worker {address}{fault}")
            else:
                self._workers[address] = _Worker(address, answer, self._slots)

    def _lose(self, worker: _Worker) -> None:
        """Let others make the runs of a worker that is gone."""
        if all(each.about.machine != worker.about.machine for each in self._workers.values()):
            self._placement.forget(worker.about.machine)
        for key, sent in list(self._sent.items()):
            if sent.worker is worker:
                self._cancel([sent])
                self._again(self._sent.pop(key))

    def _again(self, sent: _Sent) -> None:
        waiting, worker = sent.waiting, sent.worker
        waiting.lost.append(f"{worker.address} on {worker.about.host}")
        if len(waiting.lost) < MOST_LOSSES:
            self._say(f"worker {waiting.lost[-1]} is lost; another makes its run")
            self._placement.add(waiting)
            return
        reason = f"lost with its worker {MOST_LOSSES} times: {', '.join(waiting.lost)}"
        self._end(waiting.task, RunStatus.CRASHED, reason)

    # ------------------------------------------------------------------ runs

    def _dispatch(self) -> None:
        """Let every worker that has room begin a run."""
        if not self._is_connected:
            return
        for worker in list(self._workers.values()):
            while worker.busy < worker.slots and (waiting := self._placement.take(worker.about.machine)) is not None:
                try:
                    self._send(waiting, worker)
                except Exception as fault:  # whatever is raised where the worker, or the scheduler, has just gone
                    if self._is_connected and not isinstance(fault, OSError):
                        raise
                    self._placement.add(waiting)
                    return

    def _send(self, waiting: Waiting, worker: _Worker) -> None:
        task = waiting.task
        data = self._data_of(task)
        if lacking := self._lack_of_data(task, data, worker):
            self._refuse(waiting, worker, Refused("data", lacking))
            return
        key = f"{task.run_id}-{self._topic[-8:]}-{next(self._numbers)}"
        sharers = sum(each.slots for each in self._workers.values() if each.about.machine == worker.about.machine)
        sent_along = Asked(
            key, self._topic, asked.for_another_machine(task, data.options), _contents(task.run.settings.plugins),
            self._threads, worker.slots, sharers, data.bytes,
        )  # fmt: skip
        future = self._client.submit(
            self._unpack, self._packed, pickle.dumps(sent_along), key=key, workers=[worker.address], pure=False
        )
        worker.busy += 1
        self._sent[key] = _Sent(waiting, worker, future)
        future.add_done_callback(lambda done: self._inbox.put(("done", key, _result_of(done))))

    def _hear(self, on_news: OnNews) -> None:
        """Take what has come from the cluster, if something comes within a moment."""
        if self._now() - self._looked > _LOOK_SECONDS:
            self._look()
            self._dispatch()
            self._give_up()
        try:
            kind, key, content = self._inbox.get(timeout=_LOOK_SECONDS / 2)
        except queue.Empty:
            return
        if (sent := self._sent.get(key)) is None:  # of a run that another worker has now
            return
        if kind == "news":
            self._tell(sent, content, on_news)
            return
        del self._sent[key]
        sent.worker.busy -= 1
        self._take(sent, content)
        self._dispatch()
        self._give_up()

    def _tell(self, sent: _Sent, line: bytes, on_news: OnNews) -> None:
        task, where = sent.waiting.task, self._name(sent.worker)
        if line.startswith(_NOTE):
            self._say(f"{where}: {plain(line.removeprefix(_NOTE).decode(errors='replace'))}")
            return
        with suppress(ValueError):
            news = decode(line.removesuffix(b"\n"))
            if isinstance(news, Phase | Compiled | RunProgress):
                on_news(task, news)

    def _take(self, sent: _Sent, result: Any) -> None:
        """Take what has come of a run: its outcome, a refusal, or the loss of its worker."""
        waiting = sent.waiting
        match result:
            case Made():
                if result.starved and self._others(waiting, sent.worker):
                    self._refuse(waiting, sent.worker, Refused("memory", "it had no memory left for this run"))
                    return
                try:
                    outcome = host.outcome_of(waiting.task, result)
                except ValueError as fault:
                    self._end(waiting.task, RunStatus.ERROR, f"worker {sent.worker.address} has sent {fault}")
                    return
                self._ended.append(_with_model(outcome, result.model))
            case Refused():
                self._refuse(waiting, sent.worker, result)
            case None if self._is_connected:
                self._again(sent)
            case None:  # which is no fault of the worker's
                self._placement.add(waiting)
            case _:
                said = f"{type(result).__name__}: {result}"
                self._end(waiting.task, RunStatus.ERROR, f"worker {sent.worker.address}: {said}")

    def _refuse(self, waiting: Waiting, worker: _Worker, refused: Refused) -> None:
        machine, dataset = worker.about.machine, waiting.task.run.dataset.label
        waiting.refused[machine] = refused.why
        if refused.what == "data":
            self._data_of(waiting.task).lacking[machine] = refused.why
        waiting.status = RunStatus.UNAVAILABLE if refused.what == "data" else RunStatus.OUT_OF_MEMORY
        if (told := (machine, refused.what, dataset)) not in self._refusals:
            self._refusals.add(told)
            self._say(f"{self._name(worker)} cannot make runs on {dataset}: {refused.why}")
        self._placement.add(waiting)

    def _name(self, worker: _Worker) -> str:
        """Return what a worker is called: its host, with its address where another data directory has the same."""
        host = worker.about.host
        machines = {each.about.machine for each in self._workers.values() if each.about.host == host}
        return f"{host} ({worker.address})" if machines - {worker.about.machine} else host

    def _others(self, waiting: Waiting, worker: _Worker) -> bool:
        there = {each.about.machine for each in self._workers.values()}
        return bool(there - waiting.refused.keys() - {worker.about.machine})

    def _give_up(self) -> None:
        """End the runs that no machine can make."""
        names = {each.about.machine: self._name(each) for each in self._workers.values()}
        if not names:
            return
        for waiting in self._placement.impossible(names):
            self._end(waiting.task, waiting.status, f"no machine can make it: {why_impossible(waiting, names)}")

    def _end(self, task: Task, status: RunStatus, reason: str) -> None:
        self._ended.append(Outcome(task, Record(status=status, reason=plain(reason)), []))

    # ------------------------------------------------------------------ data

    def _data_of(self, task: Task) -> _Data:
        dataset = task.run.dataset
        key = dataset.name, repr(sorted(dataset.options.items()))
        if key not in self._data:
            card = catalog.card(dataset.name, dataset.options)
            is_sent = self._send_data or card.is_of_own_files
            self._data[key] = _Data(asked.portable_options(dataset), sending.data_bytes(card, task.home), is_sent)
        return self._data[key]

    def _lack_of_data(self, task: Task, data: _Data, worker: _Worker) -> str:
        """Return why a machine cannot have the data of a run, as far as is known; send them first where need be."""
        machine = worker.about.machine
        if data.is_sent and machine not in data.lacking:
            card = catalog.card(task.run.dataset.name, task.run.dataset.options)

            def call(function: Callable[..., Any], *arguments: Any) -> Any:
                return self._client.run(function, *arguments, workers=[worker.address])[worker.address]

            data.lacking[machine] = sending.send(card, task.home, self._name(worker), call, self._progress)
            if not data.lacking[machine]:
                self._say(f"{card.name}: sent to {self._name(worker)}, {decimal(data.bytes)}")
        return data.lacking.get(machine, "")


def _contents(plugins: Iterable[Path]) -> dict[Path, bytes]:
    return {path: source.read(path).content for path in plugins}


def _unpacking() -> Callable[[bytes, bytes], bytes]:
    """Return what a worker does with a run; being no function of a module, it is sent as it is, and not by name.

    So the scheduler, which reads what is submitted, needs nothing of mpu-bench.
    """

    def unpack(make: bytes, asked: bytes) -> bytes:
        import pickle

        return pickle.dumps(pickle.loads(make)(pickle.loads(asked)))

    return unpack


def _result_of(future: Future[Any]) -> Any:
    """Return what a run's task has returned, or the exception it has raised; None if it is lost."""
    from distributed import KilledWorker

    try:
        return pickle.loads(future.result(timeout=_SECONDS_TO_RECEIVE))
    except (CancelledError, KilledWorker, TimeoutError, OSError, Unwanted):
        return None
    except BaseException as fault:
        return fault


def _misfit(answer: object) -> str:
    """Return why a worker cannot make runs, given what it says of itself; nothing if it can."""
    if isinstance(answer, ImportError):
        return f" has no mpu-bench of this version ({answer})"
    if not isinstance(answer, About):
        return f" cannot say who it is ({type(answer).__name__}: {answer})"
    theirs, ours = dict(answer.versions), host.versions()
    other = [f"{name} {theirs.get(name)} (here {ours[name]})" for name in ours if theirs.get(name) != ours[name]]
    return f" on {answer.host} has {', '.join(other)}" if other else ""


def _with_model(outcome: Outcome, model: bytes) -> Outcome:
    """Write the model that came with an outcome."""
    path = outcome.task.model_file
    if path is not None and model:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with files.written_whole(path) as stream:
                stream.write(model)
        except OSError as fault:
            said = [outcome.record.reason, f"{NOT_WRITTEN}{path}: {fault.strerror}"]
            return replace(outcome, record=replace(outcome.record, reason="; ".join(filter(None, said))))
    return outcome


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
