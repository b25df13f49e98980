"""``mpu-bench data``: fetch, verify, info, path, clean."""

from __future__ import annotations

import typer

from mpu_bench.cli.options import DataFolder, DatasetNames, Mirror, Offline, console, say

app = typer.Typer(no_args_is_help=True, help="Fetch, verify and describe datasets.")


@app.command()
def fetch(names: DatasetNames, data_folder: DataFolder = None, mirror: Mirror = None, offline: Offline = False) -> None:
    """Download datasets and prepare them."""
    from mpu_bench.data.cards import catalog
    from mpu_bench.data.download.cache import Home
    from mpu_bench.data.download.progress import for_console
    from mpu_bench.data.prepare.load import load_problem

    home = Home.from_options(data_folder, mirror, offline)
    for card in [catalog.card(name) for name in names]:
        problem = load_problem(card, home, for_console(console(stderr=True)))
        say(f"{card.name}: {problem.n} training and {problem.n_test} test rows of {problem.features} features")


@app.command()
def verify(names: DatasetNames, data_folder: DataFolder = None) -> None:
    """Hash the files of datasets again and compare with the expected hashes."""
    from mpu_bench.data.cards import catalog
    from mpu_bench.data.download import fetch
    from mpu_bench.data.download.cache import Home

    home = Home.from_options(data_folder, offline=True)
    for card in [catalog.card(name) for name in names]:
        for file in card.remote_files:
            found = fetch.verify(file, home)
            typer.echo(f"{card.name}: {found.path}: correct (sha256 {found.sha256})")
        if not card.remote_files:
            typer.echo(f"{card.name}: has no files: it is made on this machine")


@app.command("info")
def describe(names: DatasetNames, data_folder: DataFolder = None) -> None:
    """Show what datasets are, where they come from and whether they are on this machine."""
    from mpu_bench.cli import listing
    from mpu_bench.data.cards import catalog
    from mpu_bench.data.download.cache import Home

    home = Home.from_options(data_folder, offline=True)
    for card in [catalog.card(name) for name in names]:
        console().print(listing.dataset_facts(card, home))


@app.command()
def path(names: DatasetNames, data_folder: DataFolder = None) -> None:
    """Print the folders of datasets' prepared arrays."""
    from mpu_bench.data.cards import catalog
    from mpu_bench.data.download.cache import Home
    from mpu_bench.data.prepare.load import prepared_folder

    home = Home.from_options(data_folder, offline=True)
    for name in names:
        typer.echo(prepared_folder(catalog.card(name), home))


@app.command()
def clean(names: DatasetNames, data_folder: DataFolder = None) -> None:
    """Delete the files and prepared arrays of datasets."""
    from rich.filesize import decimal

    from mpu_bench.data.cards import catalog
    from mpu_bench.data.download.cache import Home
    from mpu_bench.data.prepare.load import clean_prepared

    home = Home.from_options(data_folder, offline=True)
    for card in [catalog.card(name) for name in names]:
        say(f"{card.name}: {decimal(clean_prepared(card, home))} freed")
