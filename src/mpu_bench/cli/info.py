"""``mpu-bench list`` and ``mpu-bench info``."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from mpu_bench.cli.options import DataFolder, Mirror, Offline, console, data_home


class Kind(StrEnum):
    """What can be listed."""

    SOLVERS = "solvers"
    DATASETS = "datasets"
    KERNELS = "kernels"
    CONFIGS = "configs"


def list_kind(
    kind: Annotated[Kind, typer.Argument(metavar="KIND", help="What to list.")],
) -> None:
    """List the solvers, datasets, kernels or configs that there are."""
    from mpu_bench.cli import listing

    console().print(listing.table(kind))


def info(data_folder: DataFolder = None, mirror: Mirror = None, offline: Offline = False) -> None:
    """Show this machine, the versions and the folders in use."""
    from mpu_bench.cli import listing

    console().print(listing.facts(data_home(data_folder, mirror, offline)))
