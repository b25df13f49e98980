"""The verbs on results folders: show, check, plot, report, compare, export, clean."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mpu_bench.cli.options import FAILED, ResultsFolder, ResultsFolders, console, say

if TYPE_CHECKING:
    from mpu_bench.results.store import Store


class TableFormat(StrEnum):
    """What a table can be exported to."""

    CSV = "csv"
    MARKDOWN = "md"
    LATEX = "tex"
    PARQUET = "parquet"


def print_results(store: Store, asked: Collection[int] | None = None) -> None:
    """Print the table of a results folder, and below it what its reader must know.

    Parameters
    ----------
    store : Store
    asked : collection of int or None
        The places in the plan of the runs to print; what else there is becomes one line. None: everything.
    """
    from mpu_bench.cli import table

    every, terminal = store.records(earlier=True), console()
    records = every if asked is None else [each for place, each in enumerate(every) if place in asked]
    table.print_table(records, store.fact("published"), terminal)
    for line in table.remarks(records, store.environments(), store.fact("published")):
        terminal.print(line, markup=False, highlight=False, soft_wrap=True)
    if asked is not None and (rest := sum(not each["trial"] for each in every) - len(records)) > 0:
        line = f"other runs of this experiment, not asked for: {rest}; mpu-bench show {store.folder} prints them all"
        terminal.print(line, markup=False, highlight=False, soft_wrap=True)


def show(results: ResultsFolder) -> None:
    """Print the table of a results folder."""
    from mpu_bench.results.store import Store

    with Store(results) as store:
        print_results(store)


def check(
    results: ResultsFolders = None,
    everything: Annotated[bool, typer.Option("--all", help="List every number, not only those that differ.")] = False,
    against: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Compare with earlier results instead, such as those in results/baseline."),
    ] = None,
) -> None:
    """Compare measured with published numbers; exit 1 if any is out of tolerance.

    With --against, compare with earlier results of this project instead: counts, errors and objectives must be equal
    on the same kind of processor and close on another, and no solver may be three times slower than it was, in units
    of the first solver.

    Exit codes: 0, all agree; 1, some differ; 2, bad input.
    """
    from mpu_bench.cli import verdicts
    from mpu_bench.verdict import baseline, folders

    chosen = results or folders.results_folders(Path("results"))
    if against is not None:
        held, unknown = baseline.hold(chosen, against)
        verdicts.print_held(held, unknown, against, console())
        raise typer.Exit(FAILED if any(each.differs for each in held) else 0)
    cells = folders.of_folders(chosen)
    verdicts.print_cells(cells, everything, console())
    raise typer.Exit(FAILED if folders.any_outside(cells) else 0)


def plot(
    results: ResultsFolder,
    figure: Annotated[
        str | None, typer.Option(metavar="NAME", help="Draw only this figure. By default all that have data.")
    ] = None,
    against: Annotated[
        str | None, typer.Option(metavar="AXIS", help="The horizontal axis of curves: train_seconds, passes, ...")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The folder of the figures. By default RESULTS/figures.")
    ] = None,
) -> None:
    """Draw the figures of a results folder as SVG and PDF."""
    from mpu_bench.report import figures

    for path in figures.plot(results, figure, against, out):
        say(f"written: {path}")


def report(
    results: ResultsFolders = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder of the page.")] = Path("results/page"),
) -> None:
    """Write a page that opens from disk: tables, figures, verdicts, and the command that repeats each row."""
    from mpu_bench.report import page
    from mpu_bench.verdict import folders

    say(f"written: {page.write(results or folders.results_folders(Path('results')), out)}")


def compare(
    first: Annotated[Path, typer.Argument(metavar="FIRST", help="A results folder.")],
    second: Annotated[Path, typer.Argument(metavar="SECOND", help="Another of the same experiment.")],
) -> None:
    """Compare two results folders of one experiment: counts, accuracies, seconds.

    Exit codes: 0, they agree; 1, some run differs; 2, bad input.
    """
    from mpu_bench.cli import verdicts
    from mpu_bench.verdict import regression

    left, right = regression.read(first), regression.read(second)
    differences = regression.compare(left, right)
    verdicts.print_differences(left, right, differences, console())
    raise typer.Exit(FAILED if any(each.faults for each in differences) else 0)


def export(
    results: ResultsFolder,
    to: Annotated[TableFormat, typer.Option(help="The format.")] = TableFormat.CSV,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The file to write. By default the text is printed.")
    ] = None,
) -> None:
    """Export the results table as CSV, Markdown, LaTeX or Parquet."""
    from mpu_bench.report.export import export as exported

    text = exported(results, to.value, out)
    if text is not None:
        typer.echo(text, nl=False)


def clean(
    results: ResultsFolder,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
) -> None:
    """Delete a results folder."""
    import shutil

    from mpu_bench.results.store import existing_file

    existing_file(results)  # refuses what is no results folder
    if not yes and not typer.confirm(f"Delete {results} with all its results?"):
        raise typer.Exit(FAILED)
    shutil.rmtree(results)
    say(f"deleted {results}")
