"""The figures of a results folder as files: which, of what, in which form."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mpu_bench.config.drawings import AXES, KINDS, Drawing
from mpu_bench.errors import ConfigError, StoreError, nearest
from mpu_bench.files import write_all
from mpu_bench.report import figure_data
from mpu_bench.report.figure_parts import Figure
from mpu_bench.report.style import FORMATS
from mpu_bench.results import machines, summary
from mpu_bench.results.folder import open_results

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawn

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
        _check("form of figures", form, FORMS)
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
    _check("figure", name or EVERY, (EVERY, *KINDS))
    _check("axis", against or AXES[0], AXES)
    drawable = _drawable(results, name, against)
    if not drawable:
        raise StoreError(
            f"{results}: has no data for {'a figure' if name in (None, EVERY) else f'the figure {name!r}'}"
        )
    return drawable


def _drawable(results: Path, name: str | None, against: str | None) -> list[Figure]:
    with open_results(results) as opened:
        runs = machines.located(opened.records(), opened.environments())
        rows, means = (machines.with_runs(each, runs) for each in (summary.summaries(opened), opened.mean_curves()))
        drawings = [Drawing.model_validate(each) for each in opened.fact("figures") or ()]
    if name is None or name == EVERY:
        return figure_data.figures(rows, means, drawings, every=name == EVERY, against=against)
    meant = [each for each in drawings if each.draw == name] or [Drawing.model_validate({"draw": name})]
    figure = figure_data.meant_by(meant[0], rows, means, against)
    return [figure] if figure is not None else []


def drawn(figure: Figure, forms: Sequence[str], style: str = "paper") -> dict[str, bytes]:
    """Return the content of a figure's files, by their forms."""
    from mpu_bench.report import drawing

    _check("style of figures", style, FORMATS)
    return drawing.files(figure, forms, style)


def styled(figure: Figure, style: str = "paper") -> Drawn:
    """Draw a figure for a program, which may go on with it."""
    from mpu_bench.report import drawing

    _check("style of figures", style, FORMATS)
    return drawing.draw(figure, style)


def _check(what: str, name: str, names: Collection[str]) -> None:
    if name not in names:
        raise ConfigError(f"no {what} '{name}': {nearest(name, names)}")
