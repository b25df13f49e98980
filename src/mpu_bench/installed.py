"""What installed packages bring, and how an extra is installed; no package is imported to list what they bring."""

from __future__ import annotations

import hashlib
import sys
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path

SOLVERS = "mpu_bench.solvers"  #: name -> module:Class
DATASETS = "mpu_bench.datasets"  #: any name -> package, or package.folder, whose folder holds cards


def extra(name: str) -> str:
    """Return the command that installs an extra, in the folder with the project's source."""
    return f"pip install '.[{name}]' in mpu-bench's source folder"


def brought(group: str) -> dict[str, EntryPoint]:
    """Return the entry points of a group by name; of two with one name, that of the first package by name."""
    return _brought(group, tuple(sys.path))


@cache
def _brought(group: str, _path: tuple[str, ...]) -> dict[str, EntryPoint]:
    entries: dict[str, EntryPoint] = {}
    for entry in sorted(entry_points(group=group), key=package_of):
        entries.setdefault(entry.name, entry)
    return entries


def package_of(entry: EntryPoint) -> str:
    """Return the package that brings an entry point, with its version."""
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist else "an unknown package"


def folder_of(entry: EntryPoint) -> Path | None:
    """Return the folder that an entry point names as a package or a part of one; None where there is none."""
    parts = entry.module.split(".")[1:]
    return next((origin.joinpath(*parts) for origin in _origins(entry) if origin.joinpath(*parts).is_dir()), None)


@cache
def code_hash(entry: EntryPoint) -> str:
    """Return a hash of the Python files of a package: of one that is being written, the version says too little."""
    digest = hashlib.sha256()
    for origin in _origins(entry):
        for path in [origin] if origin.is_file() else sorted(origin.rglob("*.py")):
            digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _origins(entry: EntryPoint) -> list[Path]:
    """Return the folders of the package of an entry point, or the file of a module; nothing is imported."""
    spec = find_spec(entry.module.partition(".")[0])
    if spec is None:
        return []
    return [Path(origin) for origin in spec.submodule_search_locations or filter(None, [spec.origin])]
