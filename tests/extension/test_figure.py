"""A figure is one decorated function in a file of figures: configs, the command line and the page know it."""

from __future__ import annotations

from pathlib import Path

import pytest

from checkout import call, copied

FIGURE = """

@figure("vectors-kept")
def vectors_kept(rows: Sequence[Row], _curves: Sequence[Row], _against: str | None) -> Figure:
    \"\"\"Return the support vectors of every row.\"\"\"
    y = tuple(float(row.means["support_vectors"] or 0) for row in rows)
    series = Series("all", tuple(map(float, range(len(y)))), y, solver=rows[0].solver)
    return Figure("", "support vectors of every solver", (Panel("all", "solver", "vectors", (series,), x_log=False),))
"""
CONFIG = """
name: toys
dataset: {checkerboard: {rows: 60, test_rows: 60}}
kernel: {gaussian: {gamma: 1}}
solvers: [perceptron]
stop: {passes: 1}
figures: [{draw: vectors-kept}]
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy the project, add a figure, and run a config that draws it."""
    place = tmp_path_factory.mktemp("copy")
    with (copied(place) / "report" / "figures_by_row.py").open("a", encoding="utf-8") as file:
        file.write(FIGURE)
    (place / "toys.yaml").write_text(CONFIG, encoding="utf-8")
    call(place, "run", "toys.yaml", "--results", "out", "--data", "data")
    return place


def test_plot_draws_what_the_config_names(copy: Path) -> None:
    call(copy, "plot", "out/toys")
    assert [path.name for path in (copy / "out" / "toys" / "figures").glob("*.svg")] == ["vectors-kept.svg"]
    call(copy, "plot", "out/toys", "--figure", "vectors-kept", "--out", "drawn")
    assert (copy / "drawn" / "vectors-kept.svg").stat().st_size


def test_the_page_shows_it(copy: Path) -> None:
    call(copy, "report", "out/toys", "--out", "page")
    assert "support vectors of every solver" in (copy / "page" / "index.html").read_text("utf-8")


def test_a_mistake_in_its_name_finds_the_nearest(copy: Path) -> None:
    (copy / "wrong.yaml").write_text(CONFIG.replace("vectors-kept", "vector-kept"), encoding="utf-8")
    call(copy, "run", "wrong.yaml", "--dry-run", code=2)
