"""What solvers and columns are called in tables and figures, and which objectives stand in one column."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from mpu_bench import solvers
from mpu_bench.columns import Quantity
from mpu_bench.errors import ConfigError
from mpu_bench.quantities import DECLARED, IN_TERMINAL, ON_PAGE, QUANTITIES, Record, RunStatus
from mpu_bench.results.means import Summary, grouped
from mpu_bench.scaled import parameters_in, short
from mpu_bench.texts import one_line

DISTURBED = "†"  #: marks a row of which some run was disturbed
TUNED = "tuned"  #: among what varies: runs that differ in nothing but the values that were tried for them

_OF_PROVISIONAL = ("objective", "test_error", "online_error")


def without_result(run: Record) -> str:
    """Return the status of a run that has no result and the reason; of a provisional one its values, too.

    They stand nowhere else in a table: no mean, no verdict and no figure has them.
    """
    known = [(DECLARED[name], run.value(name)) for name in _OF_PROVISIONAL if run.status == RunStatus.PROVISIONAL]
    values = ", ".join(f"{quantity.heading}: {quantity.text(value)}" for quantity, value in known if value is not None)
    return ": ".join(filter(None, [run.status, "; ".join(filter(None, [one_line(run.reason), values]))]))


def varying(rows: Sequence[Record]) -> dict[str, set[str]]:
    """Return, for each solver, the parameters that do not have one value throughout; its kernel is one of them.

    One that a row does not have is at its default there, as null is.
    """
    named = {
        solver: [
            json.loads(parameters) | {"kernel": kernel}
            for parameters, kernel in {(row.parameters, row.kernel) for row in alike}
        ]
        for solver, alike in grouped(rows, lambda row: row.solver).items()
    }
    return {
        solver: {
            name for name in set().union(*every) if len({json.dumps(parameters.get(name)) for parameters in every}) > 1
        }
        for solver, every in named.items()
    }


def solver_text(row: Summary, varied: Mapping[str, set[str]]) -> str:
    """Return a row's solver, with its varying parameters, its kernel, what tuning chose, and whether it is earlier."""
    named = parameters_in(row.parameters)
    words = [
        f"{name}={short(value)}" for name, value in named.items() if name in varied[row.solver] and value is not None
    ]
    if row.kernel != "linear":
        words.append(row.kernel)
    if row.chosen:
        words.append(f"chosen: {row.chosen}")
    if row.earlier:
        words.append("(earlier run)")
    if row.disturbed_runs:
        words.append(DISTURBED)
    return " ".join([row.solver, *words])


def short_text(row: Record, varied: Mapping[str, set[str]], leave_out: Sequence[str] = ()) -> str:
    """Return a row's solver briefly, for a figure's legend: a choice of words stands without its parameter's name."""
    words = [row.solver]
    for name, value in parameters_in(row.parameters).items():
        if name in varied.get(row.solver, ()) and name not in leave_out and value is not None:
            words.append(value if isinstance(value, str) else f"{name}={short(value)}")
    words += [f"({row.tuned})"] if row.tuned and TUNED in varied.get(row.solver, ()) else []
    return " ".join(words)


def run_text(run: Record, varied: Mapping[str, set[str]]) -> str:
    """Return a run's solver, with the parameters and the kernel that tell it from the others."""
    kernel = [run.kernel] if "kernel" in varied.get(run.solver, ()) else []
    return " ".join([short_text(run, varied), *kernel])


def numbered(names: Sequence[str]) -> list[str]:
    """Return names of which no two are the same: the second of several has ``(2)`` behind it."""
    before = Counter[str]()
    distinct = []
    for name in names:
        before[name] += 1
        distinct.append(name if before[name] == 1 else f"{name} ({before[name]})")
    return distinct


_AS_BEFORE = "largest "  # begins what a solver for 0.2.0 calls such a problem


def problem_of(solver: str, parameters: Mapping[str, Any]) -> str:
    """Return the problem whose objective a solver measures, empty where it names none.

    Of several classes it is the sum over the machines of a reduction, which is part of the problem; so are weights of
    classes.
    """
    try:
        known = solvers.load(solver)
        named = known.objective_of(parameters)
    except ConfigError:  # a solver of the user's own, whose file is not loaded here
        return ""
    if named.startswith(_AS_BEFORE) and not known.is_maximised:
        raise ConfigError(
            f"solver '{solver}': its objective_of begins with '{_AS_BEFORE.strip()}', by which 0.2.0 knew that the "
            "larger objective is the better; say is_maximised = True beside its name, or choose another word"
        )
    reduction = f", {parameters['multiclass']}" if "multiclass" in parameters else ""
    weights = f", class weights {_weights(parameters['class_weight'])}" if "class_weight" in parameters else ""
    return f"{named}{reduction}{weights}" if named else ""


def _weights(of_classes: Any) -> str:
    return of_classes if isinstance(of_classes, str) else ", ".join(f"{c} {short(w)}" for c, w in of_classes.items())


def problem_in(record: Record) -> str:
    """Return the problem of a row with an objective; where its solver names none, it has a problem of its own."""
    known = record.problem or problem_of(record.solver, parameters_in(record.parameters))  # of a row kept without it
    return known or f"{record.solver}'s own"


_OF_OBJECTIVE = ("C", "regularization")  # beside the problem and the kernel, what makes an objective another function


def function_of(record: Record) -> tuple[Any, ...]:
    """Return what is the same for rows whose objectives are values of one function."""
    parameters = parameters_in(record.parameters)
    weights = (short(parameters.get(name)) for name in _OF_OBJECTIVE)
    return problem_in(record), record.kernel, record.chosen or "", *weights


def better_way(quantity: str, record: Record) -> str:
    """Return which way a quantity of a row is better: "lower", "higher" or ""; of objectives its solver tells."""
    return "higher" if quantity == "objective" and record.maximised else QUANTITIES[quantity].better


class Shown(NamedTuple):
    """A column of a table for people: a quantity, the objective that of one problem only."""

    quantity: Quantity
    problem: str = ""  #: empty where the column is of all rows

    @property
    def heading(self) -> str:
        """The quantity's heading, with the problem where there are several."""
        return f"{self.quantity.heading}: {self.problem}" if self.problem else self.quantity.heading

    def _of(self, row: Summary, values: Mapping[str, float | None]) -> float | None:
        """Return a row's value in this column; None where it is of another problem."""
        return None if self.problem and row.problem != self.problem else values.get(self.quantity.name)

    def mean(self, row: Summary) -> float | None:
        """Return a row's mean."""
        return self._of(row, row.means)

    def published(self, row: Summary) -> float | None:
        """Return the published number beside a row's mean."""
        return self._of(row, row.published)

    def text(self, row: Summary) -> str:
        """Return a row's mean as people read it."""
        return self.quantity.text(self.mean(row))

    def spread(self, row: Summary) -> str:
        """Return a row's standard deviation as people read it behind the mean."""
        return self.quantity.spread(self._of(row, row.deviations))

    def says_something(self, rows: Sequence[Summary]) -> bool:
        """Return whether a row has a mean in this column; zero is one of errors and accuracies alone."""
        nothing = (None,) if self.quantity.is_share else (None, 0)
        return any(self.mean(row) not in nothing for row in rows)

    def is_published(self, rows: Sequence[Summary]) -> bool:
        """Return whether a published number stands beside a row's mean."""
        return any(self.published(row) is not None for row in rows)


def columns(rows: Sequence[Summary], quantities: Iterable[Quantity]) -> list[Shown]:
    """Return the columns for some quantities: one each, and one for each problem of those that have an objective."""
    problems = list(dict.fromkeys(row.problem or "" for row in rows if row.means["objective"] is not None))
    shown = []
    for quantity in quantities:
        several = quantity.name == "objective" and len(problems) > 1
        shown += [Shown(quantity, problem) for problem in (problems if several else [""])]
    return shown


def on_page(rows: Sequence[Summary]) -> list[Shown]:
    """Return the columns of a table on the page that say something of these rows."""
    telling = _telling(rows, ON_PAGE)
    return [column for column in telling if column.quantity.alone_on_page or _goes_with(column, telling)]


def in_terminal(rows: Sequence[Summary]) -> list[Shown]:
    """Return the columns of a table in the terminal that say something of these rows."""
    telling = _telling(rows, IN_TERMINAL)
    return [column for column in telling if _goes_with(column, telling)]


def _telling(rows: Sequence[Summary], quantities: Iterable[Quantity]) -> list[Shown]:
    return [column for column in columns(rows, quantities) if column.says_something(rows)]


def _goes_with(column: Shown, others: Sequence[Shown]) -> bool:
    """Return whether what a column must go with is among others, if it must."""
    return column.quantity.goes_with in ("", *(other.quantity.name for other in others))
