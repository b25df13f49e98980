"""Every column of the results, declared once, in `Record`: what describes a run, and every quantity that is measured.

What a reader sees of a quantity (its title, unit, format, which way is better) is read from here by the CSV files, the
tables in the terminal and on the page, the exports, the figures, the verdicts, and docs/results.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Any, TypeVar

from mpu_bench.columns import PERCENT, Column, Quantity, described, measured


class RunStatus(StrEnum):
    """How a run ended; equal to its word."""

    DONE = "done"  #: by the solver's own rule
    STOPPED = "stopped"  #: by a rule of the config's `stop:`
    PROVISIONAL = "provisional"  #: with values, but made without, or before, a result that it depends on
    TIMEOUT = "timeout"
    OUT_OF_MEMORY = "out-of-memory"
    CRASHED = "crashed"
    ERROR = "error"
    DIVERGED = "diverged"
    UNAVAILABLE = "unavailable"  #: its data are missing, or a package that its solver trains with is not installed
    SKIPPED = "skipped"
    NOT_RUN = "not run"  #: planned, and nothing is stored of it yet


class Ending(StrEnum):
    """What ended a run; equal to its word, which of a rule of ``stop:`` is its key."""

    RULE = "own rule"  #: of the solver
    PASSES = "passes"
    SECONDS = "seconds"
    KERNEL_EVALUATIONS = "kernel_evaluations"
    GAP = "gap"
    SUBOPTIMALITY = "suboptimality"
    CAP = "own cap"  #: of a solver that trains in one piece and has not converged
    TIME_LIMIT = "time limit"  #: of the config, or of a phase
    MEMORY_LIMIT = "memory limit"  #: of the config
    SYSTEM = "system"  #: which killed its process or had no memory left
    FAULT = "fault"  #: an exception, the end of its process, numbers that are not finite


#: the two whose runs have a result; the others run again
FINISHED = (RunStatus.DONE, RunStatus.STOPPED)
FAILED = tuple(status for status in RunStatus if status not in (*FINISHED, RunStatus.NOT_RUN))


_derived: dict[str, Quantity] = {}
_Property = TypeVar("_Property", bound=Callable[..., float | None])


def _follows(meaning: str, **more: Any) -> Callable[[_Property], _Property]:
    """Declare a quantity that follows from the rest of a record, where it is not stored."""

    def declare(function: _Property) -> _Property:
        _derived[function.__name__] = Quantity(meaning, function.__name__, **{"in_runs": False} | more)
        return function

    return declare


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


_OF_PROCESSOR = ("cpu_seconds", "system_seconds", "user_seconds")  # of training; waiting leaves them as they are
_IN_PERCENT: dict[str, Any] = {"unit": "percent", "format": ".2f", "is_share": True}  # what claims and print speak of
_SHARE: dict[str, Any] = {"unit": "fraction", "is_share": True, "scale": PERCENT, "format": ".2f"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What is known of a run, or of one of its checkpoints: a value for every column, None where there is none.

    The class is the declaration: a further quantity is one attribute here, with what readers see of it.
    """

    # fmt: off
    experiment: str | None = described("name of the config")
    dataset: str = described("the dataset's label in the config", "")
    split: str | None = described("which split of the classes it is, where the config sweeps over them")
    n: int | None = described("training examples")
    d: int | None = described("features")
    n_test: int | None = described("test examples")
    classes: int | None = described("classes")
    solver: str = described("the solver's name", "")
    parameters: str = described("the solver's parameters, as JSON", "")
    kernel: str = described("the kernel with its parameters", "")
    budget_vectors: int | None = described("how many support vectors the solver may keep")
    seed: int | None = described("seed of everything random in the run")
    trial: str | None = described("for a run that only tries values for others: which rows it is tested on")
    tuned: str | None = described("what was tuned, over which values, and how")
    tuned_on_test: int | None = described("1 if the test rows themselves chose the values, else 0")
    problem: str | None = described(
        "what the objective is the value of; objectives of different problems do not compare")
    maximised: int | None = described("1 if the larger objective of its problem is the better, else 0")
    as_published: int | None = described("1 if its settings, seed aside, are those of the config as written, else 0")
    overridden: str | None = described(
        "what a profile or an option changed in the config, where the settings are not its")
    earlier: int | None = described("1 if the folder's present plan does not have the run, only an earlier one")
    chosen: str | None = described("the values that tuning chose")
    status: RunStatus = described(f"how the run ended: {', '.join(RunStatus)}", RunStatus.NOT_RUN)  # noqa: RUF009
    ended_by: Ending | None = described(f"what ended the run, one of: {', '.join(Ending)}")  # noqa: RUF009
    reason: str = described("the rule that ended it, what failed, and remarks of the solver", "")
    unsavable: int | None = described("1 if its model was to be saved and no file can hold it; the reason says why")
    traceback: str | None = described("where an exception was raised, from the first line of the user solver's file on")
    machine: str | None = described("id of the machine and the versions, as in environment.json")
    threads: int | None = described("how many threads the run may use")
    disturbed: str | None = described(
        "why its seconds may not be compared; empty if they may, or threads is not recorded")
    only_delayed: int | None = described(
        "1 if it is disturbed and its processor seconds may be compared: it only had to wait, or none was faster")
    tune_seconds: float | None = measured("training seconds of all runs that tuning took", unit="seconds",
        title="tuning seconds", format=".3g")
    tune_kernel_evaluations: int | None = measured("kernel evaluations of all runs that tuning took",
        title="kernel evaluations of tuning", format=".3g")
    train_seconds: float | None = measured(
        "wall seconds in which the solver trains; without compiling, loading, evaluating", unit="seconds",
        title="training seconds", format=".3g", better="lower", published="seconds", in_curves=True, on_page=12,
        in_terminal=6, in_exports=True)
    cpu_seconds: float | None = measured("processor seconds of all threads while the solver trains", unit="seconds",
        title="processor seconds", format=".3g", better="lower", in_curves=True)
    system_seconds: float | None = measured(
        "those of cpu_seconds that the system took, as for memory that is touched first (Unix)", unit="seconds",
        title="system seconds", format=".3g", better="lower")

    @property
    @_follows("cpu_seconds less system_seconds", unit="seconds", title="user seconds", format=".3g", better="lower")
    def user_seconds(self) -> float | None:
        """Return what the process itself took of the processor."""
        if self.cpu_seconds is None or self.system_seconds is None:
            return None
        return max(0.0, self.cpu_seconds - self.system_seconds)

    @property
    @_follows("cpu_seconds of one thread, train_seconds of several; none if disturbed and not only delayed",
        unit="seconds",
        title="comparable seconds", format=".3g", better="lower")
    def comparable_seconds(self) -> float | None:
        """Return the seconds that may be set against those of other runs, if any."""
        if self.threads is None or (self.disturbed and not self.only_delayed):
            return None
        return self.cpu_seconds if self.threads == 1 else self.train_seconds

    involuntary_switches: int | None = measured(
        "how often its threads were made to leave the processor while training", format=".3g")
    waiting_seconds: float | None = measured(
        "seconds in which its threads were ready and others had the processor (Linux)", unit="seconds", format=".3g")
    steal_seconds: float | None = measured(
        "processor seconds that the host of a virtual machine took meanwhile (Linux)", unit="seconds",
        title="stolen seconds", format=".3g")
    probe_seconds: float | None = measured(
        "processor seconds of a short fixed computation, before and after (the larger)", unit="seconds", format=".3g")
    load: float | None = measured(
        "how many other threads of the machine wanted a processor meanwhile, on average (Linux)", format=".2f")
    compile_seconds: float | None = measured(
        "seconds of getting ready: compiling, or loading what was compiled before", unit="seconds",
        title="compiling seconds", format=".3g")
    kernel_matrix_seconds: float | None = measured(
        "seconds of computing the shared kernel matrix, off the clock; 0 where another run had it made",
        unit="seconds", format=".3g")
    presented: int | None = measured("examples seen; for batch solvers, iterations", title="examples seen",
        format=".3g", in_runs=False, in_curves=True, averaged=False)

    @property
    @_follows("examples seen: passes times n", title="examples seen", format=".3g",
        published="examples_before_stop")
    def examples(self) -> float | None:
        """Return how many examples were presented."""
        return None if self.passes is None or self.n is None else float(self.passes * self.n)

    steps: int | None = measured("presentations that changed the hypothesis", format=".3g", in_runs=False,
        in_curves=True, averaged=False)
    kernel_evaluations: int | None = measured("kernel values that the algorithm uses, cached or not", format=".3g",
        kind="count", in_curves=True, on_page=13, in_terminal=14, rank=5, in_exports=True, is_none_at_zero=True)
    kernel_computed: int | None = measured("kernel values really computed, after caches and symmetry",
        title="kernel values computed", format=".3g", in_curves=True)
    inner_products: int | None = measured("d-dimensional inner products of linear solvers", format=".3g", kind="count",
        in_curves=True, on_page=14)
    updates: int | None = measured("changes of the hypothesis; a multiple update counts its multiplicity",
        format=".3g", kind="count", in_curves=True, on_page=10, in_terminal=10, rank=8, goes_with="margin_fraction")
    passes: float | None = measured("examples seen / n", format=".3g", kind="count", in_curves=True, on_page=16,
        in_terminal=13, rank=6)
    support_vectors: int | None = measured("vectors of the model; none of a linear one", format=".0f", kind="count",
        published="support_vectors", in_curves=True, on_page=15, in_terminal=15, rank=4, in_exports=True,
        is_none_at_zero=True)

    @property
    @_follows("support vectors in percent of n", unit="percent", format=".2f", title="support vectors, %")
    def support_vectors_percent(self) -> float | None:
        """Return what part of the training examples the model keeps."""
        if self.support_vectors is None or not self.n:
            return None
        return float(100 * self.support_vectors / self.n)

    objective: float | None = measured("primal objective of the model", format=".7g", better="lower", kind="value",
        published="objective", in_curves=True, on_page=1, in_terminal=1, rank=1, in_exports=True, has_spread=True)
    dual_objective: float | None = measured("dual objective, a lower bound of the optimum", format=".7g",
        in_curves=True)
    gap: float | None = measured("relative duality gap: objective / dual objective - 1", title="duality gap",
        format=".1e", better="lower", in_curves=True, on_page=3, in_terminal=3, rank=3)
    suboptimality: float | None = measured("objective / optimum - 1, where the config sets optimum: true",
        format=".1e", better="lower", in_curves=True, on_page=2, in_terminal=2, rank=2)
    train_error: float | None = measured("share of training examples with a wrong label", title="training error, %",
        better="lower", kind="error", rows="n", in_curves=True, **_SHARE)
    test_error: float | None = measured("share of test examples with a wrong label", title="test error, %",
        better="lower", kind="error", rows="n_test", in_curves=True, **_SHARE)

    @property
    @_follows("test_error in percent", rows="n_test", published="test_error_percent", title="test error, %",
        better="lower", on_page=4, in_terminal=4, in_exports=True, has_spread=True, **_IN_PERCENT)
    def test_error_percent(self) -> float | None:
        """Return the test error as people speak of it."""
        return _percent(self.test_error)

    @property
    @_follows("percent of test examples with the right label", better="higher", rows="n_test",
        published="accuracy_percent", title="test accuracy, %", **_IN_PERCENT)
    def test_accuracy_percent(self) -> float | None:
        """Return what the test error leaves."""
        return None if self.test_error is None else 100 * (1 - self.test_error)

    constant_error: float | None = measured(
        "share of test examples that are not of the most frequent class among them",
        title="test error of a constant, %", **_SHARE)
    balanced_error: float | None = measured(
        "mean over the classes of the share of their test examples with a wrong label", title="balanced test error, %",
        better="lower", **_SHARE)
    positives_found: float | None = measured("share of the positive test examples with the right label",
        title="positives found, %", **_SHARE)
    online_error: float | None = measured("wrong predictions / examples seen, of online solvers",
        title="online error, %", better="lower", kind="error", rows="n", in_curves=True, **_SHARE)

    @property
    @_follows("online_error in percent", title="online error, %", better="lower", on_page=5, in_terminal=5, rank=3,
        in_exports=True, has_spread=True, **_IN_PERCENT)
    def online_error_percent(self) -> float | None:
        """Return the online error as people speak of it."""
        return _percent(self.online_error)

    margin: float | None = measured("smallest y w.x / ||w|| over the training examples", in_curves=True, on_page=7,
        in_terminal=7, rank=9, goes_with="margin_fraction", alone_on_page=True)
    margin_fraction: float | None = measured("certified lower bound of margin / maximum margin",
        title="certified margin fraction", format=".4f", in_curves=True, on_page=8, in_terminal=8, rank=1)
    margin_fraction_wanted: float | None = measured(
        "lower bound of margin / maximum margin that is promised before running", title="promised margin fraction",
        format=".4f", in_curves=True, on_page=9, in_terminal=9, rank=2)
    update_bound: float | None = measured("how many updates a theorem allows", title="bound on the updates",
        format=".3g", in_curves=True, on_page=11, in_terminal=11, rank=8, goes_with="margin_fraction")
    nu: float | None = measured("mean hinge loss / ||w||", published="nu", in_curves=True, on_page=6, in_terminal=12,
        rank=2, in_exports=True)
    overhead_seconds: float | None = measured(
        "wall seconds of the run beside training and compiling: to load, evaluate and save", unit="seconds",
        title="seconds beside training", format=".3g", averaged=False)
    peak_memory_mb: float | None = measured(
        "largest resident memory of the run's process, with the interpreter, and without what earlier runs in it left "
        "behind",
        unit="2^20 bytes", title="peak memory, MiB", on_page=17)
    model_bytes: int | None = measured("size of the numbers of the model", unit="bytes", format=".3g")
    run_id: str | None = described("key of the result: a hash of all that it depends on")
    # fmt: on

    # of no column: where its folder has them, the machine that it was made on and the version that it was made by
    made_on: str | None = None
    made_by: str | None = None

    @property
    def is_finished(self) -> bool:
        """Whether it has a result."""
        return self.status in FINISHED

    @property
    def pair(self) -> tuple[str, int | None]:
        """The split and the seed, by which runs of two solvers are paired."""
        return self.split or "", self.seed

    def value(self, name: str) -> Any:
        """Return the value of a column, or of a quantity that follows; None where there is none of this name."""
        return getattr(self, name, None)

    def judged(self, name: str) -> Any:
        """Return the value of a column as a verdict may use it: of training seconds that were disturbed none."""
        if self.disturbed and (name == "train_seconds" or (name in _OF_PROCESSOR and not self.only_delayed)):
            return None
        return self.value(name)

    def row(self, names: Iterable[str]) -> dict[str, Any]:
        """Return the values of some columns by name, for a table."""
        return {name: getattr(self, name) for name in names}

    def known(self) -> dict[str, Any]:
        """Return what is known, by column."""
        values = ((name, getattr(self, name)) for name in COLUMNS)
        return {name: value for name, value in values if value not in (None, "", RunStatus.NOT_RUN)}


def _declared() -> Iterator[Column]:
    """Yield the columns that `Record` declares, with their names and types."""
    types: dict[str, Any] = {"str": "TEXT", "RunStatus": "TEXT", "Ending": "TEXT", "int": "INTEGER", "float": "REAL"}
    for field in fields(Record):
        if (column := field.metadata.get("column")) is not None:
            yield replace(column, name=field.name, type=types[str(field.type).partition(" ")[0]])


#: every column that is stored, by name: of runs.csv, and of curves.csv
COLUMNS: dict[str, Column] = {column.name: column for column in _declared()}

#: every quantity, by name
DECLARED: dict[str, Quantity] = {
    column.name: column
    for column in sorted((*COLUMNS.values(), *_derived.values()), key=lambda column: column.number)
    if isinstance(column, Quantity)
}

#: those that table.csv holds the mean of, and that a claim can be about
QUANTITIES = {name: quantity for name, quantity in DECLARED.items() if quantity.averaged}

#: the columns of runs.csv
RECORD_COLUMNS: dict[str, Column] = {
    name: column for name, column in COLUMNS.items() if not isinstance(column, Quantity) or column.in_runs
}

#: what a checkpoint holds: columns of curves.csv
CHECKPOINT_COLUMNS = {name: quantity for name, quantity in DECLARED.items() if quantity.in_curves}

#: those that tables for people have, in the order of the page, and of the terminal
ON_PAGE = tuple(sorted(filter(lambda column: column.on_page, DECLARED.values()), key=lambda column: column.on_page))
IN_TERMINAL = tuple(
    sorted(filter(lambda column: column.in_terminal, DECLARED.values()), key=lambda column: column.in_terminal)
)

#: column of a published table -> the measured quantity beside which it stands
PUBLISHED_COLUMNS = {quantity.published: name for name, quantity in DECLARED.items() if quantity.published}


def quantity_of(column: str) -> Quantity | None:
    """Return the quantity that a column of a published table, or a claim, speaks of; None if none is measured."""
    return DECLARED.get(PUBLISHED_COLUMNS.get(column, column))


def is_seconds(column: str) -> bool:
    """Return whether the quantity of a column of a published table, or of a claim, is measured in seconds."""
    quantity = quantity_of(column)
    return quantity is not None and quantity.is_seconds


def is_accuracy(column: str) -> bool:
    """Return whether the quantity of a column, or of a claim, is a share of right answers, not of wrong ones."""
    quantity = quantity_of(column)
    return quantity is not None and quantity.is_accuracy


def format_number(value: float | None) -> str:
    """Return a number of a published table, or one to compare with it, as people read it; nothing for None."""
    return "" if value is None else f"{value:.6g}"
