"""Two results folders, or two solvers, side by side: what ``mpu-bench compare`` prints."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from mpu_bench.cli import verdicts
from mpu_bench.cli.options import console, write
from mpu_bench.display.terminal import Drawn, Terminal
from mpu_bench.errors import ConfigError, StoreError, check_known
from mpu_bench.files import csv_text
from mpu_bench.quantities import QUANTITIES
from mpu_bench.report.tables import Table
from mpu_bench.texts import counted
from mpu_bench.verdict import regression
from mpu_bench.verdict.rank_tests import LEVEL, MIN_PAIRS
from mpu_bench.verdict.regression import Results
from mpu_bench.verdict.two_solvers import COMPARED, Comparison, Sides, runs_of

_WIDEST = 20  # letters of a name that heads a column
_NEAR_ONE = 0.01  # how near to 1 a ratio has six digits, such as those of objectives


@dataclass(frozen=True)
class _Pair:
    """Two solvers, or one of two folders, and what came of comparing them."""

    first: str
    second: str
    rows: Sequence[Comparison]
    only_in_first: Sequence[str]
    only_in_second: Sequence[str]
    unlike: Sequence[str]  #: parameters that both have, and that differ
    without_seconds: int  #: runs that trained, and whose seconds do not compare
    on_other_machines: int  #: pairs of runs of different machines, whose seconds do not compare
    runs: int
    not_compared: Sequence[str]  #: requested quantities that have no row, and why


def compare(
    first: Path, second: Path | None, solvers: tuple[str, str] | None, quantity: Sequence[str], form: str
) -> bool:
    """Print a comparison and return whether no run that is in both folders differs; the parameters are the options."""
    for name in quantity:
        check_known(name, QUANTITIES, f"--quantity {name}")
    left = regression.read(first)
    right = left if second is None else regression.read(second)
    if solvers is not None:
        pairs, unknown = [_pair((left, right), solvers, quantity)], list[str]()
    elif second is not None:
        pairs, unknown = _same_solvers(left, right, quantity)
    else:
        names = ", ".join(sorted(_solvers(left)))
        raise ConfigError(f"name a second results folder, or two solvers of {first}: --solvers X Y (it has {names})")
    differences = regression.differences(left, right) if second and solvers is None else []
    if form == "json":
        differing = [
            {
                "run": difference.name,
                "differs_in": [change.words("first", "second") for change in difference.mismatches],
            }
            for difference in differences
            if difference.mismatches
        ]
        shown = {"pairs": [asdict(pair) for pair in pairs], "runs": differing, "remarks": unknown}
        write(json.dumps(shown, indent=2) + "\n")
    elif form == "csv":
        named = [{"of": pair.first, "against": pair.second} | asdict(row) for pair in pairs for row in pair.rows]
        write(csv_text(named, ("of", "against", *Comparison.__dataclass_fields__)))
    else:
        _print(pairs, unknown, console())
        if differences:
            verdicts.print_differences(left, right, differences, console())
    return not any(difference.mismatches for difference in differences)


def _solvers(results: Results) -> list[str]:
    return list(dict.fromkeys(record.solver for record in results.records if record.is_finished))


def _pair(both: tuple[Results, Results], solvers: tuple[str, str], quantities: Sequence[str]) -> _Pair:
    """Return a comparison in the requested quantities, or in all that are compared."""
    runs = [
        runs_of(results.records, solver, str(results.folder)) for results, solver in zip(both, solvers, strict=True)
    ]
    sides = Sides(*runs)
    every = [run for side in runs for run in side]
    in_one, rows = both[0] is both[1], sides.compare(quantities or COMPARED)
    lacking = [name for name in quantities if all(row.quantity != name for row in rows)]
    return _Pair(
        first=solvers[0] if in_one else f"{solvers[0]} of {both[0].folder}",
        second=solvers[1] if in_one else f"{solvers[1]} of {both[1].folder}",
        rows=rows,
        only_in_first=sides.only_in(0),
        only_in_second=sides.only_in(1),
        unlike=sides.unlike(),
        without_seconds=sum(run.train_seconds is not None and run.comparable_seconds is None for run in every),
        on_other_machines=sides.on_other_machines(),
        runs=len(every),
        not_compared=[f"{QUANTITIES[name].heading}: {sides.why_not_compared(name)}" for name in lacking],
    )


def _same_solvers(left: Results, right: Results, quantities: Sequence[str]) -> tuple[list[_Pair], list[str]]:
    """Return the comparisons of each solver of two folders with itself, and which solvers only one has."""
    names, others = _solvers(left), _solvers(right)
    both = [name for name in names if name in others]
    if not both:
        raise StoreError(f"{left.folder} and {right.folder} share no solver; name one of each with --solvers X Y")
    unknown = [f"only in {left.folder}: {name}" for name in names if name not in both]
    unknown += [f"only in {right.folder}: {name}" for name in others if name not in both]
    return [_pair((left, right), (name, name), quantities) for name in both], unknown


def _print(pairs: Sequence[_Pair], unknown: Sequence[str], terminal: Terminal) -> None:
    line = terminal.tell
    telling = [[row for row in pair.rows if row.wins or row.losses] for pair in pairs]
    for pair, rows in zip(pairs, telling, strict=True):
        if rows:
            terminal.print(Drawn(_table(pair, rows)))
        if len(rows) < len(pair.rows):
            quantities = dict.fromkeys(QUANTITIES[row.quantity].heading for row in pair.rows if row not in rows)
            what = "the rest is" if rows else "they are"
            line(f"{pair.first} and {pair.second}: {what} equal in every pair ({'; '.join(quantities)})")
        for what in pair.not_compared:
            line(f"{pair.first} and {pair.second}: not compared: {what}")
        if pair.unlike:
            line(f"{pair.first} and {pair.second} differ in {'; '.join(pair.unlike)}")
        for name, runs in ((pair.first, pair.only_in_first), (pair.second, pair.only_in_second)):
            if runs:
                line(f"only {name} has {', '.join(runs)}")
    for text in unknown:
        line(text)
    if any(not row.dataset and row.pairs < MIN_PAIRS for rows in telling for row in rows):
        line(f"too few: with fewer than {MIN_PAIRS} pairs a rank test cannot reach p < {LEVEL:g}")
    every, without = sum(pair.runs for pair in pairs), sum(pair.without_seconds for pair in pairs)
    if without:
        has = "has" if without == 1 else "have"
        line(f"{without} of {counted(every, 'run')} {has} no seconds to compare: disturbed, or not recorded")
    if apart := sum(pair.on_other_machines for pair in pairs):
        come = "comes" if apart == 1 else "come"
        line(f"{counted(apart, 'pair')} of runs {come} from different machines: their seconds are not compared")


def _table(pair: _Pair, rows: Sequence[Comparison]) -> Table:
    setting = ["setting"] if any(row.setting for row in rows) else []
    names = [name if len(name) <= _WIDEST else side for side, name in (("first", pair.first), ("second", pair.second))]
    headings = ["quantity", "dataset", *setting, *names, "difference", "95% interval", "p", "pairs", "better", "remark"]
    sides = "ll" + "l" * len(setting) + "r" * 7 + "l"
    return Table(headings, [_texts(row, bool(setting)) for row in rows], sides, f"{pair.first} against {pair.second}")


def _texts(row: Comparison, has_settings: bool) -> list[str]:
    quantity = QUANTITIES[row.quantity]

    def effect(value: float) -> str:
        if row.measure == "difference":
            return f"{quantity.scale * value:+.2f}".replace("-0.00", "+0.00")
        return f"×{value:.6g}" if abs(value - 1) < _NEAR_ONE else f"×{value:.3g}"

    interval = "" if row.low is None or row.high is None else f"{effect(row.low)} to {effect(row.high)}"
    return [
        quantity.heading,
        row.dataset or "all datasets",
        *([row.setting] if has_settings else []),
        quantity.text(row.first),
        quantity.text(row.second),
        effect(row.effect),
        interval,
        "" if row.p_value is None else f"{row.p_value:.2g}",
        str(row.pairs),
        f"{row.wins} of {row.pairs}" + (f", {row.ties} equal" if row.ties else ""),
        row.remark,
    ]
