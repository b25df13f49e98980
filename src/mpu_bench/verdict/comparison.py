"""Published against measured: a verdict for every cell of the papers' tables, and for what they claim without one.

better         measured beats the published number by more than the rule allows
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

from mpu_bench import published
from mpu_bench.config.rules import Claim, Judging, Known, NumberClaim, Printed, Rule, StatisticClaim, Tolerance, Where
from mpu_bench.quantities import PUBLISHED_COLUMNS, RunStatus, quantity_of
from mpu_bench.results import matching
from mpu_bench.results.curves import mean_curves_of
from mpu_bench.results.store import Store
from mpu_bench.results.summary import Summary, summaries
from mpu_bench.scaled import from_json
from mpu_bench.verdict import claims

BETTER, WITHIN, KNOWN, OUTSIDE, NOT_RUN = VERDICTS = ("better", "within", "differs-known", "outside", "not run")

#: columns of published tables that say which cell is meant, or how exact it is, and are no cells themselves
_NAMES = (
    *("dataset", "solver", "budget", "bias", "setting", "note", "std", "lambda", "sigma2", "relative_deviation"),
    *("quantity", "test", "pair"),
)
FACTS = ("n", "n_test", "d", "classes", "largest_pair", "smallest_pair")  #: of datasets
NOT_PART_OF_RUN = "the dataset is not part of this run"
_EXACT = Rule(absolute=1e-9)
_ANOTHER_LENGTH = 0.05  # relative, beyond which data of another length are another experiment


@dataclass(frozen=True)
class Cell:
    """A row of comparison.csv. ``kind`` is ``cell`` or ``claim``; a claim's words stand under ``column``.

    ``row`` is that of the published table, from 1; 0 where there is none.
    """

    kind: str
    table: str
    dataset: str
    solver: str
    budget: str
    parameters: str
    column: str
    published: float | None
    published_std: float | None = None
    measured: float | None = None
    measured_std: float | None = None
    count: int = 0
    difference: float | None = None  #: measured - published
    relative_difference: float | None = None  #: by the published number
    tolerance: str = ""
    verdict: str = NOT_RUN
    reason: str = ""
    row: int = 0


COLUMNS = tuple(Cell.__dataclass_fields__)


def compare(rows: Sequence[Summary], curves: Sequence[Summary], judging: Judging) -> list[Cell]:
    """Judge results.

    Parameters
    ----------
    rows : sequence of mapping
        As `summary.summarize` returns them.
    curves : sequence of mapping
        The rows of mean_curves.csv.
    judging : Judging
        What the config says.

    Returns
    -------
    list of Cell
        One for each published number of the tables named under ``compare`` and each row of results that answers it,
        and one for each claim. A number that a claim is about has no other.
    """
    claimed = {claim.printed for claim in judging.claims if isinstance(claim.printed, Printed)}
    cells = [
        replace(cell, row=number)
        for table, rules in judging.compare.items()
        for number, row, column in published_numbers(table)
        if Printed(table=table, row=number, column=column) not in claimed
        for cell in _cells(table, row, column, _tolerance_of(row, rules.get(column)), rows)
    ]
    cells += [_claim_cell(claim, rows, curves) for claim in judging.claims]
    return [_with_known_deviation(cell, judging.known) for cell in cells]


def of_store(store: Store) -> list[Cell]:
    """Return the cells of a store's results, judged by what its config says."""
    return of_rows(store, summaries(store), mean_curves_of(store))


def of_rows(store: Store, rows: Sequence[Summary], curves: Sequence[Summary]) -> list[Cell]:
    """Return the same of rows that were read before: those of table.csv and of mean_curves.csv."""
    return compare(rows, curves, Judging.model_validate(store.fact("judging") or {}))


def published_numbers(table: str) -> Iterator[tuple[int, Mapping[str, str], str]]:
    """Return the numbers of a published table by number of the row, row and column, each fact of a dataset once."""
    seen = set()
    for number, row in enumerate(published.table(table), start=1):
        for column, text in row.items():
            if not text or column in _NAMES or column.endswith("_std"):
                continue
            fact = (column, row.get("dataset"))
            if column not in FACTS or fact not in seen:
                seen.add(fact)
                yield number, row, column


def _tolerance_of(row: Mapping[str, str], rule: Rule | None) -> Tolerance | None:
    return None if rule is None else rule.tolerance(row.get("dataset", ""), row.get("solver", ""))


def _cells(
    table: str, row: Mapping[str, str], column: str, rule: Tolerance | None, rows: Sequence[Summary]
) -> list[Cell]:
    answers = _answers(row, column, rule, rows)
    is_fact = column in FACTS
    cell = Cell(
        kind="cell",
        table=table,
        dataset=row.get("dataset", ""),
        solver="" if is_fact else row.get("solver", ""),
        budget="" if is_fact else row.get("budget", ""),
        parameters="",
        column=column,
        published=_number(row[column]),
        published_std=_number(published.deviation(row, column)),
        tolerance=_tolerance_text(rule, column),
        reason="" if answers else _why_not_run(row, rows, rule, column),
    )
    if is_fact and answers:
        return [_fact_cell(cell, answers[0], rule)]
    return [_measured_cell(cell, answer, rule, rows) for answer in answers if rule is not None] or [cell]


def _answers(row: Mapping[str, str], column: str, rule: Tolerance | None, rows: Sequence[Summary]) -> Sequence[Summary]:
    """Return the rows of results that have what a cell of a published table prints."""
    if column in FACTS:
        same = [each for each in rows if each["dataset"] == row.get("dataset") and _is_counted(each)]
        return [each for each in same if each.get(column) is not None and (column != "n" or _is_as_long(each, row))]
    if rule is None:
        return []
    return [each for each in rows if matching.answers(row, _with_parameters(each)) and _is_as_long(each, row)]


def _is_counted(row: Summary) -> bool:
    """Return whether the data were there to be counted; before that, their card says what is expected."""
    return bool(row["count"] or row.get("largest_pair"))


def _is_as_long(result: Summary, row: Mapping[str, str]) -> bool:
    """Return whether a result is on about as many rows as published: a part of a stream is another experiment."""
    n = _number(row.get("n"))
    return n is None or result["n"] is None or abs(result["n"] - n) <= _ANOTHER_LENGTH * n


def _with_parameters(row: Summary) -> Summary:
    return row | {"parameters": json.loads(row["parameters"], object_hook=from_json)}


def _number(text: str | None) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        return None


def _tolerance_text(rule: Tolerance | None, column: str) -> str:
    if rule is None:
        return "exact" if column in FACTS else ""
    given = rule.model_dump(exclude_none=True, include=set(Tolerance.model_fields))
    words = {
        name.replace("_", " "): f"{value:g}" if isinstance(value, float) else value for name, value in given.items()
    }
    return ", ".join(f"{name} {value}" for name, value in words.items())


def _why_not_run(row: Mapping[str, str], rows: Sequence[Summary], rule: Tolerance | None, column: str) -> str:
    if rule is None and column not in FACTS:
        return f"the config has no rule for {column}"
    same_dataset = [each for each in rows if each["dataset"] == row.get("dataset")]
    if not same_dataset:
        return NOT_PART_OF_RUN
    if column in FACTS and not any(map(_is_counted, same_dataset)):
        return "the data are not here"
    other = [each for each in same_dataset if not _is_as_long(each, row)]
    return f"run on {other[0]['n']} rows instead" if other else "no run answers this row"


def _fact_cell(cell: Cell, row: Summary, rule: Tolerance | None) -> Cell:
    cell = replace(cell, measured=float(row[cell.column]), count=1)
    return _with_difference(cell, judge(cell, rule or _EXACT))


def _measured_cell(cell: Cell, row: Summary, rule: Tolerance, rows: Sequence[Summary]) -> Cell:
    quantity = PUBLISHED_COLUMNS.get(cell.column, cell.column)
    cell = replace(
        cell,
        solver=row["solver"],
        parameters=row["parameters"],
        count=row["count"],
        measured=row.get(f"{quantity}_mean"),
        measured_std=row.get(f"{quantity}_std"),
    )
    if cell.measured is None or cell.published is None:
        is_waiting = row["status"] == RunStatus.NOT_RUN
        waiting = "planned and not yet run; the same command goes on" if is_waiting else row["status"]
        return replace(cell, reason=row["reason"] or waiting)
    reason = "" if row["count"] == row["planned"] else f"{row['count']} of {row['planned']} runs"
    if rule.ratio_to is not None:
        return replace(_ratio_cell(cell, row, rule, rows, quantity), reason=reason)
    return replace(_with_difference(cell, judge(cell, rule)), reason=reason)


def judge(cell: Cell, rule: Tolerance) -> str:
    """Return the verdict on a measured number beside a published one, not knowing what is known."""
    measured, published_number = _both_numbers(cell)
    off = abs(measured - published_number)
    joint = math.hypot(cell.published_std or 0.0, cell.measured_std or 0.0)
    allowed = max(
        (rule.relative or 0.0) * abs(published_number), rule.absolute or 0.0, (rule.standard_deviations or 0.0) * joint
    )
    if rule.at_most is not None:
        return WITHIN if measured <= rule.at_most * published_number else OUTSIDE
    if off <= allowed * (1 + 1e-12):
        return WITHIN
    quantity = quantity_of(cell.column)
    better = "lower" if measured < published_number else "higher"
    return BETTER if quantity is not None and quantity.better == better else OUTSIDE


def _both_numbers(cell: Cell) -> tuple[float, float]:
    assert cell.measured is not None
    assert cell.published is not None
    return cell.measured, cell.published


def _ratio_cell(cell: Cell, row: Summary, rule: Tolerance, rows: Sequence[Summary], quantity: str) -> Cell:
    """Judge a number as its ratio to another solver's, on both sides."""
    assert rule.factor is not None
    peer = next((each for each in rows if _is_peer(each, row, rule)), None)
    same = {"dataset": cell.dataset, "solver": rule.ratio_to}
    published_rows = [
        each
        for each in published.table(cell.table)
        if {name: each.get(name) for name in same} == same and each.get("budget", "") == cell.budget
    ]
    below = _number(published_rows[0][cell.column]) if len(published_rows) == 1 else None
    if peer is None or not below or not peer.get(f"{quantity}_mean"):
        return replace(cell, verdict=NOT_RUN, reason=f"{rule.ratio_to} was not run")
    measured, published_number = _both_numbers(cell)
    cell = replace(
        cell,
        published=published_number / below,
        measured=measured / peer[f"{quantity}_mean"],
        published_std=None,
        measured_std=None,
        column=f"{cell.column} / {rule.ratio_to}'s",
    )
    measured, published_number = _both_numbers(cell)
    times = measured / published_number
    verdict = BETTER if times < 1 / rule.factor else WITHIN if times <= rule.factor else OUTSIDE
    return _with_difference(cell, verdict)


def _is_peer(other: Summary, row: Summary, rule: Tolerance) -> bool:
    same = all(other[name] == row[name] for name in ("dataset", "budget_vectors"))
    return same and other["solver"] == rule.ratio_to


def _with_difference(cell: Cell, verdict: str) -> Cell:
    measured, published_number = _both_numbers(cell)
    difference = measured - published_number
    relative = difference / published_number if published_number else None
    return replace(cell, verdict=verdict, difference=difference, relative_difference=relative)


def _claim_cell(claim: Claim, rows: Sequence[Summary], curves: Sequence[Summary]) -> Cell:
    answer = claims.examine(claim, rows, curves)
    where, rule = claim.where, claim.rule if isinstance(claim, NumberClaim | StatisticClaim) else None
    cited = claim.printed if isinstance(claim.printed, Printed) else None
    cell = Cell(
        kind="claim",
        table=cited.table if cited else "",
        dataset=where.dataset or "",
        solver=where.solver or "",
        budget=str(where.budget or ""),
        parameters="",
        column=claim.claim,
        published=_published_number(claim.printed),
        measured=answer.measured,
        count=answer.runs,
        tolerance=answer.tolerance or _tolerance_text(rule, ""),
        reason=answer.reason,
        row=cited.row if cited else 0,
    )
    if answer.holds is not None:
        return replace(cell, verdict=WITHIN if answer.holds else OUTSIDE)
    if rule is not None and answer.measured is not None:
        return _with_difference(cell, judge(cell, rule))
    return cell


def _published_number(printed: float | Printed | None) -> float | None:
    if isinstance(printed, Printed):
        return float(published.table(printed.table)[printed.row - 1][printed.column])
    return printed


def _with_known_deviation(cell: Cell, known: Sequence[Known]) -> Cell:
    """Look up a cell that is outside among those that are known not to come out."""
    entry = next((entry for entry in known if _is_meant(entry, cell)), None)
    if cell.verdict != OUTSIDE or entry is None:
        return cell
    if _has_moved(entry, cell):
        return replace(cell, reason=f"was {entry.measured:g} and has moved; known before: {entry.reason}")
    return replace(cell, verdict=KNOWN, reason=entry.reason)


def _is_meant(entry: Known, cell: Cell) -> bool:
    if cell.kind == "claim":
        return entry.claim == cell.column
    where = Where(dataset=entry.dataset, solver=entry.solver, budget=entry.budget, parameters=entry.parameters)
    row = vars(cell) | {"parameters": cell.parameters or "{}", "budget_vectors": _number(cell.budget)}
    is_column = entry.column == cell.column.partition(" / ")[0]  # that of a ratio: the column it is made of
    return is_column and entry.table in (None, cell.table) and claims.matches(row, where)


def _has_moved(entry: Known, cell: Cell) -> bool:
    if entry.measured is None or cell.measured is None:
        return False
    allowed = max((entry.relative or 0.0) * abs(entry.measured), entry.absolute or 0.0)
    return abs(cell.measured - entry.measured) > allowed


def counts(cells: Sequence[Cell]) -> dict[str, int]:
    """Return how many cells have each verdict."""
    return {verdict: sum(cell.verdict == verdict for cell in cells) for verdict in VERDICTS}
