from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure

from mpu_bench.models.evaluation import METRICS
from mpu_bench.report import drawing, front
from mpu_bench.selection.outcome import Outcome, Row


def rows(*found: tuple[str, str, float, int]) -> list[Row]:
    return [
        Row(name, kind, metrics=dict.fromkeys(METRICS, 1 - error), tested=1000, size=size)
        for name, kind, error, size in found
    ]


@pytest.mark.parametrize("metric", METRICS)
def test_every_candidate_is_named_once(metric: str) -> None:
    found = rows(
        ("dcd", "linear", 0.1279, 1636),
        ("LogisticRegression", "reference", 0.128, 1636),
        ("smo", "batch", 0.1345, 1_400_000),
        ("perfect", "budgeted", 0.0, 800),
    )
    drawn = front.drawn(Outcome(found, found[0], 100, metric), "mine <&>")
    assert drawn["front.png"].startswith(b"\x89PNG")
    texts = [each.text for each in ET.fromstring(drawn["front.svg"]).iter() if each.tag.endswith("text")]
    assert {"1 perfect", "2 dcd (chosen)", "3 LogisticRegression", "4 smo"} <= set(texts)
    assert {"1", "2, 3", "4"} <= set(texts)  # at the points
    assert not any("$" in (text or "") for text in texts)


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(2, 20)), min_size=1, max_size=15))
@settings(max_examples=10)
def test_no_label_of_a_point_covers_another(found: list[tuple[int, int]]) -> None:
    """By what matplotlib itself says of their boxes."""
    candidates = rows(*(("a", "linear", error / 100, int(1.8**size) + 4) for error, size in found))
    figure = Figure(figsize=(3.6, 4.5), layout="constrained")
    with drawing.styled():
        axes = figure.add_subplot()
        front._draw(figure, axes, Outcome(candidates, None, 100), "mine")
        figure.draw_without_rendering()
        boxes = [each.get_window_extent().shrunk(0.9, 0.7) for each in axes.texts]
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


def test_one_candidate_is_enough() -> None:
    found = rows(("dcd", "linear", 0.0, 100))
    assert front.drawn(Outcome(found, found[0], 100), "one")["front.png"]
