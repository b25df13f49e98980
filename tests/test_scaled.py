from __future__ import annotations

import json
import pickle

import pytest

from mpu_bench.config.choices import KernelChoice, ValidationSplit
from mpu_bench.errors import DataError
from mpu_bench.scaled import Derived, Scaled, from_json, parse, short, to_json


@pytest.mark.parametrize(
    ("value", "text", "written"),
    [
        (Scaled(2, "n"), '{"over-examples": 2}', "2/n"),
        (Scaled(0.5, "n"), '{"over-examples": 0.5}', "0.5/n"),
        (Scaled(4, "d"), '{"over-features": 4}', "4/d"),
        (Scaled(2, "mean-squared-distance"), '{"over-mean-squared-distance": 2}', "2/mean squared distance"),
        (Derived(0.1), '{"from-regularization": 0.1}', "nu(0.1)"),
        (Derived(Scaled(1, "n")), '{"from-regularization": {"over-examples": 1}}', "nu(1/n)"),
    ],
)
def test_a_relative_value_keeps_the_form_that_a_config_gives_it(value: object, text: str, written: str) -> None:
    assert json.dumps(value, default=to_json) == text
    assert json.loads(text, object_hook=from_json) == value
    assert parse(json.loads(text)) == value
    assert str(value) == short(value) == written
    assert pickle.loads(pickle.dumps(value)) == value
    assert hash(value) == hash(parse(json.loads(text)))


@pytest.mark.parametrize("value", [1, 0.5, "word", None, {"a": 1}, {"over-example": 1}, {"over-features": 1, "n": 2}])
def test_other_values_stay_what_they_are(value: object) -> None:
    assert parse(value) == value
    assert json.loads(json.dumps(value), object_hook=from_json) == value


def test_values_that_differ_are_written_differently() -> None:
    assert [*map(short, (1e-5, 2.0, 1e6, 0.1, 2**-15))] == ["1e-05", "2", "1e+06", "0.1", "3.0517578125e-05"]
    narrow, wide = (KernelChoice("gaussian", {"gamma": gamma}) for gamma in (0.12345678, 0.12345679))
    assert str(narrow) != str(wide)  # by which rows of a table are told apart
    assert str(ValidationSplit(holdout=0.12345678)) != str(ValidationSplit(holdout=0.12345679))  # in the keys of trials


def test_a_number_is_divided_by_what_it_is_relative_to() -> None:
    sizes = {"n": 50, "d": 10, "mean-squared-distance": 2.0}
    assert Scaled(2.0, "n").resolve(sizes.__getitem__) == 0.04
    assert Scaled(4, "d").resolve(sizes.__getitem__) == 0.4
    assert Scaled(3, "mean-squared-distance").resolve(sizes.__getitem__) == 1.5


def test_it_can_be_held_against_the_bounds_of_a_parameter() -> None:
    for value in (Scaled(2.0, "n"), Derived(Scaled(2.0, "n")), Derived(0.1)):
        assert value > 0
        assert value >= 0
        assert value < float("inf")
    assert not Scaled(0.0, "n") > 0


def test_nothing_else_is_written_as_json() -> None:
    with pytest.raises(TypeError, match="has no form in JSON"):
        json.dumps({1, 2}, default=to_json)


def test_a_value_relative_to_nothing_is_refused() -> None:
    width = Scaled(2, "mean-squared-distance")
    assert width.resolve(lambda _by: 4.0) == 0.5
    for distance in (0.0, -1e-17, 1e-320, float("nan")):
        with pytest.raises(
            DataError, match="2/mean squared distance is no finite number: the mean squared distance of"
        ):
            width.resolve(lambda _by, distance=distance: distance)
