"""The cache of optima: whatever is wrong with it is a remark."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mpu_bench.experiment.optima import OptimaCache
from mpu_bench.results import provenance
from records import record, records

RECORD = {
    "status": "done",
    "objective": 378.81556,
    "dual_objective": 378.81555,
    "gap": 378.81556 / 378.81555 - 1,
    "involuntary_switches": 3,
}
POINT = {"presented": 7, "objective": 378.81556}


@pytest.fixture
def remarks() -> list[str]:
    return []


@pytest.fixture
def cache(tmp_path: Path, remarks: list[str]) -> OptimaCache:
    return OptimaCache(tmp_path, remarks.append)


def test_what_is_kept_is_found_again(cache: OptimaCache, remarks: list[str]) -> None:
    assert cache.load("key") is None
    result = (record(RECORD), records([POINT, POINT]), {"id": "m", "processor": "another"})
    cache.save("key", result)
    assert cache.load("key") == result
    assert remarks == []


def written(content: object) -> Callable[[Path], object]:
    text = content if isinstance(content, str) else json.dumps(content)
    return lambda path: path.write_text(text, encoding="utf-8")


def sealed(content: dict[str, Any], machine: object = None) -> Callable[[Path], object]:
    """Return what writes a content with the checksum that fits it, as a program with a fault would."""
    machine = machine or {"id": "m"}
    checksum = provenance.content_hash(content.get("record", {}), [content["checkpoints"], machine])
    return written(content | {"environment": machine, "checksum": checksum})


@pytest.mark.parametrize(
    "damage",
    [
        written("{"),
        written(""),
        written([]),
        written(7),
        written({"record": RECORD}),
        written({"record": [1], "checkpoints": []}),
        written({"record": RECORD, "checkpoints": 5}),
        written({"record": RECORD, "checkpoints": [5]}),
        written({"record": RECORD, "checkpoints": [{}]}),
        written({"record": RECORD | {"status": "crashed"}, "checkpoints": []}),
        written({"record": RECORD | {"status": None}, "checkpoints": []}),
        written({"record": RECORD | {"objective": "hello"}, "checkpoints": []}),
        written({"record": RECORD | {"objective": [1]}, "checkpoints": []}),
        written({"record": RECORD, "checkpoints": [POINT | {"updates": {}}]}),
        written('{"record": ' + "[" * 100_000),
        written('{"record": {"objective": 1' + "0" * 5000 + '}, "checkpoints": []}'),
        written({"record": [1], "checkpoints": [], "environment": {"id": "m"}, "checksum": "0"}),
        written({"record": "done", "checkpoints": [], "environment": {"id": "m"}, "checksum": "0"}),
        sealed({"record": RECORD, "checkpoints": 5}),
        sealed({"record": RECORD, "checkpoints": None}),
        sealed({"record": RECORD, "checkpoints": [5]}),
        sealed({"record": RECORD | {"objective": "hello"}, "checkpoints": []}),
        sealed({"checkpoints": []}),
        sealed({"record": RECORD, "checkpoints": []}, machine=[1]),
        lambda path: path.write_bytes(b"\xff\xfe\x00"),
        lambda path: path.mkdir(),
        os.mkfifo,
        lambda path: path.symlink_to("/dev/zero"),
    ],
)
def test_what_is_damaged_is_found_again_with_a_remark(
    damage: Callable[[Path], object], cache: OptimaCache, remarks: list[str], tmp_path: Path
) -> None:
    (tmp_path / "optima").mkdir()
    damage(tmp_path / "optima" / "key.json")
    assert cache.load("key") is None
    assert len(remarks) == 1
    assert "key.json: this cached optimum cannot be used" in remarks[0]


@pytest.mark.parametrize("number", [28, 30, 13], ids=["full", "read-only", "forbidden"])
def test_what_cannot_be_written_is_a_remark_and_leaves_nothing(
    number: int, cache: OptimaCache, remarks: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_descriptor: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fail)
    cache.save("key", (record(RECORD), [], {"id": "m"}))
    (remark,) = remarks
    assert f"cannot be written ({os.strerror(number)})" in remark
    assert list((tmp_path / "optima").iterdir()) == []


@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        ("378.81555", "388.81555"),
        ("378.81555", "378.81556"),
        ('"presented": 7', '"presented": 8'),
        ('"done"', '"stopped"'),
    ],
)
def test_what_was_changed_by_one_digit_is_found_again(
    cache: OptimaCache, remarks: list[str], tmp_path: Path, was: str, becomes: str
) -> None:
    cache.save("key", (record(RECORD), records([POINT]), {"id": "m"}))
    path = tmp_path / "optima" / "key.json"
    path.write_text(path.read_text(encoding="utf-8").replace(was, becomes, 1), encoding="utf-8")
    assert cache.load("key") is None
    assert "does not fit its checksum" in remarks[0]


def test_what_an_earlier_version_wrote_is_found_again(cache: OptimaCache, remarks: list[str], tmp_path: Path) -> None:
    (tmp_path / "optima").mkdir()
    kept = {"record": RECORD, "checkpoints": [POINT]}
    for more in ({}, {"checksum": provenance.content_hash(RECORD, [POINT])}):  # seconds of a machine that nobody knows
        written(kept | more)(tmp_path / "optima" / "key.json")
        assert cache.load("key") is None
        assert "it has no checksum, or no machine: an earlier version wrote it" in remarks.pop()
