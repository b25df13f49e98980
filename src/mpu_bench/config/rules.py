"""The words of a config's ``compare``, ``known`` and ``claims``: how measured numbers are set against printed ones."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Tolerance(_Strict):
    """How far a measured number may be from the printed one; it may be as far as the most generous part says.

    ``relative`` and ``absolute``: of the printed number. ``deviations``: so many joint standard deviations.
    ``at_most``: so many times the printed number, whatever lies below. ``ratio_to``: not the number is compared but
    its ratio to that of another solver, which may be up to ``factor`` times larger or smaller than the printed one.
    """

    relative: Positive | None = None
    absolute: Positive | None = None
    deviations: Positive | None = None
    at_most: Positive | None = None
    ratio_to: str | None = None
    factor: Annotated[float, Field(gt=1, allow_inf_nan=False)] | None = None

    @model_validator(mode="after")
    def _says_something(self) -> Tolerance:
        if (self.ratio_to is None) != (self.factor is None):
            raise ValueError("ratio_to and factor go together, such as {ratio_to: dcd, factor: 2}")
        if all(value is None for value in (self.relative, self.absolute, self.deviations, self.at_most, self.ratio_to)):
            raise ValueError("give relative, absolute, deviations, at_most, or ratio_to with factor")
        return self


class Exceptional(Tolerance):
    """A tolerance for some datasets and solvers; for all, where none are named."""

    datasets: list[str] = []
    solvers: list[str] = []


class Rule(Tolerance):
    """A tolerance, ``but`` another one for some datasets and solvers: the first that names them, if one does."""

    but: list[Exceptional] = []

    def tolerance(self, dataset: str, solver: str) -> Tolerance:
        """Give the tolerance for one cell."""
        for each in self.but:
            if (not each.datasets or dataset in each.datasets) and (not each.solvers or solver in each.solvers):
                return each
        return self


class Where(_Strict):
    """Which rows of the results are meant; what is left out may be anything."""

    dataset: str | None = None
    solver: str | None = None
    budget: int | None = None
    parameters: dict[str, Any] = {}


class Known(_Strict):
    """A number that is known not to come out, with what it comes to instead, and the evidence.

    It is no fault as long as it stays where it is; it becomes one when it moves.
    """

    dataset: str | None = None
    solver: str | None = None
    budget: int | None = None
    parameters: dict[str, Any] = {}
    table: str | None = None
    column: str | None = None
    claim: str | None = None
    measured: float | None = None
    relative: Positive | None = None
    absolute: Positive | None = None
    reason: Annotated[str, Field(min_length=1)]

    @model_validator(mode="after")
    def _names_something(self) -> Known:
        if (self.column is None) == (self.claim is None):
            raise ValueError("name the column of a printed table, or the claim, that is known not to come out")
        if self.column is not None and (self.measured is None or (self.relative is None and self.absolute is None)):
            raise ValueError("give what is measured, and relative or absolute: how far it may move")
        return self


class Printed(_Strict):
    """A number of a published table, by the row of its CSV (1 is the first) and its column."""

    table: str
    row: Annotated[int, Field(ge=1)]
    column: str


class Claim(_Strict):
    """Something a paper says without a table: a single number, an order, or the shape of a curve.

    ``number``: the mean of ``quantity`` over the rows ``where``, to be within ``rule`` of ``printed``.
    ``order``: ``quantity`` rises from each of ``rows`` to the next; equal is allowed within ``slack`` relative.
    ``below``: on the curves of ``quantity`` against ``against``, that of ``where`` lies below those of ``rows``, for at
    least ``share`` of the way from ``from`` to ``up_to`` (on a log axis).
    ``rises``: the curve of ``where`` ends at least ``by`` above its lowest point.
    ``bound``: in every one of the rows ``where``, ``quantity`` is at most ``against``, another quantity of that row.
    ``slope``: the slope of log ``quantity`` against log ``against`` over the rows ``where`` lies in ``between``; along
    their curve from ``from`` to ``up_to`` where ``against`` is ``presented``; with ``speed_up_over`` another row, that
    of how many times larger the quantity is there, on the same dataset.
    ``statistic``: of ``solvers`` over the datasets that all of them have, by ``test`` (``alternative`` is Wilcoxon's);
    of the results, or where ``of`` names a printed table, of its column ``quantity``. It is the p-value that is
    compared where the printed column is ``p_value``, else the statistic.

    Only rows of ``datasets`` count, if any are named.
    """

    claim: Annotated[str, Field(min_length=1)]
    kind: Literal["number", "order", "below", "rises", "bound", "slope", "statistic"]
    quantity: str
    against: str = "kernel_evaluations"
    where: Where = Where()
    rows: list[Where] = []
    datasets: list[str] = []
    speed_up_over: Where | None = None
    printed: float | Printed | None = None
    rule: Rule | None = None
    slack: float = 0.0
    share: float = 1.0
    start: float | None = Field(default=None, alias="from")
    up_to: float | None = None
    by: float | None = None
    between: Annotated[list[float], Field(min_length=2, max_length=2)] | None = None
    test: Literal["wilcoxon", "friedman"] | None = None
    alternative: Literal["two-sided", "less", "greater"] = "two-sided"
    solvers: list[str] = []
    of: str | None = None

    @model_validator(mode="after")
    def _is_complete(self) -> Claim:
        needed = {
            "number": ("printed", "rule"),
            "order": ("rows",),
            "below": ("rows",),
            "rises": ("by",),
            "bound": (),
            "slope": ("between",),
            "statistic": ("test", "solvers", "printed", "rule"),
        }
        missing = [name for name in needed[self.kind] if getattr(self, name) in (None, [])]
        if missing:
            raise ValueError(f"a claim of the kind '{self.kind}' needs {' and '.join(missing)}")
        if self.kind == "statistic" and len(self.solvers) < (3 if self.test == "friedman" else 2):
            raise ValueError("a test needs the solvers it compares: two, or for friedman three or more")
        return self


class Judging(_Strict):
    """All that a config says of how its results are judged.

    ``compare`` maps a printed table to its columns and their rules.
    """

    compare: dict[str, dict[str, Rule]] = {}
    known: list[Known] = []
    claims: list[Claim] = []
