"""Targets: files of saved models, and descriptions in files whose checksums fit."""

from __future__ import annotations

import io
import json
import zipfile
from functools import cache

from fuzz.mutation import mutator_of_json
from fuzz.target import Target, written
from model_examples import MODELS, TABLE, VECTORS_STEPS, linear, saved
from mpu_bench import load
from mpu_bench.models.classes import Classes
from mpu_bench.models.saved import SavedModel

_COVERS = tuple(f"mpu_bench.models.{name}" for name in ("format", "parts", "saved", "classes"))


@cache
def _files() -> list[bytes]:
    models = [saved(name) for name in MODELS]
    models += [SavedModel(linear(), Classes.of([-1, 1]), 5, steps) for steps in (TABLE, VECTORS_STEPS)]
    files = []
    for model in models:
        path = written("m.mpu", b"")
        model.save(path)
        files.append(path.read_bytes())
    return files


@cache
def _descriptions() -> list[bytes]:
    found = []
    for number, content in enumerate(_files()):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            found.append(json.dumps({"file": number} | json.loads(archive.read("model.json"))).encode())
    return found


def _read_file(data: bytes) -> None:
    load(written("m.mpu", data))


def _read_description(data: bytes) -> None:
    """Read a file whose description is another: with the arrays of the example that it names."""
    try:
        whole = json.loads(data)
        number = whole.pop("file") if isinstance(whole, dict) and isinstance(whole.get("file"), int) else 0
        text = json.dumps(whole).encode()
    except (ValueError, RecursionError):
        number, text = 0, data
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(_files()[number % len(_files())])) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            new.writestr(name, text if name == "model.json" else old.read(name))
    load(written("m.mpu", out.getvalue()))


def _words() -> list[str]:
    kinds = ["linear", "fourier", "kernel", "expansions", "dense", "sparse", "ones", "gaussian", "polynomial", "text"]
    return [*kinds, "<f8", "weights"]


def targets() -> list[Target]:
    """Return the targets of saved models."""
    return [
        Target("model", _read_file, _files, _COVERS),
        Target("model-description", _read_description, _descriptions, _COVERS, mutate=mutator_of_json(_words)),
    ]
