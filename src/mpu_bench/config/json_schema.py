"""What a config may say, as a JSON Schema, by which editors complete and check keys while one writes.

It is that of `schema.File`, with the datasets, kernels and solvers that exist instead of any name. It looks at
one value at a time: what goes together is checked when a config is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import ConfigDict, Field, create_model
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema
from typing_extensions import TypeAliasType

from mpu_bench import solvers
from mpu_bench.config.parameters import parameters_model
from mpu_bench.config.schema import File, FromRegularization, Named, OverExamples, PerDataset, Swept, Tune
from mpu_bench.data.cards import catalog
from mpu_bench.data.cards.schema import UNIVERSAL_OPTIONS
from mpu_bench.data.user_files.adding import FileDataset
from mpu_bench.document import Strict
from mpu_bench.kernels import KERNELS

Schema = dict[str, Any]

_ONE: Schema = {"minProperties": 1, "maxProperties": 1}
_alias: Any = TypeAliasType  # named in the schema, and referred to
_list: Any = list  # these three for mypy, to which only what is written out is a type
_listed: Any = Swept
_per_dataset: Any = PerDataset


class _Generator(GenerateJsonSchema):
    """Lets what a validator makes a list of be given without one, and leaves out titles that only repeat names."""

    def function_before_schema(self, schema: core_schema.BeforeValidatorFunctionSchema) -> JsonSchemaValue:
        """Return the schema of what may be given, before the validator has seen it."""
        generated = super().function_before_schema(schema)
        return (
            {"anyOf": [generated["items"], generated]}
            if generated.get("type") == "array" and "items" in generated
            else generated
        )

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        """Return the schema without a default that says nothing."""
        generated = super().default_schema(schema)
        return {
            key: value for key, value in generated.items() if key != "default" or not isinstance(value, dict | None)
        }

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        """Return the schema of a model without its name."""
        return {key: value for key, value in super().model_schema(schema).items() if key != "title"}

    def field_title_should_be_set(self, _schema: Any) -> bool:
        """Return that no field has a title."""
        return False


class _OneKey(Strict):
    """What has one key: a name."""

    model_config = ConfigDict(json_schema_extra=_ONE)


class _OneDataset(_OneKey):
    model_config = ConfigDict(extra="allow", json_schema_extra=_ONE | {"not": {"required": ["file"]}})
    __pydantic_extra__: dict[str, dict[str, Any] | None]


def json_schema(names: Iterable[str] = solvers.OWN) -> Schema:
    """Return the JSON Schema of a config.

    Parameters
    ----------
    names : iterable of str
        The solvers whose parameters it knows. Those of plugins are taken with any, where a config names ``plugins``.

    Raises
    ------
    ConfigError
        If there is no solver of one of the names.
    """
    kernel = _alias("kernel", _named("one kernel", {name: _swept(entry.options) for name, entry in KERNELS.items()}))
    swept = _alias("kernels", _listed[kernel])
    kernels = swept | _per_dataset[swept]
    known = {name: _swept(parameters_model(name), kernels) for name in names}
    solver = _alias("known-solver", _named("one solver", known))
    cards = {name: _options(name) for name in sorted(catalog.shipped_names())}
    dataset = _alias("dataset", _named("one dataset", cards, _OneDataset) | str | FileDataset)
    types: Any = {"dataset": dataset, "datasets": _list[dataset], "kernel": kernels, "solvers": _list[solver | Named]}
    fields: Any = {}
    for key, hint in types.items():
        field = File.model_fields[key]
        fields[key] = Annotated[(hint, *field.metadata, Field(description=field.description))], field.default
    model: type[File] = create_model("File", __base__=File, **fields)
    generated = model.model_json_schema(schema_generator=_Generator)
    keys = generated["properties"]
    nullable = {key: {"anyOf": [schema, {"type": "null"}]} for key, schema in keys.items() if key != "profiles"}
    keys["profiles"]["additionalProperties"] = {
        "type": "object",
        "properties": nullable,
        "patternProperties": {r"\.": True},  # solvers.mpu.C
        "additionalProperties": False,
    }
    without_plugins = {"properties": {"solvers": {"items": {"$ref": "#/$defs/known-solver"}}}}
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "A config of mpu-bench"}
    return head | generated | {"if": {"required": ["plugins"]}, "else": without_plugins}


def _named(what: str, entries: Mapping[str, Any], base: type[Strict] = _OneKey) -> Any:
    """Return the type of ``name`` or ``name: {parameters}``."""
    fields: Any = {name: (model | None, None) for name, model in entries.items()}
    return Literal[tuple(entries)] | create_model(what, __base__=base, **fields)


def _swept(model: type[Strict], kernels: Any = None) -> type[Strict]:
    """Return parameters as a config has them, also as lists; those of a solver by dataset, with kernel and tuning."""
    fields: Any = {}
    for name, field in model.model_fields.items():
        one: Any = Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation
        if kernels is not None and _is_real(one):
            one = one | OverExamples | FromRegularization if name == "nu" else one | OverExamples
        many = _listed[one] if kernels is None else _listed[one] | PerDataset[Any]
        fields[name] = (many, None if field.is_required() else field.default)
    fields |= {} if kernels is None else {"kernel": (kernels, None), "tune": (Tune | _per_dataset[Tune], None)}
    return create_model(model.__name__, __base__=Strict, __doc__=model.__doc__, **fields)


def _is_real(hint: Any) -> bool:
    return hint is float or (get_origin(hint) in (Annotated, Union, UnionType) and any(map(_is_real, get_args(hint))))


def _options(name: str) -> type[Strict]:
    """Return the options of a dataset."""
    fields: Any = {"as": (str, None)} | dict.fromkeys(UNIVERSAL_OPTIONS, (float, None))
    fields |= dict.fromkeys((*catalog.card(name).options, "bipartitions"), (Any, None))
    return create_model(name, __base__=Strict, **fields)
