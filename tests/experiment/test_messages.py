"""What comes from a worker is text of bounded size, whose columns have their types."""

from __future__ import annotations

import json
import math
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpu_bench.experiment.messages import Failed, Finished, Phase, Prepared, Progress, Work, decode, encode
from mpu_bench.quantities import Record, RunStatus


@pytest.mark.parametrize(
    "message",
    [
        Phase("training"),
        Progress(1.5, 0.25, None, 1e-3),
        Work("begin", 3, "fetch a9a", None, 17),
        Prepared(),
        Failed("error", "two\nlines and \"quotes\" 'of' both kinds"),
        Finished(Record(status=RunStatus.DONE, n=3, objective=1.0), [Record(presented=4)], 2),
    ],
)
def test_a_message_comes_as_it_was_sent(message) -> None:
    line = encode(message)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert decode(line) == message


def test_numbers_that_are_not_finite_are_missing() -> None:
    sent = Finished(Record(objective=math.inf, load=math.nan, n=3), [Record(gap=-math.inf)])
    assert decode(encode(sent)) == Finished(Record(n=3), [Record()])
    assert decode(encode(Progress(1.0, 1.0, math.nan, math.inf))) == Progress(1.0, 1.0)


def test_text_is_plain() -> None:
    assert decode(encode(Finished(Record(reason="\x1b[31m \ud800"), []))).record.reason == "\\x1b[31m \\ud800"
    assert decode(encode(Failed("error", "\x1b[31m \ud800"))) == Failed("error", "\\x1b[31m \\ud800")
    assert len(encode(Failed("error", "x" * 20_000_000))) < 11_000


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("objective", "hello"), ("objective", True), ("objective", [1.0]), ("n", 1.5), ("n", 2**63), ("n", "3"),
        ("n", True), ("reason", 5), ("no such column", 1), ("status", "well"), ("parameters", "{"),
    ],
)  # fmt: skip
def test_what_a_column_cannot_hold_is_named(column: str, value: object) -> None:
    with pytest.raises(ValueError, match=column):
        decode(b"Finished " + json.dumps({"record": {column: value}, "checkpoints": []}).encode())


@pytest.mark.parametrize(
    "line",
    [
        b"", b"\n", b"nothing", b"Finished", b"Finished {}", b"Finished []", b"Task {}", b"\xff\xfe {}", b"Phase {}",
        b'Phase {"name": "sleeping"}', b'Progress {"passes": "1"}',
        b'Progress {"passes": NaN, "seconds": 1}', b'Failed {"status": "done", "reason": ""}',
        b'Failed {"status": "error", "reason": "\\ud800"}', b'Work {"step": "advance", "done": -1}',
        b'Work {"step": "advance", "done": 99999999999999999999}',
        b'Finished {"record": {"n": 99999999999999999999}, "checkpoints": []}',
        b'Finished {"record": {"who": 1}, "checkpoints": []}',
        b'Finished {"record": {}, "checkpoints": [[]]}',
        b'Finished {"record": {"objective": ' + 5000 * b"9" + b'}, "checkpoints": [{"gap": "x"}]}',
        b'Finished {"record": ' + 100_000 * b"[",
        b"Phase " + 100_000 * b'{"name":',
    ],
)  # fmt: skip
def test_what_is_no_message_is_refused(line: bytes) -> None:
    with pytest.raises(ValueError, match=r"no message|column|objective|n:"):
        decode(line)


@given(st.binary(max_size=60), st.sampled_from(["", "Finished ", "Failed ", "Progress ", "Work "]))
def test_nothing_but_a_value_error_comes_of_rubbish(rubbish: bytes, start: str) -> None:
    with suppress(ValueError):
        decode(start.encode() + rubbish)


@given(st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just([1]))
def test_a_column_holds_its_type_or_is_refused(value: object) -> None:
    line = (
        b"Finished " + json.dumps({"record": {"gap": value, "n": value, "reason": value}, "checkpoints": []}).encode()
    )
    try:
        record = decode(line).record
    except ValueError:
        return
    assert record.gap is None or math.isfinite(record.gap)
    assert record.n is None or type(record.n) is int
    assert type(record.reason) is str
