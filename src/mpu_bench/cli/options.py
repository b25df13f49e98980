"""What the verbs share: exit codes, options and arguments, what is completed, and how messages are printed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mpu_bench.texts import plain

if TYPE_CHECKING:
    from mpu_bench.data.download.cache import DataHome
    from mpu_bench.display.terminal import Terminal

FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130
HELD = "interrupted: finished runs are kept; run the same command again for the rest"


def console(*, stderr: bool = False) -> Terminal:
    """Return what to print with; see `terminal`, which is imported only where something is printed."""
    from mpu_bench.display.terminal import terminal

    return terminal(stderr=stderr)


def say(message: str) -> None:
    """Print a message beside the output, on stderr."""
    from mpu_bench.display import terminal

    terminal.say(message)


def write(text: str) -> None:
    """Write a text for programs to standard output: as it is, but on a terminal without what that obeys."""
    sys.stdout.write(plain(text, sys.maxsize) if sys.stdout.isatty() else text)
    sys.stdout.flush()


def announce_plugins(files: Sequence[Path]) -> None:
    """Print on stderr, before any of it is run, that plugins are code."""
    named = ", ".join(dict.fromkeys(map(str, files)))
    say(f"this config names plugins, which are code that runs with your rights: {named}")


def data_home(folder: Path | None, mirror: str | None = None, offline: bool = True) -> DataHome:
    """Return the data home that the options name."""
    from mpu_bench.data.download.cache import DataHome

    return DataHome.from_options(folder, mirror, offline)


def _completed(kind: str) -> Callable[[str], list[str]]:
    def complete(incomplete: str) -> list[str]:
        from mpu_bench.cli import listing

        return [name for name in listing.names(kind) if name.startswith(incomplete)]

    return complete


complete_dataset = _completed("datasets")


def complete_config(incomplete: str) -> Iterator[str]:
    """Yield bundled configs, YAML files and folders."""
    yield from _completed("configs")(incomplete)
    yield from (str(path) for path in Path().glob(f"{incomplete}*") if path.is_dir() or path.suffix == ".yaml")


# the data home reads MPU_BENCH_DATA and MPU_BENCH_MIRROR itself, for those who call it without a command line
DataFolder = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="DIR",
        help="Where datasets are kept. By default MPU_BENCH_DATA, or your user data folder.",
        show_default=False,
    ),
]
Mirror = Annotated[
    str | None,
    typer.Option(
        "--mirror",
        metavar="URL|DIR",
        help="Where to look for data files first. By default MPU_BENCH_MIRROR.",
        show_default=False,
    ),
]
Offline = Annotated[bool, typer.Option("--offline", help="Do not use the network.", envvar="MPU_BENCH_OFFLINE")]
Plain = Annotated[bool, typer.Option("--plain", help="Print a line for every run, as in a log, and no table of them.")]
ResultsRoot = Annotated[
    Path, typer.Option("--results", metavar="DIR", help="Where results are kept: experiment X in DIR/X.")
]
ResultsFolder = Annotated[Path, typer.Argument(metavar="RESULTS", help="A results folder, such as results/adult.")]
ResultsFolders = Annotated[
    list[Path] | None,
    typer.Argument(metavar="RESULTS", help="Results folders. By default all in results/.", show_default=False),
]
DatasetNames = Annotated[
    list[str], typer.Argument(metavar="DATASET", help="Names of datasets.", autocompletion=complete_dataset)
]


def memory(text: str, option: str) -> int:
    """Return the bytes of a size as an option gives it: ``200MB``.

    Raises
    ------
    ConfigError
        If it is none.
    """
    from pydantic import TypeAdapter, ValidationError

    from mpu_bench.config.schema import Memory
    from mpu_bench.errors import ConfigError

    try:
        return TypeAdapter(Memory).validate_python(text)
    except ValidationError:
        raise ConfigError(f"{option} {text}: must be a size above 0, such as 200MB") from None
