"""What a config may say, as a JSON Schema, by which editors complete and check keys while one writes.

It is made of the same classes that check configs (`schema`, `rules`, and the parameters of solvers), and looks at one
value at a time: what goes together is checked when a config is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from mpu_bench import solvers
from mpu_bench.config.parameters import parameters_model
from mpu_bench.config.schema import File, Tune
from mpu_bench.data.cards import catalog
from mpu_bench.data.cards.schema import UNIVERSAL_OPTIONS
from mpu_bench.data.own.adding import Wishes
from mpu_bench.document import Strict
from mpu_bench.kernels import KERNELS
from mpu_bench.scaled import FROM_REGULARIZATION, OVER_EXAMPLES

Schema = dict[str, Any]

_TITLE = "A config of mpu-bench"
DIALECT = "https://json-schema.org/draft/2020-12/schema"

#: key of a config -> what it means, for editors and for the documentation
MEANINGS = {
    "version": "The version of the config format.",
    "name": "What the experiment is called: its results go to results/NAME.",
    "description": "What `mpu-bench list configs` says of it.",
    "dataset": "The dataset, by the name of its card, with options, or a file of your own: {file: mine.csv}.",
    "datasets": "Several datasets, in place of `dataset`.",
    "kernel": "The kernel of all solvers that take one; a list is swept.",
    "repeats": "How often each run is made, with seeds `seed`, `seed` + 1, ...; or a number for each dataset.",
    "seed": "The first seed.",
    "solvers": "The solvers with their parameters; a list of values is swept.",
    "budget": "How many vectors the solvers that live on a budget may keep; a list is swept.",
    "tune": "Values of parameters to try on held-out rows before the runs.",
    "stop": (
        "What ends a run besides the solver's own rule; whichever comes first. Peers that train in one piece heed none."
    ),
    "limits": "What a run may never exceed: its process is ended, and its row says so.",
    "checkpoints": "When a model is evaluated on the way, off the clock: the rows of curves.csv.",
    "threads": "How many threads a run may use.",
    "kernel_memory": "Memory for kernel values that are kept; half of limits.memory, or of what is free, by default.",
    "kernel_matrix": "Whether runs compute kernel rows of their own, or share a matrix, computed off their clocks.",
    "placement": "Of several machines: all solvers of a dataset and seed together on one, or spread.",
    "optimum": "Solve every SVM to its optimum first, so that `suboptimality` can be measured.",
    "paper": "The paper whose table or figure this is; `mpu-bench reproduce` runs such configs.",
    "plugins": "Python files with solvers of your own, relative to the config. They are code: run what you trust.",
    "profiles": "Other forms of the experiment, by name: keys that override, such as solvers.mpu.C.",
    "figures": "The figures that plot and the pages draw, with their axes and panels; all that have data by default.",
    "published": "The printed tables that the results are set beside and judged by.",
    "claims": "Expectations of your own, judged like the papers' sentences.",
    "explained": "Why a printed number or a sentence does not come out, with the evidence; it changes no verdict.",
}


class _Generator(GenerateJsonSchema):
    """Lets what a validator makes a list of be given without one."""

    def function_before_schema(self, schema: core_schema.BeforeValidatorFunctionSchema) -> JsonSchemaValue:
        """Return the schema of what may be given, before the validator has seen it."""
        made = super().function_before_schema(schema)
        return _one_or(made) if made.get("type") == "array" and "items" in made else made


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
    known = list(names)
    whole = _of(File)
    definitions: Schema = whole.pop("$defs") | _definitions(known)
    keys: Schema = {key: _described(key, each) for key, each in (whole["properties"] | _keys()).items()}
    profile = {"type": "object", "properties": _nullable(keys), "additionalProperties": False}
    profile |= {"patternProperties": {r"\.": True}}  # solvers.mpu.C
    keys["profiles"] |= {"additionalProperties": profile}
    made: Schema = _tidy({
        "$schema": DIALECT,
        "title": _TITLE,
        "type": "object",
        "properties": keys,
        "required": whole["required"],
        "oneOf": [{"required": ["dataset"]}, {"required": ["datasets"]}],
        "additionalProperties": False,
        "if": {"required": ["plugins"]},
        "else": {"properties": {"solvers": {"items": _ref("known-solver")}}},
        "$defs": definitions,
    })  # fmt: skip
    return made


def _of(model: type[Strict]) -> Schema:
    return model.model_json_schema(by_alias=True, schema_generator=_Generator)


def _ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def _one_or(many: Mapping[str, Any]) -> Schema:
    return {"anyOf": [many["items"], dict(many)]}


def _listed(one: Schema) -> Schema:
    """Return what may be given for a value that is swept: it, or a list."""
    return {"anyOf": [one, {"type": "array", "items": one, "minItems": 1}]}


def _per_dataset(one: Schema) -> Schema:
    return _single({"per-dataset": {"type": "object", "additionalProperties": one}})


def _single(properties: Schema, more: Any = False) -> Schema:
    """Return what has one key."""
    allowed = {"properties": properties, "additionalProperties": more}
    return {"type": "object", "minProperties": 1, "maxProperties": 1} | allowed


def _keys() -> Schema:
    """Return the keys of a config whose classes say too little: what they hold is read by `sweep`."""
    count = {"type": "integer", "minimum": 1}
    return {
        "dataset": _ref("dataset"),
        "datasets": {"type": "array", "items": _ref("dataset"), "minItems": 1},
        "kernel": _ref("kernels"),
        "repeats": {"anyOf": [count, _per_dataset(count)]},
        "solvers": {"type": "array", "items": _ref("solver"), "minItems": 1},
        "tune": {"anyOf": [_ref("tune"), {"type": "null"}]},
    }


def _definitions(names: Iterable[str]) -> Schema:
    known = {name: _parameters(parameters_model(name)) for name in names}
    anything = {"type": ["object", "null"]}
    kernels, number = _listed(_ref("kernel")), {"type": "number", "exclusiveMinimum": 0}
    return {
        OVER_EXAMPLES: _single({OVER_EXAMPLES: number}),
        FROM_REGULARIZATION: _single({FROM_REGULARIZATION: {"anyOf": [number, _ref(OVER_EXAMPLES)]}}),
        "per-dataset": _per_dataset({}),
        "dataset": _dataset(),
        "kernels": {"anyOf": [*kernels["anyOf"], _per_dataset(kernels)]},
        "kernel": _named({name: _kernel(kernel.options) for name, kernel in KERNELS.items()}),
        "tune": _of(Tune) | {"additionalProperties": {"type": ["array", "object"]}},
        "known-solver": _named(known),
        "solver": {"anyOf": [_ref("known-solver"), {"type": "string"}, _single({}, anything)]},
    }


def _named(entries: Mapping[str, Schema]) -> Schema:
    """Return ``name`` or ``name: {parameters}``."""
    given = {name: {"anyOf": [each, {"type": "null"}]} for name, each in entries.items()}
    return {"anyOf": [{"enum": list(entries)}, _single(given)]}


def _kernel(model: type[Strict]) -> Schema:
    schema = _of(model)
    schema.pop("required", None)  # what is tuned is not given
    schema["properties"] = {name: _listed(each) for name, each in schema["properties"].items()}
    return schema


def _parameters(model: type[Strict]) -> Schema:
    """Return what may be given for the parameters of a solver: values, lists, values for each dataset."""
    schema = _of(model)
    for name, given in schema.get("properties", {}).items():
        value = {key: each for key, each in given.items() if key != "default"}
        forms = [value, *_relative(name, value)]
        one = {"anyOf": forms} if len(forms) > 1 else value
        many = {"type": "array", "items": one, "minItems": 1}
        default = {"default": given["default"]} if given.get("default") is not None else {}
        schema["properties"][name] = {"anyOf": [*forms, many, _ref("per-dataset")]} | default
    more = {"kernel": _ref("kernels"), "tune": _ref("tune")}
    return {key: each for key, each in schema.items() if key != "required"} | {
        "properties": schema.get("properties", {}) | more
    }


def _relative(name: str, value: Schema) -> list[Schema]:
    """Return the forms of a real number that is relative to the data, or derived from them."""
    if not any(each.get("type") == "number" for each in (value, *value.get("anyOf", ()))):
        return []
    return [_ref(OVER_EXAMPLES), *([_ref(FROM_REGULARIZATION)] if name == "nu" else [])]


def _dataset() -> Schema:
    """Return a dataset: its name, with options, or a file of the user's own."""
    shipped = sorted(catalog.shipped_names())
    label = {"as": {"type": "string"}}
    free: Schema = {key: {"type": "number"} for key in UNIVERSAL_OPTIONS}
    own = _of(Wishes)
    own["properties"] |= label | free | {"file": {"type": "string"}}
    for name in {"positive"} & own["properties"].keys():
        own["properties"][name] = {"type": ["string", "array"]}
    options = {
        name: {
            "type": ["object", "null"],
            "properties": label | free | dict.fromkeys((*catalog.card(name).options, "bipartitions"), True),
            "additionalProperties": False,
        }
        for name in shipped
    }
    by_name = _single(options, {"type": ["object", "null"]}) | {"not": {"required": ["file"]}}
    return {"anyOf": [{"enum": shipped}, {"type": "string"}, by_name, own | {"required": ["file"]}]}


def _described(key: str, schema: Schema) -> Schema:
    return schema | {"description": MEANINGS[key]}


def _nullable(keys: Schema) -> Schema:
    """Return the keys as a profile has them, which may take one back."""
    return {key: {"anyOf": [each, {"type": "null"}]} for key, each in keys.items() if key != "profiles"}


def _tidy(value: Any) -> Any:
    """Leave out titles that only repeat names, and defaults that say nothing."""
    if isinstance(value, list):
        return [_tidy(each) for each in value]
    if not isinstance(value, dict):
        return value
    kept = {key: each for key, each in value.items() if not _is_noise(key, each)}
    return {key: _tidy(each) for key, each in kept.items()}


def _is_noise(key: str, value: Any) -> bool:
    is_title = key == "title" and isinstance(value, str) and value != _TITLE
    return is_title or (key == "default" and (value is None or isinstance(value, dict)))
