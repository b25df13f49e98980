"""The outcome of ``mpu-bench check`` as text, as JSON, and in the formats of CI services."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import NamedTuple
from xml.etree import ElementTree as ET

from mpu_bench.report.tables import Table, markdown
from mpu_bench.results import naming
from mpu_bench.results.rows import made_publishable
from mpu_bench.texts import counted, publishable
from mpu_bench.verdict.baseline import Check
from mpu_bench.verdict.cells import Cell, count_verdicts, solver_text, verdict_text
from mpu_bench.verdict.regression import Difference
from mpu_bench.verdict.verdict import Finding


class Line(NamedTuple):
    """A change from the baseline: of which experiment, which run or verdict, how; and whether it fails."""

    experiment: str
    what: str
    words: str
    is_fault: bool


def lines(check: Check, strict: bool = False) -> list[Line]:
    """Return what has changed in a folder; first what fails: with ``strict`` what is not reproduced, too."""
    changes = [Line(check.name, run.name, _words(run), True) for run in check.runs if run.mismatches]
    changes += [Line(check.name, cell_text(change.cell), change.words, change.is_fault) for change in check.changes]
    changes += [Line(check.name, run, words, False) for run, words in check.slower]
    against = [cell for cell in check.cells if strict and cell.is_against]
    changes += [Line(check.name, cell_text(cell), _with_numbers(cell), True) for cell in against]
    return sorted(changes, key=lambda line: not line.is_fault)


def _words(run: Difference) -> str:
    return "; ".join(mismatch.words("now", "baseline") for mismatch in run.mismatches)


def cell_text(cell: Cell) -> str:
    """Return what a verdict is on: the dataset, the solver, the column of a table or the words of a claim."""
    table = f"{cell.table} row {cell.row}" if cell.table and cell.row else cell.table
    return ", ".join(filter(None, [table, cell.dataset, solver_text(cell).strip(), cell.what]))


def summaries(checks: Sequence[Check]) -> list[str]:
    """Return a sentence for each folder that has changed from the baseline, and one for all others."""
    unknown = [check.name for check in checks if check.baseline is None]
    same = [check for check in checks if check.baseline is not None and not check.has_changed]
    lines = [_summary(check) for check in checks if check.has_changed or [check] == same]
    if len(same) > 1:
        judged = (
            "under the current rules" if all(check.is_baseline for check in same) else f"{_compared(same)} compared"
        )
        lines.append(f"{len(same)} experiments, {judged}: nothing changed")
    return lines + (
        [f"not in the baseline: {', '.join(unknown)}; it has a folder for each experiment"] if unknown else []
    )


def _summary(check: Check) -> str:
    runs, verdicts = sum(bool(run.mismatches) for run in check.runs), sum(change.is_fault for change in check.changes)
    changed = " and ".join(counted(*pair) for pair in ((runs, "run"), (verdicts, "verdict")) if pair[0])
    outcome = f"{changed or 'nothing'} changed"
    if check.is_baseline:
        return f"{check.name}, under the current rules: {outcome}"
    room = "counts must be equal" if check.exact else "processors or library versions differ, or are not recorded"
    return f"{check.name}, {_compared([check])} compared with {check.baseline} ({room}): {outcome}"


def _compared(checks: Sequence[Check]) -> str:
    """Return how many runs were compared, of how many that the baseline has if not all."""
    runs, kept = sum(len(check.runs) for check in checks), sum(check.baseline_runs for check in checks)
    return counted(runs, "run") if runs >= kept else f"{runs} of the baseline's {counted(kept, 'run')}"


def json_text(checks: Sequence[Check]) -> str:
    """Return the outcome as JSON: an object per experiment, with its verdicts and its changes."""
    objects = [
        {
            "experiment": check.name,
            "folder": check.folder.as_posix(),
            "baseline": None if check.baseline is None else check.baseline.as_posix(),
            "changed": check.has_changed,
            "differs": check.differs,
            "counts": count_verdicts(check.cells),
            "verdicts": [cell.written() for cell in check.cells],
            "runs": len(check.runs),
            "baseline_runs": check.baseline_runs,
            "changes": [line._asdict() for line in lines(check)],
        }
        for check in checks
    ]
    return json.dumps(made_publishable(objects), indent=2)


def junit_text(checks: Sequence[Check], strict: bool) -> str:
    """Return the outcome as JUnit's XML: a suite per experiment, a case per run and verdict; changes are failures.

    Parameters
    ----------
    checks : sequence of Check
    strict : bool
        What is not reproduced, or contradicted, is a failure as well.
    """
    root = ET.Element("testsuites", name="mpu-bench check")
    for check in checks:
        cases = list(_cases(check, strict))
        counts = {kind: str(sum(case.find(kind) is not None for case in cases)) for kind in ("failure", "skipped")}
        suite = ET.SubElement(
            root, "testsuite", name=_plain(check.name), tests=str(len(cases)), failures=counts["failure"],
            skipped=counts["skipped"], errors="0",
        )  # fmt: skip
        suite.extend(cases)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True)


def github_text(checks: Sequence[Check], strict: bool) -> str:
    """Return the changes as GitHub's workflow commands: an error for each that fails, a warning for each other."""
    return "".join(
        f"::{'error' if line.is_fault else 'warning'} title={_property(line.experiment)}::"
        f"{_message(f'{line.what}: {line.words}')}\n"
        for check in checks
        for line in lines(check, strict)
    )


def _message(text: str) -> str:
    return publishable(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def markdown_summary(checks: Sequence[Check], strict: bool) -> str:
    """Return in Markdown whether folders have changed from the baseline, with a table of the changes."""
    changes = [line for check in checks for line in lines(check, strict)]
    rows = [(line.experiment, line.what, line.words, "yes" if line.is_fault else "no") for line in changes]
    standing = Table(("mpu-bench check",), [(sentence,) for sentence in summaries(checks)], "l")
    changed = Table(("experiment", "run or verdict", "change", "fails"), rows, "llll")
    return "\n".join(markdown(table) for table in (standing, changed) if table.rows)


def _cases(check: Check, strict: bool) -> Iterable[ET.Element]:
    for run in check.runs:
        case = ET.Element("testcase", classname=_plain(f"{check.name}.runs"), name=_plain(run.name))
        if run.mismatches:
            ET.SubElement(case, "failure", message=_plain(_words(run)), type="changed")
        yield case
    changed = {id(change.cell): change.words for change in check.changes if change.is_fault}
    gone = [change.cell for change in check.changes if id(change.cell) not in {id(cell) for cell in check.cells}]
    cells = [*check.cells, *gone]
    for cell, name in zip(cells, naming.numbered(list(map(cell_text, cells))), strict=True):
        case = ET.Element("testcase", classname=_plain(f"{check.name}.{cell.kind}"), name=_plain(name))
        if id(cell) in changed:
            ET.SubElement(case, "failure", message=_plain(changed[id(cell)]), type="changed")
        elif strict and cell.is_against:
            ET.SubElement(case, "failure", message=_plain(_with_numbers(cell)), type=cell.verdict)
        elif cell.verdict.finding is Finding.NOTHING:
            ET.SubElement(case, "skipped", message=_plain(cell.remark or cell.verdict.word))
        else:
            ET.SubElement(case, "system-out").text = _plain(_with_numbers(cell))
        yield case


def _with_numbers(cell: Cell) -> str:
    numbers = (
        f": reported {cell.published:.6g}, measured {cell.measured:.6g}"
        if None not in (cell.published, cell.measured)
        else ""
    )
    return f"{verdict_text(cell)}{numbers}"


def _plain(text: str) -> str:
    """Return a text without the characters that XML cannot hold, those that a terminal obeys written as words."""
    return "".join(character for character in publishable(text) if character.isprintable() or character in "\n\t")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
