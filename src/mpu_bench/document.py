"""YAML that remembers where everything stood, so that a message can name file, line and key.

Used for configs and for dataset cards. Differences from plain PyYAML: a key given twice is an error, and
``1e-5`` and ``1.0e10`` are numbers (YAML 1.1 takes both for strings).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pydantic
import yaml

from mpu_bench.errors import UserError, nearest

Key = tuple[str | int, ...]


_SafeLoader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the C one is ten times faster


class Loader(_SafeLoader):  # type: ignore[valid-type,misc]
    """SafeLoader with numbers as people write them."""


Loader.yaml_implicit_resolvers = {
    first: [pair for pair in pairs if pair[0] != "tag:yaml.org,2002:float"]
    for first, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_FLOAT = re.compile(
    r"""^(?:[-+]?(?:[0-9][0-9_]*)\.[0-9_]*(?:[eE][-+]?[0-9]+)?
        |[-+]?[0-9][0-9_]*[eE][-+]?[0-9]+
        |[-+]?\.[0-9_]+(?:[eE][-+]?[0-9]+)?
        |[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$""",
    re.VERBOSE,
)
Loader.add_implicit_resolver("tag:yaml.org,2002:float", _FLOAT, list("-+0123456789."))


@dataclass
class Located:
    """Plain data read from YAML, with the place of each key.

    Attributes
    ----------
    data : mapping
    places : dict of key path to str
        Such as ``{("stop", "gap"): "adult.yaml, line 7"}``.
    source : str
        The file's name, for messages about the whole.
    """

    data: dict[str, Any]
    source: str
    places: dict[Key, str] = field(default_factory=dict)

    def place(self, key: Key) -> str:
        """Name the place of a key, or of the nearest enclosing one that stands in the file."""
        for length in range(len(key), 0, -1):
            if key[:length] in self.places:
                return self.places[key[:length]]
        return self.source

    def overlay(self, key: Key, other: Mapping[str, Any], places: Mapping[Key, str]) -> None:
        """Let ``other`` override the mapping at ``key``: mappings are merged, everything else is replaced."""
        target = self.data
        for step in key:
            target = target[step]  # type: ignore[index]
        for name, new in other.items():
            if isinstance(new, Mapping) and isinstance(target.get(name), dict):
                below = {place[1:]: text for place, text in places.items() if place[:1] == (name,)}
                self.overlay((*key, name), new, below)
            else:
                target[name] = new
                self.places |= {(*key, *place): text for place, text in places.items() if place[:1] == (name,)}


def read(path: Path, error: type[UserError]) -> Located:
    """Read a YAML file whose top is a mapping.

    Parameters
    ----------
    path : Path
    error : type of UserError
        What to raise.

    Raises
    ------
    UserError
        Of the type given: missing or unreadable file, wrong YAML, a key given twice, no mapping.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise error(f"{path}: no such file") from None
    except IsADirectoryError:
        raise error(f"{path}: is a folder, not a YAML file") from None
    except UnicodeDecodeError as fault:
        raise error(f"{path}: is not a UTF-8 text file ({fault.reason} at byte {fault.start})") from None
    except OSError as fault:
        raise error(f"{path}: cannot be read: {fault.strerror}") from None
    return parse(text, str(path), error)


def parse(text: str, source: str, error: type[UserError]) -> Located:
    """Parse YAML text whose top is a mapping; see `read`."""
    try:
        loader = Loader(text)
    except yaml.YAMLError as fault:  # a character that YAML forbids
        raise error(f"{source}: not YAML: {fault}") from None
    try:
        node = loader.get_single_node()
        places: dict[Key, str] = {}
        if node is not None:
            for key, line in _walk(node, (), source, error):
                places[key] = f"{source}, line {line}"
        data = loader.construct_document(node) if node is not None else None
    except yaml.MarkedYAMLError as fault:
        raise error(_syntax_message(fault, text, source)) from None
    except yaml.YAMLError as fault:
        raise error(f"{source}: not YAML: {fault}") from None
    finally:
        loader.dispose()
    if not isinstance(data, dict):
        raise error(f"{source}: must hold keys and values (key: value), but holds {_kind(data)}")
    return Located(data, source, places)


def value(text: str, source: str, error: type[UserError]) -> Any:
    """Parse one YAML value, such as that of a command-line option."""
    try:
        return yaml.load(text, Loader)
    except yaml.YAMLError as fault:
        raise error(f"{source}: the value is not YAML: {fault}") from None


def _walk(node: yaml.Node, key: Key, source: str, error: type[UserError]) -> Iterator[tuple[Key, int]]:
    if isinstance(node, yaml.MappingNode):
        seen: dict[Any, int] = {}
        for name_node, child in node.value:
            name, line = name_node.value, name_node.start_mark.line + 1
            if name in seen:
                raise error(f"{source}, line {line}: the key '{name}' was already given on line {seen[name]}")
            seen[name] = line
            yield (*key, name), line
            yield from _walk(child, (*key, name), source, error)
    elif isinstance(node, yaml.SequenceNode):
        for position, child in enumerate(node.value):
            yield (*key, position), child.start_mark.line + 1
            yield from _walk(child, (*key, position), source, error)


def _syntax_message(fault: yaml.MarkedYAMLError, text: str, source: str) -> str:
    mark = fault.problem_mark or fault.context_mark
    line = mark.line + 1 if mark else 1
    lines = text.splitlines()
    if line <= len(lines) and "\t" in lines[line - 1][: len(lines[line - 1]) - len(lines[line - 1].lstrip())]:
        return f"{source}, line {line}: indented with a tab; YAML wants spaces"
    return f"{source}, line {line}: not YAML: {fault.problem or fault.context}"


def _kind(value: object) -> str:
    return {type(None): "nothing", list: "a list", str: "a text"}.get(type(value), f"{value!r}")


def validation_message(
    fault: pydantic.ValidationError,
    place: Callable[[Key], str],
    prefix: Key,
    fields: Callable[[Key], list[str]],
    most: int = 5,
) -> str:
    """Turn pydantic's errors into lines a user can act on.

    Parameters
    ----------
    fault : pydantic.ValidationError
    place : function
        Names file and line of a key path.
    prefix : key path
        Where the validated value stands.
    fields : function
        The valid keys at a key path (below the prefix), to suggest from.
    most : int
        How many errors to tell at once.
    """
    errors = fault.errors(include_url=False)
    told = [_one_message(error, place, prefix, fields) for error in errors[:most]]
    if len(errors) > most:
        told.append(f"and {len(errors) - most} more")
    return "\n".join(dict.fromkeys(told))


def _one_message(error: Any, place: Callable[[Key], str], prefix: Key, fields: Callable[[Key], list[str]]) -> str:
    below: Key = error["loc"]
    key = (*prefix, *below)
    name = dotted(key)
    if error["type"] == "extra_forbidden":
        return f"{place(key)}: unknown key '{name}': {nearest(str(below[-1]), fields(below[:-1]))}"
    if error["type"] == "missing":
        return f"{place(key[:-1])}: the key '{name}' is missing"
    if error["type"] == "value_error":
        return f"{place(key)}: {name}: {error['ctx']['error']}"
    words = str(error["msg"]).replace("Input should be", "must be")
    return f"{place(key)}: {name}: {words}, not {error['input']!r}"


def dotted(key: Key) -> str:
    """Write a key path as ``solvers.mpu.C``; positions in lists are left out unless they are all there is."""
    names = [str(step) for step in key if isinstance(step, str)]
    return ".".join(names) if names else "".join(f"[{step}]" for step in key)
