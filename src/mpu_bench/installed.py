"""What installed packages bring, and how an extra is installed; no package is imported to list what they bring."""

from __future__ import annotations

import sys
from functools import cache
from importlib.machinery import PathFinder
from importlib.metadata import EntryPoint, entry_points
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
    top, *parts = entry.module.split(".")
    spec = PathFinder.find_spec(top)  # which imports nothing
    locations = spec.submodule_search_locations if spec else None
    folders = (Path(location).joinpath(*parts) for location in locations or ())
    return next((folder for folder in folders if folder.is_dir()), None)
