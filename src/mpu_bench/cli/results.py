"""The verbs on results folders: show, plot, report, export, clean."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import typer

from mpu_bench.cli.options import FAILED, ResultsFolder, ResultsFolders, console, say, write


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
            help="Draw only this figure; all: every figure with data. By default the figures of the config.",
        ),
    ] = None,
    against: Annotated[
        str | None, typer.Option(metavar="AXIS", help="The horizontal axis of curves, such as train_seconds or passes.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The folder for the figures. By default RESULTS/figures.")
    ] = None,
    to: Annotated[str, typer.Option(metavar="FORMATS", help="The file formats, comma-separated.")] = "svg,pdf,png",
    style: Annotated[
        Literal["paper", "slides"],
        typer.Option(help="The size: paper, for a column of a paper; slides, with large type."),
    ] = "paper",
) -> None:
    """Draw the figures of a results folder as SVG, PDF and PNG."""
    from mpu_bench.report import figures

    forms = list(dict.fromkeys(to.split(",")))
    for path in figures.plot(results, figure, against=against, out=out, forms=forms, style=style):
        say(f"written: {path}")


def report(
    results: ResultsFolders = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder for the pages.")] = Path("results/page"),
    documentation: Annotated[
        str, typer.Option(metavar="URL|FILE", help="The address of the documentation, for links.")
    ] = "",
) -> None:
    """Write HTML pages with tables, figures and verdicts.

    The pages open from disk. Each row has the command that repeats it.
    """
    from mpu_bench.report import page
    from mpu_bench.results.folder import results_folders

    chosen = results or results_folders(Path("results"), profiles=False)
    say(f"written: {page.write(chosen, out, documentation)}")


def export(
    results: ResultsFolder,
    to: Annotated[str, typer.Option(metavar="FORM", help="The format: csv, md, tex, html or parquet.")] = "csv",
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The file to write. By default standard output.")
    ] = None,
    columns: Annotated[
        str | None, typer.Option(metavar="NAMES", help="The quantities to show, such as test_error,train_seconds.")
    ] = None,
    rows: Annotated[
        str,
        typer.Option(metavar="KIND", help="datasets: a row per dataset, a column per solver; solvers: the reverse."),
    ] = "",
    caption: Annotated[str, typer.Option(metavar="TEXT", help="The caption: tex, html.")] = "",
    label: Annotated[str, typer.Option(metavar="NAME", help="The label: tex, html.")] = "",
    bold_best: Annotated[
        bool, typer.Option("--bold-best", help="Set the best of each dataset in bold: md, tex, html.")
    ] = False,
) -> None:
    """Export the results table as CSV, Markdown, LaTeX and others."""
    from mpu_bench.report.export import Shape
    from mpu_bench.report.export import export as exported

    named = {} if columns is None else {"columns": tuple(columns.split(","))}
    text = exported(results, to, out, Shape(rows=rows, caption=caption, label=label, bold_best=bold_best, **named))
    if text is not None:
        write(text)


def clean(
    results: ResultsFolder,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
) -> None:
    """Delete the results in a folder, and no other files."""
    from mpu_bench.display.terminal import confirmed
    from mpu_bench.report import csv_files

    csv_files.check(results)
    if not yes and not confirmed(f"Delete {results} with all its results?"):
        raise typer.Exit(FAILED)
    if left := csv_files.clean(results):
        say(f"deleted the results in {results}; other files stay: {', '.join(left)}")
    else:
        say(f"deleted {results}")
