"""The rules by which measured numbers are judged beside published ones: configs/published/rules.yaml, read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Literal

from pydantic import Field

from mpu_bench import document, published, resources
from mpu_bench.document import Positive, Strict
from mpu_bench.errors import ConfigError
from mpu_bench.quantities import quantity_of

FILE = "rules.yaml"


class Tolerance(Strict):
    """How far the mean of a quantity may be from the published one, besides what scatter allows.

    ``points``, ``of_error``, ``cap_points``: of errors and accuracies in percent. ``relative``, ``cap_relative``: of
    counts. ``accuracy``: as the table asks for. ``zero``: below which a number says nothing.
    """

    points: Positive | None = None
    of_error: Positive | None = None
    cap_points: Positive | None = None
    relative: Positive | None = None
    cap_relative: Positive | None = None
    accuracy: bool = False
    zero: Positive | None = None


class Ratios(Strict):
    """Within how many times of the printed ratio a measured one agrees, and is of the same order; of how many runs."""

    agrees: Annotated[float, Field(gt=1)]
    same_order: Annotated[float, Field(gt=1)]
    least_runs: Annotated[int, Field(ge=2)]


class Recomputed(Strict):
    """How far a recomputed p-value may be, relative."""

    p_value: Positive


class OfStatements(Strict):
    """How many paired standard errors beyond which a point contradicts a statement; how far alike may be, relative."""

    standard_errors: Positive
    alike: Positive


class Given(Strict):
    """Numbers of a published table that no run can miss."""

    column: str
    solver: str | None = None
    datasets: list[str] = []
    has: str | None = None

    def holds(self, row: Mapping[str, str], column: str) -> bool:
        """Return whether a number is one of them."""
        named = self.solver in (None, row.get("solver")) and (not self.datasets or row.get("dataset") in self.datasets)
        return column == self.column and named and (self.has is None or bool(row.get(self.has)))


class Table(Strict):
    """What print says of a table: its numbers of runs, the accuracy it asks for, what its seconds are set against.

    ``deviations: of-all`` divide by the number of runs, ``of-a-sample`` by one less. ``fixed_problems``: on these
    datasets its means are over problems that are given, of which other runs are no other sample.
    """

    runs: Annotated[int, Field(ge=1)] = 1
    but_runs: dict[str, int] = {}
    deviations: Literal["of-a-sample", "of-all"] = "of-a-sample"
    fixed_problems: list[str] = []
    accuracy: Positive | None = None
    ratio_to: str | None = None
    set: list[Given] = []

    def runs_on(self, dataset: str) -> int:
        """Return the number of runs of a dataset's means."""
        return self.but_runs.get(dataset, self.runs)

    def sample_deviation(self, printed: float, runs: int) -> float:
        """Return the standard deviation of a sample, which divides by one less than its size, of a printed one."""
        return printed if self.deviations == "of-a-sample" or runs == 1 else printed * math.sqrt(runs / (runs - 1))


class Override(Tolerance):
    """Another tolerance for some cells, and where print says so."""

    table: str
    column: str
    datasets: list[str] = []
    solvers: list[str] = []
    cites: Annotated[str, Field(min_length=1)]


class Rules(Strict):
    """The whole file."""

    standard_errors: Positive
    significance: Annotated[float, Field(gt=0, lt=1)]
    least_runs: Annotated[int, Field(ge=2)]
    values: dict[str, Tolerance]
    ratios: Ratios
    recomputed: Recomputed
    statements: OfStatements
    tables: dict[str, Table]
    overrides: list[Override] = []

    def kind(self, table: str, row: Mapping[str, str], column: str) -> Literal["set", "ratio", "value"]:
        """Return what kind of number a cell of a published table is, if it is no fact of a dataset."""
        about = self.tables[table]
        if any(given.holds(row, column) for given in about.set):
            return "set"
        if column != "seconds":
            return "value"
        return "set" if row.get("solver") == about.ratio_to else "ratio"

    def tolerance(self, table: str, row: Mapping[str, str], column: str) -> Tolerance:
        """Return the tolerance for a cell: of the first override that names it, else that of its column."""
        for each in self.overrides:
            named = (not each.datasets or row.get("dataset") in each.datasets) and (
                not each.solvers or row.get("solver") in each.solvers
            )
            if (each.table, each.column) == (table, column) and named:
                return each
        return self.values[column]

    def tolerance_of(self, quantity: str) -> Tolerance:
        """Return the tolerance for a quantity of a sentence: its own, that of errors for a share, that of counts."""
        declared = quantity_of(quantity)
        names = (declared.published, quantity) if declared is not None else ()
        is_share = declared is not None and declared.is_share
        name = next((each for each in names if each in self.values), "")
        return self.values[name or ("test_error_percent" if is_share else "support_vectors")]


@cache
def rules() -> Rules:
    """Return the rules.

    Raises
    ------
    ConfigError
        If the file cannot be read, or does not speak of every published table and of what exists only.
    """
    file = document.read(resources.bundled("configs/published") / FILE, ConfigError)
    read: Rules = file.root.validated(Rules)
    for name in read.tables:
        if name not in published.names():
            raise file["tables"].unknown("table", name, published.names())
    for name in published.names():
        if name not in read.tables:
            raise file["tables"].error(f"'{name}' is missing; every reported table must be listed here")
    return read
