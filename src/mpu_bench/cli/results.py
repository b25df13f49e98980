"""The verbs on results folders: show, check, compare, plot, report, export, clean."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from mpu_bench.cli.options import FAILED, ResultsFolder, ResultsFolders, console, say, write


def show(results: ResultsFolder) -> None:
    """Print the table of a results folder."""
    from mpu_bench.display import table
    from mpu_bench.results.folder import open_results

    with open_results(results) as opened:
        table.print_results(opened, console())


def check(
    results: ResultsFolders = None,
    baseline: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="A folder of earlier results to compare with. By default results/baseline, if it exists.",
            show_default=False,
        ),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Also exit with 1 if a value is not reproduced or a claim is contradicted.")
    ] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="List every value and claim, not only those that are not reproduced.")
    ] = False,
    form: Annotated[
        Literal["table", "json", "junit", "github"],
        typer.Option("--format", help="The output format. github: annotations and a job summary."),
    ] = "table",
    against: Annotated[Path | None, typer.Option(hidden=True, help="What --baseline was called before.")] = None,
) -> None:
    """Compare results with the papers and with the baseline.

    Lists values that are not reproduced and claims that are contradicted. These do not fail the command. It fails if a
    count, an error, an objective or a verdict has changed from the baseline. Between processors or library versions,
    counts may differ as far as each solver declares. Seconds are never compared. Without RESULTS, verdicts are counted
    per table; without any results, those of the baseline.

    Exit codes: 0, nothing changed; 1, something changed, or with --strict something is not reproduced; 2, bad input.
    """
    from mpu_bench.cli import verdicts
    from mpu_bench.errors import ConfigError

    if against is not None:
        raise ConfigError(f"--against {against}: is called --baseline now")
    passes = verdicts.check(results or (), baseline, strict=strict, everything=everything, form=form)
    raise typer.Exit(0 if passes else FAILED)


def compare(
    first: Annotated[Path, typer.Argument(metavar="FIRST", help="A results folder.")],
    second: Annotated[
        Path | None, typer.Argument(metavar="SECOND", help="Another results folder with the same solvers.")
    ] = None,
    solvers: Annotated[
        tuple[str, str] | None,
        typer.Option(
            metavar="NAME NAME",
            help="Compare a solver of FIRST with one of SECOND, or two of FIRST. To choose among settings: "
            '"bpegasos maintenance=merging budget=100".',
        ),
    ] = None,
    quantity: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Compare only this column of table.csv (repeatable)."),
    ] = None,
    form: Annotated[Literal["table", "json", "csv"], typer.Option("--format", help="The output format.")] = "table",
) -> None:
    """Compare two results folders, or two solvers, run by run.

    Runs are paired by dataset, split, seed and settings such as the budget. For each dataset: the mean difference
    (× marks a ratio of geometric means), its 95% interval, and the p-value of a paired t-test over seeds or splits.
    Over datasets: the Hodges-Lehmann median, its interval, and the p-value of Wilcoxon's exact signed-rank test.
    Seconds are compared only for undisturbed runs on one machine.

    For two folders, it also lists the runs that are in both and differ.

    Exit codes: 0, no such run differs; 1, some run differs; 2, bad input.
    """
    from mpu_bench.cli import compare as comparing

    raise typer.Exit(0 if comparing.compare(first, second, solvers, quantity=quantity or (), form=form) else FAILED)


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

    forms = list(dict.fromkeys(map(str.strip, to.split(","))))
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

    named = {} if columns is None else {"columns": tuple(map(str.strip, columns.split(",")))}
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
