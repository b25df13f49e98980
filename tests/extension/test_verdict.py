"""A verdict is one member of `Verdict`: once a rule returns it, every output shows it."""

from __future__ import annotations

import csv
import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from checkout import add, call, copied

MEMBER = """\
    LUCKY = "by luck", "lucky guess", "+", Finding.OPEN, "a value that came out by luck"
"""
RULE = """\
    if measured.runs:
        return Judgement(Verdict.LUCKY, floor)
"""
RESULTS = "results/baseline/mpu-table1-ci"


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy the project, add a verdict, and a rule that comes to it."""
    place = tmp_path_factory.mktemp("copy")
    package = copied(place, "scripts")
    add(package / "verdict" / "verdict.py", "    INCONCLUSIVE =", MEMBER)
    add(package / "verdict" / "judge.py", "    judgement = _judged(published", RULE)
    return place


def test_the_terminal_has_its_word(copy: Path) -> None:
    shown = call(copy, "check", RESULTS, "--all", code=1)
    assert "lucky guess" in shown
    assert "baseline reproduced" in shown  # what the baseline holds is read


def test_files_for_programs_have_its_id(copy: Path) -> None:
    (found,) = json.loads(call(copy, "check", RESULTS, "--format", "json", code=1))
    assert found["counts"]["by luck"] == sum(cell["verdict"] == "by luck" for cell in found["verdicts"]) > 0
    text = call(copy, "check", RESULTS, "--format", "junit", "--baseline", "configs")
    assert any("lucky guess" in (each.text or "") for each in ET.fromstring(text).iter("system-out"))


def test_the_page_has_its_word_mark_colour_and_meaning(copy: Path) -> None:
    call(copy, "report", RESULTS, "--out", "page")
    text = (copy / "page" / "index.html").read_text("utf-8")
    assert '<dt class="open"><span class="mark">+</span> lucky guess: ' in text
    assert "<dd>a value that came out by luck</dd>" in text
    assert '<abbr title="a value that came out by luck">lucky guess</abbr>' in text
    assert "lucky guess" in text.partition('<ul class="labels">')[2].partition("</ul>")[0]


def test_tables_of_a_paper_have_it(copy: Path) -> None:
    program = (
        "from pathlib import Path; from mpu_bench.report import overview; "
        f"overview.write(overview.by_table([overview.of_folder(Path('{RESULTS}'))]), Path('tables'))"
    )
    call(copy, program=program)
    tables = {path.name: path.read_text("utf-8") for path in (copy / "tables").iterdir()}
    assert "| lucky guess |" in tables["mpu-2010-table1.md"]
    assert "| lucky guess |" in tables["overview.md"].partition("\n")[0]
    assert " +}" in tables["mpu-2010-table1.tex"]
    assert "by luck" in next(csv.reader(tables["overview.csv"].splitlines()))


def test_the_documentation_has_its_meaning(copy: Path) -> None:
    text = call(copy, program="from documents import verdicts; print(verdicts.table_of_verdicts())")
    assert "| lucky guess | a value that came out by luck | `by luck` |" in text
