"""The command ``mpu-bench``: its verbs, and what becomes of errors. A verb imports what it needs when it is used."""

from __future__ import annotations

import os
import re
import sys
import warnings
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any, Protocol, runtime_checkable

import typer

from mpu_bench import __version__
from mpu_bench.cli import data, info, interruption, models, plugins, results, run, trying
from mpu_bench.cli.options import BAD_INPUT, FAILED, write
from mpu_bench.errors import UserError

_UNREAD = 141  # exit code where nobody reads the output to its end, as of a process that SIGPIPE has ended
_NOWHERE = "the current folder was deleted; change to another and try again"
_LONG_WORD = re.compile(r"(\S{100})\S{200,}(\S{50})")  # such as a name that no file can have
_MIN_ADDRESS_SPACE = 500_000_000  # bytes: with less, imports run out of it

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Benchmark, compare and deploy SVM and perceptron solvers; reproduce the experiments of five papers.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for verb in (
    run.run, results.show, results.check, run.reproduce, results.plot, results.report, results.compare,
    results.export, results.clean, models.predict, models.evaluate,
):  # fmt: skip
    app.command()(verb)
app.command("try")(trying.try_)
app.command("export-c")(models.export_c)
app.command("export-onnx")(models.export_onnx)
app.command("list")(info.list_kind)
app.command("check-solver")(plugins.check_solver)
app.command()(info.info)
app.add_typer(data.app, name="data")
app.add_typer(plugins.app, name="new")


@runtime_checkable
class _Misuse(Protocol):
    """What typer raises about a command line; its class is in another module in every version."""

    ctx: Any
    exit_code: int

    def format_message(self) -> str: ...


def call() -> int:
    """Run the command line and return its exit code; a user's error becomes one message and exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # what its encoding has no letters for is written as \\xe9 or the like
            stream.reconfigure(errors="backslashreplace")
    warnings.formatwarning = lambda message, *_, **__: f"mpu-bench: {message}\n"
    try:
        _check_address_space()
        return _done()
    except UserError as error:
        _tell(str(error) if _is_in_a_folder() else f"{error}; {_NOWHERE}")
    except MemoryError:
        _tell("out of memory; free some, or raise the limit (of ulimit -v, the container or the batch system)")
    except BrokenPipeError:  # the reader of our output has gone, as with | head
        _discard_output()
        return _UNREAD
    except typer.Abort:
        return FAILED
    except OSError as error:
        if error.filename is not None:  # files that cannot be opened are reported by those who open them: a bug
            raise
        _tell(f"the output cannot be written: {error.strerror}" if _is_in_a_folder() else _NOWHERE)
    except Exception as error:
        if not isinstance(error, _Misuse):
            raise  # a bug keeps its traceback
        if words := _words(error):  # none where a command without arguments shows the help
            usage = f"\n{error.ctx.get_usage()}\nTry '{error.ctx.command_path} --help' for help." if error.ctx else ""
            _tell(f"{words}{usage}")
    return BAD_INPUT


def _check_address_space() -> None:
    """Reject a limit on address space (``ulimit -v``) in which importing OpenBLAS tries for memory for ever.

    Raises
    ------
    UserError
        If the limit is below what the imports take.
    """
    try:
        import resource
    except ImportError:  # not on this system
        return
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return
    if limit < _MIN_ADDRESS_SPACE:
        raise UserError(
            f"the limit on address space (ulimit -v) is {limit / 1e6:.0f} MB; "
            f"mpu-bench needs at least {_MIN_ADDRESS_SPACE / 1e6:.0f} MB"
        )
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # each thread reserves some 30 MB of it


def _is_in_a_folder() -> bool:
    try:
        return bool(Path.cwd())
    except OSError:
        return False


def _done() -> int:
    try:
        code: int | None = app(standalone_mode=False)
        sys.stdout.flush()
    except SystemExit as end:  # by which click and rich answer a reader that has gone
        if isinstance(end.__context__, BrokenPipeError):
            raise end.__context__ from None
        raise
    except Exception:
        if interruption.has_come():  # and has become this error somewhere
            return FAILED
        raise
    return code or 0


def _words(misuse: _Misuse) -> str:
    """Return what is wrong, in the words of configs where typer passes on those of pydantic."""
    cause = getattr(misuse, "__cause__", None)
    if cause is not None and hasattr(misuse, "message") and hasattr(cause, "errors"):
        from mpu_bench.document import words_of

        misuse.message = words_of(cause.errors(include_url=False)[0])
    return misuse.format_message()


def _tell(message: str) -> None:
    from mpu_bench.display import terminal

    try:
        shown = terminal.terminal(stderr=True)
        shown.print("mpu-bench:", style="bold red", end=" ")
        shown.tell(_LONG_WORD.sub(r"\1...\2", message))
        sys.stdout.flush()
    except OSError:  # where nothing can be printed, the exit code alone says it
        _discard_output()


def _discard_output() -> None:
    """Let go of what standard output and error still hold: a full disk behind them would be reported twice."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _print_version(wanted: bool) -> None:
    if wanted:
        write(f"{__version__}\n")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass
