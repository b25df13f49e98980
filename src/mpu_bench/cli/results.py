"""The verbs on results folders: show, plot, report, export, clean."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from mpu_bench.cli.options import FAILED, ResultsFolder, ResultsFolders, console, say, write


class TableFormat(StrEnum):
    """What a table can be exported to."""

    CSV = "csv"
    MARKDOWN = "md"
    LATEX = "tex"
    PARQUET = "parquet"


class FigureStyle(StrEnum):
    """How large text and lines of figures are."""

    PAPER = "paper"
    SLIDES = "slides"


def show(results: ResultsFolder) -> None:
    """Print the table of a results folder."""
    from mpu_bench.display import table
    from mpu_bench.results.folder import open_results

    with open_results(results) as opened:
        table.print_results(opened, console())


def plot(
    results: ResultsFolder,
    figure: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Draw only this figure; 'all': every figure with data. By default the figures of the config.",
        ),
    ] = None,
    against: Annotated[
        str | None, typer.Option(metavar="AXIS", help="The horizontal axis of curves: train_seconds, passes, ...")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The folder of the figures. By default RESULTS/figures.")
    ] = None,
    to: Annotated[str, typer.Option(metavar="FORMS", help="The file formats: some of svg,pdf,png.")] = "svg,pdf,png",
    style: Annotated[
        FigureStyle, typer.Option(help="The size: paper, for a printed column; slides, with large type.")
    ] = FigureStyle.PAPER,
) -> None:
    """Draw the figures of a results folder as SVG, PDF and PNG, for a paper or for slides."""
    from mpu_bench.report import figures

    forms = list(dict.fromkeys(to.split(",")))
    for path in figures.plot(results, figure, against=against, out=out, forms=forms, style=style):
        say(f"written: {path}")


def report(
    results: ResultsFolders = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder of the pages.")] = Path("results/page"),
    documentation: Annotated[
        str, typer.Option(metavar="URL|FILE", help="The address of the documentation, for links.")
    ] = "",
) -> None:
    """Write pages that open from disk: tables, figures, verdicts, and the command that repeats each row."""
    from mpu_bench.report import page
    from mpu_bench.verdict import folders

    chosen = results or folders.results_folders(Path("results"), profiles=False)
    say(f"written: {page.write(chosen, out, documentation)}")


def export(
    results: ResultsFolder,
    to: Annotated[TableFormat, typer.Option(help="The format.")] = TableFormat.CSV,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The file to write. By default standard output.")
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="The quantities to show in md and tex, such as objective,train_seconds."),
    ] = None,
    caption: Annotated[str, typer.Option(metavar="TEXT", help="The caption of a LaTeX table.")] = "",
    label: Annotated[str, typer.Option(metavar="NAME", help="The label of a LaTeX table.")] = "",
    bold: Annotated[bool, typer.Option("--bold", help="Set the best of each dataset in bold: md, tex.")] = False,
) -> None:
    """Export the results table as CSV, Markdown, LaTeX or Parquet."""
    from mpu_bench.report.export import Shape
    from mpu_bench.report.export import export as exported

    shape = Shape(caption=caption, label=label, bold=bold)
    if columns is not None:
        shape = replace(shape, columns=tuple(columns.split(",")))
    text = exported(results, to.value, out, shape)
    if text is not None:
        write(text)


def clean(
    results: ResultsFolder,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
) -> None:
    """Delete what mpu-bench wrote in a results folder, and nothing else."""
    from mpu_bench.display.terminal import confirmed
    from mpu_bench.report import cleaning

    cleaning.check(results)
    if not yes and not confirmed(f"Delete {results} with all its results?"):
        raise typer.Exit(FAILED)
    if left := cleaning.clean(results):
        say(f"deleted the results in {results}; left there, no part of them: {', '.join(left)}")
    else:
        say(f"deleted {results}")
