"""``mpu-bench list`` and ``mpu-bench info``."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from mpu_bench.cli.options import console, takes, write
from mpu_bench.experiment.options import DataOptions


def list_kind(
    kind: Annotated[
        Literal["solvers", "datasets", "kernels", "configs"],
        typer.Argument(metavar="KIND", help="solvers, datasets, kernels or configs."),
    ],
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME", help="Only these names. A solver is shown with all its parameters.", show_default=False
        ),
    ] = None,
    schema: Annotated[
        bool, typer.Option("--schema", help="With configs: print their JSON Schema, for editors.")
    ] = False,
) -> None:
    """List solvers, datasets, kernels or configs."""
    from mpu_bench.cli import listing

    if schema:
        write(listing.schema_text(kind, names or ()))
    elif kind == "solvers" and names:
        for name in names:
            listing.print_solver(name, console())
    else:
        console().print(listing.table(kind, names or ()))


@takes(DataOptions)
def info(options: DataOptions) -> None:
    """Show this machine, the versions and the folders in use."""
    from mpu_bench.cli import listing

    console().print(listing.facts(options.home))
