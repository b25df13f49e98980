"""The command ``mpu-bench``: its verbs, and what becomes of errors. A verb imports what it needs when it is used."""

from __future__ import annotations

import signal
import sqlite3
import sys
from types import FrameType
from typing import Annotated, NoReturn

import typer

from mpu_bench import __version__
from mpu_bench.cli import check, compare, data, info, reproduce, results, run
from mpu_bench.cli.options import BAD_INPUT, FAILED, TERMINATED
from mpu_bench.errors import UserError

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    help="Reproduce the benchmarks of five papers on perceptron-like and budgeted SVM training, "
    "and test your own solver against them.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for verb in (
    run.run, results.show, check.check, reproduce.reproduce, results.plot, results.report, compare.compare,
    results.export, results.clean,
):  # fmt: skip
    app.command()(verb)
app.command("list")(info.list_kind)
app.command()(info.info)
app.add_typer(data.app, name="data")


def main() -> NoReturn:
    """Run the command line; a user's error becomes one message and exit code 2."""
    signal.signal(signal.SIGTERM, _terminated)
    try:
        app()
    except UserError as fault:
        _refuse(str(fault))
    except sqlite3.DatabaseError as fault:  # a results folder's database turns out to be damaged while it is read
        _refuse(f"runs.sqlite of a results folder cannot be read ({fault}); move that folder away and run again")
    except BrokenPipeError:  # the reader of our output has gone, as with | head
        sys.stderr.close()
        sys.exit(FAILED)
    sys.exit(0)


def _refuse(message: str) -> NoReturn:
    from rich.console import Console

    console = Console(stderr=True, soft_wrap=True)
    console.print("mpu-bench:", style="bold red", end=" ", highlight=False)
    console.print(message, highlight=False, markup=False)
    sys.exit(BAD_INPUT)


def _terminated(_number: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(TERMINATED)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass
