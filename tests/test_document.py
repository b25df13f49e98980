from __future__ import annotations

import pytest

from mpu_bench import document
from mpu_bench.errors import ConfigError


def parse(text: str) -> document.Located:
    return document.parse(text, "adult.yaml", ConfigError)


@pytest.mark.parametrize(
    ("text", "number"), [("1e-5", 1e-5), ("1.0e10", 1e10), ("-.5", -0.5), ("10", 10), ("1_000", 1000), ("2E+3", 2000.0)]
)
def test_numbers_as_people_write_them(text: str, number: float) -> None:
    value = parse(f"key: {text}").data["key"]
    assert value == number
    assert type(value) is type(number)


@pytest.mark.parametrize("text", ["a9a", "e5", "1e", "1.2.3", "-"])
def test_words_stay_words(text: str) -> None:
    assert parse(f"key: {text!r}").data["key"] == text
    if text != "-":
        assert parse(f"key: {text}").data["key"] == text


def test_every_key_has_a_place() -> None:
    read = parse("a: 1\nb:\n  c: [1, 2]\n  d:\n    - e: 3\n")
    assert read.place(("b", "d", 0, "e")) == "adult.yaml, line 5"
    assert read.place(("b", "c", 1)) == "adult.yaml, line 3"
    assert read.place(("b", "unknown")) == "adult.yaml, line 2"
    assert read.place(("unknown",)) == "adult.yaml"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\n\tb: 2", "adult.yaml, line 2: indented with a tab"),
        ("a: 1\nb: 2\na: 3", "adult.yaml, line 3: the key 'a' was already given on line 1"),
        ("a: {b: 1, b: 2}", "the key 'b' was already given"),
        ("- 1", "must hold keys and values"),
        ("", "must hold keys and values"),
        ("a: 1\nb: [1,\n", "not YAML"),
        ("a: !!python/object:os.system x", "adult.yaml, line 1: not YAML"),
    ],
)
def test_wrong_yaml_is_told_with_its_line(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(text)
    assert message in str(caught.value)


def test_an_overlay_merges_mappings_and_replaces_the_rest() -> None:
    read = parse("stop: {gap: 1, passes: 2}\nseeds: [1, 2]\n")
    read.overlay((), {"stop": {"gap": 5}, "seeds": [3]}, {("stop",): "here", ("stop", "gap"): "there", ("seeds",): "x"})
    assert read.data == {"stop": {"gap": 5, "passes": 2}, "seeds": [3]}
    assert read.place(("stop", "gap")) == "there"
    assert read.place(("stop", "passes")) == "adult.yaml, line 1"
