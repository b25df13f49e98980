"""docs/commands.md: every verb of the command line with its options, from the functions behind them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from enum import Enum
from inspect import Parameter, cleandoc
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

import typer
from typer.models import ArgumentInfo, OptionInfo

from documents.markdown import table
from mpu_bench.cli.app import app

HEAD = """# The command line

Every verb with its arguments and options; `mpu-bench VERB --help` shows the same. Exit code 0: every run has a result.
1: some run failed. 2: bad input, with one message that says what is wrong and where. 130, 143: interrupted.
141: nobody read the output to its end, as with `| head`.
"""


class Given(NamedTuple):
    """An argument or option: its names as they are written, what it means, its default, whether a value follows."""

    names: tuple[str, ...]
    help: str
    default: str
    takes_value: bool


def pages() -> dict[str, str]:
    """Return the page."""
    return {"commands.md": "\n".join([HEAD, *(_verb(words, function) for words, function in verbs().items())])}


def verbs() -> dict[str, Callable[..., Any]]:
    """Return every verb by its words, such as ``data add``, and the function behind it."""
    return dict(_below(app, ""))


def _below(group: typer.Typer, path: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    for command in group.registered_commands:
        assert command.callback is not None
        name = command.name or command.callback.__name__.replace("_", "-")
        yield f"{path} {name}".strip(), command.callback
    for each in group.registered_groups:
        assert each.typer_instance is not None
        yield from _below(each.typer_instance, str(each.name))


def given(function: Callable[..., Any]) -> list[Given]:
    """Return the arguments and options of a verb."""
    hints = get_type_hints(function, include_extras=True)
    parameters = inspect.signature(function).parameters.values()
    described = [_described(hints[each.name], each) for each in parameters]
    return [each for each in described if each is not None]


def _described(hint: Any, parameter: Parameter) -> Given | None:
    kind, *metadata = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    info = next((each for each in metadata if isinstance(each, OptionInfo | ArgumentInfo)), None)
    if info is None or info.hidden:
        return None
    default = "" if parameter.default in (Parameter.empty, None, False, True) else str(_plain(parameter.default))
    words = " ".join((info.help or "").split())
    if isinstance(info, ArgumentInfo):
        return Given((info.metavar or parameter.name.upper(),), words, default, True)
    first = [info.default] if isinstance(info.default, str) and info.default.startswith("-") else []
    names = [*first, *(info.param_decls or ())] or [f"--{parameter.name.replace('_', '-')}"]
    spelled = tuple(part for name in names for part in name.split("/") if part.startswith("-"))
    flag = kind in (bool, bool | None)
    value = "" if flag else f" {info.metavar or _value(kind)}"
    return Given(tuple(f"{name}{value}" for name in spelled), words, default, not flag)


def _plain(default: Any) -> Any:
    return default.value if isinstance(default, Enum) else default


def _value(kind: Any) -> str:
    """Return what stands for a value of a type."""
    words = {int: "INTEGER", float: "NUMBER"}
    kinds = {kind, *get_args(kind)}
    return next((words[each] for each in words if each in kinds), "TEXT")


def _verb(words: str, function: Callable[..., Any]) -> str:
    rows = [(", ".join(f"`{name}`" for name in each.names), _meaning(each)) for each in given(function)]
    text = cleandoc(function.__doc__ or "").partition("\n\n\f")[0]
    options = [table(("argument or option", "meaning"), rows)] if rows else []
    return "\n".join([f"## mpu-bench {words}", "", text, "", *options])


def _meaning(each: Given) -> str:
    return f"{each.help} By default {each.default}." if each.default else each.help
