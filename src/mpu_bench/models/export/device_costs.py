"""An estimate of what a model takes of a device, where it cannot be measured: sums of costs in ``device_costs.csv``.

`scripts/bench/device.py` measured models of random numbers in qemu and fitted the costs, which are of one compiler and
of rows of usual numbers: floats in software take longer for some numbers than for others.
"""

from __future__ import annotations

import csv
import re
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np

from mpu_bench.models.export.c_float import Source
from mpu_bench.models.export.c_text import VECTORS
from mpu_bench.models.export.portable import Portable
from mpu_bench.preprocessing import Table

Resource = Literal["flash", "ram", "instructions"]

TABLE = Path(__file__).with_suffix(".csv")
_FUNCTION = re.compile(r"^static \w+ (\w+)\(", re.MULTILINE)
_IN_LINE = 16  # numbers, beyond which the compiler calls a function to copy or clear them
_LIBRARY = ("expf", "cosf", "sqrtf", "sqrt")


def traits(model: Portable, source: Source) -> dict[Resource, dict[str, float]]:
    """Return what costs bytes or instructions in a C file, by resource; what `known_bytes` says comes on top."""
    words = len({column for column in model.sources if isinstance(column, int)})
    parts = dict.fromkeys({*_FUNCTION.findall(source.text), *_library(source)}, 1.0) | {
        "program": 1.0,
        "scaled columns": float(_is_scaled(model)),
        "double precision": float(model.number is np.float64),
        "columns of words": words,
        "sparse vectors": float(_is_sparse(source)),
        "several binary subproblems": float(model.pairs is not None),
        "memset" if words else "memcpy": float(not _is_scaled(model) or words > 0) * (model.features > _IN_LINE),
    }
    return {"flash": parts, "ram": parts, "instructions": {"program": 1.0} | _work(model, source)}


def known_bytes(model: Portable, source: Source) -> dict[Resource, int]:
    """Return the bytes of the arrays that labels need; those of RAM with a row."""
    number = 2 if source.input_scale else model.number().itemsize
    return {
        "flash": source.constant_bytes - source.probability_bytes,
        "ram": source.array_bytes + number * len(model.columns),
        "instructions": 0,
    }


def _library(source: Source) -> list[str]:
    """Return the functions of the mathematical library that a file calls."""
    return [name for name in _LIBRARY if f"{name}(" in source.text]


def _is_scaled(model: Portable) -> bool:
    scales = [source[1:] for source in model.sources if isinstance(source, tuple)]
    return isinstance(model.saved.preprocessing, Table) or any(scale != (0.0, 1.0) for scale in scales)


def _is_sparse(source: Source) -> bool:
    return f" {VECTORS[-1]}[" in source.text


def _work(model: Portable, source: Source) -> dict[str, float]:
    """Return how often something is done in a prediction.

    With a feature of a word, which is 0 for most rows, a multiplication in software ends early.
    """
    of_words = np.array([isinstance(column, int) for column in model.sources] + [False] * len(model.constants))
    vectors, apart = model.vectors, source.counts.get("subtractions", 0)
    terms = 0 if vectors is None else model.coefficients.nnz
    share = float((of_words[vectors.indices] if _is_sparse(source) and vectors.nnz else of_words).mean())
    products, kind = (
        source.counts["multiply_adds"] - apart - terms,
        "sparse products" if _is_sparse(source) else "products",
    )
    step = "double columns" if model.number is np.float64 else "scaled columns" if _is_scaled(model) else "columns"
    return {
        step: int((~of_words).sum()),
        "features of words": int(of_words.sum()),
        "columns of words": len({column for column in model.sources if isinstance(column, int)}),
        kind: products * (1 - share),
        f"{kind} of words": products * share,
        "distances": apart * (1 - share),
        "distances of words": apart * share,
        "coefficients": terms,
        "vectors": 0 if vectors is None else vectors.shape[0],
        "exponentials": source.counts.get("exponentials", 0),
        "cosines": source.counts.get("cosines", 0),
        "square roots": vectors.shape[0] if vectors is not None and "sqrtf" in _library(source) else 0,
        "binary subproblems": model.machines,
        "votes": 0 if model.pairs is None else model.machines,
    }


def estimate(model: Portable, source: Source, device: str) -> tuple[int, int, int]:
    """Return the bytes of flash and RAM, and the instructions of a prediction."""
    costs, kind = _costs(), (device, form_of(model), numbers_of(source))

    def total(resource: Resource) -> float:
        counts = traits(model, source)[resource].items()
        return sum(costs.get((*kind, resource, name), 0.0) * many for name, many in counts)

    known = known_bytes(model, source)
    flash, ram, instructions = (round(known[resource] + total(resource)) for resource in known)
    return flash, ram, instructions


def form_of(model: Portable) -> str:
    """Return what a model is made of."""
    return "vectors" if model.vectors is not None else "weights" if model.frequencies is None else "frequencies"


def numbers_of(source: Source) -> str:
    """Return what a C file computes with: ``floats`` or ``integers``."""
    return "integers" if source.input_scale else "floats"


@cache
def _costs() -> dict[tuple[str, ...], float]:
    with TABLE.open(encoding="utf-8", newline="") as file:
        return {
            (row["device"], row["form"], row["numbers"], row["resource"], row["of"]): float(row["cost"])
            for row in csv.DictReader(file)
        }
