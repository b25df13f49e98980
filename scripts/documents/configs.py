"""docs/config-reference.md: every key of a config from its schema, and docs/config-schema.json, the schema itself."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from inspect import cleandoc
from typing import Any, get_args

from documents.markdown import table
from mpu_bench.config import rules, schema
from mpu_bench.config.json_schema import json_schema
from mpu_bench.document import Strict
from mpu_bench.kernels import KERNELS

HEAD = """# Keys of a config

Made from the classes that check configs. [Write a config](configs.md) shows how they are used; the parameters of
solvers are on [their pages](solvers/index.md). `mpu-bench list configs --schema` prints all of it as a JSON Schema, by
which an editor completes keys and marks what is wrong while you write.
"""

#: what tables call a type, where its schema would need more words than a table has
TYPES = {
    "dataset": "name, `name: {options}` or `{file: ...}`",
    "datasets": "list of datasets",
    "kernel": "name, `name: {parameters}`, a list, or `per-dataset`",
    "repeats": "whole number, or `per-dataset`",
    "solvers": "list of `name` or `name: {parameters}`",
    "tune": "parameters with lists of values, and [how](#tune)",
    "budget": "[budget](#budget)",
    "stop": "[stop](#stop)",
    "limits": "[limits](#limits)",
    "checkpoints": "[checkpoints](#checkpoints)",
    "kernel_memory": "bytes, or words such as `2 GB`",
    "claims": "list of [claims](#claims)",
    "explained": "list of [explanations](#explained)",
    "profiles": "names with keys",
    "published": "name or list of names",
    "plugins": "list of files",
    "seconds_of": "mapping with `solver` and `factor`",
    "after": "mapping with `passes`, and `later`",
    "with": "solver with its parameters",
    "evidence": "name of a config, `{print: ...}`, `{computed: ...}` or `{excluded: ...}`",
    "parameters": "mapping of names to values",
}
PARTS: dict[str, type[Strict]] = {
    "stop": schema.Stop,
    "limits": schema.Limits,
    "checkpoints": schema.Checkpoints,
    "budget": schema.Budget,
    "tune": schema.Tune,
    "explained": rules.Explained,
}


def pages() -> dict[str, str]:
    """Return the page and the schema."""
    whole = json_schema()
    return {"config-reference.md": "\n".join(_page(whole)), "config-schema.json": _lines(whole)}


def _lines(whole: Mapping[str, Any]) -> str:
    """Return the schema with a line for each definition."""
    plain = {key: each for key, each in whole.items() if key != "$defs"}
    definitions = ",\n".join(f"{json.dumps(name)}: {json.dumps(each)}" for name, each in whole["$defs"].items())
    head = ",\n".join(f"{json.dumps(key)}: {json.dumps(each)}" for key, each in plain.items())
    return f'{{{head},\n"$defs": {{\n{definitions}\n}}}}\n'


def _page(whole: Mapping[str, Any]) -> Iterator[str]:
    required = whole["required"]
    rows = [
        (
            f"`{key}`{' (required)' if key in required else ''}",
            _type_of(key, whole["properties"][key]),
            _default(whole["properties"][key]),
            whole["properties"][key]["description"],
        )
        for key in (*schema.File.__annotations__, *rules.Judging.__annotations__)
        if key in whole["properties"]
    ]
    yield HEAD
    yield "Either `dataset` or `datasets` must be given. Lists within `solvers`, `kernel` and `budget` are swept.\n"
    yield table(("key", "type", "default", "meaning"), rows)
    yield "## Kernels\n"
    yield table(
        ("kernel", "what it is", "parameters"),
        [(f"`{name}`", *_kernel(KERNELS[name].options)) for name in sorted(KERNELS)],
    )
    yield "A width or scale may be relative to the data: `{over-features: 4}` is 4 / d, and"
    yield "`{over-mean-squared-distance: 2}` is 2 over the mean squared distance of two training rows.\n"
    for name, model in PARTS.items():
        yield from _part(name, model)
    yield from _claims()


def _kernel(model: type[Strict]) -> tuple[str, str]:
    return _markdown(model.__doc__ or ""), ", ".join(f"`{name}`" for name in model.model_fields)


def _part(name: str, model: type[Strict]) -> Iterator[str]:
    properties = model.model_json_schema(by_alias=True)["properties"]
    yield f"## {name}\n\n{_markdown(cleandoc(model.__doc__ or ''))}\n"
    yield table(
        ("key", "type", "default"),
        [(f"`{key}`", _type_of(key, each), _default(each)) for key, each in properties.items()],
    )


def _claims() -> Iterator[str]:
    yield "## claims\n\nA claim has its words (`claim`) and a `statement`, of one of these kinds:\n"
    rows = []
    for model in get_args(get_args(rules.Statement)[0]):
        made = model.model_json_schema(by_alias=True)["properties"]
        words = made["kind"].get("enum") or [made["kind"]["const"]]
        keys = [key for key in made if key != "kind"]
        rows.append(
            (
                ", ".join(f"`{word}`" for word in words),
                _markdown(cleandoc(model.__doc__ or "")),
                ", ".join(f"`{key}`" for key in keys),
            )
        )
    yield table(("kind", "what it says", "keys"), rows)
    yield "`each` lists the points that a statement ranges over; `of` and `than` select rows of the results:\n"
    where = rules.Where.model_json_schema()["properties"]
    yield table(("key of `of` and `than`", "type"), [(f"`{key}`", _type_of(key, each)) for key, each in where.items()])


def _markdown(text: str) -> str:
    return " ".join(text.replace("``", "`").split())


def _default(given: Mapping[str, Any]) -> str:
    default = given.get("default")
    return "" if default in (None, [], {}, "") else f"`{json.dumps(default)}`".replace('"', "")


def _type_of(key: str, given: Mapping[str, Any]) -> str:
    plain = _type(given)  # `of` and `explained` name a dataset, a kernel and a budget as columns of runs.csv do
    return plain if plain in ("text", "whole number") else TYPES.get(key) or plain


def _type(given: Mapping[str, Any]) -> str:
    """Return in words what a schema allows."""
    if "anyOf" in given:
        return " or ".join(
            dict.fromkeys(filter(None, (_type(each) for each in given["anyOf"] if each.get("type") != "null")))
        )
    if "$ref" in given:
        return str(given["$ref"]).rpartition("/")[2].lower()
    if "enum" in given or "const" in given:
        return ", ".join(f"`{each}`" for each in given.get("enum", [given.get("const")]))
    if given.get("type") == "array":
        return f"list of {_type(given.get('items', {})) or 'values'}"
    words = {
        "integer": "whole number",
        "number": "number",
        "string": "text",
        "boolean": "true or false",
        "object": "mapping",
    }
    signs = {"exclusiveMinimum": "> {:g}", "minimum": ">= {:g}", "exclusiveMaximum": "< {:g}"}
    bounds = [text.format(given[key]) for key, text in signs.items() if key in given]
    return " ".join([words.get(str(given.get("type")), ""), ", ".join(bounds)]).strip()
