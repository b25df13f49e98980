"""Every number that does not come out has a cause that anyone can run or look up, or the list of what was excluded."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpu_bench.report import overview
from mpu_bench.verdict.cells import COUNTED

BASELINE = Path(__file__).parents[2] / "results" / "baseline"


@pytest.mark.baseline
def test_whatever_speaks_against_a_paper_has_its_cause() -> None:
    folders = [path for path in sorted(BASELINE.iterdir()) if path.is_dir() and not path.name.endswith("-ci")]
    tables = overview.by_table(map(overview.of_folder, folders))
    against = [cell for each in tables for cell in each.cells if cell.kind in COUNTED and cell.is_against]
    assert against
    assert [(cell.table or cell.sentence, cell.dataset, cell.what) for cell in against if not cell.explained] == []
    assert [(cell.table or cell.sentence, cell.dataset, cell.what) for cell in against if not cell.evidence] == []
