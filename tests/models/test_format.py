"""Files of models: what was written comes back, and anything else is one message."""

from __future__ import annotations

import io
import json
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model_examples import raw_rows, saved
from mpu_bench import load
from mpu_bench.errors import DataError, StoreError
from mpu_bench.models import format as model_file

NAME = "dense gaussian ovo"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("whole") / "m.mpu"
    saved(NAME).save(path)
    return path.read_bytes()


def test_the_same_model_gives_the_same_bytes(whole: bytes, tmp_path: Path) -> None:
    saved(NAME).save(tmp_path / "again.mpu")
    assert (tmp_path / "again.mpu").read_bytes() == whole


@pytest.mark.parametrize(("limit", "value"), [("MAX_BYTES", 1 << 20), ("_MAX_JSON_BYTES", 100)])
def test_what_could_not_be_read_again_is_not_written(
    limit: str, value: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_file, limit, value)
    with pytest.raises(DataError, match=r"m\.mpu: the model has .* no file holds it"):
        saved(NAME).save(tmp_path / "m.mpu")
    assert not list(tmp_path.iterdir())


@given(st.data())
def test_a_byte_flipped_or_a_cut_is_a_message_or_the_same_model(
    whole: bytes, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("damaged") / "m.mpu"
    place = data.draw(st.integers(0, len(whole) - 1))
    if data.draw(st.booleans()):
        changed = whole[:place]
    else:
        flipped = whole[place] ^ data.draw(st.integers(1, 255))
        changed = whole[:place] + bytes([flipped]) + whole[place + 1 :]
    path.write_bytes(changed)
    try:
        found = load(path)
    except DataError as fault:
        told = str(fault)
    else:
        told = f"{path}: read"
        assert np.array_equal(found.scores(raw_rows()), saved(NAME).scores(raw_rows()))
    assert told.startswith(f"{path}: ")


def changed_json(whole: bytes, change: dict[str, object], **entries: bytes) -> bytes:
    """Return an archive whose description is another, with checksums that fit."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(whole)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            content = entries.get(name.removesuffix(".npy"), old.read(name))
            if name == "model.json":
                content = json.dumps(json.loads(content) | change).encode()
            new.writestr(name, content)
    return out.getvalue()


def test_a_later_version_says_what_to_do(whole: bytes, tmp_path: Path) -> None:
    (tmp_path / "m.mpu").write_bytes(changed_json(whole, {"version": 3}))
    with pytest.raises(DataError, match=r"m\.mpu: was written by a later version .* upgrade mpu-bench"):
        load(tmp_path / "m.mpu")


def test_foreign_files_are_none_of_ours(whole: bytes, tmp_path: Path) -> None:
    np.savez(tmp_path / "m.npz", a=np.zeros(3))
    (tmp_path / "text").write_text("1,2\n", encoding="utf-8")
    (tmp_path / "pickle").write_bytes(pickle.dumps({}))
    (tmp_path / "other.mpu").write_bytes(changed_json(whole, {"format": "other"}))
    for name in ("m.npz", "text", "pickle", "other.mpu"):
        with pytest.raises(DataError, match=r"not a model of mpu-bench; models are written by"):
            load(tmp_path / name)
    with pytest.raises(DataError, match="no such file"):
        load(tmp_path / "none")
    with pytest.raises(DataError, match="is a folder"):
        load(tmp_path)


def labels(dtype: str, kind: str, *values: Any) -> dict[str, object]:
    return {"kind": kind, "dtype": dtype, "values": values, "words": [["a"], ["b"], ["c"]]}


#: that ask for memory without end, or do not hold their values
BAD_LABELS: list[tuple[str, str, tuple[Any, ...]]] = [
    ("S2000000000", "integer", (0, 1, 2)),
    ("U500000000", "text", ("a", "b", "c")),
    ("U500000000", "number", (0.0, 1.0, 2.0)),
    ("V2000000000", "boolean", (True, False, True)),
    ("O", "number", (0.0, 1.0, 2.0)),
    ("float16", "number", (0.0, 1.0, 1e300)),
    ("float128", "number", (0.0, 1.0, 2.0)),
    ("uint8", "integer", (0, 1, 256)),
    ("int8", "integer", (0, 1, 2.5)),
    ("", "text", (0, 1, 2)),
    ("", "text", ("a", "b", "c" * 30_000_000)),
]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("change", "entries"),
    [
        ({"arrays": {"weights": {"dtype": "<f8", "shape": [10**12]}}}, {}),
        ({"arrays": 3}, {}),
        ({"model": {"kind": "linear", "features": 5}}, {}),
        ({"classes": {}}, {}),
        ({"version": "1"}, {}),
        ({"unknown": 1}, {}),
        ({"columns": ["only one"]}, {}),
        ({}, {"biases": pickle.dumps(np.zeros(3))}),
        *(({"classes": labels(dtype, kind, *values)}, {}) for dtype, kind, values in BAD_LABELS),
        ({"preprocessing": {"kind": "vectors", "features_in": 2**62}}, {}),
        ({"preprocessing": {"kind": "vectors", "features_in": 10**30}}, {}),
    ],
)
def test_descriptions_that_do_not_fit(
    whole: bytes, tmp_path: Path, change: dict[str, object], entries: dict[str, bytes]
) -> None:
    (tmp_path / "m.mpu").write_bytes(changed_json(whole, change, **entries))
    with pytest.raises(DataError, match=r"m\.mpu: .*is damaged"):
        load(tmp_path / "m.mpu")


def test_nothing_that_is_compressed_is_read(whole: bytes, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "m.mpu", "w", zipfile.ZIP_DEFLATED) as bomb:
        bomb.writestr("model.json", b" " * 10**7)
    with pytest.raises(DataError, match="is compressed"):
        load(tmp_path / "m.mpu")


def test_arrays_of_objects_are_not_written(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="is not part of a model"):
        model_file.write(tmp_path / "m.mpu", {}, {"a": np.array([{}])})
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_not_there_is_one_message(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be written"):
        saved("linear").save(tmp_path / "none" / "m.mpu")
