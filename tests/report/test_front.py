from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from mpu_bench.report import front
from mpu_bench.selection.outcome import Outcome, Row


def rows(*found: tuple[str, str, float, int]) -> list[Row]:
    return [
        Row(name, kind, kind != "scikit-learn", error=error, balanced_error=error, tested=1000, size=size)
        for name, kind, error, size in found
    ]


@pytest.mark.parametrize("rare", [False, True])
def test_every_candidate_is_named_once(rare: bool) -> None:
    found = rows(
        ("dcd", "linear", 0.1279, 1636),
        ("LinearSVC", "scikit-learn", 0.128, 1636),
        ("smo", "batch", 0.1345, 1_400_000),
        ("perfect", "budgeted", 0.0, 800),
    )
    drawn = front.drawn(Outcome(found, found[0], 100, rare), "mine <&>")
    assert drawn["front.png"].startswith(b"\x89PNG")
    ET.fromstring(drawn["front.svg"])
    text = drawn["front.svg"].decode()
    assert text.count("dcd (chosen), LinearSVC") == 1  # as a comment where letters are drawn as shapes
    assert "smo" in text


def test_one_candidate_is_enough() -> None:
    found = rows(("dcd", "linear", 0.0, 100))
    assert front.drawn(Outcome(found, found[0], 100), "one")["front.png"]
