from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, model_validator

from mpu_bench import document, yaml_text
from mpu_bench.document import Change, Locations
from mpu_bench.errors import ConfigError


def parse(text: str) -> document.Document:
    return yaml_text.parse(text, "adult.yaml", ConfigError)


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
    assert read.locations.nearest(("b", "d", 0, "e")).text == "adult.yaml, line 5"
    assert read.locations.nearest(("b", "c", 1)).text == "adult.yaml, line 3"
    assert read.locations.nearest(("b", "unknown")).text == "adult.yaml, line 2"
    assert read.locations.head(("unknown",), read.source) == "adult.yaml: unknown"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\n\tb: 2", "adult.yaml, line 2: indented with a tab"),
        ("a: 1\nb: 2\na: 3", "adult.yaml, line 3: the key 'a' was already given on line 1"),
        ("a: {b: 1, b: 2}", "the key 'b' was already given"),
        ("- 1", "must hold keys and values"),
        ("", "must hold keys and values"),
        ("a: 1\nb: [1,\n", "not YAML"),
        ("a: !!python/object:os.system x", "adult.yaml, line 1: the tag '!!python/object:os.system' is not read"),
    ],
)
def test_wrong_yaml_is_told_with_its_line(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(text)
    assert message in str(caught.value)


def test_an_overlay_merges_mappings_and_replaces_the_rest() -> None:
    stop = Locations("here", {"gap": Locations("there")})
    read = parse("stop: {gap: 1, passes: 2}\nseeds: [1, 2]\n").changed(
        [
            Change(("stop",), {"gap": 5}, stop, merged=True),
            Change(("seeds",), [3], Locations("x"), merged=True),
        ]
    )
    assert read.locations.nearest(("seeds", 0)).text == "x"
    assert read.data == {"stop": {"gap": 5, "passes": 2}, "seeds": [3]}
    assert read.locations.nearest(("stop", "gap")).text == "there"
    assert read.locations.nearest(("stop", "passes")).text == "adult.yaml, line 1"


def test_what_an_anchor_shares_can_be_overridden_by_itself() -> None:
    read = parse("a: &shared {b: 1}\nc: *shared\n")
    changed = read.changed([Change(("a", "b"), 2, Locations("here"))])
    assert changed.data == {"a": {"b": 2}, "c": {"b": 1}}
    assert read.data == changed.written.data == {"a": {"b": 1}, "c": {"b": 1}}


def test_what_a_change_takes_from_the_document_stays_there_as_it_is() -> None:
    read = parse("a: {b: 1}\n")
    moved = Change(("c",), read["a"].value, read["a"].locations)
    changed = read.changed([moved, Change(("c", "b"), 2, Locations("here"))])
    assert (changed.data["c"], changed.locations.nearest(("c", "b")).text) == ({"b": 2}, "here")
    assert (read.data, read.locations.nearest(("a", "b")).text) == ({"a": {"b": 1}}, "adult.yaml, line 1")


def test_a_node_knows_its_place() -> None:
    read = parse("solvers:\n  - mpu:\n      C: 1\n")
    node = read["solvers"][0]["mpu"]["C"]
    assert node.value == 1
    assert str(node.error("is wrong; mend it")) == "adult.yaml, line 3: solvers.mpu.C: is wrong; mend it"
    assert str(read["absent"]["below"].error("is wrong")) == "adult.yaml: absent.below: is wrong"
    assert read["absent"]["below"].value is None
    assert isinstance(node.error("x"), ConfigError)


class Circle(document.Strict):
    kind: Literal["circle"]
    radius: document.Positive


class Square(document.Strict):
    kind: Literal["square"]
    side: document.Positive

    @model_validator(mode="after")
    def _is_small(self) -> Square:
        if self.side > 9:
            raise document.MisfitError("side", "must be at most 9")
        return self


class Shapes(document.Strict):
    shapes: list[Annotated[Circle | Square, Field(discriminator="kind")]] = Field([])
    named: dict[str, Circle] = Field({})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("shapes: [{kind: circle, radius: -1}]", "line 1: shapes.radius: must be greater than 0, not -1"),
        ("shapes:\n- {kind: circle, side: 1}", "line 2: shapes.radius: this key is missing"),
        ("shapes: [{kind: circle, radius: 1, sid: 1}]", "shapes.sid: unknown key; choose from kind, radius"),
        ("shapes: [{kind: square, sid: 1}]", "shapes.sid: unknown key; did you mean 'side'?"),
        ("shapes: [{kind: squar}]", "shapes.kind: there is no kind 'squar'; did you mean 'square'?"),
        ("shapes: [{side: 1}]", "line 1: shapes.kind: this key is missing"),
        ("shapes: [{kind: square, side: 10}]", "line 1: shapes.side: must be at most 9"),
        ("named:\n  a:\n    radios: 1", "line 3: named.a.radios: unknown key; did you mean 'radius'?"),
        ("named: {a: 3}", "line 1: named.a: must be a mapping (key: value), not 3"),
        ("shape: 3", "line 1: shape: unknown key; did you mean 'shapes'?"),
    ],
)
def test_a_fault_is_told_with_line_key_and_remedy(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(text).root.validated(Shapes)
    assert message in str(caught.value)


def test_five_faults_are_told_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        parse("\n".join(f"key{number}: 1" for number in range(9))).root.validated(Shapes)
    assert len(str(caught.value).splitlines()) == 6
    assert "and 4 more" in str(caught.value)


def test_a_renamed_word_is_refused_with_the_new_one() -> None:
    read = yaml_text.parse("forms: []", "adult.yaml", ConfigError, {"forms": "shapes"})
    with pytest.raises(ConfigError, match=r"adult\.yaml, line 1: forms: unknown key; it is called 'shapes' now"):
        read.root.validated(Shapes)


def test_what_a_program_gives_has_the_types_of_a_file() -> None:
    content = {
        "C": np.array([0.1, 1.0, 10.0]), "one": np.float64(0.1), "n": np.int32(3), "pair": (1, Path("a")),
        "some": range(2), "tiny": 1e-300, "words": ["yes", "1e-5", "#", "é"], "none": None,
    }  # fmt: skip
    text = yaml_text.dump(content, "the config", ConfigError)
    read = yaml_text.parse(text, "the config", ConfigError, has_lines=False)
    assert read.data == {
        "C": [0.1, 1.0, 10.0], "one": 0.1, "n": 3, "pair": [1, "a"], "some": [0, 1], "tiny": 1e-300,
        "words": ["yes", "1e-5", "#", "é"], "none": None,
    }  # fmt: skip
    assert parse(text).data == read.data
    assert str(read["C"].error("wrong")) == "the config: C: wrong"


def test_what_no_file_can_hold_is_one_message() -> None:
    endless: dict[str, object] = {}
    endless["self"] = endless
    for wrong in (endless, {"a": object()}, {"a": {1.5: 2}}, {"a": "\0"}):
        with pytest.raises(ConfigError) as caught:
            yaml_text.parse(
                yaml_text.dump(wrong, "the config", ConfigError), "the config", ConfigError, has_lines=False
            )
        assert str(caught.value).startswith("the config")
        assert "\n" not in str(caught.value)


_WORDS = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cc", "Cf", "Cs", "Zl", "Zp", "Cn", "Co")), max_size=20
)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | _WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_WORDS, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(_WORDS, _VALUES, min_size=1, max_size=5))
def test_what_a_program_gives_is_read_as_it_is(given: dict[str, object]) -> None:
    assert parse(yaml_text.dump(given, "the config", ConfigError)).data == given
