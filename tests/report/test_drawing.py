from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Drawing
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from mpu_bench.errors import ConfigError
from mpu_bench.report import drawing, figures
from mpu_bench.report.figure_parts import BEYOND, Figure, Level, Panel, Series
from mpu_bench.report.style import FORMATS

SOLVERS = ("bpegasos projection", "bpegasos merging", "pegasos-multiclass")


def curves(low: float, high: float, **more: Any) -> Panel:
    """Return a panel of curves over an axis from ``low`` to ``high``."""
    x = (low, (low * high) ** 0.5, high)
    series = tuple(
        Series(name, x, (50.0, 20.0 + k, 10.0 + k), (45, 18, 9), (55, 22, 13), runs=5) for k, name in enumerate(SOLVERS)
    )
    return Panel("checkerboard, B = 100", "kernel evaluations", "test error, %", series, **more)


def ranks(*groups: tuple[int, int]) -> Panel:
    named = enumerate(("fw", "mfw", "cvm", "smo"))
    series = tuple(Series(name, (k, k + 1.0, k + 2.0), (float(k),) * 3) for k, name in named)
    names = tuple(each.label for each in series)
    return Panel("accuracy", "average rank", "", series, names=names, critical_difference=1.5, groups=groups)


BARS = Panel(
    "accuracy", "", "test accuracy, %",
    tuple(Series(name, tuple(range(11)), (97.0,) * 11, line=False) for name in ("fw", "mfw")),
    categories=tuple(f"kdd99-10pc-{k}" for k in range(11)), x_log=False, limits=(90.0, 100.0), note="axis from 90",
)  # fmt: skip

FIGURES = {
    "one curve": Figure("", "", (curves(1e3, 1e10),)),
    "short axes": Figure("", "", tuple(curves(low, 3 * low, y_log=True) for low in (1e-3, 2.2e3, 7e8))),
    "long axes": Figure("", "", (*(curves(10.0**-k, 10.0**k) for k in (1, 2, 6, 12)),)),
    "limits": Figure(
        "",
        "",
        (curves(1.0, 1e4, limits=(8.0, 21.0), entry=2.0, note="↑ to 50", levels=(Level("best constant", 19.0),)),),
    ),
    "bars": Figure("", "", (BARS, BARS), 1),
    "ranks": Figure("", "average ranks; joined solvers", (ranks((0, 1), (1, 2)), ranks((0, 3))), 1),
}


@pytest.fixture(scope="module", params=FIGURES)
def drawn(request: pytest.FixtureRequest) -> Drawing:
    made = drawing.draw(FIGURES[request.param])
    FigureCanvasAgg(made).draw()
    return made


def shown(texts: Any) -> list[Text]:
    return [text for text in texts if text.get_text().strip() and text.get_visible()]


def boxes(made: Drawing, texts: Any) -> list[Bbox]:
    return [text.get_window_extent(made.canvas.get_renderer()) for text in shown(texts)]  # type: ignore[attr-defined]


def overlap(one: Bbox, other: Bbox) -> bool:
    both = Bbox.intersection(one, other)
    return both is not None and both.width > 0.5 and both.height > 0.5


def words(made: Drawing) -> str:
    """Return what stands below a figure."""
    below = made._supxlabel
    return " ".join(below.get_text().split()) if below else ""


def test_all_text_has_eight_points_and_a_figure_is_one_column_or_two_wide(drawn: Drawing) -> None:
    assert drawn.get_figwidth() in (3.3, 6.9)
    assert {text.get_fontsize() for text in shown(drawn.findobj(Text))} == {8.0}


def test_no_text_is_the_source_of_a_formula(drawn: Drawing) -> None:
    """Names may have dollars, so that formulas are not set; matplotlib's own labels of logarithmic axes are such."""
    assert not [text.get_text() for text in shown(drawn.findobj(Text)) if "$" in text.get_text()]


DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("picture", sorted(DOCS.rglob("*.svg")), ids=lambda path: path.name)
def test_no_text_of_a_kept_picture_is_the_source_of_a_formula(picture: Path) -> None:
    texts = ["".join(each.itertext()) for each in ElementTree.parse(picture).iter() if each.tag.endswith("}text")]
    assert texts
    assert not [text for text in texts if "$" in text or "\\" in text]


@pytest.mark.baseline
@pytest.mark.parametrize("name", ["sbp-figure2-ci", "fw-table2-ci", "mpu-table1-ci", "bpegasos-table1-ci"])
def test_no_text_of_a_figure_of_the_baseline_is_the_source_of_a_formula(name: str) -> None:
    for figure in figures.figures_of(DOCS.parent / "results" / "baseline" / name, figures.EVERY):
        svg = ElementTree.fromstring(figures.drawn(figure, ["svg"])["svg"])
        assert not [each.text for each in svg.iter() if each.tag.endswith("}text") and "$" in (each.text or "")]


def test_slides_have_larger_type_on_a_page_of_their_own() -> None:
    made = drawing.draw(FIGURES["one curve"], "slides")
    sizes = {text.get_fontsize() for text in shown(made.findobj(Text))}
    assert sizes == {11.0}
    assert made.get_figwidth() == 6.0
    thin, thick = (drawing.draw(FIGURES["one curve"], name).axes[0].lines[0].get_linewidth() for name in FORMATS)
    assert thick > 1.3 * thin
    with pytest.raises(ConfigError, match="slides"):
        figures.styled(FIGURES["one curve"], "slide")


def test_a_linear_axis_of_equal_numbers_shows_little_around_them() -> None:
    series = tuple(Series(name, (1.0, 2.0), (99.56, 99.56)) for name in SOLVERS)
    (on,) = drawing.draw(Figure("", "", (Panel("", "", "test accuracy, %", series),))).axes
    low, high = on.get_ylim()
    assert 99 < low < 99.56 < high < 100.1


def test_the_smallest_bar_on_a_logarithmic_axis_can_be_seen() -> None:
    series = (Series("fw", (0.0, 1.0), (0.01, 10.0), line=False), Series("mfw", (0.0, 1.0), (0.1, 1.0), line=False))
    panel = Panel("seconds", "", "", series, x_log=False, y_log=True, categories=("a", "b"))
    (on,) = drawing.draw(Figure("", "", (panel,))).axes
    assert on.get_ylim()[0] <= 0.005


def test_labels_of_ticks_do_not_overlap_and_every_axis_has_some(drawn: Drawing) -> None:
    for on in drawn.axes:
        if not on.get_visible() or not on.axison:
            continue
        for axis in (on.xaxis, on.yaxis):
            low, high = sorted(axis.get_view_interval())
            labels = [
                label for place, label in zip(axis.get_majorticklocs(), axis.get_majorticklabels(), strict=False)
                if low <= place <= high
            ]  # fmt: skip
            is_last = on.get_subplotspec().is_last_row()  # type: ignore[union-attr]
            if any(label.get_rotation() for label in labels) or not (labels or is_last):
                continue  # boxes of names at an angle say nothing, and names are written once
            assert shown(labels)
            assert not any(itertools.starmap(overlap, itertools.combinations(boxes(drawn, labels), 2)))


def test_titles_names_and_the_legend_are_whole_and_apart(drawn: Drawing) -> None:
    width, height = drawn.canvas.get_width_height()
    titles = [title for on in drawn.axes if on.get_visible() for title in (on.title, on._left_title, on._right_title)]
    legends = [legend.get_window_extent() for legend in drawn.legends]
    words = [*(text for on in drawn.axes for text in on.texts), *(on.yaxis.label for on in drawn.axes)]
    found = [*boxes(drawn, [*titles, *words]), *legends]
    for box in found:
        assert box.x0 > -1
        assert box.y0 > -1
        assert box.x1 < width + 1
        assert box.y1 < height + 1
    assert not any(itertools.starmap(overlap, itertools.combinations([*boxes(drawn, titles), *legends], 2)))


def test_bands_are_explained_and_reported_numbers_are_one_entry() -> None:
    panel = FIGURES["one curve"].panels[0]
    marks = tuple(
        Series(f"{name}, published", (1e10,), (9.0,), line=False, published=True, about=name) for name in SOLVERS
    )
    made = drawing.draw(Figure("", "", (replace(panel, series=(*panel.series, *marks)),)))
    assert [text.get_text() for text in made.legends[0].get_texts()] == [*SOLVERS, "reported"]
    assert words(made) == "band: one standard deviation of 5 runs"


def test_curves_enter_from_above_and_a_level_has_its_word() -> None:
    made = drawing.draw(FIGURES["limits"])
    (on,) = made.axes
    assert on.get_ylim() == (8.0, 21.0)
    assert on.get_xlim()[0] == pytest.approx(2.0)
    assert on.get_title("right") == "↑ to 50"
    assert [text.get_text() for text in made.legends[0].get_texts()] == [*SOLVERS, "best constant"]
    (panel,) = FIGURES["limits"].panels
    beyond = drawing.draw(Figure("", "", (replace(panel, levels=(Level("best constant", 60.0),)),)))
    assert [text.get_text() for text in beyond.legends[0].get_texts()] == list(SOLVERS)


def test_bars_stand_beside_each_other_and_published_numbers_on_them() -> None:
    published = Series("mfw, published", (3,), (98.0,), line=False, published=True, about="mfw")
    made = drawing.draw(Figure("", "", (replace(BARS, series=(*BARS.series, published)),)))
    (on,) = made.axes
    middles = [bar.get_x() + bar.get_width() / 2 for bar in on.containers[1]]  # type: ignore[attr-defined]
    (mark,) = [line for line in on.lines if line.get_marker() == "x"]
    assert mark.get_xdata()[0] == pytest.approx(middles[3])  # type: ignore[index]
    edges = sorted(bar.get_x() for bars in on.containers for bar in bars)  # type: ignore[attr-defined]
    assert all(b - a >= 0.39 for a, b in itertools.pairwise(edges))


def test_the_best_constant_stands_as_a_line_over_the_bars_of_its_dataset() -> None:
    levels = (Level("best constant", 95.0, category=1), Level("best constant", 93.0, category=2))
    made = drawing.draw(Figure("", "", (replace(BARS, levels=levels),)))
    lines = [line for line in made.axes[0].lines if line.get_label() == "best constant"]
    assert [line.get_ydata()[0] for line in lines] == [95.0, 93.0]  # type: ignore[index]
    first = lines[0].get_xdata()
    assert 0.5 < first[0] < 0.6  # type: ignore[index, operator]
    assert 1.4 < first[1] < 1.5  # type: ignore[index, operator]
    assert [text.get_text() for text in made.legends[0].get_texts()].count("best constant") == 1


def test_a_curve_is_dotted_after_its_first_pass_and_the_legend_says_so() -> None:
    panel = FIGURES["one curve"].panels[0]
    plain = drawing.draw(Figure("", "", (panel,)))
    first, *others = panel.series
    made = drawing.draw(Figure("", "", (replace(panel, series=(replace(first, again=2), *others)),)))
    assert len(made.axes[0].lines) == len(plain.axes[0].lines) + 1
    before, after = made.axes[0].lines[:2]
    assert list(before.get_xdata()) + list(after.get_xdata())[1:] == list(first.x)  # type: ignore[arg-type]
    assert before.get_xdata()[-1] == after.get_xdata()[0] == first.x[2]  # type: ignore[index]
    assert "dotted: after the first pass" in words(made)


def test_bars_of_ranks_join_the_groups_of_the_test() -> None:
    first, second = drawing.draw(FIGURES["ranks"]).axes
    assert [tuple(line.get_xdata()) for line in first.lines if line.get_gid() == "group"] == [(1, 2), (2, 3)]
    assert [tuple(line.get_xdata()) for line in second.lines if line.get_gid() == "group"] == [(1, 4)]


def test_the_same_figure_has_the_same_bytes_whatever_a_user_has_set() -> None:
    import matplotlib as mpl

    files = drawing.files(FIGURES["one curve"], ("svg", "pdf", "png"))
    with mpl.rc_context({"font.size": 20, "lines.linewidth": 5, "savefig.bbox": "tight"}):
        assert drawing.files(FIGURES["one curve"], ("svg", "pdf", "png")) == files
    assert b"Date" not in files["pdf"]
    assert b"<dc:date>" not in files["svg"]


def test_what_lies_beyond_the_axis_is_explained() -> None:
    assert BEYOND in words(drawing.draw(FIGURES["limits"]))
    assert BEYOND not in words(drawing.draw(FIGURES["bars"]))


@pytest.mark.parametrize("style", FORMATS)
@pytest.mark.parametrize("count", [4, 7, 12, 60])
def test_a_legend_is_smaller_than_the_plot(count: int, style: str) -> None:
    first = FIGURES["one curve"].panels[0].series[0]
    series = tuple(replace(first, label=f"a solver of some length {k}", solver=f"s{k}") for k in range(count))
    made = drawing.draw(Figure("", "", (replace(FIGURES["one curve"].panels[0], series=series),)), style)
    FigureCanvasAgg(made).draw()
    assert made.legends[0].get_window_extent().height < made.axes[0].get_window_extent().height


def test_a_legend_of_any_length_is_laid_out_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    whole = Drawing.legend
    monkeypatch.setattr(Drawing, "legend", lambda *of, **how: (made.append(1), whole(*of, **how))[1])
    first = FIGURES["one curve"].panels[0].series[0]
    series = tuple(replace(first, label=f"solver {k}", solver=f"s{k}") for k in range(60))
    drawing.draw(Figure("", "", (replace(FIGURES["one curve"].panels[0], series=series),)))
    assert len(made) <= 2
