"""Every column of the results, declared once: what describes a run, and every quantity that is measured.

What a reader sees of a quantity (its title, unit, format, which way is better) is read from here by the CSV files, the
tables in the terminal and on the page, the exports, the figures, the verdicts, and docs/results.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal


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
    UNAVAILABLE = "unavailable"  #: its data cannot be had, or a package that its solver trains with is not installed
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


#: the two whose runs have a result; runs of the others are made again
FINISHED = (RunStatus.DONE, RunStatus.STOPPED)
FAILED = tuple(status for status in RunStatus if status not in (*FINISHED, RunStatus.NOT_RUN))


TOO_LARGE = 1e150  #: what is not below it is taken for infinite: means of it, or its square, could not be told


@dataclass(frozen=True)
class Column:
    """A column of runs.csv that says which run it is, or what became of it.

    Attributes
    ----------
    name : str
        In CSV files and in the store.
    type : {"TEXT", "INTEGER", "REAL"}
    help : str
        One line on what it means.
    """

    name: str
    type: Literal["TEXT", "INTEGER", "REAL"]
    help: str

    def typed(self, value: Any) -> Any:
        """Return a value, or the text of a CSV cell, as this column's type; None where it is missing or not finite.

        Raises
        ------
        ValueError, OverflowError
            If it is none of this type.
        """
        if value is None or value == "":
            return None
        if self.type == "TEXT":
            return str(value)
        if isinstance(value, int) and self.type == "INTEGER":
            return value
        number = float(value)
        if not abs(number) < TOO_LARGE:  # NaN, too, is not
            return None
        if self.type == "REAL":
            return number
        if number != round(number):
            raise ValueError(f"'{value}' is no whole number")
        return int(value) if isinstance(value, str) and value.lstrip("+-").isdecimal() else int(number)


@dataclass(frozen=True, kw_only=True)
class Quantity(Column):
    """A measured quantity.

    Attributes
    ----------
    unit : str
        Of the stored number; empty for a number without one.
    title : str
        What it is called in tables and on axes; a name that needs no other words is its own title.
    scale : float
        What the stored number is multiplied by where people read it, such as 100 for percents.
    format : str
        How people read it, as in ``format(value, ".3g")``.
    better : {"lower", "higher", ""}
        Which way a verdict may call better than published.
    held : {"count", "value", "error", ""}
        How it is held to earlier results: counts and values to be equal on the same kind of processor, errors by a test
        of proportions on another.
    is_share : bool
        Whether it is a share of wrong, or right, answers: zero says something, and a constant answer has one, too.
    rows : str
        For an error: the column with the number of rows of which it is a share.
    published : str
        The column of published tables that prints it, if there is one.
    in_runs, in_curves, averaged : bool
        Whether runs.csv, curves.csv and (mean and standard deviation) table.csv have it.
    derive : function or None
        How it follows from the rest of a run's row, where it is not stored.
    """

    unit: str = ""
    title: str = ""
    scale: float = 1.0
    format: str = ".4g"
    better: Literal["lower", "higher", ""] = ""
    held: Literal["count", "value", "error", ""] = ""
    is_share: bool = False
    rows: str = ""
    published: str = ""
    in_runs: bool = True
    in_curves: bool = False
    averaged: bool = True
    derive: Callable[[Mapping[str, Any]], float | None] | None = None

    @property
    def is_seconds(self) -> bool:
        """Whether it is a time, which no other machine or hour repeats."""
        return self.unit == "seconds"

    @property
    def is_accuracy(self) -> bool:
        """Whether it is a share of right answers, not of wrong ones."""
        return self.is_share and self.better == "higher"

    @property
    def heading(self) -> str:
        """The title, or the name with spaces."""
        return self.title or self.name.replace("_", " ")

    def text(self, value: float | None) -> str:
        """Return a stored number as people read it; nothing for None."""
        return "" if value is None else format(self.scale * value, self.format)

    def spread(self, deviation: float | None) -> str:
        """Return a standard deviation as people read it beside its mean: " ±0.02"; nothing for None or zero."""
        return f" ±{self.scale * deviation:.2g}" if deviation else ""


def _percent(name: str, of: str, title: str, meaning: str, **more: Any) -> Quantity:
    """Declare the percents of a stored share, which claims and published tables speak of."""

    def derive(run: Mapping[str, Any]) -> float | None:
        return None if run[of] is None else 100 * run[of]

    fixed: dict[str, Any] = {"unit": "percent", "is_share": True, "format": ".2f", "in_runs": False, "better": "lower"}
    return Quantity(name, "REAL", meaning, title=title, **fixed | {"derive": derive} | more)


def _accuracy_percent(run: Mapping[str, Any]) -> float | None:
    return None if run["test_error"] is None else 100 * (1 - run["test_error"])


def _support_vectors_percent(run: Mapping[str, Any]) -> float | None:
    return None if run["support_vectors"] is None or not run["n"] else float(100 * run["support_vectors"] / run["n"])


def _examples(run: Mapping[str, Any]) -> float | None:
    return None if run["passes"] is None or run["n"] is None else float(run["passes"] * run["n"])


def _comparable_seconds(run: Mapping[str, Any]) -> float | None:
    if run["threads"] is None or run["disturbed"]:
        return None
    seconds: float | None = run["cpu_seconds" if run["threads"] == 1 else "train_seconds"]
    return seconds


_DESCRIPTION = (
    Column("experiment", "TEXT", "name of the config"),
    Column("dataset", "TEXT", "the dataset's label in the config"),
    Column("split", "TEXT", "which split of the classes it is, where the config sweeps over them"),
    Column("n", "INTEGER", "training examples"),
    Column("d", "INTEGER", "features"),
    Column("n_test", "INTEGER", "test examples"),
    Column("classes", "INTEGER", "classes"),
    Column("solver", "TEXT", "the solver's name"),
    Column("parameters", "TEXT", "the solver's parameters, as JSON"),
    Column("kernel", "TEXT", "the kernel with its parameters"),
    Column("budget_vectors", "INTEGER", "how many support vectors the solver may keep"),
    Column("seed", "INTEGER", "seed of everything random in the run"),
    Column("trial", "TEXT", "for a run that only tries values for others: which rows it is tested on"),
    Column("tuned", "TEXT", "what was tuned, over which values, and how"),
    Column("tuned_on_test", "INTEGER", "1 if the test rows themselves chose the values, else 0"),
    Column("problem", "TEXT", "what the objective is the value of; objectives of different problems do not compare"),
    Column("maximised", "INTEGER", "1 if the larger objective of its problem is the better, else 0"),
    Column("as_published", "INTEGER", "1 if its settings, seed aside, are those of the config as written, else 0"),
    Column("overridden", "TEXT", "what a profile or an option changed in the config, where the settings are not its"),
    Column("earlier", "INTEGER", "1 if the folder's present plan does not have the run, only an earlier one"),
    Column("chosen", "TEXT", "the values that tuning chose"),
    Column("status", "TEXT", f"how the run ended: {', '.join(RunStatus)}"),
    Column("ended_by", "TEXT", f"what ended the run, one of: {', '.join(Ending)}"),
    Column("reason", "TEXT", "the rule that ended it, what failed, and remarks of the solver"),
    Column("unsavable", "INTEGER", "1 if its model was to be saved and no file can hold it; the reason says why"),
    Column("traceback", "TEXT", "where an exception was raised, from the first line of the user's own file on"),
    Column("machine", "TEXT", "id of the machine and the versions, as in environment.json"),
    Column("threads", "INTEGER", "how many threads the run may use"),
    Column("disturbed", "TEXT", "why its seconds may not be compared; empty if they may, or threads is not recorded"),
)

_MEASURED = (
    Quantity("tune_seconds", "REAL", "training seconds of all runs that tuning took", unit="seconds",
             title="tuning seconds", format=".3g"),
    Quantity("tune_kernel_evaluations", "INTEGER", "kernel evaluations of all runs that tuning took",
             title="kernel evaluations of tuning", format=".3g"),
    Quantity("train_seconds", "REAL", "wall seconds in which the solver trains; without compiling, loading, evaluating",
             unit="seconds", title="training seconds", format=".3g", better="lower", published="seconds",
             in_curves=True),
    Quantity("cpu_seconds", "REAL", "processor seconds of all threads while the solver trains", unit="seconds",
             title="processor seconds", format=".3g", better="lower", in_curves=True),
    Quantity("comparable_seconds", "REAL", "cpu_seconds of one thread, train_seconds of several; none if disturbed",
             unit="seconds", title="comparable seconds", format=".3g", better="lower", in_runs=False,
             derive=_comparable_seconds),
    Quantity("involuntary_switches", "INTEGER", "how often its threads were made to leave the processor while training",
             format=".3g"),
    Quantity("waiting_seconds", "REAL", "seconds in which its threads were ready and others had the processor (Linux)",
             unit="seconds", format=".3g"),
    Quantity("steal_seconds", "REAL", "processor seconds that the host of a virtual machine took meanwhile (Linux)",
             unit="seconds", title="stolen seconds", format=".3g"),
    Quantity("probe_seconds", "REAL", "processor seconds of a short fixed computation, before and after (the larger)",
             unit="seconds", format=".3g"),
    Quantity("load", "REAL", "how many other threads of the machine wanted a processor meanwhile, on average (Linux)",
             format=".2f"),
    Quantity("compile_seconds", "REAL", "seconds of getting ready: compiling, or loading what was compiled before",
             unit="seconds", title="compiling seconds", format=".3g"),
    Quantity("kernel_matrix_seconds", "REAL",
             "seconds of computing the kernel matrix that runs share, off the clock; 0 where another run had it made",
             unit="seconds", format=".3g"),
    Quantity("presented", "INTEGER", "examples presented; for batch solvers, iterations", title="examples presented",
             format=".3g", in_runs=False, in_curves=True, averaged=False),
    Quantity("examples", "REAL", "examples presented: passes times n", title="examples presented", format=".3g",
             published="examples_before_stop", in_runs=False, derive=_examples),
    Quantity("steps", "INTEGER", "presentations that changed the hypothesis", format=".3g", in_runs=False,
             in_curves=True, averaged=False),
    Quantity("kernel_evaluations", "INTEGER", "kernel values that the algorithm asks for, cached or not", format=".3g",
             held="count", in_curves=True),
    Quantity("kernel_computed", "INTEGER", "kernel values really computed, after caches and symmetry",
             title="kernel values computed", format=".3g", in_curves=True),
    Quantity("inner_products", "INTEGER", "d-dimensional inner products of linear solvers", format=".3g", held="count",
             in_curves=True),
    Quantity("updates", "INTEGER", "changes of the hypothesis; a multiple update counts its multiplicity", format=".3g",
             held="count", in_curves=True),
    Quantity("passes", "REAL", "examples presented / n", format=".3g", held="count", in_curves=True),
    Quantity("support_vectors", "INTEGER", "vectors of the model; none of a linear one", format=".0f", held="count",
             published="support_vectors", in_curves=True),
    _percent("support_vectors_percent", "support_vectors", "support vectors, %", "support vectors in percent of n",
             derive=_support_vectors_percent, better="", is_share=False),
    Quantity("objective", "REAL", "primal objective of the model", format=".7g", better="lower", held="value",
             published="objective", in_curves=True),
    Quantity("dual_objective", "REAL", "dual objective, a lower bound of the optimum", format=".7g", in_curves=True),
    Quantity("gap", "REAL", "relative duality gap: objective / dual objective - 1", title="duality gap", format=".1e",
             better="lower", in_curves=True),
    Quantity("suboptimality", "REAL", "objective / optimum - 1, where the config asks for the optimum", format=".1e",
             better="lower", in_curves=True),
    Quantity("train_error", "REAL", "share of training examples with a wrong label", unit="fraction",
             is_share=True, title="training error, %", scale=100.0, format=".2f", better="lower", held="error",
             rows="n", in_curves=True),
    Quantity("test_error", "REAL", "share of test examples with a wrong label", unit="fraction",
             is_share=True, title="test error, %",
             scale=100.0, format=".2f", better="lower", held="error", rows="n_test", in_curves=True),
    _percent("test_error_percent", "test_error", "test error, %", "test_error in percent", rows="n_test",
             published="test_error_percent"),
    _percent("test_accuracy_percent", "test_error", "test accuracy, %", "percent of test examples with the right label",
             derive=_accuracy_percent, better="higher", rows="n_test", published="accuracy_percent"),
    Quantity("constant_error", "REAL", "share of test examples that are not of the most frequent class among them",
             unit="fraction",
             is_share=True, title="test error of a constant, %", scale=100.0, format=".2f"),
    Quantity("balanced_error", "REAL", "mean over the classes of the share of their test examples with a wrong label",
             unit="fraction",
             is_share=True, title="balanced test error, %", scale=100.0, format=".2f", better="lower"),
    Quantity("positives_found", "REAL", "share of the positive test examples with the right label", unit="fraction",
             is_share=True, title="positives found, %", scale=100.0, format=".2f"),
    Quantity("online_error", "REAL", "wrong predictions / examples presented, of online solvers", unit="fraction",
             is_share=True, title="online error, %", scale=100.0, format=".2f", better="lower", held="error",
             rows="n", in_curves=True),
    _percent("online_error_percent", "online_error", "online error, %", "online_error in percent"),
    Quantity("margin", "REAL", "smallest y w.x / ||w|| over the training examples", in_curves=True),
    Quantity("margin_fraction", "REAL", "certified lower bound of margin / maximum margin",
             title="certified margin fraction", format=".4f", in_curves=True),
    Quantity("margin_fraction_wanted", "REAL", "lower bound of margin / maximum margin that is promised before running",
             title="promised margin fraction", format=".4f", in_curves=True),
    Quantity("update_bound", "REAL", "how many updates a theorem allows", title="bound on the updates", format=".3g",
             in_curves=True),
    Quantity("nu", "REAL", "mean hinge loss / ||w||", published="nu", in_curves=True),
    Quantity("overhead_seconds", "REAL", "wall seconds of the run beside training and compiling: to load, evaluate and "
             "save", unit="seconds", title="seconds beside training", format=".3g", averaged=False),
    Quantity("peak_memory_mb", "REAL", "largest resident memory of the run's process, with the interpreter, and "
             "without what earlier runs in it left behind", unit="2^20 bytes", title="peak memory, MB"),
    Quantity("model_bytes", "INTEGER", "size of the numbers of the model", unit="bytes", format=".3g"),
    Quantity("prediction_seconds", "REAL", "processor seconds to predict one test example", unit="seconds",
             title="seconds a prediction", format=".2g"),
)  # fmt: skip

#: every quantity, by name
DECLARED = {quantity.name: quantity for quantity in _MEASURED}

#: those that table.csv holds the mean of, and that a claim can be about
QUANTITIES = {name: quantity for name, quantity in DECLARED.items() if quantity.averaged}

#: the columns of runs.csv
RECORD_COLUMNS: dict[str, Column] = {
    column.name: column
    for column in (
        *_DESCRIPTION,
        *(quantity for quantity in _MEASURED if quantity.in_runs),
        Column("run_id", "TEXT", "key of the result: a hash of all that it depends on"),
    )
}

#: what a checkpoint holds: columns of curves.csv
CHECKPOINT_COLUMNS = {name: quantity for name, quantity in DECLARED.items() if quantity.in_curves}

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
