"""``mpu-bench data``: add, fetch, verify, info, path, clean."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mpu_bench.cli.options import DatasetNames, TableOptions, console, say, takes, write
from mpu_bench.experiment.options import DataOptions, FolderOptions
from mpu_bench.texts import counted

if TYPE_CHECKING:
    from mpu_bench.data.cards.schema import Card

app = typer.Typer(no_args_is_help=True, help="Add your own data; download, verify and describe datasets.")


def _cards(names: Sequence[str]) -> list[Card]:
    from mpu_bench.data.cards import catalog

    return [catalog.card(name) for name in names]


@app.command()
@takes(TableOptions)
def add(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="An svmlight, CSV, TSV or Parquet file, which may be compressed.")
    ],
    options: TableOptions,
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="The name of the dataset. By default the name of the file.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing dataset card.")] = False,
) -> None:
    """Add your data file as a dataset.

    Reads the file and writes a dataset card. The file stays where it is.
    """
    from mpu_bench.cli import adding

    adding.add(file, options.specified, name, force)


@app.command()
@takes(DataOptions)
def fetch(names: DatasetNames, options: DataOptions) -> None:
    """Download and prepare datasets."""
    from mpu_bench.data.download.progress import for_console
    from mpu_bench.data.prepare.load import load_problem

    for card in _cards(names):
        problem = load_problem(card, options.home, for_console(console(stderr=True)))
        rows = f"{problem.n:,} training and {counted(problem.n_test, 'test row')}"
        say(f"{card.name}: {rows} of {counted(problem.features, 'feature')}")


@app.command()
@takes(FolderOptions)
def verify(names: DatasetNames, options: FolderOptions) -> None:
    """Compare the files of datasets with their expected hashes."""
    from mpu_bench.data.download import fetch
    from mpu_bench.data.download.integrity import read_pin
    from mpu_bench.data.prepare.load import describe, obtainable

    home = options.home
    for card in (obtainable(wanted, home) for wanted in _cards(names)):
        for file in card.remote_files:
            verified = fetch.verify(file, home)
            is_same = file.path is not None and describe(card, home).state == "prepared"
            of_user = f"your file, {'unchanged since prepared' if is_same else 'not prepared in its current state'}"
            is_known = file.hashes or read_pin(file, home) is not None
            of_download = (
                "correct" if is_known else "of the right form; no hash of it is known until data fetch has used it"
            )
            words = of_download if file.path is None else of_user
            write(f"{card.name}: {home.path(file)}: {words} (sha256 {verified.sha256})\n")
        if not card.remote_files:
            write(f"{card.name}: has no files: it is generated on this machine\n")


@app.command()
@takes(FolderOptions)
def info(names: DatasetNames, options: FolderOptions) -> None:
    """Describe datasets, their source, and their state on this machine."""
    from mpu_bench.cli import listing

    home = options.home
    for card in _cards(names):
        console().print(listing.dataset_facts(card, home))


@app.command()
@takes(FolderOptions)
def path(names: DatasetNames, options: FolderOptions) -> None:
    """Print the folders of prepared datasets."""
    from mpu_bench.data.prepare.load import prepared_folder

    home = options.home
    for card in _cards(names):
        write(f"{prepared_folder(card, home)}\n")


@app.command()
@takes(FolderOptions)
def clean(names: DatasetNames, options: FolderOptions) -> None:
    """Delete the downloaded and prepared files of datasets.

    Files that no address serves stay.
    """
    from rich.filesize import decimal

    from mpu_bench.data.prepare.load import clean_prepared

    home = options.home
    for card in _cards(names):
        say(f"{card.name}: {decimal(clean_prepared(card, home))} freed")
