"""What the verbs share: exit codes, options and arguments, what is completed, and how messages are printed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import Field, dataclass, fields
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from mpu_bench.experiment.options import DataOptions, FolderOptions, option
from mpu_bench.texts import plain

if TYPE_CHECKING:
    from mpu_bench.display.terminal import Terminal

FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130
Metric = Literal["accuracy", "balanced-accuracy", "f1", "auc", "average-precision"]
_LARGEST_SECONDS = 7 * 24 * 3600.0
INTERRUPTION = "interrupted: finished runs are saved; run the same command again for the rest"


def saved_in(folder: Path, is_interrupted: bool) -> str:
    """Return how the line begins that says what is in a folder."""
    return f"interrupted: what was found so far is kept in {folder}: " if is_interrupted else f"in {folder}: "


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


def takes(options: type[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Let a verb have the options of a class: it is called with one of them as its last argument, ``options``."""

    def with_options(verb: Callable[..., None]) -> Callable[..., None]:
        @wraps(verb)
        def call(**values: Any) -> None:
            named = {field.name: values.pop(field.name) for field in declared}
            verb(**values, options=options(**named))

        declared = [field for field in fields(options) if field.metadata["kind"]]
        declared.sort(key=lambda field: field.name not in options.__annotations__)  # those of several verbs last
        arguments = [
            parameter for parameter in signature(verb, eval_str=True).parameters.values() if parameter.name != "options"
        ]
        parameters = [
            parameter.replace(kind=Parameter.KEYWORD_ONLY) for parameter in (*map(_parameter, declared), *arguments)
        ]
        call.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return call

    return with_options


def _parameter(declared: Field[Any]) -> Parameter:
    """Return a field that is an option as typer takes it."""
    typed = dict(declared.metadata)
    kind, flag = typed.pop("kind"), typed.pop("flag", f"--{declared.name.replace('_', '-')}")
    default = None if declared.default == () else declared.default
    return Parameter(
        declared.name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, typer.Option(flag, **typed)]
    )


Plain = Annotated[bool, typer.Option("--plain", help="Print one line per run, as in a log, instead of a live table.")]
ResultsFolder = Annotated[Path, typer.Argument(metavar="RESULTS", help="A results folder, such as results/adult.")]
ResultsFolders = Annotated[
    list[Path] | None,
    typer.Argument(metavar="RESULTS", help="Results folders. By default all in results/.", show_default=False),
]
DatasetNames = Annotated[
    list[str], typer.Argument(metavar="DATASET", help="Names of datasets.", autocompletion=complete_dataset)
]


def _header() -> Any:
    """Return the option of what the first line of a file of text is."""
    return option(
        None, "The first line has the column names, or has not. By default detected.", bool | None,
        flag="--header/--no-header",
    )  # fmt: skip


def _separator() -> Any:
    """Return the option of what stands between the cells of a file of text."""
    return option(
        None, "The cell separator: a character, or tab. By default detected.", str | None,
        metavar="CHAR", show_default=False,
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class TextOptions(FolderOptions):
    """How a file of text is read."""

    header: bool | None = _header()
    separator: str | None = _separator()


@dataclass(frozen=True, kw_only=True)
class TableOptions:
    """What a user file is; what is not given is None."""

    label: str | None = option(
        None, "The label column, by name or number. By default label, class, target, y or the last.", str | None,
        metavar="COLUMN",
    )  # fmt: skip
    positive: list[str] | None = option(
        None, "A label of the positive class, against all others (repeatable).", list[str] | None, metavar="LABEL"
    )
    test: str | None = option(None, "A file of test rows, with the same columns.", str | None, metavar="FILE")
    split: float | None = option(
        None, "The share of rows to train on, drawn at random.  [default: 0.8]", float | None, metavar="SHARE"
    )
    seed: int | None = option(None, "The seed of the split.  [default: 0]", int | None, metavar="N")
    missing: str | None = option(
        None, "How to treat missing numbers: refuse, median (fill it in) or drop (the row). By default refuse; try: "
        "median.", str | None, metavar="RULE",
    )  # fmt: skip
    scale: str | None = option(
        None, "How to scale numbers: none, standard or unit-interval. By default none for svmlight, else standard.",
        str | None, metavar="RULE",
    )  # fmt: skip
    header: bool | None = _header()
    separator: str | None = _separator()
    missing_words: bool | None = option(
        None, "Labels such as NA are missing values, or are classes.  [default: missing-words]", bool | None,
        flag="--missing-words/--no-missing-words",
    )  # fmt: skip
    first_index: int | None = option(
        None, "The first column index of svmlight.  [default: 0 if there is an index 0]", int | None,
        metavar="N", min=0, max=1, show_default=False,
    )  # fmt: skip

    @property
    def specified(self) -> dict[str, Any]:
        """What the options say of the file, by name."""
        values = {field.name: getattr(self, field.name) for field in fields(TableOptions)}
        return {name: value for name, value in values.items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class TryOptions(TableOptions, DataOptions):
    """The options of ``mpu-bench try``."""

    seconds: float = option(
        60.0, "The time budget. Starting processes and the first compilation come on top.", min=1,
        max=_LARGEST_SECONDS, metavar="SECONDS",
    )  # fmt: skip
    metric: str | None = option(
        None, "What to choose by: f1, auc, accuracy, average-precision or balanced-accuracy. By default accuracy; "
        "balanced-accuracy if a class is rare, or a linear classifier is not clearly more accurate than a constant.",
        Metric | None, metavar="METRIC", show_default=False,
    )  # fmt: skip
    threshold: bool | None = option(
        None, "Choose on the validation set above which score a row is positive. By default for balanced-accuracy "
        "and f1 of two classes.", bool | None, flag="--threshold/--no-threshold", show_default=False,
    )  # fmt: skip
    any: bool = option(False, "Choose among scikit-learn's references, too; their models are not saved.")
    online: bool = option(False, "Judge online classifiers on the rows in their order, as a stream.")
    budget: str = option("100,500", "The support vector budgets of the budgeted classifiers.", metavar="N,N")
    memory: str | None = option(None, "The maximum size of the chosen model, such as 64KB.", str | None, metavar="SIZE")
    device: str | None = option(
        None, "Choose a model that fits cortex-m0 or cortex-m4, compiled for it.", str | None, metavar="NAME"
    )
    flash: str | None = option(
        None, "The flash of the device, such as 32KB (32,000) or 32KiB (32,768 bytes).", str | None, metavar="SIZE"
    )
    ram: str | None = option(None, "The RAM of the device, such as 8KiB.", str | None, metavar="SIZE")
    only: str | None = option(
        None, "Try only these classifiers, such as smo,bpegasos-100.", str | None, metavar="NAME,NAME"
    )
    jobs: int | None = option(
        None, "The number of processes.  [default: one per core, at most 8]", int | None, min=1, max=64, metavar="N"
    )
    results: Path = option(Path("results"), "The results folder: the answer goes to DIR/try-NAME.", Path, metavar="DIR")
