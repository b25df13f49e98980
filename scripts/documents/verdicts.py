"""The table of verdicts in docs/verdicts.md."""

from __future__ import annotations

from documents.markdown import table
from mpu_bench.verdict.verdict import Verdict


def table_of_verdicts() -> str:
    """Return what each verdict means, and its id."""
    return table(("verdict", "meaning", "in files"), [(each.word, each.meaning, f"`{each}`") for each in Verdict])
