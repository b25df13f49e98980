"""The figures of a results folder: panels of series made from its tables, and as files; the page draws the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mpu_bench.config.drawings import AXES, KINDS, Drawing
from mpu_bench.errors import StoreError, check_known
from mpu_bench.files import write_all
from mpu_bench.quantities import DECLARED
from mpu_bench.report import figures_along, figures_by_row  # noqa: F401  which declare figures
from mpu_bench.report.figure_parts import FIGURES, Figure
from mpu_bench.report.style import FORMATS
from mpu_bench.results import machines, summary
from mpu_bench.results.folder import open_results
from mpu_bench.results.means import Summary as Row
from mpu_bench.texts import publishable

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawn


def figures(
    rows: Sequence[Row],
    curves: Sequence[Row],
    drawings: Sequence[Drawing] = (),
    *,
    every: bool = False,
    against: str | None = None,
) -> list[Figure]:
    """Return the figures that these results have data for.

    Parameters
    ----------
    rows, curves : sequence of mapping
        As for `make`.
    drawings : sequence of Drawing
        What the config is meant to draw; where there is none, or no data for any, all there are.
    every : bool
        Whether the others follow.
    against : str, optional
        For curves: one of `AXES`, instead of that which the config names.
    """
    meant = [figure for drawing in drawings if (figure := meant_by(drawing, rows, curves, against)) is not None]
    if meant and not every:
        return meant
    left = [name for name in KINDS if not FIGURES[name].on_demand and name not in [figure.name for figure in meant]]
    return meant + [figure for name in left if (figure := make(name, rows, curves, against)) is not None]


def meant_by(drawing: Drawing, rows: Sequence[Row], curves: Sequence[Row], against: str | None = None) -> Figure | None:
    """Return the figure that a config is meant to draw, or None without data for it; see `make`."""
    if drawing.datasets is not None:
        rows, curves = ([row for row in group if row.dataset in drawing.datasets] for group in (rows, curves))
    figure = make(drawing.draw, rows, curves, against or drawing.against)
    if figure is None or not drawing.of:
        return figure
    return replace(figure, caption=f"{publishable(drawing.of)}: {figure.caption}")


def make(name: str, rows: Sequence[Row], curves: Sequence[Row], against: str | None = None) -> Figure | None:
    """Return a figure's data; None where the results hold none for it.

    Parameters
    ----------
    name : str
        One of `KINDS`.
    rows, curves : sequence of mapping
        The rows of table.csv and of mean_curves.csv; with their ``runs``, seconds are drawn where they are comparable.
    against : str, optional
        For curves: one of `AXES`; the first that fits by default.
    """
    figure = FIGURES[name].make(rows, curves, against)
    if figure is None or not figure.panels:
        return None
    if against is not None and FIGURES[name].along_axis and not _is_against(figure, against):
        why = f"not against {DECLARED[against].heading}, which not all these solvers count, or not on one machine"
        figure = replace(figure, note="; ".join(filter(None, [figure.note, why])))
    worded: Figure = _as_words(replace(figure, name=name))
    return worded


def _is_against(figure: Figure, axis: str) -> bool:
    return figure.panels[0].x_label == DECLARED[axis].heading


def _as_words(part: Any) -> Any:
    """Return a figure, or a part of one, with every text in it as it may be published."""
    if isinstance(part, str):
        return publishable(part)
    if isinstance(part, tuple):
        return tuple(map(_as_words, part))
    if not is_dataclass(part):
        return part
    return replace(part, **{field.name: _as_words(getattr(part, field.name)) for field in fields(part)})  # type: ignore[type-var]


def versions(figure: Figure, rows: Sequence[Row], curves: Sequence[Row]) -> dict[str, Figure]:
    """Return a figure by the label of its x axis: the figure itself, and against every other axis that fits."""
    asked = [(axis, make(figure.name, rows, curves, axis)) for axis in AXES[:-1] if FIGURES[figure.name].along_axis]
    others = [version for axis, version in asked if version is not None and _is_against(version, axis)]
    return {version.panels[0].x_label: version for version in (*others, figure)}


FOLDER = "figures"  #: of a results folder
FORMS = ("svg", "pdf", "png")  #: of a figure's files
EVERY = "all"  #: instead of a figure's name


def plot(
    results: Path,
    name: str | None,
    against: str | None,
    out: Path | None,
    forms: Sequence[str] = FORMS,
    style: str = "paper",
) -> list[Path]:
    """Draw figures of a results folder.

    Parameters
    ----------
    results : Path
    name : str or None
        Which figure, or `EVERY`; see `figures_of`.
    against : str or None
        For curves: the axis.
    out : Path or None
        Where to put them; ``<results>/figures`` by default.
    forms : sequence of str
        Of `FORMS`.
    style : {"paper", "slides"}
        How large text and lines are.

    Returns
    -------
    list of Path
        The files written.

    Raises
    ------
    ConfigError
        If there is no figure, axis, form or style of this name.
    StoreError
        If the results have no data for it, or the files cannot be written.
    """
    for form in forms:
        check_known(form, FORMS, f"no figure format '{form}'")
    drawable = figures_of(results, name, against)
    folder = out or results / FOLDER
    drawings = {figure.name: drawn(figure, forms, style) for figure in drawable}
    files = {f"{name}.{form}": content for name, contents in drawings.items() for form, content in contents.items()}
    write_all(folder, files)
    return [folder / name for name in files]


def figures_of(results: Path, name: str | None = None, against: str | None = None) -> list[Figure]:
    """Return figures of a results folder.

    Parameters
    ----------
    results : Path
    name : str, optional
        The figure, or `EVERY` for all that there are data for. By default those that the config names; where it names
        none, all.
    against : str, optional
        For curves: the axis, instead of that which the config names.

    Raises
    ------
    ConfigError
        If there is no figure or axis of this name.
    StoreError
        If the results have no data for it.
    """
    check_known(name or EVERY, (EVERY, *KINDS), f"no figure '{name}'")
    check_known(against or AXES[0], AXES, f"no axis '{against}'")
    drawable = _drawable(results, name, against)
    if not drawable:
        raise StoreError(
            f"{results}: has no data for a figure"
            if name is None or name == EVERY
            else f"{results}: does not fit the figure {name!r}, which needs {FIGURES[name].needs}; draw another "
            "(--figure all draws those that fit), or print the numbers with mpu-bench show"
        )
    if against is not None and not any(_is_against(figure, against) for figure in drawable):
        raise StoreError(
            f"{results}: has no figure against {against}: it needs curves of solvers that all count it, and for "
            "seconds one machine; leave --against out"
        )
    return drawable


def _drawable(results: Path, name: str | None, against: str | None) -> list[Figure]:
    with open_results(results) as opened:
        runs = machines.located(opened.records(), opened.environments())
        rows, means = (machines.with_runs(group, runs) for group in (summary.summaries(opened), opened.mean_curves))
        drawings = [Drawing.model_validate(entry) for entry in opened.fact("figures") or ()]
    if name is None or name == EVERY:
        return figures(rows, means, drawings, every=name == EVERY, against=against)
    meant = [drawing for drawing in drawings if drawing.draw == name] or [Drawing.model_validate({"draw": name})]
    figure = meant_by(meant[0], rows, means, against)
    return [figure] if figure is not None else []


def drawn(figure: Figure, forms: Sequence[str], style: str = "paper") -> dict[str, bytes]:
    """Return the content of a figure's files, by their forms."""
    from mpu_bench.report import drawing

    check_known(style, FORMATS, f"no style of figures '{style}'")
    return drawing.files(figure, forms, style)


def styled(figure: Figure, style: str = "paper") -> Drawn:
    """Draw a figure for a program, which may go on with it."""
    from mpu_bench.report import drawing

    check_known(style, FORMATS, f"no style of figures '{style}'")
    return drawing.draw(figure, style)
