"""A row of comparison.csv: one reported number beside a measured one, or one claim; how rows are counted and worded."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from mpu_bench.config.rules import Explained, Fitted
from mpu_bench.quantities import quantity_of
from mpu_bench.verdict import judge
from mpu_bench.verdict.verdict import Finding, Verdict

VALUE, RATIO, CLAIM = COUNTED = ("value", "ratio", "claim")  #: the kinds that say whether a paper is reproduced
FACT, SET, RECOMPUTED = ("fact", "set", "recomputed")


@dataclass(frozen=True)
class Cell:
    """A row of comparison.csv: one printed number beside a measured one, or one claim.

    Attributes
    ----------
    kind : {"value", "ratio", "claim", "fact", "set", "recomputed"}
    table : str
        The published table; empty for a claim that cites none.
    row : int
        That of the published table, from 1; 0 where there is none.
    column, over : str
        Of the published table; of a claim, its words. Seconds are ``over`` those of another solver in a ratio.
    direction, judged : str
        Of a difference: "higher" or "lower", and where that has a meaning "better" or "worse".
    explained, evidence : str
        Why it does not come out, and what shows it; they change no verdict.
    points, points_measured, contradicted : int
        Of a claim: over how many it ranges, how many are measured, how many contradict it.
    timed : int
        Of a claim, 1 where it is about seconds, which no other machine or hour repeats.
    is_elsewhere : bool
        Whether its dataset is no part of the run.
    seconds : str
        The training seconds of its runs, for people.
    """

    kind: str
    table: str = ""
    row: int = 0
    dataset: str = ""
    solver: str = ""
    budget: str = ""
    parameters: str = ""
    column: str = ""
    sentence: str = ""
    published: float | None = None
    published_std: float | None = None
    published_runs: int | None = None
    measured: float | None = None
    measured_std: float | None = None
    count: int = 0
    difference: float | None = None  #: measured - published
    allowed: float | None = None
    p_value: float | None = None
    verdict: Verdict = Verdict.NOT_RUN
    direction: str = ""
    judged: str = ""
    remark: str = ""
    explained: str = ""
    evidence: str = ""
    points: int = 0
    points_measured: int = 0
    contradicted: int = 0
    timed: int = 0
    over: str = ""
    is_elsewhere: bool = field(default=False, compare=False)
    seconds: str = field(default="", compare=False)

    @property
    def what(self) -> str:
        """What the numbers are, as people read it: "seconds", "seconds / dcd's", the words of a claim."""
        return f"{self.column} / {self.over}'s" if self.over else self.column

    @property
    def is_against(self) -> bool:
        """Whether it is not reproduced, or contradicted."""
        return self.verdict.finding is Finding.AGAINST

    def written(self) -> dict[str, Any]:
        """Return the row of comparison.csv, whose ``column`` is `what`."""
        return {name: getattr(self, "what" if name == "column" else name) for name in COLUMNS}

    @classmethod
    def of_written(cls, row: Mapping[str, Any]) -> Cell:
        """Return the cell of a row of comparison.csv."""
        if row["kind"] != RATIO:
            return cls(**row)
        column, _, over = row["column"].partition(" / ")
        return cls(**{**row, "column": column}, over=over.removesuffix("'s"))


COLUMNS = tuple(name for name in Cell.__dataclass_fields__ if name not in ("over", "is_elsewhere", "seconds"))


def count_verdicts(cells: Sequence[Cell]) -> dict[Verdict, int]:
    """Return how many values, ratios and claims have each verdict."""
    counts = Counter(cell.verdict for cell in cells if cell.kind in COUNTED)
    return {verdict: counts[verdict] for verdict in Verdict}


def number_in(text: str | None) -> float | None:
    """Return the number that a text is; None of a text that is none."""
    try:
        return float(text) if text else None
    except ValueError:
        return None


def judged(cell: Cell, judgement: judge.Judgement, *remarks: str) -> Cell:
    """Return a cell with a verdict and how it came about."""
    return replace(
        cell,
        verdict=judgement.verdict,
        allowed=judgement.allowed,
        p_value=judgement.p_value,
        remark="; ".join(filter(None, [judgement.remark, *remarks])),
    )


def with_difference(cell: Cell) -> Cell:
    """Return a cell with its difference, and for one that differs which way."""
    assert cell.measured is not None
    assert cell.published is not None
    cell = replace(cell, difference=cell.measured - cell.published)
    if cell.verdict not in (Verdict.NOT_REPRODUCED, Verdict.INCONCLUSIVE, Verdict.WITHIN_5X) or not cell.difference:
        return cell
    direction = "higher" if cell.difference > 0 else "lower"
    quantity = quantity_of(cell.column)
    if cell.kind in (FACT, RECOMPUTED) or quantity is None or not quantity.better:
        return replace(cell, direction=direction)
    return replace(cell, direction=direction, judged="better" if quantity.better == direction else "worse")


def with_explanation(cell: Cell, explained: Sequence[Explained]) -> Cell:
    """Set beside a cell that does not come out why that is, and what shows it."""
    if not cell.is_against:
        return cell
    entry = next((entry for entry in explained if _is_meant(entry, cell)), None)
    if entry is None:
        return cell
    if isinstance(entry.evidence, str):
        return replace(cell, explained=entry.because, evidence=entry.evidence)
    ((kind, text),) = entry.evidence.items()
    return replace(cell, explained=entry.because, evidence=f"{'in print' if kind == 'print' else kind}: {text}")


def as_fitted(cell: Cell, fitted: Sequence[Fitted]) -> Cell:
    """Return a cell that agrees as fitted, where a setting was read off its published number."""
    if cell.verdict is not Verdict.REPRODUCED:
        return cell
    for entry in fitted:
        is_meant = (entry.table, entry.column) == (cell.table, cell.column) and cell.dataset in entry.datasets
        if is_meant and cell.solver in (entry.solvers or [cell.solver]):
            return replace(cell, verdict=Verdict.FITTED, remark=entry.how)
    return cell


def _is_meant(entry: Explained, cell: Cell) -> bool:
    if entry.sentence is not None or not cell.column:
        return entry.sentence in (cell.sentence, cell.column)  # a claim of the config is named by its words
    parameters = json.loads(cell.parameters or "{}")
    named = {"dataset": cell.dataset, "solver": cell.solver, "budget": number_in(cell.budget)}
    return (
        entry.column == cell.column
        and entry.table in (None, cell.table)
        and all(getattr(entry, name) in (None, value) for name, value in named.items())
        and all(parameters.get(name) == value for name, value in entry.parameters.items())
    )


def do_not_come_out(cells: Sequence[Cell]) -> list[Cell]:
    """Return the values, ratios and claims that speak against a paper; first those that nothing explains."""
    missed = [cell for cell in cells if cell.kind in COUNTED and cell.is_against]
    return sorted(missed, key=lambda cell: bool(cell.explained))


def summarize_verdicts(cells: Sequence[Cell]) -> str:
    """Return how many values, ratios and claims have each verdict; where there are none, how many of the rest."""
    here = [cell for cell in cells if not cell.is_elsewhere]
    words = [f"{verdict.word} {count}" for verdict, count in count_verdicts(here).items() if count]
    if elsewhere := sum(count_verdicts(cells).values()) - sum(count_verdicts(here).values()):
        words.append(f"of other datasets {elsewhere}")
    if words or not cells:
        return ", ".join(words) or "nothing reported to compare with"
    apart = Counter(f"{cell.kind} {cell.verdict.word}" for cell in cells)
    return "no value, ratio or claim; " + ", ".join(f"{verdict} {count}" for verdict, count in apart.items())


def remark_text(cell: Cell) -> str:
    """Return what limits a verdict, and what explains it with the evidence."""
    evidence = f" ({cell.evidence})" if cell.evidence else ""
    return "; ".join(filter(None, [cell.remark, f"explained: {cell.explained}{evidence}" if cell.explained else ""]))


def verdict_text(cell: Cell) -> str:
    """Return a verdict with what belongs to it: which way it differs, how many points of a claim are measured."""
    more = [cell.direction, cell.judged] if cell.is_against else []
    if cell.points and cell.verdict != Verdict.SUPPORTED:
        more = [f"{cell.points_measured} of {cell.points} measured"]
        more += [f"{cell.contradicted} against"] if cell.contradicted else []
    more += ["explained"] if cell.explained else []
    words = ", ".join(filter(None, more))
    return f"{cell.verdict.word} ({words})" if words else cell.verdict.word


def solver_text(cell: Cell) -> str:
    """Return a cell's solver, with what tells it apart."""
    parameters = json.loads(cell.parameters) if cell.parameters else {}
    words = [str(parameters[name]) for name in ("maintenance",) if name in parameters]
    return " ".join([cell.solver, *words, *([f"B={cell.budget}"] if cell.budget else [])])
