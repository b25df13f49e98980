"""A first solver of a user's own: a file to change, and a config that runs it beside two of the project's."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from contextlib import suppress
from pathlib import Path
from string import Template

from mpu_bench import solvers
from mpu_bench.errors import ConfigError
from mpu_bench.files import write_all
from mpu_bench.solvers.plugins import importing

_FOLDER = Path(__file__).parent


def solver_text(name: str) -> str:
    """Return the Python file of a solver of this name."""
    parts = [part for part in re.split("[^A-Za-z0-9]+", name) if part.lower() not in ("", "solver")] or ["my"]
    words = "".join(part[:1].upper() + part[1:] for part in (*parts, "solver"))
    return _filled("solver", name=name, class_name=words)


def write(name: str, file: Path | None = None) -> tuple[Path, Path]:
    """Write a solver and a config that runs it.

    Parameters
    ----------
    name : str
        Of the solver, in configs and tables.
    file : Path, optional
        The Python file; by default the name, with underscores, in the working folder. The config is beside it.

    Returns
    -------
    (Path, Path)
        The solver's file and the config's.

    Raises
    ------
    ConfigError
        If the name cannot be one, or is taken; if the file does not end in .py, or one of the two is there already.
    StoreError
        If they cannot be written.
    """
    importing.check_name(name, "new solver")
    if package := solvers.package_of(name):
        raise ConfigError(f"the installed package {package} has a solver '{name}'; choose another name")
    if name in solvers.SOLVERS:
        raise ConfigError(f"the project already has a solver '{name}'; choose another name")
    path = file or Path(re.sub("[^A-Za-z0-9]+", "_", name) + ".py")
    if path.suffix != ".py":
        raise ConfigError(f"{path}: the name of the file must end in .py")
    if owner := _owner_of_module(path.stem):
        raise ConfigError(
            f"{path}: {owner} a module '{path.stem}', which the file would hide from programs in this folder; "
            "choose another name, or another --file"
        )
    config = path.with_suffix(".yaml")
    for target in (path, config):
        if os.path.lexists(target):
            raise ConfigError(f"{target}: already exists; choose another name, or another --file")
    stem = re.sub("^[^A-Za-z0-9]+|[^A-Za-z0-9_.-]+", "-", path.stem).lstrip("-_.") or "own"
    text = _filled("config", name=name, stem=stem[:100], file=_quoted(path.name))
    write_all(path.parent, {path.name: solver_text(name), config.name: text})
    return path, config


def _owner_of_module(stem: str) -> str:
    """Return who has a module of this name that can be imported, in words; empty if there is none."""
    if stem in sys.stdlib_module_names:
        return "Python itself has"
    if not stem.isidentifier():
        return ""
    with suppress(ValueError):  # what runs as a program may have no description
        spec = importlib.util.find_spec(stem)
        in_this_folder = spec is not None and Path(spec.origin or ".").resolve().parent == Path.cwd()
        # a folder without __init__.py is a module of no origin
        return "" if spec is None or spec.origin is None or in_this_folder else "an installed package has"
    return ""


def _quoted(word: str) -> str:
    """Return a file's name as YAML has it in a list."""
    return word if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", word) else "'" + word.replace("'", "''") + "'"


def _filled(template: str, **words: str) -> str:
    return Template((_FOLDER / f"{template}.template").read_text(encoding="utf-8")).substitute(words)
