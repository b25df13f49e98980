"""Printed against measured: a verdict for every cell of the papers' tables, and for what they claim without one.

better         measured beats the printed number by more than the rule allows
within         as near as the rule asks
differs-known  not within, known from before with its evidence, and where it was then
outside        not within, and not known
not run        there is no measured number, and why
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mpu_bench import published
from mpu_bench.config.rules import Claim, Judging, Known, NumberClaim, Printed, Rule, StatisticClaim, Tolerance
from mpu_bench.results import matching
from mpu_bench.results.curves import mean_curves_of
from mpu_bench.results.store import Store
from mpu_bench.results.summary import summaries
from mpu_bench.scaled import from_json
from mpu_bench.verdict import claims

Summary = dict[str, Any]  #: a row as `tables.summarize` gives it

BETTER, WITHIN, KNOWN, OUTSIDE, NOT_RUN = VERDICTS = ("better", "within", "differs-known", "outside", "not run")

#: columns of printed tables that say which cell is meant, or how exact it is, and are no cells themselves
_NAMES = (
    *("dataset", "solver", "budget", "bias", "setting", "note", "std", "lambda", "sigma2", "relative_deviation"),
    *("quantity", "test", "pair"),
)
FACTS = ("n", "n_test", "d", "classes", "largest_pair", "smallest_pair")  #: of datasets
_EXACT = Rule(absolute=1e-9)
_ANOTHER_LENGTH = 0.05
_LESS_IS_BETTER = {"objective", "seconds", "test_error_percent", "online_error_percent", "train_seconds"}
_MORE_IS_BETTER = {"accuracy_percent", "test_accuracy_percent"}


@dataclass(frozen=True)
class Cell:
    """A row of comparison.csv. ``kind`` is ``cell`` or ``claim``; a claim's words stand under ``column``.

    ``row`` is that of the printed table, from 1; 0 where there is none.
    """

    kind: str
    table: str
    dataset: str
    solver: str
    budget: str
    parameters: str
    column: str
    published: float | None
    published_std: float | None
    measured: float | None
    measured_std: float | None
    count: int
    absolute_deviation: float | None
    relative_deviation: float | None
    tolerance: str
    verdict: str
    reason: str
    row: int = 0


COLUMNS = tuple(Cell.__dataclass_fields__)


def compare(rows: Sequence[Summary], curves: Sequence[Mapping[str, Any]], judging: Judging) -> list[Cell]:
    """Judge results.

    Parameters
    ----------
    rows : sequence of mapping
        As `tables.summarize` gives them.
    curves : sequence of mapping
        As bands.csv holds them: curves averaged over seeds.
    judging : Judging
        What the config says.

    Returns
    -------
    list of Cell
        One for each printed number of the tables named under ``compare`` and each row of results that answers it, and
        one for each claim. A number that a claim is about has no other.
    """
    claimed = {each.printed for each in judging.claims if isinstance(each.printed, Printed)}
    cells = [
        replace(cell, row=place)
        for table, rules in judging.compare.items()
        for place, row, column in printed(table)
        if Printed(table=table, row=place, column=column) not in claimed
        for cell in _cells(table, row, column, _tolerance_of(row, rules.get(column)), rows)
    ]
    judged = [_known(cell, judging.known) for cell in cells]
    return judged + [_claimed(claim, rows, curves, judging.known) for claim in judging.claims]


def of_store(store: Store) -> list[Cell]:
    """Set the results of a store against what its config says they answer."""
    return of_rows(store, summaries(store), mean_curves_of(store))


def of_rows(store: Store, rows: Sequence[Summary], bands: Sequence[Summary]) -> list[Cell]:
    """Compare rows of a store that are at hand."""
    return compare(rows, bands, Judging.model_validate(store.fact("judging") or {}))


def printed(table: str) -> Iterator[tuple[int, Mapping[str, str], str]]:
    """List the numbers of a printed table by the row's place, row and column, each fact of a dataset once."""
    seen = set()
    for place, row in enumerate(published.table(table), start=1):
        for column, text in row.items():
            if not text or column in _NAMES or column.endswith("_std"):
                continue
            fact = (column, row.get("dataset"))
            if column not in FACTS or fact not in seen:
                seen.add(fact)
                yield place, row, column


def _tolerance_of(row: Mapping[str, str], rule: Rule | None) -> Tolerance | None:
    return None if rule is None else rule.tolerance(row.get("dataset", ""), row.get("solver", ""))


def _cells(
    table: str, row: Mapping[str, str], column: str, rule: Tolerance | None, rows: Sequence[Summary]
) -> list[Cell]:
    if column in FACTS:
        there = [each for each in rows if each["dataset"] == row.get("dataset") and _is_counted(each)]
        there = [each for each in there if each.get(column) is not None]
        answers = [each for each in there if column != "n" or _is_as_long(each, row)]
    elif rule is None:
        answers = []
    else:
        answers = [each for each in rows if matching.answers(row, _with_parameters(each)) and _is_as_long(each, row)]
    cell = Cell(
        kind="cell",
        table=table,
        dataset=row.get("dataset", ""),
        solver="" if column in FACTS else row.get("solver", ""),
        budget="" if column in FACTS else row.get("budget", ""),
        parameters="",
        column=column,
        published=_number(row[column]),
        published_std=_number(row.get("std") or row.get(f"{column.removesuffix('_percent')}_std")),
        measured=None,
        measured_std=None,
        count=0,
        absolute_deviation=None,
        relative_deviation=None,
        tolerance=_tolerance(rule, column),
        verdict=NOT_RUN,
        reason="" if answers else _why_not(row, rows, rule, column),
    )
    if column in FACTS and answers:
        return [_fact(cell, answers[0], rule)]
    return [_judge(cell, each, rule, rows) for each in answers if rule is not None] or [cell]


def _is_counted(row: Summary) -> bool:
    """Tell whether the data were there to be counted; before that, their card says what is expected."""
    return bool(row["count"] or row.get("largest_pair"))


def _is_as_long(result: Summary, printed: Mapping[str, str]) -> bool:
    """Tell whether a result is on about as many rows as were printed: a part of a stream is another experiment."""
    n = _number(printed.get("n"))
    return n is None or result["n"] is None or abs(result["n"] - n) <= _ANOTHER_LENGTH * n


def _with_parameters(row: Summary) -> Summary:
    return row | {"parameters": json.loads(row["parameters"], object_hook=from_json)}


def _number(text: str | None) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        return None


def _tolerance(rule: Tolerance | None, column: str) -> str:
    if rule is None:
        return "exact" if column in FACTS else ""
    given = rule.model_dump(exclude_none=True, include=set(Tolerance.model_fields))
    return ", ".join(f"{name.replace('_', ' ')} {value:g}" if isinstance(value, float) else f"{name.replace('_', ' ')}"
                     f" {value}" for name, value in given.items())  # fmt: skip


def _why_not(row: Mapping[str, str], rows: Sequence[Summary], rule: Tolerance | None, column: str) -> str:
    if rule is None and column not in FACTS:
        return f"the config has no rule for {column}"
    there = [each for each in rows if each["dataset"] == row.get("dataset")]
    if not there:
        return "the dataset is not part of this run"
    if column in FACTS and not any(map(_is_counted, there)):
        return "the data are not here"
    other = [each for each in there if not _is_as_long(each, row)]
    return f"run on {other[0]['n']} rows instead" if other else "no run answers this row"


def _fact(cell: Cell, row: Summary, rule: Tolerance | None) -> Cell:
    cell = replace(cell, measured=float(row[cell.column]), count=1)
    return _with_deviations(cell, judge(cell, rule or _EXACT))


def _judge(cell: Cell, row: Summary, rule: Tolerance, rows: Sequence[Summary]) -> Cell:
    quantity = matching.MEASURED.get(cell.column, cell.column)
    measured, deviation = row.get(f"{quantity}_mean"), row.get(f"{quantity}_std")
    cell = replace(
        cell, solver=row["solver"], parameters=row["parameters"], count=row["count"], measured=measured,
        measured_std=deviation,
    )  # fmt: skip
    if measured is None or cell.published is None:
        waiting = "planned and not yet run; the same command goes on" if row["status"] == NOT_RUN else row["status"]
        return replace(cell, reason=row["reason"] or waiting)
    reason = "" if row["count"] == row["planned"] else f"{row['count']} of {row['planned']} runs"
    if rule.ratio_to is not None:
        return replace(_judge_ratio(cell, row, rule, rows, quantity), reason=reason)
    return replace(_with_deviations(cell, judge(cell, rule)), reason=reason)


def judge(cell: Cell, rule: Tolerance) -> str:
    """Give the verdict on a measured number beside a printed one, not knowing what is known."""
    assert cell.measured is not None
    assert cell.published is not None
    printed, off = cell.published, abs(cell.measured - cell.published)
    joint = math.hypot(cell.published_std or 0.0, cell.measured_std or 0.0)
    allowed = max(
        (rule.relative or 0.0) * abs(printed), rule.absolute or 0.0, (rule.standard_deviations or 0.0) * joint
    )
    if rule.at_most is not None:
        return WITHIN if cell.measured <= rule.at_most * printed else OUTSIDE
    if off <= allowed * (1 + 1e-12):
        return WITHIN
    less = cell.column in _LESS_IS_BETTER and cell.measured < printed
    more = cell.column in _MORE_IS_BETTER and cell.measured > printed
    return BETTER if less or more else OUTSIDE


def _judge_ratio(cell: Cell, row: Summary, rule: Tolerance, rows: Sequence[Summary], quantity: str) -> Cell:
    """Judge a number as its ratio to another solver's, on both sides."""
    assert rule.factor is not None
    to = next((each for each in rows if _is_peer(each, row, rule)), None)
    printed = [each for each in published.table(cell.table) if each.get("dataset") == cell.dataset
               and each.get("solver") == rule.ratio_to and each.get("budget", "") == cell.budget]  # fmt: skip
    below = _number(printed[0][cell.column]) if len(printed) == 1 else None
    if to is None or not below or not to.get(f"{quantity}_mean"):
        return replace(cell, verdict=NOT_RUN, reason=f"{rule.ratio_to} was not run")
    assert cell.published is not None
    assert cell.measured is not None
    cell = replace(
        cell, published=cell.published / below, measured=cell.measured / to[f"{quantity}_mean"],
        published_std=None, measured_std=None, column=f"{cell.column} / {rule.ratio_to}'s",
    )  # fmt: skip
    assert cell.measured is not None
    assert cell.published is not None
    times = cell.measured / cell.published
    verdict = BETTER if times < 1 / rule.factor else WITHIN if times <= rule.factor else OUTSIDE
    return _with_deviations(cell, verdict)


def _is_peer(other: Summary, row: Summary, rule: Tolerance) -> bool:
    same = all(other[name] == row[name] for name in ("dataset", "budget_vectors"))
    return same and other["solver"] == rule.ratio_to


def _with_deviations(cell: Cell, verdict: str) -> Cell:
    assert cell.measured is not None
    assert cell.published is not None
    off = cell.measured - cell.published
    return replace(
        cell,
        verdict=verdict,
        absolute_deviation=off,
        relative_deviation=off / cell.published if cell.published else None,
    )


def _known(cell: Cell, known: Sequence[Known]) -> Cell:
    """Look up a cell among those that are known not to come out."""
    for each in known:
        if cell.verdict == OUTSIDE and each.column is not None and _is_meant(each, cell):
            assert each.measured is not None
            assert cell.measured is not None
            moved = abs(cell.measured - each.measured)
            if moved <= max((each.relative or 0.0) * abs(each.measured), each.absolute or 0.0):
                return replace(cell, verdict=KNOWN, reason=each.reason)
            return replace(cell, reason=f"was {each.measured:g} and has moved; known before: {each.reason}")
    return cell


def _is_meant(known: Known, cell: Cell) -> bool:
    parameters = json.loads(cell.parameters) if cell.parameters else {}
    return (
        known.column == cell.column.partition(" / ")[0]
        and known.table in (None, cell.table)
        and known.dataset in (None, cell.dataset)
        and known.solver in (None, cell.solver)
        and (known.budget is None or str(known.budget) == cell.budget)
        and all(parameters.get(name) == value for name, value in known.parameters.items())
    )


def _claimed(
    claim: Claim, rows: Sequence[Summary], curves: Sequence[Mapping[str, Any]], known: Sequence[Known]
) -> Cell:
    answer = claims.examine(claim, rows, curves)
    where, printed = claim.where, claim.printed
    rule = claim.rule if isinstance(claim, NumberClaim | StatisticClaim) else None
    table = printed.table if isinstance(printed, Printed) else ""
    cell = Cell(
        kind="claim", table=table, dataset=where.dataset or "", solver=where.solver or "",
        budget=str(where.budget or ""), parameters="", column=claim.claim,
        published=_look_up(printed), published_std=None, measured=answer.measured,
        measured_std=None, count=answer.runs, absolute_deviation=None, relative_deviation=None,
        tolerance=answer.tolerance or _tolerance(rule, ""), verdict=NOT_RUN, reason=answer.reason,
        row=printed.row if isinstance(printed, Printed) else 0,
    )  # fmt: skip
    if answer.holds is None and rule is not None and answer.measured is not None:
        return _known_claim(_with_deviations(cell, judge(cell, rule)), known)
    if answer.holds is None:
        return cell
    return _known_claim(replace(cell, verdict=WITHIN if answer.holds else OUTSIDE), known)


def _look_up(printed: float | Printed | None) -> float | None:
    if isinstance(printed, Printed):
        return float(published.table(printed.table)[printed.row - 1][printed.column])
    return printed


def _known_claim(cell: Cell, known: Sequence[Known]) -> Cell:
    for each in known:
        if cell.verdict == OUTSIDE and each.claim == cell.column:
            if each.measured is not None and cell.measured is not None:
                moved = abs(cell.measured - each.measured)
                if moved > max((each.relative or 0.0) * abs(each.measured), each.absolute or 0.0):
                    return replace(cell, reason=f"was {each.measured:g} and has moved; known before: {each.reason}")
            return replace(cell, verdict=KNOWN, reason=each.reason)
    return cell


def counts(cells: Sequence[Cell]) -> dict[str, int]:
    """Count the cells of each verdict."""
    return {verdict: sum(cell.verdict == verdict for cell in cells) for verdict in VERDICTS}
