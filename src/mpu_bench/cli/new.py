"""``mpu-bench new``: files to begin with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mpu_bench.cli.options import say

app = typer.Typer(no_args_is_help=True, help="Write a template for your own solver.")


@app.callback()
def _options() -> None:
    pass


@app.command()
def solver(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="The solver's name in configs and tables, such as my-solver.")
    ],
    file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="The Python file. By default NAME.py, with underscores. The config goes next to it."
        ),
    ] = None,
) -> None:
    """Write a solver template and a config that runs it.

    The config compares it with two of the project's solvers.
    """
    from mpu_bench.solvers.plugins import scaffold

    path, config = scaffold.write(name, file)
    say(f"written: {path}, {config}")
    say(f"test it: mpu-bench check-solver {path}; run it: mpu-bench run {config}")
