"""Documents that remember where everything stood, so that a message can name file, line and key.

Used for configs and for dataset cards, which are YAML as `mpu_bench.yaml_text` reads it.

Every message about a value reads ``FILE, line N: key: what is wrong; the fix``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import Annotated, Any, Literal, get_args, get_origin

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from mpu_bench import yaml_text
from mpu_bench.errors import UserError, nearest
from mpu_bench.files import read_bounded
from mpu_bench.texts import one_line
from mpu_bench.yaml_text import Key, Locations, shown

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]

_MOST_ERRORS = 5  # told at once
_MOST_NAME_BYTES = 200  # of an unknown one


def _plain_label(name: str) -> str:
    if name != name.strip() or not name.isprintable():
        raise ValueError(f"must be of one line without blanks around it, not {shown(name)}")
    return name


#: what a user calls something, as it stands in tables
Label = Annotated[str, Field(min_length=1, max_length=100), AfterValidator(_plain_label)]


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
    locations : Locations
        Where each key stands.
    renamed : mapping of str to str
        Words of earlier versions, each with the one that has taken its place.
    """

    data: dict[str, Any]
    source: str
    error: type[UserError]
    locations: Locations = field(default_factory=Locations)
    renamed: Mapping[str, str] = field(default_factory=dict)

    @property
    def root(self) -> Node:
        """The whole, as a node."""
        return Node(self, (), self.data)

    def __getitem__(self, step: str) -> Node:
        return self.root[step]

    def location(self, key: Key) -> str:
        """Name the location of a key, or of the nearest enclosing one that stands in the file."""
        return self.locations.nearest(key) or self.source

    def suggest(self, name: str, valid: Any) -> str:
        """Return what an unknown name is called by now, which one was probably meant, or what there is."""
        new = self.renamed.get(name)
        return f"it is called '{new}' now" if new in valid else nearest(name, valid)

    def replace(self, key: Key, value: Any, locations: Locations) -> None:
        """Put a value in the place of what the key holds; ``locations`` are those at and below the key."""
        target: Any = self.data
        for step in key[:-1]:
            target = target[step]
        target[key[-1]] = value
        self.locations.put(key, locations)

    def overlay(self, key: Key, value: Any, locations: Locations) -> None:
        """Let a value override what the key holds: mappings are merged, everything else is replaced."""
        target: Any = self.data
        for step in key:
            target = target.get(step) if isinstance(target, dict) else None
        if not isinstance(target, dict) or not isinstance(value, Mapping):
            self.replace(key, value, locations)
            return
        for name, new in value.items():
            self.overlay((*key, name), new, locations.below((name,)))


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
        """Return another value at the same location."""
        return replace(self, value=value)

    def error(self, message: str) -> UserError:
        """Make the error that tells file, line, key, what is wrong and the fix."""
        return self.document.error(_line(self.document, self.key, message))

    def unknown(self, what: str, name: object, valid: Any) -> UserError:
        """Make the error about a name that does not exist, or is no text."""
        written = one_line(str(name), _MOST_NAME_BYTES)
        return self.error(f"there is no {what} '{written}'; {self.document.suggest(str(name), valid)}")

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
        Of the type given: missing or unreadable file, wrong YAML or out of bounds, a key given twice, no mapping.
    """
    try:
        text = read_bounded(path, yaml_text.MOST_BYTES, error).decode("utf-8-sig")  # some editors begin with a mark
    except UnicodeDecodeError as problem:
        raise error(f"{path}: is not a UTF-8 text file ({problem.reason} at byte {problem.start})") from None
    return parse(text, str(path), error, renamed)


def of_mapping(
    content: Mapping[str, Any], source: str, error: type[UserError], renamed: Mapping[str, str] = MappingProxyType({})
) -> tuple[Document, str]:
    """Return what a program gives in the place of a file, and that as YAML text; nothing in it has a line.

    It is held to what a file may hold: see `read`.
    """
    try:
        text: str = yaml.dump(as_in_file(content), Dumper=_Quoting, sort_keys=False, allow_unicode=True)
    except (yaml.YAMLError, RecursionError) as problem:
        raise error(f"{source}: holds what no YAML file can: {one_line(str(problem), _MOST_NAME_BYTES)}") from None
    data, _ = yaml_text.load(text, source, error, has_lines=False)
    return Document(data, source, error, renamed=renamed), text


class _Quoting(yaml.SafeDumper):
    """Writes every text in quotes: what looks like a number to one reader of YAML is a text to another."""


_Quoting.add_representer(str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"'))


def as_in_file(value: Any) -> Any:
    """Return a value with the types of YAML: numpy's numbers and arrays, tuples, ranges and paths become such."""
    if isinstance(value, Mapping):
        return {name: as_in_file(each) for name, each in value.items()}
    if isinstance(value, list | tuple | range):
        return [as_in_file(each) for each in value]
    if isinstance(value, PurePath):
        return str(value)
    return value.tolist() if hasattr(value, "tolist") else value


def parse(
    text: str, source: str, error: type[UserError], renamed: Mapping[str, str] = MappingProxyType({})
) -> Document:
    """Parse YAML text whose top is a mapping; see `read`."""
    data, locations = yaml_text.load(text, source, error)
    if not isinstance(data, dict):
        raise error(f"{source}: must hold keys and values (key: value), but holds {_kind(data)}")
    return Document(data, source, error, locations, renamed)


def value(text: str, source: str, error: type[UserError]) -> Any:
    """Parse one YAML value, such as that of a command-line option."""
    return yaml_text.load(text, source, error, has_lines=False)[0]


def _kind(value: object) -> str:
    return {type(None): "nothing", list: "a list", str: "a text"}.get(type(value), shown(value))


class Strict(BaseModel):
    """Refuses unknown keys, values of another type, and numbers that are not finite."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False, ser_json_inf_nan="strings")


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
            message = f"must hold {context['min_length']} at least, not {shown(error['input'])}"
        case "invalid_key":
            message = f"a key must be a word, not {shown(error['input'])}"
        case "model_type" | "dict_type" | "model_attributes_type":
            message = f"must be a mapping (key: value), not {shown(error['input'])}"
        case _:
            message = words_of(error)
    return _line(document, key, message)


def words_of(error: Any) -> str:
    """Return what one of pydantic's errors says of a value, without where that is."""
    if error["type"] == "value_error":
        return str(error["ctx"]["error"])
    return f"{wanted(error)}, not {shown(error['input'])}"


def wanted(error: Any) -> str:
    """Return what one of pydantic's errors asks for: ``must be greater than 0``."""
    return re.sub("^[A-Z][a-z]+ should", "must", error["msg"])


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
