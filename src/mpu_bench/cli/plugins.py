"""The verbs for your own solver: ``new solver`` and ``check-solver``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mpu_bench.cli.options import FAILED, console, say
from mpu_bench.texts import command

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
    say(f"test it: {command('check-solver', path)}; run it: {command('run', config)}")


def check_solver(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A Python file that defines solvers.")],
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="The solver to test. By default every solver in the file.")
    ] = None,
    seconds: Annotated[
        float, typer.Option(metavar="SECONDS", min=1, help="The time limit of a test, including compilation.")
    ] = 120.0,
) -> None:
    """Run the contract tests on your solver.

    The file is code. It runs with your permissions, in a child process.

    Exit codes: 0, all tests pass; 1, some fail; 2, bad input.
    """
    from mpu_bench.solvers.plugins.process import check_solvers

    terminal, failed, solver, count = console(), 0, "", 0
    for finding in check_solvers(file, name, seconds):
        if finding.solver != solver:
            solver = finding.solver
            terminal.print(f"{solver} of {file.name}", style="bold")
        count, failed = count + 1, failed + (not finding.holds)
        word, style = ("passes", "") if finding.holds else ("FAILS ", "bold red")
        terminal.tell(f"  {word}  {finding.promise}" + (f": {finding.said}" if finding.said else ""), style or None)
        for line in finding.traceback.splitlines():
            terminal.tell(f"          {line}")
    terminal.tell(f"{failed} of {count} tests fail" if failed else f"all {count} tests pass")
    if failed:
        raise typer.Exit(FAILED)
