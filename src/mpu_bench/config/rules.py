"""The keys ``published``, ``claims`` and ``explained``: what a config's results are compared with.

How far a measured number may be from a published one is no key of a config: configs/published/rules.yaml says it, once
for every dataset. The sentences of the papers are stated with the keys of ``claims``, in configs/published/sentences/.
"""

import itertools
import math
from collections.abc import Callable, Collection, Iterator
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from mpu_bench import published, solvers
from mpu_bench.config.bounds import MAX_ENTRIES, MAX_POINTS, combinations
from mpu_bench.document import MisfitError, Node, Positive, Strict
from mpu_bench.quantities import CHECKPOINT_COLUMNS, QUANTITIES

Text = Annotated[str, Field(min_length=1)]

AXES = (*QUANTITIES, *CHECKPOINT_COLUMNS, "n", "d", "n_test", "classes", "budget_vectors")  #: of curves and of slopes


def _list(value: Any) -> Any:
    return value if isinstance(value, list) or value is None else [value]


class After(Strict):
    """A position on a curve: where the run had made this number of passes; or all ``later`` ones, as a mean."""

    passes: Positive
    later: bool = False


class Where(Strict):
    """Selects result rows; an omitted key matches anything.

    ``after``: what is meant is not the end of the runs but the position on their curve.
    """

    dataset: str | None = None
    solver: str | None = None
    budget: int | None = None
    kernel: str | None = None
    experiment: str | None = None
    parameters: dict[str, Any] = {}
    after: After | None = None


Wheres = Annotated[list[Where], Field(min_length=1), BeforeValidator(_list)]


def _of_runs(where: Where) -> Where:
    if where.after is not None:
        raise MisfitError("after", "only whole runs count here; leave it out")
    return where


Runs = Annotated[Where, AfterValidator(_of_runs)]  #: whole runs, not a position on their curve

#: ``{dataset: [a1a, a2a], C: 2}``: every combination is a point
Range = dict[str, str | int | float | list[str | int | float]]


class Printed(Strict):
    """A number of a published table, by the row of its CSV (1 is the first) and its column."""

    table: str
    row: Annotated[int, Field(ge=1)]
    column: str


class Explained(Where):
    """Why a reported number, or a claim, is not reproduced, and the evidence; it changes no verdict.

    ``evidence`` is the name of a config that anyone can run; ``{print: ...}``: where print contradicts itself;
    ``{computed: ...}``: numbers, and how to get them; or, where no cause is known, ``{excluded: ...}``: what was tried.
    """

    table: str | None = None
    column: str | None = None
    sentence: str | None = None
    because: Text
    evidence: str | Annotated[dict[Literal["print", "computed", "excluded"], Text], Field(min_length=1, max_length=1)]

    @model_validator(mode="after")
    def _names_something(self) -> Self:
        if (self.column is None) == (self.sentence is None):
            raise ValueError("name the column of a published table, or the sentence, that does not come out")
        _of_runs(self)
        return self


class Fitted(Strict):
    """Numbers of a published table that a setting of the config was read off: they agree by construction.

    Of some datasets, and of some solvers or of all. ``how`` says which setting, and off what.
    """

    table: str
    column: str
    datasets: Annotated[list[str], Field(min_length=1)]
    solvers: list[str] = []
    how: Text


class _Statement(Strict):
    """What all kinds have: the quantity, and the points over which the statement ranges.

    ``each`` lists the points, whole, as the paper says it: mappings of ``dataset``, ``solver``, ``budget``, ``kernel``
    or a parameter to a value or a list of values, whose combinations are points. What ``of`` and ``than`` name
    themselves holds before the point. With ``most`` the statement is of more than half of the points, not of all.
    """

    quantity: str
    each: Annotated[list[Range], Field(min_length=1), BeforeValidator(_list)]
    most: bool = False

    @model_validator(mode="after")
    def _has_few_points(self) -> Self:
        points = sum(map(combinations, self.each))
        if points > MAX_POINTS:
            raise MisfitError("each", f"has {points:,} points, and the limit is {MAX_POINTS:,}")
        return self

    def points(self) -> Iterator[dict[str, Any]]:
        """Yield the points, each a value for each of its keys."""
        for part in self.each:
            values = [value if isinstance(value, list) else [value] for value in part.values()]
            for combination in itertools.product(*values):
                yield dict(zip(part, combination, strict=True))


class OrderStatement(_Statement):
    """``quantity`` of ``of`` is lower, or higher, than that of each of ``than``; at least ``by_factor`` times.

    Up to ``slack``, in the quantity's unit, where the paper gives one. With ``over``, it is said of how many times
    larger the quantity of ``over`` is, on the same dataset: a speed-up.
    """

    kind: Literal["lower", "higher"]
    of: Where = Where()
    than: Wheres
    over: Runs | None = None
    by_factor: Positive = 1.0
    slack: Annotated[float, Field(ge=0)] = 0.0


class AlikeStatement(_Statement):
    """``quantity`` of ``of`` is about that of each of ``than``: as near as rules.yaml requires of what is alike.

    Or ``within`` so much, where the paper says how much, or within ``within_factor``.
    """

    kind: Literal["alike"]
    of: Where = Where()
    than: Wheres
    within: Positive | None = None
    within_factor: Annotated[float, Field(gt=1)] | None = None
    printed: Printed | None = None  #: the number of the paper that is said so


class TrendStatement(_Statement):
    """``quantity`` of ``of`` rises, or falls, from each entry of ``along`` to the next, in the order of ``each``.

    With ``over``, how many times larger the quantity of ``over`` is: a speed-up. With ``between: ends``, from the first
    entry to the last alone: what is said to rise "as" another does, need not at every step.
    """

    kind: Literal["rising", "falling"]
    of: Where = Where()
    over: Runs | None = None
    along: str
    between: Literal["steps", "ends"] = "steps"

    @model_validator(mode="after")
    def _goes_along_its_points(self) -> Self:
        if not all(self.along in part for part in self.each):
            raise MisfitError("along", f"each: has no '{self.along}' to go along; give its values there")
        return self


class Extent(Strict):
    """A position on an axis: a multiple of n, the number of training examples, or n^2, or the curve's own end.

    Or where the curve of ``of`` had made this number of ``passes``.
    """

    examples: Positive | None = None
    examples_squared: Positive | None = None
    end: Positive | None = None
    passes: Positive | None = None

    @model_validator(mode="after")
    def _says_one(self) -> Self:
        if [self.examples, self.examples_squared, self.end, self.passes].count(None) != 3:  # one is given
            raise ValueError("give one of examples, examples_squared, end, passes")
        return self

    def of(self, n: int, end: float, after: Callable[[float], float]) -> float:
        """Return the position for n examples and a curve that ends at ``end`` and stands at ``after`` some passes."""
        if self.end is not None:
            return self.end * end
        if self.passes is not None:
            return after(self.passes)
        return self.examples * n if self.examples is not None else (self.examples_squared or 0.0) * n * n


Position = Annotated[float, Field(ge=0)] | Extent
End = Annotated[float, Field(ge=-math.inf, allow_inf_nan=True)]  #: of an interval that may have none


class CurveStatement(_Statement):
    """The curve of ``of`` lies below, above or near those of ``than`` from ``from`` to ``up_to``."""

    kind: Literal["below", "above", "near"]
    of: Runs
    than: Annotated[list[Runs], Field(min_length=1), BeforeValidator(_list)]
    against: str = "kernel_evaluations"
    start: Position | None = Field(default=None, alias="from")
    up_to: Position | None = None


class CriticalStatement(_Statement):
    """The curve of ``of`` has a critical point: the last position at which it is ``before`` times its last value.

    Up to that position it is never within ``after`` times its last value, and from twice that position on always.
    """

    kind: Literal["critical"]
    of: Runs
    against: str = "kernel_evaluations"
    before: Annotated[float, Field(gt=1)] = 2.0
    after: Annotated[float, Field(gt=1)] = 1.1


class SlopeStatement(_Statement):
    """The slope of log ``quantity`` against log ``against`` lies in ``between``.

    Over the rows of each point, or along their curve from ``from`` to ``up_to`` where ``against`` is ``presented`` or
    ``passes``.
    With ``over``, that of how many times larger the quantity of ``over`` is, on the same dataset.
    """

    kind: Literal["slope"]
    of: Where = Where()
    over: Runs | None = None
    against: str
    between: Annotated[list[End], Field(min_length=2, max_length=2)]
    start: float | None = Field(default=None, alias="from")
    up_to: float | None = None


class BoundStatement(_Statement):
    """In every run of ``of``, ``quantity`` is at most ``against``.

    That is another quantity, or a parameter, of that run, or a number; of several, their product.
    """

    kind: Literal["bound"]
    of: Runs
    against: Annotated[list[str | float], Field(min_length=1), BeforeValidator(_list)]


class NumberStatement(_Statement):
    """The mean of ``quantity`` of ``of`` is ``printed``, as near as rules.yaml requires.

    Or at every point ``within`` so much, where the paper gives a number roughly.
    """

    kind: Literal["number"]
    of: Where = Where()
    printed: float | Printed
    within: Positive | None = None

    @model_validator(mode="after")
    def _is_rough_in_the_text(self) -> Self:
        if self.within is not None and isinstance(self.printed, Printed):
            raise ValueError("within is for a number in the text; the rule for a table's cell is in rules.yaml")
        if self.within is None and self.of.after is not None:
            raise MisfitError("of", "a position on a curve (after) needs within; leave one out, or give the other")
        return self


class SignificantStatement(Strict):
    """Whether ``solvers`` differ over ``datasets``, by ``test`` at ``level``: the decision of the paper.

    ``alternative`` is Wilcoxon's, of the first solver to the second; ``decision: "not shown"`` where the paper does not
    find them different. With ``of``, the statistic or p-value of a column of a published table, beside ``printed``.
    """

    kind: Literal["significant"]
    quantity: str
    test: Literal["wilcoxon", "friedman"]
    solvers: list[str]
    datasets: list[str] = []
    alternative: Literal["two-sided", "less", "greater"] = "two-sided"
    level: Annotated[float, Field(gt=0, lt=1)] = 0.01
    decision: Literal["shown", "not shown"] = "shown"
    of: str | None = None
    printed: Printed | None = None
    ties: Literal["as ties", "as computed"] = "as ties"
    corrected: bool = False

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if len(self.solvers) < (3 if self.test == "friedman" else 2):
            raise ValueError("a test needs the solvers it compares: two, or for friedman three or more")
        if (self.of is None) != (self.printed is None) or (self.of is None) == (not self.datasets):
            raise ValueError("give the datasets, or a published table with of: and the number that is printed:")
        return self


Statement = Annotated[
    OrderStatement
    | AlikeStatement
    | TrendStatement
    | CurveStatement
    | CriticalStatement
    | SlopeStatement
    | BoundStatement
    | NumberStatement
    | SignificantStatement,
    Field(discriminator="kind"),
]


class Claim(Strict):
    """A statement, in words and formally."""

    claim: Text
    statement: Statement


class Sentence(Strict):
    """A sentence of a paper: where it stands, and its statement, or why there is none.

    ``experiments`` are the configs whose results answer it, all together.
    """

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$")]
    claim: str = ""
    quote: Text
    at: Text
    experiments: list[str] = []
    statement: Statement | None = None
    no_statement: Text | None = None

    @model_validator(mode="after")
    def _is_judged_or_says_why_not(self) -> Self:
        if (self.statement is None) == (self.no_statement is None):
            raise ValueError("give a statement, or in no_statement the reason why there is none")
        if self.statement is not None and not (self.experiments and self.claim):
            raise ValueError("a statement needs a claim, what it says in few words, and the experiments that answer it")
        return self


class Observation(Strict):
    """What results show that no paper says, or under which setting a reported number comes out.

    It is judged as a sentence is, and counts for and against no paper.
    """

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$")]
    claim: Text
    experiments: Annotated[list[str], Field(min_length=1)]
    statement: Statement


class Judging(Strict):
    """What a config's results are compared with: published tables, claims; and what explains a difference.

    The numbers of the first table that has a row for a result stand beside it.
    """

    published: Annotated[list[str], BeforeValidator(lambda value: [] if value is None else _list(value))] = Field(
        [],
        max_length=MAX_ENTRIES,
        description="The reported tables with which the results are compared and judged.",
    )
    claims: list[Claim] = Field([], max_length=MAX_ENTRIES, description="Your claims, judged like those of the papers.")
    explained: list[Explained] = Field(
        [],
        max_length=MAX_ENTRIES,
        description="Why a reported number or a claim is not reproduced, with the evidence; it changes no verdict.",
    )
    fitted: list[Fitted] = Field(
        [],
        max_length=MAX_ENTRIES,
        description="Reported numbers that a setting was read off, with how; where they agree they are counted apart.",
    )


def check_judging(judging: Judging, node: Node, labels: Collection[str] | None, known: Collection[str] | None) -> None:
    """Reject names that do not exist: of tables, their columns and rows, quantities, solvers, datasets, sentences.

    Parameters
    ----------
    judging : Judging
    node : Node
        What it was read from.
    labels : collection of str or None
        The datasets' names in tables, those of every profile; None where they are not known.
    known : collection of str or None
        The names of solvers; None where a solver of somebody's own is meant, whose file is not loaded.

    Raises
    ------
    UserError
        Of the node's type.
    """
    node["published"].check_names("table", published.names())
    for claim, below in zip(judging.claims, node["claims"].entries(), strict=True):
        check_statement(claim.statement, below["statement"], labels, known)
    for fitted, below in zip(judging.fitted, node["fitted"].entries(), strict=True):
        _check_where(below, labels, known)
        _check_column(fitted.table, fitted.column, below["column"], below["table"])
    for explained, below in zip(judging.explained, node["explained"].entries(), strict=True):
        _check_where(below, labels, known)
        if explained.table is not None:
            _check_column(explained.table, explained.column or "", below["column"], below["table"])


def check_statement(
    statement: Any, node: Node, labels: Collection[str] | None, known: Collection[str] | None = solvers.SOLVERS.keys()
) -> None:
    """Reject names in a statement that do not exist; those of datasets and solvers as `check_judging` says."""
    for below in (node["of"], node["over"], *node["than"].entries(), *node["each"].entries(), node):
        _check_where(below, labels, known)
    if isinstance(statement, SignificantStatement) and statement.of is not None:
        _check_column(statement.of, statement.quantity, node["quantity"], node["of"])
    else:
        node["quantity"].check_names("quantity", QUANTITIES)
    if not isinstance(statement, BoundStatement):  # whose bound may be a parameter
        node["against"].check_names("quantity", AXES)
    if isinstance(getattr(statement, "printed", None), Printed):
        _check_printed(statement.printed, node["printed"])


def _check_where(node: Node, labels: Collection[str] | None, known: Collection[str] | None) -> None:
    for what, valid in (("dataset", labels), ("solver", known)):
        for key in (what, f"{what}s"):
            node[key].check_names(what, valid)


def _check_column(table: str, column: str, node: Node, table_node: Node) -> None:
    """Reject a published table that does not exist, or a column that it does not have."""
    table_node.check_names("table", published.names())
    columns = published.table(table)[0]
    if column not in columns:
        raise node.error(f"{table} has no column '{column}'; {node.document.suggest(column, columns)}")


def _check_printed(printed: Printed, node: Node) -> None:
    _check_column(printed.table, printed.column, node["column"], node["table"])
    rows = published.table(printed.table)
    if printed.row > len(rows) or not rows[printed.row - 1][printed.column]:
        raise node["row"].error(
            f"row {printed.row} of {printed.table} prints no {printed.column}; it has {len(rows)} rows"
        )
