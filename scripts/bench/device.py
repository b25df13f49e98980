"""What models take of a Cortex-M0 and M4, measured in qemu: the costs that estimates are made of.

    python scripts/bench/device.py [FILE]

Models of random numbers, of every kind and many sizes, are compiled and run as `mpu-bench export-c --device` does. For
each device, for floats and for integers, costs that are not negative are fitted to the bytes of flash and RAM and to
the instructions, with the least squares of relative errors, and written to the table of the package. Shown is how far
estimates by that table are from what was measured; a test measures other models.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.optimize import nnls

from mpu_bench.core.models import FourierModel, KernelModel, LinearModel, labels_of
from mpu_bench.core.rows import Dense
from mpu_bench.core.voting import combined
from mpu_bench.files import csv_text, write_text
from mpu_bench.kernels import Gaussian, Polynomial
from mpu_bench.models.classes import Classes
from mpu_bench.models.export import device_costs
from mpu_bench.models.export.c_fixed import fixed_point, fixed_source
from mpu_bench.models.export.c_float import Source, float_source
from mpu_bench.models.export.device import DEVICES, PROGRAMS
from mpu_bench.models.export.footprint import Footprint, footprint, raw_rows
from mpu_bench.models.export.portable import Portable, portable
from mpu_bench.models.saved import SavedModel
from mpu_bench.preprocessing import CategoricalColumn, NumberColumn, Table

KINDS = ("linear", "fourier", "gaussian", "polynomial", "normalized")
STEPS = ("none", "table", "words", "far", "sparse")
SIZES = ((4, 10), (10, 30), (24, 80), (48, 60))  #: features, and vectors or pairs of Fourier features
WORDS = 6  # of a column of words
SHARE = 0.4  # of the features of sparse rows, that are not 0
ROWS = 50
PAIRS = np.array([[0, 1], [0, 2], [1, 2]], np.int32)


class Case(NamedTuple):
    """A model as a C file, with rows and labels to test it."""

    name: str
    model: Portable
    source: Source
    rows: Any
    labels: Any


def case(kind: str, steps: str, size: tuple[int, int], classes: int = 2, bits: int = 0, seed: int = 0) -> Case:
    """Return a model of random numbers; in fixed point of so many bits, or 0 for floats."""
    random = np.random.default_rng([seed, *size])
    columns: list[Any] = [
        NumberColumn(name=f"n{j}", shift=1e9 if steps == "far" else 3.0, width=2.0) for j in range(size[0])
    ]
    if steps == "words":
        columns[1::2] = [
            CategoricalColumn(name=f"w{j}", categories=tuple(f"v{k}" for k in range(WORDS)))
            for j in range(len(columns[1::2]))
        ]
    table = None if steps in ("none", "sparse") else Table(columns=tuple(columns))
    made = [_features(random, columns, size[1], steps) for _ in range(3)]
    d = made[0].shape[1]
    machines = [_machine(kind, random, each, size[1]) for each in made[: 1 if classes == 2 else 3]]
    if kind == "fourier":  # which those of a vote share
        machines = [replace(each, frequencies=machines[0].frequencies) for each in machines]
    model = machines[0] if classes == 2 else combined(machines, PAIRS, 3)
    saved = SavedModel(model, Classes.of(list(range(classes))), d, table)
    exported, features = portable(saved), _features(random, columns, ROWS, steps)
    rows, labels = raw_rows(exported, features), labels_of(saved.model.scores(Dense(features)))
    name = f"{kind} {steps} {size} {classes} {bits}"
    if not bits:
        return Case(name, exported, float_source(exported, "model"), rows, labels)
    how = fixed_point(exported, features, bits)
    return Case(name, exported, fixed_source(exported, how, features, "model"), how.rows(rows), labels)


def _features(random: np.random.Generator, columns: list[Any], n: int, steps: str) -> Any:
    parts: list[Any] = []
    for column in columns:
        if isinstance(column, CategoricalColumn):
            parts.append(np.eye(WORDS)[random.integers(0, WORDS, n)])
        else:
            parts.append(random.normal(size=(n, 1)))
    features = np.hstack(parts)
    if steps == "sparse":
        features[random.random(features.shape) > SHARE] = 0.0
    return np.ascontiguousarray(features, np.float32)


def _machine(kind: str, random: np.random.Generator, vectors: Any, m: int) -> Any:
    d = vectors.shape[1]
    if kind == "linear":
        return LinearModel(random.normal(size=(1, d)))
    if kind == "fourier":
        return FourierModel(random.normal(size=(1, 2 * m)), random.normal(size=(m, d)) / np.sqrt(d))
    kernel = Gaussian(0.5 / d) if kind == "gaussian" else Polynomial(1.0 / d, 1.0, 3, kind == "normalized")
    return KernelModel(Dense(vectors), random.normal(size=(m, 1)), kernel, d, 0.125)


def cases() -> Iterator[Case]:
    """Yield the models that costs are fitted to."""
    for kind in KINDS:
        for steps in STEPS:
            for size in SIZES:
                for classes in (2, 3) if steps != "far" else (2,):
                    if (steps == "far" and kind not in ("linear", "gaussian")) or (
                        steps == "sparse" and kind in ("linear", "fourier")
                    ):
                        continue
                    yield case(kind, steps, size, classes)
                    if steps != "far" and kind != "normalized":
                        yield case(kind, steps, size, classes, bits=16)


def fitted(measured: list[tuple[Case, Footprint]], device: str) -> list[dict[str, Any]]:
    """Return the costs for a device, a row each."""
    rows: list[dict[str, Any]] = []
    for form, numbers in product(("weights", "frequencies", "vectors"), ("floats", "integers")):
        here = [
            (each, found)
            for each, found in measured
            if (device_costs.form_of(each.model), device_costs.numbers_of(each.source)) == (form, numbers)
        ]
        known = [device_costs.traits(each.model, each.source) for each, _ in here]
        bytes_of = [device_costs.known_bytes(each.model, each.source) for each, _ in here]
        for resource in bytes_of[0]:
            names = sorted({name for each in known for name in each[resource]})
            values = np.array([getattr(found, resource) for _, found in here], np.float64)
            matrix = np.array([[each[resource].get(name, 0.0) for name in names] for each in known])
            costs, _ = nnls(matrix / values[:, np.newaxis], (values - [each[resource] for each in bytes_of]) / values)
            rows += [
                {
                    "device": device,
                    "form": form,
                    "numbers": numbers,
                    "resource": resource,
                    "of": name,
                    "cost": f"{cost:.4g}",
                }
                for name, cost in zip(names, costs, strict=True)
                if cost
            ]
    return rows


def main(path: Path) -> None:
    every, rows = list(cases()), list[dict[str, Any]]()
    measured = {}
    for name, device in DEVICES.items():
        measured[name] = [(each, footprint(each.model, each.source, device, each.rows, each.labels)) for each in every]
        for each, found in measured[name]:
            if found.estimated:
                print(f"{name} {each.name}: left out, {found.estimated}")
        measured[name] = [(each, found) for each, found in measured[name] if not found.estimated]
        rows += fitted(measured[name], name)
    write_text(path, csv_text(rows))
    device_costs._costs.cache_clear()
    apart = pd.DataFrame(
        {
            "device": name,
            "model": each.name,
            "numbers": device_costs.numbers_of(each.source),
            "differ": found.differ,
            **{
                resource: 100 * (estimate / getattr(found, resource) - 1)
                for resource, estimate in zip(
                    ("flash", "ram", "instructions"),
                    device_costs.estimate(each.model, each.source, name),
                    strict=True,
                )
            },
        }
        for name, many in measured.items()
        for each, found in many
    )
    print(
        apart.groupby(["device", "numbers"])[["flash", "ram", "instructions"]].quantile([0.0, 0.1, 0.9, 1.0]).round(1)
    )
    print(f"labels that differ: {apart['differ'].sum()} of {ROWS * len(apart):,}")
    versions = [
        subprocess.run([each, "--version"], capture_output=True, text=True, check=True).stdout for each in PROGRAMS
    ]
    print(*(each.splitlines()[0] for each in versions), sep="\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else device_costs.TABLE)
