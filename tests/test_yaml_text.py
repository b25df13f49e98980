"""YAML in bounds: whatever the text, one error that names the line, or plain data, after bounded work."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mpu_bench import yaml_text
from mpu_bench.errors import ConfigError

CHAIN = "a0: &a0 [x]\n" + "".join(f"a{k}: &a{k} [*a{k - 1}]\n" for k in range(1, 300))


def refused(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        yaml_text.load(text, "a.yaml", ConfigError)
    return str(caught.value)


def test_aliases_do_not_stand_for_more_than_a_text_can_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else nine lines come to a billion values."""
    monkeypatch.setattr(yaml_text, "MAX_BYTES", 1000)
    text = "a0: &a0 [x]\n" + "".join(f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 10)}]\n" for k in range(1, 10))
    assert refused(text) == "a.yaml, line 1: its aliases (*name) stand for more than 1,000 values"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 100_000, "lies more than 50 levels deep"),
        ("a: " + "{b: " * 5000, "lies more than 50 levels deep"),
        ("- " * 5000, "lies more than 50 levels deep"),
        ("? " * 5000, "lies more than 50 levels deep"),
        ("a:\n" + "".join(" " * k + "a:\n" for k in range(1, 100)), "line 51: lies more than 50 levels deep"),
        (CHAIN, "lies more than 50 levels deep"),
        ("&a [*a]", "line 1: lies more than 50 levels deep"),
        ("\n&a {b: {<<: *a}}", "line 2: lies more than 50 levels deep"),
        ("a: *b", "line 1: not YAML: found undefined alias"),
        ("a: !!int x", "line 1: 'x' is no whole number that can be read"),
        ("a: !!bool x", "line 1: 'x' is no word for true or false"),
        ("a: !!float x", "line 1: 'x' is no number that can be read"),
        ("a: ._", "line 1: '._' is no number"),
        ("a: " + "9" * 5000, "line 1: '999"),
        ("a: " + "9" * 400, "line 1: '999"),
        ("a: !!int [1]", "line 1: the tag '!!int' is not read here; write a plain value"),
        ("a: !!timestamp x", "line 1: the tag '!!timestamp' is not read"),
        ("a: !!binary eA==", "line 1: the tag '!!binary' is not read"),
        ("a: !!set {b}", "line 1: the tag '!!set' is not read"),
        ("a: !!omap [b: 1]", "line 1: the tag '!!omap' is not read"),
        ("a: !mine x", "line 1: the tag '!mine' is not read"),
        ("a: !!python/name:os.system", "line 1: the tag '!!python/name:os.system' is not read"),
        ("? [a]: b", "line 1: a key must be a word, not a list or mapping"),
        ("? [a]\n: b", "line 1: a key must be a word, not a list or mapping"),
        ("{[a]: b}", "line 1: a key must be a word, not a list or mapping"),
        ("{{a: 1}: b}", "line 1: a key must be a word, not a list or mapping"),
        ("a: 1\nnull: 1", "line 2: a key must be a word, and 'null' means nothing; put quotation marks around it"),
        ("~: 1", "line 1: a key must be a word, and '~' means nothing"),
        ("? \n: 1", "line 1: a key must be a word, and '' means nothing"),
        ("1_000: a\n1000: b", "line 2: the key '1000' was already given on line 1"),
        ("yes: 1", "line 1: a key must be a word, and 'yes' means true or false"),
        ("1.5: 1", "line 1: a key must be a word, and '1.5' means a real number"),
        ("a: {<<: 1}", "line 1: << takes a mapping, or a list of mappings"),
        ('a: "\\e[31m"', r"line 1: a text holds a character that cannot be shown; remove it: '\x1b[31m'"),
        ('a: "\\0"', "line 1: a text holds a character that cannot be shown"),
        ("a: \u202eb", "line 1: a text holds a character that cannot be shown"),
        ("a: 1\nb: \ud800", "is not UTF-8 text"),
        ("a: 1\0", "not YAML"),
        ("a: \x07", "not YAML"),
        ("--- 1\n--- 2", "line 2: not YAML: but found another document"),
    ],
)
def test_what_is_out_of_bounds_is_refused_with_its_line(text: str, message: str) -> None:
    assert message in refused(text)


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("day: 2001-99-99", {"day": "2001-99-99"}),
        ("day: 2001-12-14", {"day": "2001-12-14"}),
        ("a: =", {"a": "="}),
        ("[007, 010, 1:30, 0x10, 0b_, 0, -10, +1_0]", ["007", "010", "1:30", "0x10", "0b_", 0, -10, 10]),
        (f"a: {2**63 - 1}", {"a": 2**63 - 1}),
        (f"a: {10**30}", {"a": 1e30}),
        ("a: 1e400", {"a": float("inf")}),
        ("a: !!str 1\nb: !!int 2", {"a": "1", "b": 2}),
        ("a: &s {x: 1}\nb: {<<: *s, y: 2}", {"a": {"x": 1}, "b": {"x": 1, "y": 2}}),
        ("8: one\r\nb: |\r\n  two\r\n", {8: "one", "b": "two\n"}),
        ("[" * 49 + "1" + "]" * 49, json.loads("[" * 49 + "1" + "]" * 49)),
        ("a: &a {x: 1, y: 1}\nb: {<<: [{x: 3}, *a], z: 0}", {"a": {"x": 1, "y": 1}, "b": {"x": 3, "y": 1, "z": 0}}),
        ("a: &a [1]\nb: *a\nc: !!str &d 1\ne: *d", {"a": [1], "b": [1], "c": "1", "e": "1"}),
        ("", None),
    ],
)
def test_plain_data_are_read(text: str, data: Any) -> None:
    assert yaml_text.load(text, "a.yaml", ConfigError)[0] == data


def test_where_there_are_no_lines_none_is_named() -> None:
    for text in ("{[a]: 1}", "[", "{a: 1, a: 2}", "!!int x", "[" * 99):
        with pytest.raises(ConfigError) as caught:
            yaml_text.load(text, "--set x", ConfigError, has_lines=False)
        assert str(caught.value).startswith("--set x: ")
        assert " line " not in str(caught.value)


#: pieces of which YAML is made, so that many of the texts are nearly right
WORDS = r"a|b: |- |? |: |[|]|{|}|, |&x |*x |<<: |!!int |!!set |'|>|# |---|1|1e9|0x|.inf|~|yes|%TAG ".split("|")  # noqa: SIM905
PIECES = st.lists(
    st.sampled_from([*WORDS, '"', "|", "\n", "\n  ", "\t", "\r\n", "\ud800", "\x85"]),
    max_size=40,
).map("".join)


@given(PIECES | st.text(st.characters(exclude_categories=[]), max_size=60))
@example("&a [" * 60)
@settings(max_examples=200)
def test_any_text_is_plain_data_or_an_error(text: str) -> None:
    message = ""
    try:
        data, locations = yaml_text.load(text, "a.yaml", ConfigError)
    except ConfigError as error:
        message = str(error)
    if message:
        assert message.startswith("a.yaml")
        assert message.encode()
    else:
        assert isinstance(data, dict | list) or not locations.steps
