"""Documents that remember where everything stood, so that a message can name file, line and key.

Used for configs and for dataset cards: `mpu_bench.yaml_text` makes them of YAML.

Every message about a value reads ``FILE, line N: key: what is wrong; the fix``.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from mpu_bench.errors import UserError, nearest
from mpu_bench.texts import one_line

Key = tuple[str | int, ...]

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]

MAX_DEPTH = 50  #: of keys
TOO_DEEP = f"lies more than {MAX_DEPTH} levels deep"
_MAX_ERRORS = 5  # of one message
_MAX_SHOWN_BYTES = 200
_MAX_NAME_BYTES = 200  # of an unknown one


def _plain_label(name: str) -> str:
    if name != name.strip() or not name.isprintable():
        raise ValueError(f"must be of one line without blanks around it, not {shown(name)}")
    return name


#: a user's name for something, as tables show it
Label = Annotated[str, Field(min_length=1, max_length=100), AfterValidator(_plain_label)]


@dataclass
class Locations:
    """Where the keys of a document stand: a tree of the same shape.

    Attributes
    ----------
    text : str
        Such as ``adult.yaml, line 7``; empty where nobody wrote the key.
    steps : dict
        What stands below, by key or position.
    names_key : bool
        Whether the text names the key, as an option does.
    """

    text: str = ""
    steps: dict[str | int, Locations] = field(default_factory=dict)
    names_key: bool = False

    def _step(self, step: str | int) -> Locations | None:
        return self.steps.get(step) or self.steps.get(str(step))  # a class may be called 8

    def below(self, key: Key) -> Locations:
        """Return the locations at and below a key."""
        target: Locations | None = self
        for step in key:
            target = target and target._step(step)
        return target or Locations()

    def nearest(self, key: Key) -> Locations:
        """Return the locations at a key, or at the nearest enclosing one that has a text; the whole if none has."""
        nearest = target = self
        for step in key:
            if (further := target._step(step)) is None:
                break
            target, nearest = further, further if further.text else nearest
        return nearest

    def head(self, key: Key, source: str) -> str:
        """Return how a message on a key of a source begins: where it stands, and its name if that does not have it."""
        location = self.nearest(key).text or source
        return location if self.below(key).names_key or not key else f"{location}: {dotted(key)}"

    def put(self, key: Key, locations: Locations) -> None:
        """Replace the locations at and below a key, which is not empty."""
        *above, last = key
        target = self
        for step in above:
            target = target.steps.setdefault(step, Locations())
        target.steps[last] = locations


def dotted(key: Key) -> str:
    """Write a key path as ``solvers.mpu.C``; positions in lists are left out unless they are all there is."""
    names = [str(step) for step in key if isinstance(step, str)]
    return ".".join(names) if names else "".join(f"[{step}]" for step in key)


def shown(value: object) -> str:
    """Return how a value of a user's is written in a message: in one line, and of a long one the beginning."""
    try:
        return one_line(repr(value), _MAX_SHOWN_BYTES)
    except (Exception, SystemExit) as error:  # of a class of the user's, or of an integer of thousands of digits
        return f"a {type(value).__name__} whose __repr__ raises {type(error).__name__}"


class Change(NamedTuple):
    """A value that takes the place of what a key holds; as a mapping it may be merged with one that is there.

    Attributes
    ----------
    key : tuple
        Its names; in a list of names or of single-key mappings (solvers, datasets) the name of each entry is a step.
    value : object
    locations : Locations
        Those at and below the key.
    merged : bool
    """

    key: Key
    value: Any
    locations: Locations
    merged: bool = False


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
    written : Document or None
        What was read, where anything of it has been changed.
    """

    data: dict[str, Any]
    source: str
    error: type[UserError]
    locations: Locations = field(default_factory=Locations)
    renamed: Mapping[str, str] = field(default_factory=dict)
    written: Document | None = None

    @property
    def root(self) -> Node:
        """The whole, as a node."""
        return Node(self, (), self.data)

    def __getitem__(self, step: str) -> Node:
        return self.root[step]

    def suggest(self, name: str, valid: Any) -> str:
        """Return what an unknown name is called by now, which one was probably meant, or what there is."""
        new = self.renamed.get(name)
        return f"it is called '{new}' now" if new in valid else nearest(name, valid)

    def changed(self, changes: Iterable[Change]) -> Document:
        """Return a copy with changes, made in their order.

        Raises
        ------
        UserError
            If a key leads nowhere.
        """
        document = replace(self, data=copy.deepcopy(self.data), locations=copy.deepcopy(self.locations), written=self)
        for change in copy.deepcopy(list(changes)):  # whose values may be parts of this one
            document._put(change._replace(key=tuple(document._joined(change.key))))
        return document

    def _joined(self, key: Key) -> Iterator[str | int]:
        """Yield the steps of a key, with those joined that are parts of one name here, such as of ``dcd-0.5``."""
        targets: list[Any] = [self.data]
        left = key
        while left:
            entries = [entry for one in targets for entry in (one if isinstance(one, list) else [one])]
            names = [name for entry in entries for name in (entry if isinstance(entry, dict) else [entry])]
            dotted_names = {".".join(map(str, left[:count])): count for count in range(2, len(left) + 1)}
            step: Any = max((name for name in names if name in dotted_names), key=len, default=left[0])
            left = left[dotted_names.get(step, 1) :]
            targets = [entry[step] for entry in entries if isinstance(entry, dict) and step in entry]
            yield step

    def _put(self, change: Change) -> None:
        """Make a change, in every entry of a list that bears a name in its key; see `changed`."""
        (*names, last), value, locations, merged = change
        if len(names) >= MAX_DEPTH:
            raise self.error(f"{locations.text}: {TOO_DEEP}")
        targets: list[tuple[Key, Any]] = [((), self.data)]
        if names and names[0] not in self.data:
            self.locations.put((names[0],), replace(locations, steps={}))
        for name in names:
            targets = [
                ((*above, *steps), below)
                for above, target in targets
                for steps, below in self._below(target, name, locations.text)
            ]
        for above, target in targets:
            if not isinstance(target, dict):
                raise self.error(f"{locations.text}: '{'.'.join(map(str, names))}' holds no keys")
            is_part = isinstance(value, Mapping) and "otherwise" not in value  # which says what holds for all others
            if merged and isinstance(target.get(last), dict) and is_part:
                for name, new in value.items():
                    self._put(Change((*names, last, name), new, locations.below((name,)), merged=True))
            else:
                target[last] = value
                self.locations.put((*above, last), locations)

    def _below(self, target: Any, name: str | int, location: str) -> list[tuple[Key, Any]]:
        """Return what stands below a name, which may be that of several entries of a list, and the steps there."""
        if isinstance(target, dict):
            return [((name,), target.setdefault(name, {}))]
        if not isinstance(target, list):
            raise self.error(f"{location}: '{name}' stands below a value that holds no keys")
        matches: list[tuple[Key, Any]] = []
        for position, entry in enumerate(target):
            if entry == name:
                target[position] = {name: {}}
            if isinstance(target[position], dict) and name in target[position]:
                if target[position][name] is None:
                    target[position][name] = {}
                matches.append(((position, name), target[position][name]))
        if not matches:
            known = [str(next(iter(entry))) if isinstance(entry, dict) and entry else str(entry) for entry in target]
            raise self.error(f"{location}: there is no '{name}' in this config; {nearest(str(name), known)}")
        return matches


@dataclass(frozen=True)
class Node:
    """A value of a document, and the path that leads to it."""

    document: Document
    key: Key
    value: Any

    def __getitem__(self, step: Any) -> Node:
        """Return what stands below, with the value None where nothing does."""
        return Node(self.document, (*self.key, step), self.value[step] if _has(self.value, step) else None)

    @property
    def locations(self) -> Locations:
        """Where it stands, and what is below it."""
        return self.document.locations.below(self.key)

    def holding(self, value: Any) -> Node:
        """Return another value at the same location."""
        return replace(self, value=value)

    def error(self, message: str) -> UserError:
        """Make the error that names file, line, key, what is wrong and the fix."""
        return self.document.error(f"{self.document.locations.head(self.key, self.document.source)}: {message}")

    def unknown(self, what: str, name: object, valid: Any) -> UserError:
        """Make the error about a name that does not exist, or is not text."""
        written = one_line(str(name), _MAX_NAME_BYTES)
        return self.error(f"there is no {what} '{written}'; {self.document.suggest(str(name), valid)}")

    def named(self, what: str, valid: Collection[str] | None = None) -> tuple[str, Node]:
        """Read ``name`` or ``name: {parameters}``; return the name, and the parameters where they stand.

        Raises
        ------
        UserError
            Of the document's type, if it is neither, or none of the ``valid`` names.
        """
        entry = {self.value: None} if isinstance(self.value, str) else self.value
        name, parameters = next(iter(entry.items())) if isinstance(entry, Mapping) and len(entry) == 1 else (None, [])
        if not isinstance(parameters, Mapping | None):
            raise self.error(
                f"must be the name of a {what}, or one name with its parameters (name: {{key: value}}), "
                f"not {shown(self.value)}"
            )
        if valid is not None and name not in valid:
            raise self.unknown(what, str(name), valid)
        return str(name), self[name].holding(dict(parameters or {}))

    def entries(self) -> list[Node]:
        """Return the values of a list, or the one that stands for such a list; of None nothing."""
        if isinstance(self.value, list):
            return [self[position] for position in range(len(self.value))]
        return [] if self.value is None else [self]

    def check_names(self, what: str, valid: Collection[str] | None) -> None:
        """Reject a name, or one of a list, that is none of the valid ones; where these are None, any is valid."""
        for name in self.entries() if valid is not None else ():
            if not isinstance(name.value, str) or name.value not in valid:  # type: ignore[operator]
                raise name.unknown(what, name.value, valid)

    def validated(self, schema: Any) -> Any:
        """Check the value against a pydantic model or an annotated type, and return what that makes of it.

        Raises
        ------
        UserError
            Of the document's type, with a line for each of the first errors.
        """
        try:
            return _adapter(schema).validate_python(self.value)
        except ValidationError as invalid:
            errors = invalid.errors(include_url=False)
            lines = [_explained(detail, self, schema) for detail in errors[:_MAX_ERRORS]]
            if len(errors) > _MAX_ERRORS:
                lines.append(f"and {len(errors) - _MAX_ERRORS} more")
            raise self.document.error("\n".join(dict.fromkeys(lines))) from None


def _has(value: Any, step: Any) -> bool:
    if isinstance(value, Mapping):
        return step in value
    return isinstance(value, list | tuple) and isinstance(step, int) and step < len(value)


@cache
def _adapter(schema: Any) -> TypeAdapter[Any]:
    return TypeAdapter(schema)


class Strict(BaseModel):
    """Rejects unknown keys, values of another type, and numbers that are not finite."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False, ser_json_inf_nan="strings")


class MisfitError(ValueError):
    """What a pydantic validator raises about keys that do not go together: which key is to blame, and why."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(message)
        self.key = key


def _explained(error: Any, node: Node, schema: Any) -> str:
    """Return one of pydantic's errors on a node as a line a user can act on; it suggests keys of the schema."""
    document, steps, context, value = node.document, error["loc"], error.get("ctx", {}), error.get("input")
    key = (*node.key, *_steps_in(node.value, steps, error["type"]))
    if "discriminator" in context:
        key = (*key, context["discriminator"].strip("'"))
    elif isinstance(cause := context.get("error"), MisfitError):
        key = (*key, cause.key)
    match error["type"]:
        case "extra_forbidden":
            message = f"unknown key; {document.suggest(str(steps[-1]), _valid_keys(schema, steps[:-1]))}"
        case "missing" | "union_tag_not_found":
            message = "this key is missing"
        case "union_tag_invalid":
            tag, valid = str(context["tag"]), re.findall("'([^']*)'", context["expected_tags"])
            message = f"there is no {context['discriminator'][1:-1]} '{tag}'; {nearest(tag, valid)}"
        case "too_short":
            message = f"must hold {context['min_length']} at least, not {shown(value)}"
        case "invalid_key":
            message = f"a key must be a word, not {shown(value)}"
        case "model_type" | "dict_type" | "model_attributes_type":
            message = f"must be a mapping (key: value), not {shown(value)}"
        case _:
            message = words_of(error)
    return f"{document.locations.head(key, document.source)}: {message}"


def words_of(error: Any) -> str:
    """Return what one of pydantic's errors says of a value, without where that is."""
    if error["type"] == "value_error":
        return str(error["ctx"]["error"])
    return f"{wanted(error)}, not {shown(error['input'])}"


def first_error(invalid: ValidationError) -> str:
    """Return where a file that a program has written is not as it should be, and why: ``columns.0.name: ...``."""
    first = invalid.errors(include_url=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"


def wanted(error: Any) -> str:
    """Return what one of pydantic's errors requires: ``must be greater than 0``."""
    return re.sub("^[A-Z][a-z]+ should", "must", error["msg"])


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
        models = [inner for field in fields for inner in _models(field)] or tagged or models
    return [field.alias or name for model in models for name, field in model.model_fields.items()]


def _tags(model: type[BaseModel]) -> set[Any]:
    """Return the words that distinguish a model from the others of a union: what its keys may only be."""
    hints = [field.annotation for field in model.model_fields.values()]
    return {word for hint in hints if get_origin(hint) is Literal for word in get_args(hint)}


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    """Find the models of an annotation such as ``dict[str, list[Model] | None]``."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models(argument)
