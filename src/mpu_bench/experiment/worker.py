"""The child process that executes runs: kept warm, fed over a pipe, replaceable at any moment.

It answers each `Task` with messages: `Phase`, `Aside` and `Compiled` as it goes on, `Progress` while it
trains, and at last `Finished` or `Failed`; a `Preparation` with `Work`, and at last `Prepared` or `Failed`.

Solvers of a user's own have a worker that makes no other solver's runs, and a problem loaded anew for each run: they
may change whatever they reach.
"""

from __future__ import annotations

import gc
import json
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, chdir, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from numba.core import event

from mpu_bench import solvers
from mpu_bench.config.schema import Checkpoints, Stop
from mpu_bench.core import cache
from mpu_bench.core.cache import CacheWarning
from mpu_bench.core.clock import COMPILER, GETTING_READY  # which learns of compiling before this does
from mpu_bench.core.jit import GETS_READY
from mpu_bench.core.models import FourierModel
from mpu_bench.core.problem import Problem
from mpu_bench.data.cards import catalog
from mpu_bench.data.cards.schema import Card
from mpu_bench.data.download.progress import Advance
from mpu_bench.data.prepare.load import load_problem, preprocessing_of, training_content
from mpu_bench.errors import DataError, StoreError, UserError
from mpu_bench.experiment import bind, disturbance, machine_code, shared_matrix, trace
from mpu_bench.experiment.messages import (
    Aside,
    Compiled,
    Failed,
    Finished,
    Message,
    Phase,
    Preparation,
    Prepared,
    Task,
    Work,
    encode,
)
from mpu_bench.experiment.peak_memory import PeakMemory
from mpu_bench.experiment.run import Run
from mpu_bench.experiment.tuning import holdout
from mpu_bench.files import as_store_error
from mpu_bench.guard.messages import Channel
from mpu_bench.kernels import Kernel
from mpu_bench.kernels import matrix as kernel_matrix
from mpu_bench.kernels.precision import FAR, is_double_enough
from mpu_bench.models.classes import Classes
from mpu_bench.models.parts import bytes_of
from mpu_bench.models.saved import Origin, SavedModel, made_now
from mpu_bench.quantities import Record, RunStatus
from mpu_bench.results.saved_models import NOT_SAVED, NOT_WRITTEN
from mpu_bench.scaled import to_json
from mpu_bench.solvers.plugins import importing
from mpu_bench.texts import MAX_BYTES, plain

_WARM_UP_EXAMPLES, _WARM_UP_SECONDS = 200, 5.0  # whichever comes first
_BYTES_OF_NAME = 200  # of the name of an exception, and of its text
_SECONDS_BETWEEN_MESSAGES = 0.1  # of how far a preparation is


def serve(descriptor: int, jobs: int) -> None:
    """Answer what comes over a connection, until it is closed."""
    cache.prune()  # what earlier versions have compiled; here, because importing `core` must write and delete nothing
    channel = Channel(descriptor)
    executor = RunExecutor(lambda message: channel.send(encode(message)), jobs)
    executor.tell_when_compiling()
    gc.freeze()  # what is there now stays: looking for what is free must not look there every time
    for request in channel.requests():
        executor.answer(request)


def _flush() -> None:
    """Let what a solver has printed be seen before what came of its run, a line without its end, too."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(BaseException):  # a solver may have closed or replaced it
            stream.flush()


def _back_in_this_folder(run: Run) -> AbstractContextManager[None]:
    """Return what ends in the current folder, from which data and models are found: a plugin may leave it."""
    return chdir(".") if run.solver.plugin else nullcontext()


class _Sent:
    """Progress that is shown in another process; `pool.local.Transfers` is its other end."""

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
        except BaseException:
            self._send(Work("fail", number))
            raise
        self._send(Work("advance", number, done=waiting))
        self._send(Work("end", number))

    def note(self, line: str) -> None:
        """Send a line."""
        self._send(Work("note", text=line))


@dataclass
class RunExecutor:
    """Makes runs, and keeps between them what the next may need: the last problem, and what is compiled already."""

    send: Callable[[Message], None]
    jobs: int  #: workers that share the machine's memory
    has_own_process: bool = True  #: whether the signals that come are meant for runs
    at_error: Callable[[BaseException], None] = lambda _error: None  #: called with what ends a run; may raise it
    _problem: tuple[Any, Any] | None = None
    _probe: disturbance.Probe | None = None
    _warm: set[tuple[Any, ...]] = field(default_factory=set)
    _memory: PeakMemory = field(default_factory=PeakMemory)
    _is_warming_up: bool = False

    def answer(self, request: Task | Preparation) -> None:
        """Make one run, or prepare a dataset, and send what came of it; every failure is an answer too."""
        before = set(threading.enumerate())
        try:
            try:
                last = (
                    self._prepare_data(request) if isinstance(request, Preparation) else self._execute(request, before)
                )
                _flush()
                self.send(last)
            finally:
                if isinstance(request, Preparation) or request.run.solver.plugin:
                    self._problem = None
        except BaseException as error:  # whatever a solver raises to end its process, too
            failed = replace(_failure(request, error), threads_left=_threads_left(before))
            self.at_error(error)
            _flush()
            self.send(failed)

    def _prepare_data(self, preparation: Preparation) -> Prepared:
        """Fetch and prepare a dataset unless it is there; report progress meanwhile."""
        self._problem = None
        load_problem(catalog.card(preparation.name, preparation.options), preparation.home, _Sent(self.send))
        return Prepared()

    def _execute(self, task: Task, threads: set[threading.Thread]) -> Finished:
        run, settings, began = task.run, task.run.settings, time.perf_counter()
        provision = kernel_matrix.PROVISION
        provision.memory, provision.processes, provision.shared = settings.kernel_memory, self.jobs, None
        if plugin := run.solver.plugin:
            if self.has_own_process:
                _forget_signal_handlers()
            self.send(Phase("importing"))
            with _back_in_this_folder(run):
                solvers.load_plugin(*plugin)
        problem, kernel = self._load(task)
        self.send(Phase("compiling"))
        solver = bind.build_solver(run.solver.name, run.solver.parameters, problem.n)
        solver.check(problem, kernel)
        compile_seconds, cold = self._warm_up(run, problem)
        if task.code:
            machine_code.keep_compiled(task.code)
        if task.only_compiles:
            return Finished(Record(status=RunStatus.DONE, compile_seconds=compile_seconds), [])
        if plugin:  # it may have changed its inputs already
            self._problem = None
            problem, kernel = self._load(task)
        matrix_seconds, lacking = None, ""
        if task.matrices is not None:
            self.send(phase := Phase("kernel matrix"))
            matrix_seconds, lacking = shared_matrix.attach(
                task.matrices, run, solver=solver, problem=problem, kernel=kernel, report=lambda: self.send(phase)
            )
        probe = self._probe = self._probe or disturbance.Probe()
        probe.fastest = min(probe.fastest, task.fastest_probe)  # of all earlier runs
        self._memory.begin(problem)
        self.send(Phase("training"))
        matrix_threads = kernel_matrix.threads(settings.threads)
        with warnings.catch_warnings(record=True) as caught, matrix_threads, _back_in_this_folder(run):
            warnings.simplefilter("always")
            traced = trace.train(
                solver,
                problem,
                kernel=kernel,
                seed=run.seed,
                stop=settings.stop,
                checkpoints=settings.checkpoints,
                report=self.send,
                optimum=task.optimum,
                probe=probe.measure,
                optimum_gap=task.optimum_gap,
            )
        record = replace(
            traced.checkpoints[-1],
            **traced.measured,
            n=problem.n,
            d=problem.features,
            n_test=problem.n_test,
            classes=len(problem.classes),
            status=traced.status,
            ended_by=traced.ended_by,
            model_bytes=bytes_of(traced.model, problem.features),
            compile_seconds=compile_seconds,
            kernel_matrix_seconds=matrix_seconds,
            peak_memory_mb=self._memory.mebibytes(),
            threads=settings.threads,
        )
        is_shared = matrix_seconds is not None
        warned = dict.fromkeys(str(warning.message) for warning in caught)
        unsaved, can_never = _save_model(task, traced, problem)  # after its memory is measured
        why = shared_matrix.DISTURBS if is_shared else disturbance.why(record, probe.fastest)
        is_delayed = bool(why) and not is_shared and disturbance.only_delays(record, probe.fastest)
        record = replace(
            record,
            disturbed=why,
            only_delayed=int(is_delayed) or None,
            unsavable=int(can_never) or None,
            reason="; ".join(
                filter(None, [traced.reason, *warned, far_note(traced, problem, kernel), cold, lacking, unsaved])
            ),
            overhead_seconds=time.perf_counter() - began - compile_seconds - (record.train_seconds or 0.0),
        )
        return Finished(record, traced.checkpoints, _threads_left(threads), self._memory.resident_bytes())

    def _load(self, task: Task) -> tuple[Any, Any]:
        """Return the problem of a run, which is the last one's if its data are the same, and its kernel."""
        self.send(Phase("loading"))
        dataset = task.run.dataset
        key = (dataset.key, task.home)
        loaded = self._problem
        if loaded is None or loaded[0] != key or task.fingerprint not in ("", loaded[1].fingerprint):
            loaded = self._problem = None  # its memory is free before the next is loaded
            loaded = self._problem = (key, load_problem(catalog.card(dataset.name, dataset.options), task.home))
        problem = loaded[1]
        if task.fingerprint not in ("", problem.fingerprint):
            raise DataError(f"{dataset.label}: its data have changed since planning; run again")
        if task.run.trial is not None:
            problem = holdout(problem, task.run.trial)
        if class_weight := task.run.solver.parameters.get("class_weight"):
            problem = problem.weighted(class_weight)
        if threshold := task.run.solver.parameters.get("score_threshold"):
            problem = replace(problem, threshold=threshold)
        return problem, bind.build_kernel(task.run.solver.kernel, problem)

    def tell_when_compiling(self) -> None:
        """Send from now on when code begins and ends to be compiled or loaded, while a run gets ready.

        These seconds have a limit of their own.
        """
        executor = self

        class Heard(event.Listener):
            def on_start(self, event: Any) -> None:  # noqa: ARG002
                if executor._is_warming_up and GETTING_READY.depth == 1:
                    executor.send(Aside(begins=True))

            def on_end(self, event: Any) -> None:  # noqa: ARG002
                if executor._is_warming_up and GETTING_READY.depth == 0:
                    executor.send(Aside(begins=False))

        for kind in ("numba:compile", GETS_READY):
            event.register(kind, Heard())  # type: ignore[no-untyped-call]

    def _warm_up(self, run: Run, problem: Any) -> tuple[float, str]:
        """Compile, or load compiled code, on a small problem of the same types.

        Returns
        -------
        (float, str)
            The seconds it took, and what its reader must know of them: a solver of a user's own may fail on so few
            rows and be right on all, so that only its run says what becomes of it.
        """
        types = tuple((type(rows), *(array.dtype for array in rows)) for rows in (problem.train, problem.test))
        key = (run.solver.name, machine_code.variant(run), run.solver.kernel.name, types)
        if key in self._warm:
            return 0.0, ""
        started, compiled = time.perf_counter(), COMPILER.seconds
        small = bind.warm_up_problem(problem)
        few = Stop(passes=_WARM_UP_EXAMPLES / small.n, seconds=_WARM_UP_SECONDS)
        cold = ""
        self._is_warming_up = True
        try:
            with warnings.catch_warnings(), kernel_matrix.threads(run.settings.threads), _back_in_this_folder(run):
                warnings.simplefilter("ignore")
                warnings.simplefilter("default", CacheWarning)
                solver = bind.build_solver(run.solver.name, run.solver.parameters, problem.n)
                kernel = bind.build_kernel(run.solver.kernel, small)
                trace.train(solver, small, kernel=kernel, seed=run.seed, stop=few, checkpoints=Checkpoints())
        except MemoryError:
            raise
        except Exception as error:
            if not run.solver.plugin:
                raise
            cold = f"not fully compiled before training: its warm-up on {small.n} rows raised {type(error).__name__}"
        finally:
            self._is_warming_up = False
        if not cold:
            self._warm.add(key)
        if self.has_own_process:  # what the compiler leaves stays, too, and is not looked at before every run
            gc.collect()
            gc.freeze()
        self.send(Compiled(COMPILER.seconds - compiled))
        return time.perf_counter() - started, cold


def far_note(traced: trace.Trace, problem: Problem, kernel: Kernel) -> str:
    """Return a note where double precision does not tell the rows apart, and no gap has that in it already."""
    of_angles = isinstance(getattr(traced.model, "machines", traced.model), FourierModel)
    if (traced.checkpoints[-1].gap is not None and not of_angles) or is_double_enough(problem.train, kernel, of_angles):
        return ""
    return f"{FAR}: center the features (scale: standard) or take a wider kernel"


def _save_model(task: Task, traced: Any, problem: Any) -> tuple[str, bool]:
    """Save the model of a run if requested; return why it is not, if so, and whether it never can be."""
    if not task.model_files or traced.status is RunStatus.DIVERGED:
        return "", False
    try:
        card = catalog.card(task.run.dataset.name, task.run.dataset.options)
        preprocessing = preprocessing_of(card, task.home, fingerprint=task.fingerprint)
        if preprocessing is not None and preprocessing.features != problem.features:
            preprocessing = None
        classes, origin = Classes.of(problem.classes, card.class_words), _origin(task, card)
        saved = SavedModel(traced.model, classes, problem.features, preprocessing, origin=origin)
    except UserError as error:  # of a card or a file that was changed or moved while the run trained
        return f"{NOT_WRITTEN}{error}", False
    try:
        for path in task.model_files:
            with as_store_error(path):
                path.parent.mkdir(parents=True, exist_ok=True)
            saved.save(path)
    except (StoreError, MemoryError) as error:
        return f"{NOT_WRITTEN}{str(error) or 'out of memory'}", False
    except UserError as error:
        return f"{NOT_SAVED}{error}", True
    return "", False


def _origin(task: Task, card: Card) -> Origin:
    run, solver = task.run, task.run.solver
    parameters: dict[str, Any] = json.loads(json.dumps(dict(solver.parameters), default=to_json))
    options = {name: value for name, value in run.dataset.options.items() if name != catalog.CARD}  # names user files
    kernel = {} if solver.kernel.is_linear else {"kernel": str(solver.kernel)}
    return made_now(
        Origin(
            solver=solver.name,
            parameters=parameters | kernel,
            dataset=run.dataset.name,
            options=json.loads(json.dumps(options, default=to_json)),
            trained_on=training_content(card, task.home),
            seed=run.seed,
        )
    )


def _failure(request: Task | Preparation, error: BaseException) -> Failed:
    """Return the failure for an exception; its text may raise, too."""
    text = importing.text_of(error, plain, MAX_BYTES - _BYTES_OF_NAME)
    if isinstance(error, UserError):
        return Failed("error", text)
    if isinstance(error, MemoryError):
        return Failed("out-of-memory", f"the process could not get more memory: {text}")
    # a module that an installed package lacks is a mistake like any other
    if type(error) is ModuleNotFoundError and isinstance(error.name, str) and "." not in error.name:
        needing = request.name if isinstance(request, Preparation) else request.run.solver.name
        return Failed("skipped", f"{needing} needs a package that is not installed: {text}")
    with suppress(BaseException):
        sys.stderr.write(plain("".join(traceback.format_exception(error))))
    words = {SystemExit: "ended its process", KeyboardInterrupt: "interrupted itself"}
    more = next((f" (the solver {words[kind]})" for kind in words if isinstance(error, kind)), "")
    plugin = request.run.solver.plugin if isinstance(request, Task) else None
    text, files = f"{type(error).__name__}: {text}{more}", (plugin.path,) if plugin else ()
    text, traced = importing.located(error, files, text)
    return Failed("error", text, traceback=traced)


def _threads_left(before: set[threading.Thread]) -> int:
    return len(set(threading.enumerate()) - before)


def _forget_signal_handlers() -> None:
    """Let signals mean what they mean at first, whatever an earlier run has made of them, and no timer run."""
    for number in signal.valid_signals():
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    for timer in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF):
        signal.setitimer(timer, 0)
