"""``mpu-bench run`` and ``mpu-bench reproduce``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mpu_bench.cli.options import (
    BAD_INPUT,
    FAILED,
    INTERRUPTED,
    INTERRUPTION,
    Plain,
    complete_config,
    console,
    say,
    takes,
)
from mpu_bench.errors import ClusterError, ConfigError
from mpu_bench.experiment.options import ReproduceOptions, RunOptions

if TYPE_CHECKING:
    from mpu_bench.experiment.pool import Pool
    from mpu_bench.experiment.runner import ChosenRuns


@takes(RunOptions)
def run(
    config: Annotated[
        Path,
        typer.Argument(
            metavar="CONFIG", help="A YAML file, or the name of a bundled config.", autocompletion=complete_config
        ),
    ],
    options: RunOptions,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="List the runs, their estimated time and the downloads; run nothing.")
    ] = False,
    debugger: Annotated[
        bool,
        typer.Option("--pdb", help="Run in this process, plugins included, and open pdb if a run raises."),
    ] = False,
    plain: Plain = False,
) -> None:
    """Run an experiment and print its table.

    Missing data are downloaded, and only runs without a result are executed.

    A config with plugins: is code. It runs with your permissions, even under --dry-run: run it only if you trust it.

    Exit codes: 0, every run has a result; 1, some run failed; 2, bad input; 130 or 143, interrupted.
    """
    pool = _debugging(options) if debugger else None
    from mpu_bench.experiment import runner

    if dry_run:
        from mpu_bench.cli import planning

        planning.print_plan(runner.choose(config, options, say), console())
        return
    with runner.opened(config, options, say, pool) as (chosen, workers):
        code = _execute(chosen, workers, table=not (debugger or plain))
    raise typer.Exit(code)


def _debugging(options: RunOptions) -> Pool:
    """Settle the threads of this process, which is to make runs, before it imports what has them."""
    from mpu_bench.guard.process import thread_variables

    if options.cluster is not None:
        raise ConfigError("--pdb runs in this process; remove --cluster")
    threads = options.threads or 1
    os.environ.update(thread_variables(threads))
    if options.jobs > 1:
        raise ConfigError(f"--pdb runs one run at a time, in this process; remove --jobs {options.jobs}")
    say("--pdb: runs are executed in this process, one at a time, without limits; plugins are imported in it, too")
    from mpu_bench.experiment.pool.inprocess import InProcessPool

    return InProcessPool(threads, _debug)


def _debug(error: BaseException) -> None:
    """Open a debugger where a run has raised, unless the user has ended it."""
    import pdb

    from mpu_bench.cli import interruption

    if interruption.has_come():
        raise error
    pdb.post_mortem(error.__traceback__)


def _execute(chosen: ChosenRuns, pool: Pool, table: bool) -> int:
    from mpu_bench.display.live import Display
    from mpu_bench.results.store import FILE

    code, folder = FAILED, chosen.folder
    try:
        with Display(console(stderr=True), table).listening() as listener:
            code = 0 if chosen.make(pool, listener, say) else FAILED
    except KeyboardInterrupt:
        say(INTERRUPTION)
        if not (folder / FILE).is_file():
            return INTERRUPTED
        code = INTERRUPTED
    except ClusterError:
        if (folder / FILE).is_file():
            _report(chosen)
        raise
    _report(chosen)
    return code


def _report(chosen: ChosenRuns) -> None:
    """Write the CSV files of a results folder and print the requested part of its table."""
    from mpu_bench.display import table
    from mpu_bench.report import csv_files
    from mpu_bench.results.folder import open_results

    with open_results(chosen.folder) as results:
        csv_files.write(results)
        table.print_results(results, console(), chosen.indices)
    say(f"results written to {chosen.folder}: runs.csv, table.csv, curves.csv and others")


@takes(ReproduceOptions)
def reproduce(
    options: ReproduceOptions,
    papers: Annotated[
        list[str] | None,
        typer.Option("--paper", metavar="PAPER", help="Only this paper: mpu-2010, sbp-2012, ... (repeatable)."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="List what would run, its estimated time and the downloads; run nothing.")
    ] = False,
    plain: Plain = False,
) -> None:
    """Run the papers' experiments and compare the results.

    The cheapest experiments run first; with --profile ci all take minutes. Finished runs are not repeated, and a failed
    run does not stop the others. Runs without data are listed with the reason. --jobs applies only to experiments
    that judge no seconds. Writes a file per reported table, an overview and HTML pages.

    Exit codes: 0, all runs finished; 1, some run failed; 2, bad input; 130 or 143, interrupted. Verdicts do not count:
    see mpu-bench check.
    """
    from mpu_bench.cli import verdicts
    from mpu_bench.display.live import Display
    from mpu_bench.experiment import reproduce
    from mpu_bench.report import overview, reproduction

    experiments, failures = reproduce.experiments(papers or [], options.profile, say)
    if dry_run:
        from mpu_bench.cli import planning

        outlooks = reproduce.outlooks(experiments, options, console().tell)
        timed = {experiment.name for experiment in experiments if experiment.is_timed}
        planning.print_reproduction(outlooks, timed, options, console())
        for failure in failures:
            say(f"failed: {failure}")
        raise typer.Exit(FAILED if failures else 0)
    code = 0
    try:
        failures += reproduction.make(experiments, options, Display(console(stderr=True), not plain).listening, say)
    except KeyboardInterrupt:
        say(INTERRUPTION)
        code = INTERRUPTED
    except ClusterError as error:
        say(str(error))
        code = BAD_INPUT
    tables, folders = reproduction.write(experiments, options)
    verdicts.print_overview(tables, console())
    for failure in failures:
        say(f"failed: {failure}")
    say(f"written: {options.tables / overview.OVERVIEW[0]} and the tables next to it")
    if folders:
        say(f"written: {options.folder / 'page' / 'index.html'}")
    raise typer.Exit(code or (FAILED if failures else 0))
