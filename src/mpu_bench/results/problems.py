"""Which objectives stand in one column of a table: those of one problem."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from mpu_bench import solvers
from mpu_bench.errors import ConfigError
from mpu_bench.quantities import QUANTITIES, Quantity
from mpu_bench.scaled import from_json

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
    return of_classes if isinstance(of_classes, str) else ", ".join(f"{c} {w:g}" for c, w in of_classes.items())


def problem_in(record: Mapping[str, Any]) -> str:
    """Return the problem of a row with an objective; where its solver names none, it has a problem of its own."""
    parameters = json.loads(record["parameters"], object_hook=from_json)  # of a row that was kept without its problem
    return record["problem"] or problem_of(record["solver"], parameters) or f"{record['solver']}'s own"


def better_way(quantity: str, record: Mapping[str, Any]) -> str:
    """Return which way a quantity of a row is better: "lower", "higher" or ""; of objectives its solver tells."""
    return "higher" if quantity == "objective" and record["maximised"] else QUANTITIES[quantity].better


class Shown(NamedTuple):
    """A column of a table for people: a quantity, the objective that of one problem only."""

    quantity: Quantity
    problem: str = ""  #: empty where the column is of all rows

    @property
    def heading(self) -> str:
        """The quantity's heading, with the problem where there are several."""
        return f"{self.quantity.heading}: {self.problem}" if self.problem else self.quantity.heading

    def value(self, row: Mapping[str, Any], column: str) -> Any:
        """Return a row's value in this column, such as its ``{}_mean``; None where it is of another problem."""
        is_other = self.problem and row["problem"] != self.problem
        return None if is_other else row.get(column.format(self.quantity.name))

    def text(self, row: Mapping[str, Any], *, spread: bool = True) -> str:
        """Return a row's mean as people read it, with its standard deviation."""
        mean = self.quantity.text(self.value(row, "{}_mean"))
        return mean + (self.quantity.spread(self.value(row, "{}_std")) if spread else "")

    def says_something(self, rows: Sequence[Mapping[str, Any]], column: str = "{}_mean") -> bool:
        """Return whether a row has a value in this column; zero is one of errors and accuracies alone."""
        nothing = (None,) if self.quantity.is_share else (None, 0)
        return any(self.value(row, column) not in nothing for row in rows)


def columns(rows: Sequence[Mapping[str, Any]], names: Iterable[str]) -> list[Shown]:
    """Return the columns for some quantities: one each, and one for each problem of those that have an objective."""
    problems = list(dict.fromkeys(row["problem"] for row in rows if row["objective_mean"] is not None))
    shown = []
    for name in names:
        several = name == "objective" and len(problems) > 1
        shown += [Shown(QUANTITIES[name], problem) for problem in (problems if several else [""])]
    return shown
