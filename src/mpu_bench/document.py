"""YAML that remembers where everything stood, so that a message can name file, line and key.

Used for configs and for dataset cards. Differences from plain PyYAML: a key given twice is an error, and
``1e-5`` and ``1.0e10`` are numbers (YAML 1.1 takes both for strings).

Every message about a value reads ``FILE, line N: key: what is wrong; the fix``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, get_args, get_origin

import yaml
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from mpu_bench.errors import UserError, nearest

Key = tuple[str | int, ...]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]

_MOST_ERRORS = 5  # told at once

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
class Document:
    """Plain data read from YAML, with the location of each key.

    Attributes
    ----------
    data : mapping
    source : str
        The file's name, for messages about the whole.
    error : type of UserError
        What is raised about it.
    locations : dict of key path to str
        Such as ``{("stop", "gap"): "adult.yaml, line 7"}``.
    renamed : mapping of str to str
        Words of earlier versions, each with the one that has taken its place.
    """

    data: dict[str, Any]
    source: str
    error: type[UserError]
    locations: dict[Key, str] = field(default_factory=dict)
    renamed: Mapping[str, str] = field(default_factory=dict)

    @property
    def root(self) -> Node:
        """The whole, as a node."""
        return Node(self, (), self.data)

    def __getitem__(self, step: str) -> Node:
        return self.root[step]

    def location(self, key: Key) -> str:
        """Name the location of a key, or of the nearest enclosing one that stands in the file."""
        for length in range(len(key), 0, -1):
            if key[:length] in self.locations:
                return self.locations[key[:length]]
        return self.source

    def suggest(self, name: str, valid: Any) -> str:
        """Return what an unknown name is called by now, which one was probably meant, or what there is."""
        new = self.renamed.get(name)
        return f"it is called '{new}' now" if new in valid else nearest(name, valid)

    def replace(self, key: Key, value: Any, locations: Mapping[Key, str]) -> None:
        """Put a value in the place of what the key holds; ``locations`` are those at and below the key."""
        target: Any = self.data
        for step in key[:-1]:
            target = target[step]
        target[key[-1]] = value
        kept = {other: text for other, text in self.locations.items() if other[: len(key)] != key}
        self.locations = kept | {(*key, *below): text for below, text in locations.items()}

    def overlay(self, key: Key, value: Any, locations: Mapping[Key, str]) -> None:
        """Let a value override what the key holds: mappings are merged, everything else is replaced."""
        target: Any = self.data
        for step in key:
            target = target.get(step) if isinstance(target, dict) else None
        if not isinstance(target, dict) or not isinstance(value, Mapping):
            self.replace(key, value, locations)
            return
        for name, new in value.items():
            self.overlay((*key, name), new, below(locations, (str(name),)))


def below(locations: Mapping[Key, str], key: Key) -> dict[Key, str]:
    """Return the locations at and below a key, by what follows it."""
    return {other[len(key) :]: text for other, text in locations.items() if other[: len(key)] == key}


@dataclass(frozen=True)
class Node:
    """A value of a document, and the path that leads to it."""

    document: Document
    key: Key
    value: Any

    def __getitem__(self, step: Any) -> Node:
        """Return what stands below, with the value None where nothing does."""
        return Node(self.document, (*self.key, step), self.value[step] if _has(self.value, step) else None)

    def holding(self, value: Any) -> Node:
        """Return another value in the same place."""
        return replace(self, value=value)

    def error(self, message: str) -> UserError:
        """Make the error that tells file, line, key, what is wrong and the fix."""
        return self.document.error(_line(self.document, self.key, message))

    def unknown(self, what: str, name: str, valid: Any) -> UserError:
        """Make the error about a name that does not exist."""
        return self.error(f"there is no {what} '{name}'; {self.document.suggest(name, valid)}")

    def validated(self, schema: Any) -> Any:
        """Check the value against a pydantic model or an annotated type, and return what that makes of it.

        Raises
        ------
        UserError
            Of the document's type, with a line for each of the first errors.
        """
        try:
            return _adapter(schema).validate_python(self.value)
        except ValidationError as error:
            raise self.document.error(explain(error, self, schema)) from None


def _has(value: Any, step: Any) -> bool:
    if isinstance(value, Mapping):
        return step in value
    return isinstance(value, list | tuple) and isinstance(step, int) and step < len(value)


@cache
def _adapter(schema: Any) -> TypeAdapter[Any]:
    return TypeAdapter(schema)


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
        Of the type given: missing or unreadable file, wrong YAML, a key given twice, no mapping.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise error(f"{path}: no such file") from None
    except IsADirectoryError:
        raise error(f"{path}: is a folder, not a YAML file") from None
    except UnicodeDecodeError as problem:
        raise error(f"{path}: is not a UTF-8 text file ({problem.reason} at byte {problem.start})") from None
    except OSError as problem:
        raise error(f"{path}: cannot be read: {problem.strerror}") from None
    return parse(text, str(path), error, renamed)


def parse(
    text: str, source: str, error: type[UserError], renamed: Mapping[str, str] = MappingProxyType({})
) -> Document:
    """Parse YAML text whose top is a mapping; see `read`."""
    try:
        loader = Loader(text)
        node = loader.get_single_node()
        locations = {key: f"{source}, line {line}" for key, line in _walk(node, (), source, error)}
        data = loader.construct_document(node) if node else None
    except yaml.MarkedYAMLError as problem:
        raise error(_syntax_message(problem, text, source)) from None
    except yaml.YAMLError as problem:  # a character that YAML forbids
        raise error(f"{source}: not YAML: {problem}") from None
    if not isinstance(data, dict):
        raise error(f"{source}: must hold keys and values (key: value), but holds {_kind(data)}")
    return Document(_unshared(data), source, error, locations, renamed)


def value(text: str, source: str, error: type[UserError]) -> Any:
    """Parse one YAML value, such as that of a command-line option."""
    try:
        return yaml.load(text, Loader)
    except yaml.YAMLError as problem:
        raise error(f"{source}: the value is not YAML: {problem}") from None


def _unshared(value: Any) -> Any:
    """Copy what an anchor and its aliases share, so that one can be overridden without the others."""
    if isinstance(value, dict):
        return {key: _unshared(each) for key, each in value.items()}
    return [_unshared(each) for each in value] if isinstance(value, list) else value


def _walk(node: yaml.Node | None, key: Key, source: str, error: type[UserError]) -> Iterator[tuple[Key, int]]:
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


def _syntax_message(problem: yaml.MarkedYAMLError, text: str, source: str) -> str:
    mark = problem.problem_mark or problem.context_mark
    line = mark.line + 1 if mark else 1
    lines = text.splitlines()
    if line <= len(lines) and "\t" in lines[line - 1][: len(lines[line - 1]) - len(lines[line - 1].lstrip())]:
        return f"{source}, line {line}: indented with a tab; YAML wants spaces"
    return f"{source}, line {line}: not YAML: {problem.problem or problem.context}"


def _kind(value: object) -> str:
    return {type(None): "nothing", list: "a list", str: "a text"}.get(type(value), f"{value!r}")


class Strict(BaseModel):
    """Refuses unknown keys and values of another type."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, ser_json_inf_nan="strings")


class MisfitError(ValueError):
    """What a pydantic validator raises about keys that do not go together: which key is to blame, and why."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(message)
        self.key = key


def explain(error: ValidationError, node: Node, schema: Any) -> str:
    """Turn pydantic's errors into lines a user can act on.

    Parameters
    ----------
    error : pydantic.ValidationError
    node : Node
        What was validated.
    schema : type
        What it was validated against; its keys are suggested for those that it does not know.
    """
    errors = error.errors(include_url=False)
    lines = [_explain_one(each, node, schema) for each in errors[:_MOST_ERRORS]]
    if len(errors) > _MOST_ERRORS:
        lines.append(f"and {len(errors) - _MOST_ERRORS} more")
    return "\n".join(dict.fromkeys(lines))


def _explain_one(error: Any, node: Node, schema: Any) -> str:
    steps: Key = error["loc"]
    key = (*node.key, *_steps_in(node.value, steps, error["type"]))
    context, document = error.get("ctx", {}), node.document
    match error["type"]:
        case "extra_forbidden":
            message = f"unknown key; {document.suggest(str(steps[-1]), _valid_keys(schema, steps[:-1]))}"
        case "missing":
            message = "this key is missing"
        case "value_error":
            cause = context["error"]
            key, message = (*key, *([cause.key] if isinstance(cause, MisfitError) else [])), str(cause)
        case "union_tag_invalid":
            tag, name = str(context["tag"]), context["discriminator"].strip("'")
            valid = re.findall("'([^']*)'", context["expected_tags"])
            key, message = (*key, name), f"there is no {name} '{tag}'; {nearest(tag, valid)}"
        case "union_tag_not_found":
            key, message = (*key, context["discriminator"].strip("'")), "this key is missing"
        case "too_short":
            message = f"must hold {context['min_length']} at least, not {error['input']!r}"
        case "model_type" | "dict_type" | "model_attributes_type":
            message = f"must be a mapping (key: value), not {error['input']!r}"
        case _:
            message = f"{re.sub('^[A-Z][a-z]+ should', 'must', error['msg'])}, not {error['input']!r}"
    return _line(document, key, message)


def _line(document: Document, key: Key, message: str) -> str:
    return ": ".join(filter(None, [document.location(key), dotted(key), message]))


def _steps_in(value: Any, steps: Key, kind: str) -> Iterator[str | int]:
    """Keep the steps that lead somewhere: pydantic adds the branch of a union, and the names of validators."""
    for position, step in enumerate(steps):
        if _has(value, step):
            value = value[step]
        elif kind != "missing" or position < len(steps) - 1:
            continue
        yield step


def _valid_keys(schema: Any, steps: Key) -> list[str]:
    """List the keys that a schema knows at the end of some steps."""
    models = list(_models(schema))
    for step in steps:
        fields = [
            field.annotation
            for model in models
            for name, field in model.model_fields.items()
            if step in (name, field.alias)
        ]
        tagged = [model for model in models if step in _tags(model)]
        models = [found for field in fields for found in _models(field)] or tagged or models
    return [field.alias or name for model in models for name, field in model.model_fields.items()]


def _tags(model: type[BaseModel]) -> set[Any]:
    """Return the words by which a model may be told from the others of a union: what its keys may only be."""
    hints = [field.annotation for field in model.model_fields.values()]
    return {word for hint in hints if get_origin(hint) is Literal for word in get_args(hint)}


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    """Find the models of an annotation such as ``dict[str, list[Model] | None]``."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models(argument)


def dotted(key: Key) -> str:
    """Write a key path as ``solvers.mpu.C``; positions in lists are left out unless they are all there is."""
    names = [str(step) for step in key if isinstance(step, str)]
    return ".".join(names) if names else "".join(f"[{step}]" for step in key)
