"""The words of ``compare``, ``known`` and ``claims``: how a config sets measured numbers against published ones."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from mpu_bench import published, solvers
from mpu_bench.document import Node, Positive, Strict
from mpu_bench.quantities import CHECKPOINT_COLUMNS, QUANTITIES

Text = Annotated[str, Field(min_length=1)]

_AXES = (*QUANTITIES, *CHECKPOINT_COLUMNS, "n", "d", "n_test", "classes", "budget_vectors")  # of curves and of slopes


class Tolerance(Strict):
    """How far a measured number may be from the published one; the loosest of the given limits applies.

    ``relative`` and ``absolute``: of the published number. ``standard_deviations``: so many joint standard deviations.
    ``at_most``: so many times the published number, whatever lies below. ``ratio_to``: not the number is compared but
    its ratio to that of another solver, which may be up to ``factor`` times larger or smaller than the published one.
    """

    relative: Positive | None = None
    absolute: Positive | None = None
    standard_deviations: Positive | None = None
    at_most: Positive | None = None
    ratio_to: str | None = None
    factor: Annotated[float, Field(gt=1, allow_inf_nan=False)] | None = None

    @model_validator(mode="after")
    def _says_something(self) -> Tolerance:
        if (self.ratio_to is None) != (self.factor is None):
            raise ValueError("ratio_to and factor must go together, such as {ratio_to: dcd, factor: 2}")
        limits = (self.relative, self.absolute, self.standard_deviations, self.at_most, self.ratio_to)
        if all(limit is None for limit in limits):
            raise ValueError("give relative, absolute, standard_deviations, at_most, or ratio_to with factor")
        return self


class Override(Tolerance):
    """A tolerance for some datasets and solvers, as the table names them; for all, where none are named."""

    datasets: list[str] = []
    solvers: list[str] = []


class Rule(Tolerance):
    """A tolerance, with ``overrides`` for some datasets and solvers: the first that names them, if one does."""

    overrides: list[Override] = []

    def tolerance(self, dataset: str, solver: str) -> Tolerance:
        """Return the tolerance for one cell."""
        for each in self.overrides:
            if (not each.datasets or dataset in each.datasets) and (not each.solvers or solver in each.solvers):
                return each
        return self


class Where(Strict):
    """Selects result rows; an omitted key matches anything."""

    dataset: str | None = None
    solver: str | None = None
    budget: int | None = None
    parameters: dict[str, Any] = {}


class Known(Where):
    """A number that is known not to come out, with what it comes to instead, and the evidence.

    It is no fault as long as it stays where it is; it becomes one when it moves.
    """

    table: str | None = None
    column: str | None = None
    claim: str | None = None
    measured: float | None = None
    relative: Positive | None = None
    absolute: Positive | None = None
    reason: Text

    @model_validator(mode="after")
    def _names_something(self) -> Known:
        if (self.column is None) == (self.claim is None):
            raise ValueError("name the column of a published table, or the claim, that is known not to come out")
        if self.column is not None and (self.measured is None or (self.relative is None and self.absolute is None)):
            raise ValueError("give what is measured, and relative or absolute: how far it may move")
        return self


class Printed(Strict):
    """A number of a published table, by the row of its CSV (1 is the first) and its column."""

    table: str
    row: Annotated[int, Field(ge=1)]
    column: str


class _Claim(Strict):
    """What all kinds of claims say: their words, the quantity, and the rows of results they are about.

    Only rows of ``datasets`` count, if any are named. A number that is ``printed`` in a table and that a claim is about
    is not compared a second time.
    """

    claim: Text
    quantity: str
    where: Where = Where()
    datasets: list[str] = []
    printed: float | Printed | None = None


class CurveClaim(_Claim):
    """A claim about curves of ``quantity`` against ``against``."""

    against: str = "kernel_evaluations"


class NumberClaim(_Claim):
    """The mean of ``quantity`` over the rows ``where`` is within ``rule`` of ``printed``."""

    kind: Literal["number"]
    printed: float | Printed
    rule: Rule


class OrderClaim(_Claim):
    """``quantity`` rises from each of ``rows`` to the next; equal is allowed within ``slack`` relative."""

    kind: Literal["order"]
    rows: Annotated[list[Where], Field(min_length=1)]
    slack: float = 0.0


class BelowClaim(CurveClaim):
    """The curve of ``where`` lies below those of ``rows``.

    For at least ``share`` of the way from ``from`` to ``up_to`` on a log axis; equal is allowed within ``slack``.
    """

    kind: Literal["below"]
    rows: Annotated[list[Where], Field(min_length=1)]
    slack: float = 0.0
    share: float = 1.0
    start: float | None = Field(default=None, alias="from")
    up_to: float | None = None


class RisesClaim(CurveClaim):
    """The curve of ``where`` ends at least ``by`` above its lowest point."""

    kind: Literal["rises"]
    by: float


class BoundClaim(_Claim):
    """In every one of the rows ``where``, ``quantity`` is at most ``against``, another quantity of that row.

    Up to ``slack`` relative.
    """

    kind: Literal["bound"]
    against: str
    slack: float = 0.0


class SlopeClaim(CurveClaim):
    """The slope of log ``quantity`` against log ``against`` over the rows ``where`` lies in ``between``.

    Along their curve from ``from`` to ``up_to`` where ``against`` is ``presented``; with ``speed_up_over`` another row,
    that of how many times larger the quantity is there, on the same dataset.
    """

    kind: Literal["slope"]
    between: Annotated[list[float], Field(min_length=2, max_length=2)]
    start: float | None = Field(default=None, alias="from")
    up_to: float | None = None
    speed_up_over: Where | None = None


class StatisticClaim(_Claim):
    """A statistic of ``solvers`` over the datasets that all of them have, by ``test``.

    Of the results, or where ``of`` names a published table, of its column ``quantity``; ``alternative`` is Wilcoxon's.
    The p-value is compared where the printed column is ``p_value``, else the statistic.
    """

    kind: Literal["statistic"]
    test: Literal["wilcoxon", "friedman"]
    solvers: list[str]
    printed: float | Printed
    rule: Rule
    alternative: Literal["two-sided", "less", "greater"] = "two-sided"
    of: str | None = None

    @model_validator(mode="after")
    def _compares_enough(self) -> StatisticClaim:
        if len(self.solvers) < (3 if self.test == "friedman" else 2):
            raise ValueError("a test needs the solvers it compares: two, or for friedman three or more")
        return self


Claim = Annotated[
    NumberClaim | OrderClaim | BelowClaim | RisesClaim | BoundClaim | SlopeClaim | StatisticClaim,
    Field(discriminator="kind"),
]


class Judging(Strict):
    """All that a config says of how its results are set against published numbers.

    ``compare`` maps a published table to its columns and their rules.
    """

    compare: dict[str, dict[str, Rule]] = {}
    known: list[Known] = []
    claims: list[Claim] = []


def check_rules(rules: Judging, node: Node, labels: Collection[str]) -> None:
    """Refuse names that do not exist: of tables, their columns and rows, quantities, solvers, datasets, claims.

    Parameters
    ----------
    rules : Judging
    node : Node
        The whole config.
    labels : collection of str
        The datasets' names in tables, those of every profile.

    Raises
    ------
    ConfigError
    """
    for table, columns in rules.compare.items():
        for column, rule in columns.items():
            _check_rule(rule, table, column, node["compare"][table][column])
        check_table(table, node["compare"][table])
    for position, claim in enumerate(rules.claims):
        _check_claim(claim, node["claims"][position], labels)
    for position, known in enumerate(rules.known):
        below = node["known"][position]
        _check_where(below, labels)
        _check_names(below["claim"], "claim", [claim.claim for claim in rules.claims])
        _check_names(below["table"], "table under compare", rules.compare)
        if known.table is not None and known.column is not None:
            check_column(known.table, known.column, below["column"])


def _check_rule(rule: Rule, table: str, column: str, node: Node) -> None:
    check_column(table, column, node)
    rows = published.table(table)
    if "dataset" not in rows[0]:
        raise node.error(
            f"{table} has no column 'dataset', by which results are set beside its rows; say what answers it as a claim"
        )
    _check_names(node["ratio_to"], "solver", solvers.SOLVERS)
    for position in range(len(rule.overrides)):
        override = node["overrides"][position]
        _check_names(override["datasets"], "dataset", {row["dataset"] for row in rows})
        _check_names(override["solvers"], "solver", {row.get("solver", "") for row in rows})


def _check_claim(claim: Any, node: Node, labels: Collection[str]) -> None:
    for below in (
        node["where"],
        node["speed_up_over"],
        *(node["rows"][i] for i in range(len(node["rows"].value or ()))),
    ):
        _check_where(below, labels)
    _check_names(node["datasets"], "dataset", labels)
    if isinstance(claim.printed, Printed):
        _check_printed(claim.printed, node["printed"])
    if isinstance(claim, StatisticClaim) and claim.of is not None:
        check_column(claim.of, claim.quantity, node["quantity"], node["of"])
        _check_names(node["solvers"], "solver", {row.get("solver", "") for row in published.table(claim.of)})
        return
    _check_names(node["solvers"], "solver", solvers.SOLVERS)
    _check_names(node["quantity"], "quantity", QUANTITIES)
    _check_names(node["against"], "quantity", QUANTITIES if isinstance(claim, BoundClaim) else _AXES)


def _check_where(node: Node, labels: Collection[str]) -> None:
    _check_names(node["dataset"], "dataset", labels)
    _check_names(node["solver"], "solver", solvers.SOLVERS)


def _check_names(node: Node, what: str, valid: Iterable[str]) -> None:
    """Refuse a name, or one of a list, that does not exist; nothing is refused where nothing is named."""
    given = node.value if isinstance(node.value, list) else [node.value] if node.value is not None else []
    known = set(valid)
    for position, name in enumerate(given):
        if name not in known:
            raise (node[position] if isinstance(node.value, list) else node).unknown(what, name, known)


def check_table(table: str, node: Node) -> None:
    """Refuse a published table that does not exist."""
    if table not in published.names():
        raise node.unknown("table", table, published.names())


def check_column(table: str, column: str, node: Node, table_node: Node | None = None) -> None:
    """Refuse a column that a published table does not have."""
    check_table(table, table_node or node)
    columns = published.table(table)[0]
    if column not in columns:
        raise node.error(f"{table} has no column '{column}'; {node.document.suggest(column, columns)}")


def _check_printed(printed: Printed, node: Node) -> None:
    check_column(printed.table, printed.column, node["column"], node["table"])
    rows = published.table(printed.table)
    if printed.row > len(rows) or not rows[printed.row - 1][printed.column]:
        raise node["row"].error(
            f"row {printed.row} of {printed.table} prints no {printed.column}; it has {len(rows)} rows"
        )
