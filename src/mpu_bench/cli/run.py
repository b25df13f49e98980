"""``mpu-bench run``."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mpu_bench.cli.cluster import ClusterAddress, JobsPerWorker, SendData, cluster_of, cluster_pool
from mpu_bench.cli.options import (
    FAILED,
    HELD,
    INTERRUPTED,
    DataFolder,
    Mirror,
    Offline,
    Plain,
    ResultsRoot,
    announce_plugins,
    complete_config,
    console,
    data_home,
    say,
)
from mpu_bench.config.bounds import LARGEST_SEED, MOST_JOBS, MOST_REPEATS, MOST_THREADS

if TYPE_CHECKING:
    from mpu_bench.experiment.pool import Pool
    from mpu_bench.experiment.runner import Listener


def run(
    config: Annotated[
        Path,
        typer.Argument(
            metavar="CONFIG", help="A YAML file, or the name of a bundled config.", autocompletion=complete_config
        ),
    ],
    profile: Annotated[str | None, typer.Option(metavar="NAME", help="Use this profile of the config.")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Override a key of the config: stop.seconds=5 (repeatable)."),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="Run only matching runs: solver=mpu, dataset=adult (repeatable)."),
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, max=LARGEST_SEED, help="The first seed.")] = None,
    repeats: Annotated[int | None, typer.Option(min=1, max=MOST_REPEATS, help="The number of seeds.")] = None,
    threads: Annotated[int | None, typer.Option(min=1, max=MOST_THREADS, help="Threads of each run.")] = None,
    kernel_memory: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Memory for stored kernel values, such as 2GB. By default half of the free."),
    ] = None,
    jobs: Annotated[
        int,
        typer.Option(
            min=1, max=MOST_JOBS, help="How many runs at once. They share the machine, and so their seconds grow."
        ),
    ] = 1,
    force: Annotated[bool, typer.Option("--force", help="Re-run even if a result exists.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="List runs, how long they take, and downloads; execute nothing.")
    ] = False,
    save_models: Annotated[
        bool, typer.Option("--save-models", help="Save the model of every run in models/ of the results folder.")
    ] = False,
    debugger: Annotated[
        bool,
        typer.Option("--pdb", help="Make runs in this process, plugins and all, and open pdb where one raises."),
    ] = False,
    cluster: ClusterAddress = None,
    jobs_per_worker: JobsPerWorker = 1,
    send_data: SendData = False,
    plain: Plain = False,
    results: ResultsRoot = Path("results"),
    data_folder: DataFolder = None,
    mirror: Mirror = None,
    offline: Offline = False,
) -> None:
    """Run an experiment: fetch its data, make the runs that have no result yet, print the table.

    A config with plugins: is code, which runs with your rights, with --dry-run too: run it only if you trust it.

    Exit codes: 0, every run has a result; 1, some run failed; 2, bad input; 130 or 143, interrupted.
    """
    machines = cluster_of(cluster, jobs_per_worker, send_data, jobs)
    if machines is not None and debugger:
        from mpu_bench.errors import ConfigError

        raise ConfigError("--pdb makes runs in this process; leave out --cluster")
    if debugger:
        _begin_debugging(jobs, threads or 1)
    from mpu_bench.experiment import disturbance
    from mpu_bench.experiment.chosen import ChosenRuns

    home = data_home(data_folder, mirror, offline)
    load = math.nan if machines else disturbance.load_of_others()  # while this process has no workers yet
    if machines is not None and not dry_run:
        opened: AbstractContextManager[Pool] = cluster_pool(machines, home)
    else:
        opened = _pool(jobs, threads or 1, debugger)
    with opened as pool:
        chosen = ChosenRuns.read(
            config,
            only or [],
            profile=profile,
            settings=settings or [],
            seed=seed,
            repeats=repeats,
            threads=threads,
            kernel_memory=kernel_memory,
            announce=announce_plugins,
        )
        folder = results / chosen.experiment.name
        if dry_run:
            from mpu_bench.cli import planning

            planning.print_plan(chosen, home, folder, console(), force)
            return

        def make(listener: Listener) -> bool:
            return chosen.make(
                folder, home, pool, listener, force=force, save_models=save_models, jobs=jobs, load=load, say=say
            )

        raise typer.Exit(_execute(make, chosen.places, folder, table=not (debugger or plain)))


def _begin_debugging(jobs: int, threads: int) -> None:
    """Settle the threads of this process, which is to make runs, before it imports what has them."""
    from mpu_bench.errors import ConfigError
    from mpu_bench.guard.process import thread_variables

    os.environ.update(thread_variables(threads))
    if jobs > 1:
        raise ConfigError(f"--pdb makes one run at a time, in this process; leave out --jobs {jobs}")
    say(
        "--pdb: runs are made in this process, one at a time and without limits; with this option alone, plugins are "
        "imported in it"
    )


def _pool(jobs: int, threads: int, debugger: bool) -> Pool:
    if debugger:
        from mpu_bench.experiment.pool.inprocess import InProcessPool

        return InProcessPool(threads, _debug)
    from mpu_bench.experiment.pool.local import LocalPool

    return LocalPool(jobs, threads)


def _debug(fault: BaseException) -> None:
    """Open a debugger where a run has raised, unless the user has ended it."""
    import pdb

    from mpu_bench.cli import interruption

    if interruption.has_come():
        raise fault
    pdb.post_mortem(fault.__traceback__)


def _execute(make: Callable[[Listener], bool], asked: Collection[int] | None, folder: Path, table: bool) -> int:
    from mpu_bench.display.live import Display
    from mpu_bench.errors import ClusterError
    from mpu_bench.results.store import FILE

    code = FAILED
    try:
        with Display(console(stderr=True), table).listening() as listener:
            code = 0 if make(listener) else FAILED
    except KeyboardInterrupt:
        say(HELD)
        if not (folder / FILE).is_file():
            return INTERRUPTED
        code = INTERRUPTED
    except ClusterError:
        if (folder / FILE).is_file():
            _report(folder, asked)
        raise
    _report(folder, asked)
    return code


def _report(folder: Path, asked: Collection[int] | None) -> None:
    """Write the CSV files of a results folder and print the part of its table that was asked for."""
    from mpu_bench.display import table
    from mpu_bench.report import csv_files
    from mpu_bench.results.folder import open_results

    with open_results(folder) as results:
        csv_files.write(results)
        table.print_results(results, console(), asked)
    say(f"results are in {folder}: runs.csv, table.csv, curves.csv and others")
