"""The verbs of ``mpu-bench``; what they do is elsewhere, and imported only when it is asked for."""

from __future__ import annotations

import signal
import sqlite3
import sys
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from mpu_bench import __version__
from mpu_bench.errors import UserError, nearest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from mpu_bench.config.schema import Experiment
    from mpu_bench.data.download.cache import Home
    from mpu_bench.experiment.pool.local import Pool
    from mpu_bench.experiment.run import Run
    from mpu_bench.results.store import Store

FAILED, BAD_INPUT, INTERRUPTED, TERMINATED = 1, 2, 130, 143
_FILE_WIDTH = 200

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    help="Reproduce the benchmarks of five papers on perceptron-like and budgeted SVM training, "
    "and test your own solver against them.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
data = typer.Typer(no_args_is_help=True, help="Fetch, verify and look at datasets.")
app.add_typer(data, name="data")


def main() -> NoReturn:
    """Run the command line; a user's error becomes one message and exit code 2."""
    signal.signal(signal.SIGTERM, _terminated)
    try:
        app()
    except UserError as fault:
        _refuse(str(fault))
    except sqlite3.DatabaseError as fault:  # half of a results folder's database, found on the way
        _refuse(f"the runs.sqlite of a results folder cannot be read ({fault}); move that folder away and run again")
    except BrokenPipeError:  # the reader of our output has gone, as with | head
        sys.stderr.close()
        sys.exit(FAILED)
    sys.exit(0)


def _refuse(words: str) -> NoReturn:
    from rich.console import Console

    console = Console(stderr=True, soft_wrap=True)
    console.print("mpu-bench:", style="bold red", end=" ", highlight=False)
    console.print(words, highlight=False, markup=False)
    sys.exit(BAD_INPUT)


def _terminated(_number: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(TERMINATED)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def _complete(kind: str, incomplete: str) -> Iterator[str]:
    from mpu_bench.cli import listing

    return (name for name in listing.names(kind) if name.startswith(incomplete))


def _complete_config(incomplete: str) -> list[str]:
    files = [str(path) for path in Path().glob(f"{incomplete}*") if path.is_dir() or path.suffix == ".yaml"]
    return [*_complete("configs", incomplete), *files]


def _complete_dataset(incomplete: str) -> list[str]:
    return list(_complete("datasets", incomplete))


def _complete_kind(incomplete: str) -> list[str]:
    from mpu_bench.cli import listing

    return [kind for kind in listing.KINDS if kind.startswith(incomplete)]


DataFolder = Annotated[
    Path | None,
    typer.Option("--data", metavar="DIR", help="Where datasets are kept.", envvar="MPU_BENCH_DATA", show_default=False),
]
Mirror = Annotated[
    str | None,
    typer.Option(
        "--mirror", metavar="URL|DIR", help="Where to look for files first: <mirror>/<file>.", envvar="MPU_BENCH_MIRROR"
    ),
]
Offline = Annotated[bool, typer.Option("--offline", help="Use no network.", envvar="MPU_BENCH_OFFLINE")]
Results = Annotated[Path, typer.Option("--results", metavar="DIR", help="Where results are kept.")]
Names = Annotated[list[str], typer.Argument(help="Datasets, by name.", autocompletion=_complete_dataset)]


@app.command()
def run(
    config: Annotated[
        Path,
        typer.Argument(help="A YAML file, or the name of a config that comes along.", autocompletion=_complete_config),
    ],
    profile: Annotated[str | None, typer.Option(help="Use this one of the config's profiles.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Override a key: stop.seconds=5.")
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="Do only some of the runs: solver=mpu, dataset=adult.")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="The first seed.")] = None,
    repeats: Annotated[int | None, typer.Option(min=1, help="How many seeds.")] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads of each run.")] = None,
    kernel_memory: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="For kernel values that are kept: 2GB. Half of what is free by default."),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="How many runs at once; their seconds then share the machine.")] = 1,
    force: Annotated[bool, typer.Option("--force", help="Do runs again that have a result.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be done, and do nothing.")] = False,
    results: Results = Path("results"),
    data_folder: DataFolder = None,
    mirror: Mirror = None,
    offline: Offline = False,
) -> None:
    """Run an experiment: fetch its data, do the runs that have no result yet, print the table.

    Exit code 0: every run has a result. 1: some run failed. 2: bad input. 130: interrupted.
    """
    from mpu_bench.config.read import read_config
    from mpu_bench.data.download.cache import Home
    from mpu_bench.experiment import plan
    from mpu_bench.experiment.pool.local import Pool

    home = Home.from_options(data_folder, mirror, offline)
    with Pool(0 if dry_run else jobs, threads or 1) as pool:  # its processes import while this one reads the config
        experiment = read_config(
            config,
            profile=profile,
            settings=settings or [],
            seed=seed,
            repeats=repeats,
            threads=threads,
            kernel_memory=kernel_memory,
        )
        runs = plan.plan(experiment)
        chosen = plan.only(runs, only) if only else runs
        if dry_run:
            _show_plan(chosen, home, results / experiment.name)
            return
        pool.use_threads(experiment.threads)
        if jobs > 1:
            _say(f"{jobs} runs at once share this machine: their seconds are not comparable with those of single runs")
        raise typer.Exit(_execute(experiment, runs, chosen, home, results / experiment.name, pool, force))


def _execute(
    experiment: Experiment,
    runs: Sequence[Run],
    chosen: Sequence[Run],
    home: Home,
    folder: Path,
    pool: Pool,
    force: bool,
) -> int:
    from mpu_bench.cli.live import Display
    from mpu_bench.experiment import runner
    from mpu_bench.results.store import FILE

    code = FAILED
    try:
        with Display(_console(stderr=True)).listening() as listener:
            code = 0 if runner.execute(experiment, runs, chosen, home, folder, pool, listener, force) else FAILED
    except KeyboardInterrupt:
        _say("interrupted; what is finished is kept, and the same command does the rest")
        if not (folder / FILE).is_file():
            return INTERRUPTED
        code = INTERRUPTED
    _report(folder)
    return code


def _report(folder: Path) -> None:
    """Write the CSV files of a results folder and print its table."""
    from mpu_bench.report import csv_files
    from mpu_bench.results.store import Store

    with Store(folder) as store:
        csv_files.write(store)
        _print_results(store)
    _say(f"written to {folder}: runs.csv, table.csv, curves.csv, mean_curves.csv, comparison.csv, environment.json")


def _print_results(store: Store) -> None:
    from mpu_bench.cli import table

    records = store.records()
    console = _console()
    table.print_table(records, store.fact("published"), console)
    for line in table.remarks(records, store.environments(), store.fact("published")):
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def _show_plan(chosen: Sequence[Run], home: Home, folder: Path) -> None:
    from mpu_bench.cli import listing

    listing.print_plan(chosen, home, folder, _console())


def _console(*, stderr: bool = False) -> Console:
    from rich.console import Console

    console = Console(stderr=stderr)
    if not console.is_terminal:
        console.width = _FILE_WIDTH  # a file or a pipe has no edge to wrap at
    return console


def _say(words: str) -> None:
    _console(stderr=True).print(words, markup=False, highlight=False, soft_wrap=True)


@app.command()
def show(
    results: Annotated[Path, typer.Argument(metavar="RESULTS", help="A results folder, such as results/adult.")],
) -> None:
    """Print the table of a results folder."""
    from mpu_bench.results.store import Store

    with Store(results) as store:
        _print_results(store)


@app.command()
def check(
    results: Annotated[
        list[Path] | None, typer.Argument(metavar="[RESULTS]...", help="Results folders; all of results/ by default.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="List every cell, not only those outside.")] = False,
    against: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Compare with earlier results instead, such as those of results/baseline."),
    ] = None,
) -> None:
    """Say which measured numbers differ from the printed ones by more than their config allows.

    With --against, from this project's own earlier ones: counts, errors and objectives are to be equal on the same
    kind of processor, near on another, and no solver three times slower than it was, in units of the first solver.

    Exit code 0: none. 1: some. 2: bad input.
    """
    from mpu_bench.cli import verdicts
    from mpu_bench.verdict import baseline, folders

    chosen = results or folders.results_folders(Path("results"))
    if against is not None:
        held, unknown = baseline.hold(chosen, against)
        verdicts.print_held(held, unknown, against, _console())
        raise typer.Exit(FAILED if any(each.differs for each in held) else 0)
    cells = folders.of_folders(chosen)
    verdicts.print_cells(cells, everything, _console())
    raise typer.Exit(FAILED if folders.any_outside(cells) else 0)


@app.command()
def reproduce(
    papers: Annotated[
        list[str] | None, typer.Option("--paper", metavar="PAPER", help="Only this one: mpu-2010, sbp-2012 ...")
    ] = None,
    profile: Annotated[str | None, typer.Option(help="Use this profile of every config: ci takes minutes.")] = None,
    data_limit: Annotated[str, typer.Option(metavar="SIZE", help="The most of one file that is downloaded.")] = "200MB",
    results: Results = Path("results"),
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where the tables go; RESULTS/tables by default.")
    ] = None,
    data_folder: DataFolder = None,
    mirror: Mirror = None,
    offline: Offline = False,
) -> None:
    """Run what the papers print: every config of theirs, the cheapest first, and set it beside the printed numbers.

    What has a result is kept, what fails stops nothing else, and data that cannot be had are rows that say so. Writes a
    file for each printed table, an overview, and the page.

    Exit code 0: nothing is outside. 1: something is outside, or failed. 2: bad input. 130: interrupted.
    """
    from dataclasses import replace

    from mpu_bench.cli import reproduction, verdicts
    from mpu_bench.cli.live import Display
    from mpu_bench.config.schema import memory
    from mpu_bench.data.download.cache import Home
    from mpu_bench.experiment.pool.local import Pool
    from mpu_bench.report import overview, page

    home = replace(Home.from_options(data_folder, mirror, offline), limit=memory(data_limit, "--data-limit"))
    experiments, faults = reproduction.experiments(papers or [], profile, _say)
    code = 0
    try:
        with Pool(1, 1) as pool:
            todo = reproduction.steps(experiments)
            faults += reproduction.run(
                todo, home, results, pool, lambda: Display(_console(stderr=True)).listening(), _say
            )
    except KeyboardInterrupt:
        _say("interrupted; what is finished is kept, and the same command does the rest")
        code = INTERRUPTED
    found, folders = reproduction.judge(experiments, results)
    tables_folder = out or results / "tables"
    overview.write(found, tables_folder)
    verdicts.print_overview(found, _console())
    for fault in faults:
        _say(f"failed: {fault}")
    _say(f"written: {tables_folder / overview.OVERVIEW[0]} and the tables beside it")
    if folders:
        _say(f"written: {page.write(folders, results / 'page')}")
    raise typer.Exit(code or (FAILED if faults or overview.any_outside(found) else 0))


@app.command()
def plot(
    results: Annotated[Path, typer.Argument(metavar="RESULTS", help="A results folder, such as results/adult.")],
    figure: Annotated[str | None, typer.Option(help="Which one; all that there are data for by default.")] = None,
    against: Annotated[str | None, typer.Option(metavar="AXIS", help="For curves: train_seconds, passes ...")] = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Where to; RESULTS/figures by default.")] = None,
) -> None:
    """Draw the figures of a results folder, as SVG and PDF."""
    from mpu_bench.report import figures

    for path in figures.plot(results, figure, against, out):
        _say(f"written: {path}")


@app.command()
def report(
    results: Annotated[
        list[Path] | None, typer.Argument(metavar="[RESULTS]...", help="Results folders; all of results/ by default.")
    ] = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="The page's folder.")] = Path("results/page"),
) -> None:
    """Write a page of results that opens from disk: tables, figures, verdicts, how to repeat each row."""
    from mpu_bench.report import page
    from mpu_bench.verdict import folders

    _say(f"written: {page.write(results or folders.results_folders(Path('results')), out)}")


@app.command()
def compare(
    first: Annotated[Path, typer.Argument(metavar="RESULTS", help="A results folder.")],
    second: Annotated[Path, typer.Argument(metavar="RESULTS", help="Another of the same experiment.")],
) -> None:
    """Set two results folders side by side: counts, accuracies, seconds.

    Exit code 0: they agree. 1: some run differs. 2: bad input.
    """
    from mpu_bench.cli import verdicts
    from mpu_bench.verdict import regression

    left, right = regression.read(first), regression.read(second)
    differences = regression.compare(left, right)
    verdicts.print_differences(left, right, differences, _console())
    raise typer.Exit(FAILED if any(each.faults for each in differences) else 0)


@app.command()
def export(
    results: Annotated[Path, typer.Argument(metavar="RESULTS", help="A results folder, such as results/adult.")],
    to: Annotated[str, typer.Option(help="csv, md, tex or parquet.")] = "csv",
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="The file; else the text is printed.")] = None,
) -> None:
    """Give the table of a results folder in another form."""
    from mpu_bench.report import export as exports

    text = exports.export(results, to, out)
    if text is not None:
        typer.echo(text, nl=False)


@app.command()
def clean(
    results: Annotated[Path, typer.Argument(metavar="RESULTS", help="A results folder, such as results/adult.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Delete a results folder."""
    import shutil

    from mpu_bench.results.store import existing_file

    existing_file(results)  # refuses what is no results folder
    if not yes and not typer.confirm(f"delete {results} and all its results?"):
        raise typer.Exit(FAILED)
    shutil.rmtree(results)
    _say(f"deleted {results}")


@app.command("list")
def list_(
    kind: Annotated[str, typer.Argument(help="solvers, datasets, kernels or configs.", autocompletion=_complete_kind)],
) -> None:
    """List what there is to use in a config."""
    from mpu_bench.cli import listing
    from mpu_bench.errors import ConfigError

    if kind not in listing.KINDS:
        raise ConfigError(f"nothing to list under '{kind}': {nearest(kind, listing.KINDS)}")
    _console().print(listing.table(kind))


@app.command()
def info(data_folder: DataFolder = None, mirror: Mirror = None, offline: Offline = False) -> None:
    """Show the machine, the versions and the folders in use."""
    from mpu_bench.cli import listing
    from mpu_bench.data.download.cache import Home

    _console().print(listing.facts(Home.from_options(data_folder, mirror, offline)))


@data.command()
def fetch(names: Names, data_folder: DataFolder = None, mirror: Mirror = None, offline: Offline = False) -> None:
    """Download datasets and prepare them."""
    from mpu_bench.data.cards import catalog
    from mpu_bench.data.download.cache import Home
    from mpu_bench.data.download.progress import for_console
    from mpu_bench.data.prepare.load import load_problem

    home = Home.from_options(data_folder, mirror, offline)
    for card in [catalog.card(name) for name in names]:
        problem = load_problem(card, home, for_console(_console(stderr=True)))
        _say(f"{card.name}: {problem.n} training and {problem.n_test} test rows of {problem.features} features")


@data.command()
def verify(names: Names, data_folder: DataFolder = None) -> None:
    """Hash the files of datasets again and compare."""
    from mpu_bench.data.cards import catalog
    from mpu_bench.data.download import fetch
    from mpu_bench.data.download.cache import Home

    home = Home.from_options(data_folder, offline=True)
    for card in [catalog.card(name) for name in names]:
        for file in card.remote_files:
            found = fetch.verify(file, home)
            typer.echo(f"{card.name}: {found.path}: right (sha256 {found.sha256})")
        if not card.remote_files:
            typer.echo(f"{card.name}: has no files; it is made on this machine")


@data.command("info")
def data_info(names: Names, data_folder: DataFolder = None) -> None:
    """Show what a dataset is, where it comes from and whether it is here."""
    from mpu_bench.cli import listing
    from mpu_bench.data.cards import catalog
    from mpu_bench.data.download.cache import Home

    home = Home.from_options(data_folder, offline=True)
    for card in [catalog.card(name) for name in names]:
        _console().print(listing.dataset_facts(card, home))


@data.command("path")
def data_path(names: Names, data_folder: DataFolder = None) -> None:
    """Print the folder of a dataset's prepared arrays."""
    from mpu_bench.data.cards import catalog
    from mpu_bench.data.download.cache import Home
    from mpu_bench.data.prepare.load import prepared_folder

    home = Home.from_options(data_folder, offline=True)
    for name in names:
        typer.echo(prepared_folder(catalog.card(name), home))


@data.command("clean")
def data_clean(names: Names, data_folder: DataFolder = None) -> None:
    """Delete the files and prepared arrays of datasets."""
    from mpu_bench.data.cards import catalog
    from mpu_bench.data.download.cache import Home
    from mpu_bench.data.prepare.load import clean_prepared

    home = Home.from_options(data_folder, offline=True)
    for card in [catalog.card(name) for name in names]:
        _say(f"{card.name}: {clean_prepared(card, home) / 2**20:.1f} MiB freed")
