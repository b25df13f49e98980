"""What the verbs share: exit codes, options and arguments, what is completed, and how messages are printed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import Field, fields
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mpu_bench.texts import plain

if TYPE_CHECKING:
    from mpu_bench.data.download.cache import DataDirectory
    from mpu_bench.display.terminal import Terminal
    from mpu_bench.experiment.options import Options

FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130
HELD = "interrupted: finished runs are saved; run the same command again for the rest"


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


def data_directory(folder: Path | None, mirror: str | None = None, offline: bool = True) -> DataDirectory:
    """Return the data directory that the options name."""
    from mpu_bench.data.download.cache import DataDirectory

    return DataDirectory.from_options(folder, mirror, offline)


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


def takes(options: type[Options]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Let a verb have the options of a class: it is called with one of them as its last argument, ``options``."""

    def with_options(verb: Callable[..., None]) -> Callable[..., None]:
        @wraps(verb)
        def call(**given: Any) -> None:
            named = {each.name: given.pop(each.name) for each in declared}
            verb(**given, options=options(**named))

        declared = [each for each in fields(options) if each.metadata["kind"]]
        declared.sort(key=lambda each: each.name not in options.__annotations__)  # those of all verbs last
        own = [each for each in signature(verb, eval_str=True).parameters.values() if each.name != "options"]
        parameters = [each.replace(kind=Parameter.KEYWORD_ONLY) for each in (*map(_parameter, declared), *own)]
        call.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        call.__annotations__ = {each.name: each.annotation for each in parameters}
        return call

    return with_options


def _parameter(declared: Field[Any]) -> Parameter:
    """Return a field of `Options` as typer takes it."""
    typed = dict(declared.metadata)
    kind, flag = typed.pop("kind"), typed.pop("flag", f"--{declared.name.replace('_', '-')}")
    default = None if declared.default == () else declared.default
    return Parameter(
        declared.name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, typer.Option(flag, **typed)]
    )


# the data directory reads MPU_BENCH_DATA and MPU_BENCH_MIRROR itself, for those who call it without a command line
DataFolder = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="DIR",
        help="The data directory. By default MPU_BENCH_DATA, or your user data folder.",
        show_default=False,
    ),
]
Mirror = Annotated[
    str | None,
    typer.Option(
        "--mirror",
        metavar="URL|DIR",
        help="A mirror to try first for data files. By default MPU_BENCH_MIRROR.",
        show_default=False,
    ),
]
Offline = Annotated[bool, typer.Option("--offline", help="Do not use the network.", envvar="MPU_BENCH_OFFLINE")]
Plain = Annotated[bool, typer.Option("--plain", help="Print one line per run, as in a log, instead of a live table.")]
ResultsRoot = Annotated[
    Path, typer.Option("--results", metavar="DIR", help="The results folder: experiment X goes to DIR/X.")
]
ResultsFolder = Annotated[Path, typer.Argument(metavar="RESULTS", help="A results folder, such as results/adult.")]
ResultsFolders = Annotated[
    list[Path] | None,
    typer.Argument(metavar="RESULTS", help="Results folders. By default all in results/.", show_default=False),
]
DatasetNames = Annotated[
    list[str], typer.Argument(metavar="DATASET", help="Names of datasets.", autocompletion=complete_dataset)
]
