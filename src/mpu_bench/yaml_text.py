"""YAML text -> plain data, and where every key stands; in bounds, and with errors that name the line.

What is read is what configs and cards need: mappings whose keys are words or whole numbers, lists, texts, numbers,
true, false and null. The depth is bounded, and other tags than theirs are rejected.

Differences from plain PyYAML: a key given twice is an error, ``1e-5`` and ``1.0e10`` are numbers (YAML 1.1 takes both
for strings), 010, 1:30 and a date are texts (for it, 8, 90 and a day), and a whole number beyond 64 bits is a real one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import Any

import yaml
from yaml.composer import Composer

from mpu_bench.document import MAX_DEPTH, TOO_DEEP, Document, Locations, shown
from mpu_bench.errors import UserError
from mpu_bench.files import read_text
from mpu_bench.texts import one_line, plain

MAX_BYTES = 1_000_000
_BITS = 63  # of a whole number beside its sign
_MAX_SHOWN_BYTES = 200
_PLAIN_WORD = re.compile(r"[A-Za-z_][A-Za-z_-]*")
_TAG = "tag:yaml.org,2002:"
_TAGS: dict[type[yaml.Node], set[str]] = {
    yaml.ScalarNode: {_TAG + name for name in ("str", "int", "float", "bool", "null")},
    yaml.SequenceNode: {_TAG + "seq"},
    yaml.MappingNode: {_TAG + "map"},
}
_MERGE = _TAG + "merge"
_KEY_TAGS = {_TAG + "str", _TAG + "int", _MERGE}
_NOUNS = {_TAG + "int": "whole number", _TAG + "float": "number", _TAG + "bool": "word for true or false"}
_NOT_RESOLVED = {_TAG + name for name in ("int", "float", "timestamp", "value")}  # numbers by the patterns below

_SafeLoader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the C one is ten times faster


class Loader(Composer, _SafeLoader):  # type: ignore[valid-type,misc]
    """SafeLoader with numbers as people write them; libyaml's own composer would end the process on deep brackets."""

    def __init__(self, text: str) -> None:
        _SafeLoader.__init__(self, text)
        Composer.__init__(self)


Loader.yaml_implicit_resolvers = {
    first: [pair for pair in pairs if pair[0] not in _NOT_RESOLVED]
    for first, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_FLOAT = re.compile(
    r"""^(?:[-+]?(?:[0-9][0-9_]*)\.[0-9_]*(?:[eE][-+]?[0-9]+)?
        |[-+]?[0-9][0-9_]*[eE][-+]?[0-9]+
        |[-+]?\.[0-9_]+(?:[eE][-+]?[0-9]+)?
        |[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$""",
    re.VERBOSE,
)
Loader.add_implicit_resolver(_TAG + "float", _FLOAT, list("-+0123456789."))
Loader.add_implicit_resolver(_TAG + "int", re.compile("[-+]?(?:0|[1-9][0-9_]*)$"), list("-+0123456789"))


def _line(at: yaml.Node) -> int:
    return at.start_mark.line + 1 if at.start_mark else 1


@dataclass(frozen=True)
class _Source:
    """What the text is called, what is raised about it, and whether its lines mean something."""

    name: str
    error: type[UserError]
    has_lines: bool

    def location(self, line: int) -> str:
        return f"{self.name}, line {line}" if self.has_lines else self.name

    def error_at(self, at: yaml.Node, message: str) -> UserError:
        return self.error(f"{self.location(_line(at))}: {message}")


def load(text: str, name: str, error: type[UserError], has_lines: bool = True) -> tuple[Any, Locations]:
    """Return the plain data of a YAML text, and the locations of its keys.

    Parameters
    ----------
    text : str
    name : str
        What it is called: a file, an option.
    error : type of UserError
        What to raise.
    has_lines : bool
        Whether locations name the line, too.

    Raises
    ------
    UserError
        Of the type given, with the line: no YAML, or one that is out of bounds or not plain.
    """
    source = _Source(name, error, has_lines)
    try:
        loader = Loader(text)
        node = loader.get_single_node()
        return _Reader(loader, source).read(node, "") if node else (None, Locations())
    except RecursionError:
        raise error(f"{name}: {TOO_DEEP}") from None
    except UnicodeEncodeError:
        raise error(f"{name}: is not UTF-8 text") from None
    except yaml.MarkedYAMLError as problem:
        raise error(_syntax_message(problem, text, source)) from None
    except yaml.YAMLError as problem:  # a character that YAML forbids
        raise error(f"{name}: {_not_yaml(source)}: {one_line(str(problem))}") from None


def read(path: Path, error: type[UserError], renamed: Mapping[str, str] = MappingProxyType({})) -> Document:
    """Read a YAML file whose top is a mapping.

    Parameters
    ----------
    path : Path
    error : type of UserError
        What to raise, here and about anything in it.
    renamed : mapping of str to str
        See `Document`.

    Raises
    ------
    UserError
        Of the type given: missing or unreadable file, wrong YAML or out of bounds, a key given twice, no mapping.
    """
    return parse(read_text(path, MAX_BYTES, error), str(path), error, renamed)


def parse(
    text: str,
    source: str,
    error: type[UserError],
    renamed: Mapping[str, str] = MappingProxyType({}),
    has_lines: bool = True,
) -> Document:
    """Parse YAML text whose top is a mapping; see `read`. Without lines, messages name the source alone."""
    data, locations = load(text, source, error, has_lines)
    if not isinstance(data, dict):
        kind = {type(None): "nothing", list: "a list", str: "a text"}.get(type(data), shown(data))
        raise error(f"{source}: must hold keys and values (key: value), but holds {kind}")
    return Document(data, source, error, locations, renamed)


def dump(content: Mapping[str, Any], name: str, error: type[UserError]) -> str:
    """Return as YAML text what a program gives instead of a file.

    Raises
    ------
    UserError
        Of the type given: it holds what no YAML file can.
    """
    try:
        text: str = yaml.dump(as_in_file(content), Dumper=Quoting, sort_keys=False, allow_unicode=True)
    except (yaml.YAMLError, RecursionError) as problem:
        raise error(f"{name}: holds what no YAML file can: {one_line(str(problem), _MAX_SHOWN_BYTES)}") from None
    return text


class Quoting(yaml.SafeDumper):
    """Writes texts but plain words in quotes: what looks like a number to one reader of YAML is a text to another."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    return dumper.represent_scalar(_TAG + "str", text, style=None if _PLAIN_WORD.fullmatch(text) else '"')


Quoting.add_representer(str, _text)


def as_in_file(value: Any) -> Any:
    """Return a value with the types of YAML: numpy's numbers and arrays, tuples, ranges and paths become such."""
    if isinstance(value, Mapping):
        return {name: as_in_file(item) for name, item in value.items()}
    if isinstance(value, list | tuple | range):
        return [as_in_file(item) for item in value]
    if isinstance(value, PurePath):
        return str(value)
    return value.tolist() if hasattr(value, "tolist") else value


@dataclass
class _Reader:
    """Builds plain data of nodes, each alias a copy of its own, so that one can be overridden without the others."""

    loader: Any
    source: _Source
    values: int = 0  #: that were read so far

    def read(self, node: yaml.Node, text: str, depth: int = 0) -> tuple[Any, Locations]:
        """Return what a node says at this depth, and where it stands: at ``text``."""
        self._check(node, depth + isinstance(node, yaml.CollectionNode))
        locations = Locations(text)
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node), locations
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, locations, depth + 1), locations
        items = []
        for position, child in enumerate(node.value):
            item, locations.steps[position] = self.read(child, self.source.location(_line(child)), depth + 1)
            items.append(item)
        return items, locations

    def _check(self, node: yaml.Node, depth: int) -> None:
        self.values += 1
        if depth > MAX_DEPTH or self.values > MAX_BYTES:  # more than a text can hold but by aliases
            words = f"its aliases (*name) stand for more than {MAX_BYTES:,} values"
            raise self.source.error_at(node, TOO_DEEP if depth > MAX_DEPTH else words)
        if node.tag not in _TAGS[type(node)]:
            tag = node.tag.replace(_TAG, "!!", 1)
            raise self.source.error_at(node, f"the tag {shown(tag)} is not read here; write a plain value")

    def _scalar(self, node: yaml.ScalarNode) -> Any:
        text = node.value
        if not text.isprintable() and plain(text, 12 * len(text)) != text:
            message = f"a text holds a character that cannot be shown; remove it: {shown(text)}"
            raise self.source.error_at(node, message)
        try:
            value = self.loader.construct_object(node)
            return float(value) if isinstance(value, int) and value.bit_length() > _BITS else value
        except (ValueError, LookupError, OverflowError):
            raise self.source.error_at(node, f"{shown(text)} is no {_NOUNS[node.tag]} that can be read") from None

    def _mapping(self, node: yaml.MappingNode, locations: Locations, depth: int) -> dict[Any, Any]:
        lines: dict[str, int] = {}
        merged, entries = dict[Any, Any](), dict[Any, Any]()
        for name_node, child in node.value:
            self._check_key(name_node)
            key = "<<" if name_node.tag == _MERGE else self._scalar(name_node)
            name, line = str(key), _line(name_node)  # 1_000 and 1000 are one key
            if name in lines:
                before = f" on line {lines[name]}" if self.source.has_lines else ""
                raise self.source.error_at(name_node, f"the key '{name}' was already given{before}")
            lines[name] = line
            value, locations.steps[name] = self.read(child, self.source.location(line), depth)
            if name_node.tag != _MERGE:
                entries[key] = value
                continue
            for part in reversed(value if isinstance(value, list) else [value]):  # the first counts
                if not isinstance(part, dict):
                    raise self.source.error_at(name_node, "<< takes a mapping, or a list of mappings")
                merged |= part
        return merged | entries

    def _check_key(self, node: yaml.Node) -> None:
        if not isinstance(node, yaml.ScalarNode):
            raise self.source.error_at(
                node, "a key must be a word, not a list or mapping; is a quotation mark missing?"
            )
        if node.tag not in _KEY_TAGS:
            kind = {_TAG + "null": "nothing", _TAG + "bool": "true or false"}.get(node.tag, "a real number")
            raise self.source.error_at(
                node, f"a key must be a word, and '{node.value}' means {kind}; put quotation marks around it"
            )


def _syntax_message(problem: yaml.MarkedYAMLError, text: str, source: _Source) -> str:
    mark = problem.problem_mark or problem.context_mark
    line = mark.line + 1 if mark else 1
    lines = text.splitlines()
    if line <= len(lines) and "\t" in lines[line - 1][: len(lines[line - 1]) - len(lines[line - 1].lstrip())]:
        return f"{source.location(line)}: indented with a tab; YAML wants spaces"
    if "nesting depth" in (problem.problem or ""):  # libyaml's own bound comes first where brackets fill a line
        return f"{source.location(line)}: {TOO_DEEP}"
    return f"{source.location(line)}: {_not_yaml(source)}: {problem.problem or problem.context}"


def _not_yaml(source: _Source) -> str:
    return "not YAML" if source.has_lines else "the value is not YAML"
