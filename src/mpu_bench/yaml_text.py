"""YAML text -> plain data, and where every key stands; in bounds, and with errors that name the line.

What is read is what configs and cards need: mappings whose keys are words or whole numbers, lists, texts, numbers,
true, false and null. Before anything is built, the text is gone through for what would never end or overflow: its
length, the depth of its brackets, its nodes with every alias written out, and its tags. Differences from plain
PyYAML: a key given twice is an error, ``1e-5`` and ``1.0e10`` are numbers (YAML 1.1 takes both for strings), a date is
a text, and a whole number beyond 64 bits is a real one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import yaml

from mpu_bench.errors import UserError
from mpu_bench.texts import one_line, plain

Key = tuple[str | int, ...]

MOST_BYTES = 1_000_000
MOST_DEPTH = 50
MOST_NODES = 100_000  #: keys and values, with every alias written out
MOST_CHARACTERS = 10_000  #: of one text
_MOST_SHOWN_BYTES = 200
_TOO_DEEP = f"lies more than {MOST_DEPTH} levels deep"
_TAG = "tag:yaml.org,2002:"
_PLAIN_TAGS = {None, "!", *(_TAG + name for name in ("str", "int", "float", "bool", "null", "seq", "map"))}
_KEY_TAGS = {"!", *(_TAG + name for name in ("str", "int", "merge"))}
_NOT_RESOLVED = {_TAG + name for name in ("float", "timestamp", "value")}  # floats by the pattern below

_SafeLoader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the C one is ten times faster


class Loader(_SafeLoader):  # type: ignore[valid-type,misc]
    """SafeLoader with numbers as people write them."""


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


class _WrongScalarError(yaml.constructor.ConstructorError):
    """A text that is none of what its tag or form says."""


def _whole(loader: Any, node: yaml.Node) -> int | float:
    number: int = loader.construct_yaml_int(node)
    return number if -(2**63) <= number < 2**63 else float(number)


def _marked(construct: Callable[[Any, yaml.Node], Any], what: str, loader: Any, node: yaml.Node) -> Any:
    """Construct a scalar; what Python makes of a wrong one becomes an error that knows its line."""
    try:
        return construct(loader, node)
    except (ValueError, LookupError, OverflowError):
        message = f"{shown(node.value)} is no {what} that can be read"
        raise _WrongScalarError(None, None, message, node.start_mark) from None


_real: Callable[[Any, Any], float] = yaml.SafeLoader.construct_yaml_float
_boolean: Callable[[Any, Any], bool] = yaml.SafeLoader.construct_yaml_bool
Loader.add_constructor(_TAG + "int", partial(_marked, _whole, "whole number"))
Loader.add_constructor(_TAG + "float", partial(_marked, _real, "number"))
Loader.add_constructor(_TAG + "bool", partial(_marked, _boolean, "word for true or false"))


@dataclass
class Locations:
    """Where the keys of a document stand: a tree of the same shape.

    Attributes
    ----------
    text : str
        Such as ``adult.yaml, line 7``; empty where nobody wrote the key.
    steps : dict
        What stands below, by key or position.
    """

    text: str = ""
    steps: dict[str | int, Locations] = field(default_factory=dict)

    def _step(self, step: str | int) -> Locations | None:
        return self.steps.get(step) or self.steps.get(str(step))  # a class may be called 8

    def below(self, key: Key) -> Locations:
        """Return the locations at and below a key."""
        found: Locations | None = self
        for step in key:
            found = found and found._step(step)
        return found or Locations()

    def nearest(self, key: Key) -> str:
        """Return the location of a key, or of the nearest enclosing one that has one; empty if none has."""
        text, found = self.text, self
        for step in key:
            if (further := found._step(step)) is None:
                break
            found, text = further, further.text or text
        return text

    def put(self, key: Key, locations: Locations) -> None:
        """Put others in the place of those at and below a key, which is not empty."""
        *above, last = key
        target = self
        for step in above:
            target = target.steps.setdefault(step, Locations())
        target.steps[last] = locations


def shown(value: object) -> str:
    """Return how a value of a user's is written in a message: in one line, and of a long one the beginning."""
    return one_line(repr(value), _MOST_SHOWN_BYTES)


def _line(at: yaml.Node | yaml.Event) -> int:
    return at.start_mark.line + 1 if at.start_mark else 1


@dataclass(frozen=True)
class _Source:
    """What the text is called, what is raised about it, and whether its lines mean something."""

    name: str
    error: type[UserError]
    has_lines: bool

    def location(self, line: int) -> str:
        return f"{self.name}, line {line}" if self.has_lines else self.name

    def fault(self, at: yaml.Node | yaml.Event, message: str) -> UserError:
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
        _check_text(text, source)
        _check_events(text, source)
        loader = Loader(text)
        node = loader.get_single_node()
        locations = _locations(node, "", source)
        return _unshared(loader.construct_document(node) if node else None), locations
    except yaml.MarkedYAMLError as problem:
        raise error(_syntax_message(problem, text, source)) from None
    except yaml.YAMLError as problem:  # a character that YAML forbids
        raise error(f"{name}: {_not_yaml(source)}: {one_line(str(problem))}") from None


def _check_text(text: str, source: _Source) -> None:
    try:
        size = len(text.encode())
    except UnicodeEncodeError as problem:
        line = text.count("\n", 0, problem.start) + 1
        raise source.error(f"{source.location(line)}: is not UTF-8 text") from None
    if size > MOST_BYTES:
        raise source.error(f"{source.name}: is larger than {MOST_BYTES:,} bytes, the most that a YAML text may have")
    if tag := re.search(r"^%TAG", text, re.MULTILINE):  # libyaml compares each of them with all others
        line = text.count("\n", 0, tag.start()) + 1
        raise source.error(f"{source.location(line)}: tags are not read; remove the line")


@dataclass
class _Collection:
    """A mapping or list that is being gone through: its anchor, its nodes and levels so far, aliases written out."""

    anchor: str | None
    nodes: int = 1
    levels: int = 1


def _check_events(text: str, source: _Source) -> None:
    """Refuse what is too deep, too large with every alias written out, recursive or not plain.

    The parser's events come one by one, without recursion; that of its composer ends the process on deep brackets.
    """
    within: list[_Collection] = []
    anchored: dict[str, tuple[int, int]] = {}
    total = 0
    for event in yaml.parse(text, Loader):
        nodes, levels, anchor = 1, 0, getattr(event, "anchor", None)
        if isinstance(event, yaml.CollectionStartEvent):
            _check_tag(event, source)
            within.append(_Collection(anchor))
            total += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            ended = within.pop()
            nodes, levels, anchor = ended.nodes, ended.levels, ended.anchor
        elif isinstance(event, yaml.ScalarEvent):
            _check_tag(event, source)
            _check_scalar(event, source)
            total += 1
        elif isinstance(event, yaml.AliasEvent):
            nodes, levels = _alias(event, within, anchored, source)
            total, anchor = total + nodes, None
        else:
            continue
        if len(within) + levels > MOST_DEPTH:
            raise source.fault(event, _TOO_DEEP)
        if total > MOST_NODES:
            raise source.fault(event, f"more than {MOST_NODES:,} keys and values come up to here, aliases written out")
        if isinstance(event, yaml.CollectionStartEvent):
            continue
        if anchor is not None:
            anchored[anchor] = nodes, levels
        if within:
            within[-1].nodes += nodes
            within[-1].levels = max(within[-1].levels, levels + 1)


def _alias(
    event: yaml.AliasEvent, within: list[_Collection], anchored: dict[str, tuple[int, int]], source: _Source
) -> tuple[int, int]:
    if any(each.anchor == event.anchor for each in within):
        raise source.fault(event, f"*{event.anchor} stands within what it names")
    if event.anchor not in anchored:
        raise source.fault(event, f"*{event.anchor} names nothing; &{event.anchor} must stand before it")
    return anchored[event.anchor]


def _check_tag(event: Any, source: _Source) -> None:
    if event.tag not in _PLAIN_TAGS:
        tag = event.tag.replace(_TAG, "!!", 1)
        raise source.fault(event, f"the tag {shown(tag)} is not read; write a plain value")


def _check_scalar(event: yaml.ScalarEvent, source: _Source) -> None:
    text = event.value
    if len(text) > MOST_CHARACTERS:
        message = f"a text of {len(text):,} characters is longer than {MOST_CHARACTERS:,}: {shown(text)}"
        raise source.fault(event, message)
    if not text.isprintable() and plain(text, 12 * len(text)) != text:
        raise source.fault(event, f"a text holds a character that cannot be shown; remove it: {shown(text)}")


def _unshared(value: Any) -> Any:
    """Copy what an anchor and its aliases share, so that one can be overridden without the others."""
    if isinstance(value, dict):
        return {key: _unshared(each) for key, each in value.items()}
    return [_unshared(each) for each in value] if isinstance(value, list) else value


def _locations(node: yaml.Node | None, text: str, source: _Source) -> Locations:
    """Return the locations at and below a node; refuse keys that are no words, or are given twice."""
    return Locations(text, {step: _locations(child, where, source) for step, where, child in _steps(node, source)})


def _steps(node: yaml.Node | None, source: _Source) -> Iterator[tuple[str | int, str, yaml.Node]]:
    if isinstance(node, yaml.MappingNode):
        lines: dict[str, int] = {}
        for name_node, child in node.value:
            name, line = _name(name_node, source), _line(name_node)
            if name in lines:
                before = f" on line {lines[name]}" if source.has_lines else ""
                raise source.fault(name_node, f"the key '{name}' was already given{before}")
            lines[name] = line
            yield name, source.location(line), child
    elif isinstance(node, yaml.SequenceNode):
        for position, child in enumerate(node.value):
            yield position, source.location(_line(child)), child


def _name(node: yaml.Node, source: _Source) -> str:
    if not isinstance(node, yaml.ScalarNode):
        raise source.fault(node, "a key must be a word, not a list or mapping; is a quotation mark missing?")
    if node.tag not in _KEY_TAGS:
        is_null = node.tag == _TAG + "null"
        kind = "nothing" if is_null else "true or false" if node.tag == _TAG + "bool" else "a real number"
        raise source.fault(
            node, f"a key must be a word, and '{node.value}' means {kind}; put quotation marks around it"
        )
    name: str = node.value
    return name


def _syntax_message(problem: yaml.MarkedYAMLError, text: str, source: _Source) -> str:
    mark = problem.problem_mark or problem.context_mark
    line = mark.line + 1 if mark else 1
    lines = text.splitlines()
    if line <= len(lines) and "\t" in lines[line - 1][: len(lines[line - 1]) - len(lines[line - 1].lstrip())]:
        return f"{source.location(line)}: indented with a tab; YAML wants spaces"
    if "nesting depth" in (problem.problem or ""):  # libyaml's own bound comes first where brackets fill a line
        return f"{source.location(line)}: {_TOO_DEEP}"
    kind = "" if isinstance(problem, _WrongScalarError) else f"{_not_yaml(source)}: "
    return f"{source.location(line)}: {kind}{problem.problem or problem.context}"


def _not_yaml(source: _Source) -> str:
    return "not YAML" if source.has_lines else "the value is not YAML"
