"""The JSON Schema of configs takes what is right, and refuses one wrong value."""

from __future__ import annotations

from functools import cache
from typing import Any

import jsonschema
import pytest
import yaml

from mpu_bench import solvers, yaml_text
from mpu_bench.config.json_schema import json_schema
from mpu_bench.errors import ConfigError
from mpu_bench.resources import config_names, config_path

RIGHT = """
name: mine
dataset: {file: mine.csv, label: answer, positive: "yes", split: 0.8, as: persons}
kernel: [{gaussian: {gamma: [0.5, {over-features: [4, 8]}]}}, polynomial: {degree: 3, offset: 1, normalize: true}]
repeats: {per-dataset: {usps: 20, otherwise: 5}}
solvers:
  - mpu: {C: [0.1, {over-examples: [2, 4]}], margin: soft, multiclass: one-against-one}
  - dcd: {C: {per-dataset: {persons: 1, otherwise: [1, 2]}}, class_weight: {"+1": 3}}
  - sbp: {nu: {from-regularization: [{over-examples: [1, 2]}, 0.1]}, kernel: linear}
  - smo: {C: 1, tune: {kernel.gamma: [1, 2], folds: 5}}
  - perceptron
budget: {vectors: 50}
tune: {C: [1, 2], holdout: 0.3, with: {cvm: {}}}
limits: {seconds: 10, memory: 4 GB}
kernel_memory: 2GB
published: mpu-table1
claims:
  - claim: MPU needs fewer seconds than DCD
    statement: {kind: lower, quantity: comparable_seconds, of: {solver: mpu}, than: {solver: dcd}, each: {C: [0.1, 1]}}
profiles:
  ci: {repeats: 1, solvers.mpu.C: 1, published: null, stop: {passes: 2}}
"""

WRONG = {
    "a word that is no key": {"solver": ["dcd"]},
    "a solver that does not exist": {"solvers": ["dcdd"]},
    "a parameter that the solver does not have": {"solvers": [{"dcd": {"gamma": 1}}]},
    "a parameter out of its range": {"solvers": [{"dcd": {"C": -1}}]},
    "a value of the wrong type": {"solvers": [{"sbp": {"nu": 0.1, "bias": "maybe"}}]},
    "a number that cannot be over the examples": {"solvers": [{"perceptron": {"passes": {"over-examples": 1}}}]},
    "two solvers in one entry": {"solvers": [{"dcd": {}, "mpu": {}}]},
    "no solvers": {"solvers": []},
    "a kernel that does not exist": {"kernel": {"gausian": {"gamma": 1}}},
    "a kernel's parameter out of its range": {"kernel": {"gaussian": {"gamma": 0}}},
    "an option that the dataset does not have": {"dataset": {"adult": {"rows": 5}}},
    "a stop that does not exist": {"stop": {"pases": 5}},
    "a text for a number": {"repeats": "five"},
    "both dataset and datasets": {"datasets": ["adult"]},
    "a profile with a word that is no key": {"profiles": {"ci": {"repeat": 1}}},
    "a statement of no kind": {"claims": [{"claim": "x", "statement": {"kind": "lowest", "quantity": "nu"}}]},
}
SMALL: dict[str, Any] = {"name": "small", "dataset": "adult", "solvers": ["dcd"]}


@cache
def checker() -> jsonschema.Draft202012Validator:
    schema = json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.mark.parametrize("name", config_names())
def test_every_shipped_config_is_right(name: str) -> None:
    checker().validate(yaml_text.read(config_path(name), ConfigError).data)


def test_whatever_form_a_value_may_have_is_right() -> None:
    checker().validate(yaml.safe_load(RIGHT))
    checker().validate(SMALL)


@pytest.mark.parametrize("what", WRONG)
def test_one_wrong_value_is_refused(what: str) -> None:
    assert not checker().is_valid(SMALL | WRONG[what])


def test_solvers_of_plugins_are_taken_as_they_are() -> None:
    own = SMALL | {"solvers": [{"my-solver": {"rate": 0.1}}]}
    assert not checker().is_valid(own)
    checker().validate(own | {"plugins": ["my_solver.py"]})


def test_every_key_has_a_meaning_and_every_solver_is_known() -> None:
    assert [key for key, each in checker().schema["properties"].items() if not each.get("description")] == []
    known = checker().schema["$defs"]["known-solver"]["anyOf"][0]["enum"]
    assert known == list(solvers.OWN)
