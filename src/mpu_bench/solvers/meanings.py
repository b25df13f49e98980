"""What a solver's parameters mean and what it counts, in the words of its docstrings."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import MISSING, dataclass, fields
from inspect import cleandoc
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from mpu_bench.core.solver import Solver, ungrouped

_SECTION = re.compile(r"^Attributes\n-+\n(.*?)(?=^\S[^\n]*\n-+\n|\Z)", re.MULTILINE | re.DOTALL)
_ENTRY = re.compile(r"^(\w[\w, ]*?)(?: : [^\n]*)?\n((?:(?:[ \t]+[^\n]*)?\n)*)", re.MULTILINE)
_SIGNS = {"gt": "> {}", "ge": ">= {}", "lt": "< {}", "le": "<= {}", "multiple_of": "a multiple of {}"}


@dataclass(frozen=True)
class Parameter:
    """A parameter of a solver, in words.

    Attributes
    ----------
    name, range, default, meaning : str
        ``default`` is empty where a config must give a value.
    """

    name: str
    range: str
    default: str
    meaning: str


def parameters(solver: type[Solver]) -> list[Parameter]:
    """Describe every parameter of a solver."""
    hints, known = get_type_hints(solver, include_extras=True), _meanings(solver)
    return [
        Parameter(
            field.name,
            _range(hints[field.name]),
            "" if field.default is MISSING else _word(field.default),
            known.get(field.name, ""),
        )
        for field in fields(solver)
        if field.init
    ]


def summary(solver: type[Solver]) -> str:
    """Return what a solver is: the first paragraph of its docstring."""
    text = cleandoc(solver.__dict__.get("__doc__") or "")
    return "" if text.startswith(f"{solver.__name__}(") else _joined(text.split("\n\n")[0])  # as a dataclass makes it


def counted(solver: type[Solver]) -> str:
    """Return what a solver counts: the paragraphs of its module, else of a base's, that begin with "Counted"."""
    for base in solver.__mro__:
        text = cleandoc(getattr(sys.modules.get(base.__module__), "__doc__", None) or "")
        paragraphs = [part for part in text.split("\n\n") if part.startswith("Counted")]
        if paragraphs:
            return " ".join(map(_joined, paragraphs)).removeprefix("Counted: ")
    return ""


def _meanings(solver: type[Solver]) -> dict[str, str]:
    """Return what the docstrings of a class and of its bases say of each attribute; the nearest holds."""
    meanings: dict[str, str] = {}
    for base in reversed(solver.__mro__):
        meanings |= dict(_entries(cleandoc(base.__dict__.get("__doc__") or "")))
    return meanings


def _entries(docstring: str) -> Iterator[tuple[str, str]]:
    if section := _SECTION.search(docstring):
        for names, text in _ENTRY.findall(section[1].rstrip() + "\n"):
            if not _joined(text).startswith("As of "):  # a base says it
                yield from ((name, _joined(text)) for name in names.split(", "))


def _range(hint: Any) -> str:
    """Return the values that a type allows, in words: ``number > 0``, ``on, off``."""
    if get_origin(hint) is Annotated:
        bounds = [*ungrouped(hint.__metadata__)]
        signs = [
            (text, getattr(bound, name)) for bound in bounds for name, text in _SIGNS.items() if hasattr(bound, name)
        ]
        words = ", ".join(text.format(_word(limit)) for text, limit in signs)
        return f"{_range(hint.__origin__)} {words}".strip()
    if get_origin(hint) is Literal:
        return " or ".join(map(_word, get_args(hint)))
    if parts := get_args(hint):
        return " or ".join(_range(part) for part in parts)
    names = {float: "number", int: "whole number", bool: "true or false", str: "text", type(None): "none"}
    return names.get(hint, getattr(hint, "__name__", str(hint)))


def _word(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def _joined(text: str) -> str:
    return " ".join(text.replace("``", "").split())
