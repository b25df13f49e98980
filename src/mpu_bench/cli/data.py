"""``mpu-bench data``: fetch, verify, info, path, clean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from mpu_bench.cli.options import DataFolder, DatasetNames, Mirror, Offline, console, data_home, say, write

if TYPE_CHECKING:
    from mpu_bench.data.cards.schema import Card

app = typer.Typer(no_args_is_help=True, help="Fetch, verify and describe datasets.")


def _cards(names: Sequence[str]) -> list[Card]:
    from mpu_bench.data.cards import catalog

    return [catalog.card(name) for name in names]


@app.command()
def fetch(names: DatasetNames, data_folder: DataFolder = None, mirror: Mirror = None, offline: Offline = False) -> None:
    """Download datasets and prepare them."""
    from mpu_bench.data.download.progress import for_console
    from mpu_bench.data.prepare.load import load_problem

    home = data_home(data_folder, mirror, offline)
    for card in _cards(names):
        problem = load_problem(card, home, for_console(console(stderr=True)))
        say(f"{card.name}: {problem.n} training and {problem.n_test} test rows of {problem.features} features")


@app.command()
def verify(names: DatasetNames, data_folder: DataFolder = None) -> None:
    """Hash the files of datasets again and compare with the expected hashes."""
    from mpu_bench.data.download import fetch

    home = data_home(data_folder)
    for card in _cards(names):
        for file in card.remote_files:
            found = fetch.verify(file, home)
            write(f"{card.name}: {found.path}: correct (sha256 {found.sha256})\n")
        if not card.remote_files:
            write(f"{card.name}: has no files: it is made on this machine\n")


@app.command("info")
def describe(names: DatasetNames, data_folder: DataFolder = None) -> None:
    """Show what datasets are, where they come from and whether they are on this machine."""
    from mpu_bench.cli import listing

    home = data_home(data_folder)
    for card in _cards(names):
        console().print(listing.dataset_facts(card, home))


@app.command()
def path(names: DatasetNames, data_folder: DataFolder = None) -> None:
    """Print the folders of datasets' prepared arrays."""
    from mpu_bench.data.prepare.load import prepared_folder

    home = data_home(data_folder)
    for card in _cards(names):
        write(f"{prepared_folder(card, home)}\n")


@app.command()
def clean(names: DatasetNames, data_folder: DataFolder = None) -> None:
    """Delete the files and prepared arrays of datasets."""
    from rich.filesize import decimal

    from mpu_bench.data.prepare.load import clean_prepared

    home = data_home(data_folder)
    for card in _cards(names):
        say(f"{card.name}: {decimal(clean_prepared(card, home))} freed")
