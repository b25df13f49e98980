"""``mpu-bench reproduce``."""

from __future__ import annotations

from typing import Annotated

import typer

from mpu_bench.cli.options import BAD_INPUT, FAILED, INTERRUPTED, INTERRUPTION, Plain, console, say, takes
from mpu_bench.experiment.options import ReproduceOptions


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
    from mpu_bench.errors import ClusterError
    from mpu_bench.experiment import reproduce
    from mpu_bench.report import overview, reproduction

    experiments, failures = reproduce.experiments(papers or [], options.profile, say)
    if dry_run:
        from mpu_bench.cli import planning

        outlooks = reproduce.outlooks(experiments, options, console().tell)
        timed = {each.name for each in experiments if each.is_timed}
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
    except ClusterError as fault:
        say(str(fault))
        code = BAD_INPUT
    tables, folders = reproduction.write(experiments, options)
    verdicts.print_overview(tables, console())
    for failure in failures:
        say(f"failed: {failure}")
    say(f"written: {options.tables / overview.OVERVIEW[0]} and the tables next to it")
    if folders:
        say(f"written: {options.folder / 'page' / 'index.html'}")
    raise typer.Exit(code or (FAILED if failures else 0))
