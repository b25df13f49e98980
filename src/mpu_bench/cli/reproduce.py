"""``mpu-bench reproduce``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from mpu_bench.cli.cluster import ClusterAddress, JobsPerWorker, SendData, cluster_of, cluster_pool
from mpu_bench.cli.options import (
    BAD_INPUT,
    FAILED,
    HELD,
    INTERRUPTED,
    DataFolder,
    Mirror,
    Offline,
    Plain,
    ResultsRoot,
    console,
    data_home,
    say,
)
from mpu_bench.config.bounds import MOST_JOBS


def reproduce(
    papers: Annotated[
        list[str] | None,
        typer.Option("--paper", metavar="PAPER", help="Only this paper: mpu-2010, sbp-2012, ... (repeatable)."),
    ] = None,
    profile: Annotated[
        str | None, typer.Option(metavar="NAME", help="Use this profile of every config: ci takes minutes.")
    ] = None,
    data_limit: Annotated[str, typer.Option(metavar="SIZE", help="Do not download files larger than this.")] = "200MB",
    jobs: Annotated[
        int,
        typer.Option(
            min=1, max=MOST_JOBS, help="How many runs at once, of configs that judge errors and counts, not seconds."
        ),
    ] = 1,
    cluster: ClusterAddress = None,
    jobs_per_worker: JobsPerWorker = 1,
    send_data: SendData = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Tell what there is to do, how long it takes, and downloads; do nothing.")
    ] = False,
    plain: Plain = False,
    results: ResultsRoot = Path("results"),
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The folder of the tables. By default tables in that of results.")
    ] = None,
    data_folder: DataFolder = None,
    mirror: Mirror = None,
    offline: Offline = False,
) -> None:
    """Run every config of the papers, cheapest first, and compare with the published numbers.

    What has a result is kept, a failure stops nothing else, and a run whose data cannot be had is a row that says so.
    Writes a file for each published table, an overview and the page.

    Exit codes: 0, all ran, whatever the verdicts are (mpu-bench check judges them); 1, something failed; 2, bad
    input; 130 or 143, interrupted.
    """
    from mpu_bench.cli import reproduction, verdicts
    from mpu_bench.cli.options import memory
    from mpu_bench.display.live import Display
    from mpu_bench.errors import ClusterError
    from mpu_bench.experiment import disturbance
    from mpu_bench.experiment.pool.local import LocalPool
    from mpu_bench.report import overview, page

    machines = cluster_of(cluster, jobs_per_worker, send_data, jobs)
    home = replace(data_home(data_folder, mirror, offline), limit=memory(data_limit, "--data-limit"))
    experiments, failures = reproduction.experiments(papers or [], profile, say)
    if dry_run:
        from mpu_bench.cli import planning

        planning.print_reproduction(experiments, home, results, console(), jobs)
        for failure in failures:
            say(f"failed: {failure}")
        raise typer.Exit(FAILED if failures else 0)
    if machines is None and (
        busy := disturbance.warning(
            disturbance.load_of_others(), max((each.threads for each in experiments), default=1)
        )
    ):
        say(busy)
    if jobs > 1:
        shared = [each.name for each in experiments if not each.is_timed]
        say(f"{jobs} runs at once, so that their seconds tell nothing: {', '.join(shared) or 'of no config'}")
    code = 0
    try:
        with LocalPool() if machines is None else cluster_pool(machines, home) as pool:
            steps = reproduction.steps(experiments, whole=machines is not None)
            display = Display(console(stderr=True), not plain)
            failures += reproduction.run(steps, home, results, pool, display.listening, say, jobs)
    except KeyboardInterrupt:
        say(HELD)
        code = INTERRUPTED
    except ClusterError as fault:
        say(str(fault))
        code = BAD_INPUT
    tables, folders = reproduction.compare(experiments, results)
    tables_folder = out or results / "tables"
    overview.write(tables, tables_folder)
    verdicts.print_overview(tables, console())
    for failure in failures:
        say(f"failed: {failure}")
    say(f"written: {tables_folder / overview.OVERVIEW[0]} and the tables beside it")
    if folders:
        say(f"written: {page.write(folders, results / 'page')}")
    raise typer.Exit(code or (FAILED if failures else 0))
