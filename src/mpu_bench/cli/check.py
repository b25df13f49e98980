"""``mpu-bench check``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from mpu_bench.cli.options import FAILED, ResultsFolders, console, write

if TYPE_CHECKING:
    from mpu_bench.display.terminal import Terminal
    from mpu_bench.verdict.baseline import Check

_BASELINE = Path("results/baseline")


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
    from mpu_bench.errors import ConfigError, StoreError
    from mpu_bench.files import is_folder
    from mpu_bench.report import checked
    from mpu_bench.results.folder import results_folders
    from mpu_bench.verdict.baseline import check as check_folder

    if against is not None:
        raise ConfigError(f"--against is called --baseline now: mpu-bench check --baseline {against}")
    if baseline is not None and not is_folder(baseline):
        raise StoreError(f"--baseline {baseline}: no such folder")
    kept = baseline or (_BASELINE if _BASELINE.is_dir() else None)
    checks = [check_folder(folder, kept) for folder in results or results_folders(Path("results"))]
    if form == "table":
        _print(checks, bool(results) or everything, everything, console())
    elif form == "github":
        write(checked.github_text(checks))
        _summarize(checked.markdown_summary(checks))
    else:
        write((checked.json_text(checks) if form == "json" else checked.junit_text(checks, strict)) + "\n")
    failed = any(each.has_changed or (strict and each.differs) for each in checks)
    raise typer.Exit(FAILED if failed else 0)


def _summarize(text: str) -> None:
    """Append Markdown to the summary of a job of GitHub's, which it names a file for; elsewhere print it."""
    from mpu_bench.files import told_if_unwritable

    if not (name := os.environ.get("GITHUB_STEP_SUMMARY")):
        return write(text)
    with told_if_unwritable(path := Path(name)), path.open("a", encoding="utf-8") as file:
        file.write(text)
    return None


def _print(checks: Sequence[Check], listed: bool, everything: bool, terminal: Terminal) -> None:
    from mpu_bench.cli import verdicts
    from mpu_bench.report import overview
    from mpu_bench.verdict import cells

    if len(checks) == 1:
        (check,) = checks
        verdicts.print_cells(check.name, check.cells, everything, terminal)
        terminal.tell(f"{check.name}: {cells.summarize_verdicts(check.cells)}")
    else:
        names = {check.name for check in checks}
        whole = [check for check in checks if check.config == check.name or check.config not in names]
        verdicts.print_overview(overview.by_table(map(overview.of_check, whole)), terminal, listed, everything)
        if not listed:
            terminal.tell(
                f"details of an experiment: mpu-bench check {checks[0].folder}; of all: mpu-bench check --all"
            )
    verdicts.print_changes(checks, terminal)
